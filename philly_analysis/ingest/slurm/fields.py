"""Describe the fields that sacct prints: their patterns, common lists, and the list to request.

The patterns split lines whose free text contains the delimiter or a line break, and detect files
without a header by one of :data:`LISTS`.
"""

import re
from collections.abc import Callable, Collection
from datetime import date


def _listed(names: str) -> tuple[str, ...]:
    return tuple(names.split(","))


REQUESTED = _listed(
    "JobIDRaw,JobID,Cluster,Partition,QOS,Account,User,UID,State,ExitCode,DerivedExitCode,Submit,"
    "Eligible,Start,End,ElapsedRaw,TimelimitRaw,Suspended,NNodes,NCPUS,ReqTRES,AllocTRES,NodeList,"
    "Reason,Flags,Priority,AdminComment"
)
"""Fields that :func:`slurm_command` requests: every release since 20.11 has them."""

LISTS = (
    REQUESTED,
    # an earlier version of slurm_command
    _listed(
        "JobIDRaw,JobID,Partition,User,State,ExitCode,Submit,Eligible,Start,End,TimelimitRaw,"
        "NNodes,NCPUS,ReqTRES,AllocTRES,NodeList"
    ),
    # the manual of XDMoD
    _listed(
        "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,"
        "End,Elapsed,ExitCode,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,"
        "NodeList,JobName"
    ),
)
"""Lists of fields by which a file without a header is detected."""

READ = _listed(
    "jobidraw,jobid,cluster,partition,qos,account,user,uid,state,exitcode,submit,eligible,start,"
    "end,elapsedraw,elapsed,timelimitraw,timelimit,suspended,ncpus,reqmem,reqtres,alloctres,"
    "nodelist,reason,admincomment"
)
"""Fields that are read where they are present; others are ignored."""

NEEDED = ("State", "Submit", "Start", "End")
"""Fields that a file must have, beside JobIDRaw or JobID."""

DELIMITER = "^|^"
"""Delimiter that :func:`slurm_command` requests: no name contains it."""

DELIMITERS = (DELIMITER, ";|;", "|#", "\x1f", "\t", ";", "|", ",")
"""Delimiters tried on a file without a header, those that contain others first."""

NOTHING = ("", "Unknown", "None", "None assigned", "N/A", "INVALID")
"""Texts for a missing value."""

STATES = _listed(
    "BOOT_FAIL,CANCELLED,COMPLETED,COMPLETING,CONFIGURING,DEADLINE,FAILED,NODE_FAIL,OUT_OF_MEMORY,"
    "PENDING,PREEMPTED,REQUEUED,REQUEUE_FED,REQUEUE_HOLD,RESIZING,REVOKED,RUNNING,SIGNALING,"
    "SPECIAL_EXIT,STAGE_OUT,STOPPED,SUSPENDED,TIMEOUT"
)

LONG = frozenset(("jobid", "partition", "reqtres", "alloctres", "nodelist", "flags"))
"""Fields of lists, which contain commas even where the delimiter is a comma."""

FREE = frozenset(
    _listed(
        "jobname,comment,admincomment,systemcomment,workdir,submitline,extra,container,stdout,"
        "stderr,stdin,constraints,wckey,mcslabel"
    )
)
"""Fields of free text, which may contain the delimiter and line breaks."""

_ID = r"\d+(_(\d+|\[[^\]\n]*\]))?(\+\d+)?"
STEP = r"\.(\d+|batch|extern|interactive|TBD|\d+\+\d+)"
"""Suffix of a step's id after that of its job."""
_TIME = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|\d{9,11}|Unknown|None|N/A)"
_SPAN = r"((\d+-)?\d+:\d\d(:\d\d)?(\.\d+)?|UNLIMITED|Partition_Limit|INVALID|)"
_TRES = r"([\w./:-]+=[^,=|^;\s]*(,[\w./:-]+=[^,=|^;\s]*)*)?"
_NUMBER = r"-?\d*"
_NAME = r"[^|^;\x1f\t\n]*"

_PATTERNS: dict[str, str] = {
    "jobidraw": rf"{_ID}({STEP})?",
    "jobid": rf"{_ID}({STEP})?",
    "state": rf"({'|'.join(STATES)})( by [^\n]+)?\+?",
    "exitcode": r"(\d+:\d+)?",
    "derivedexitcode": r"(\d+:\d+)?",
    **dict.fromkeys(_listed("submit,eligible,start,end"), _TIME),
    **dict.fromkeys(_listed("elapsed,timelimit,suspended,reserved,planned"), _SPAN),
    **dict.fromkeys(
        _listed(
            "uid,gid,nnodes,ncpus,reqcpus,alloccpus,allocnodes,elapsedraw,priority,restarts,"
            "cputimeraw,dbindex,associd"
        ),
        _NUMBER,
    ),
    "timelimitraw": r"(\d*|UNLIMITED|Partition_Limit)",
    "reqmem": r"([\d.]+[KMGTPE]?[nc]?)?",
    "reqtres": _TRES,
    "alloctres": _TRES,
    "nodelist": r"(None assigned|(?!None$)[\w.\-]+(\[[\d,\-]+\][\w.\-]*)*"
    # further hosts need a digit, as the list may be separated by the delimiter
    r"(,(?=[\w.\-]*[\d\[])[\w.\-]+(\[[\d,\-]+\][\w.\-]*)*)*)",
    "flags": r"\w*|(?!None,)\w+(,\w+)*",
    "partition": r"[^|^;\x1f\t\n,]*(,[^|^;\x1f\t\n,]+)*",
}

Matcher = Callable[[str], bool]


def matcher(field: str) -> Matcher:
    """Return the test of whether a text may be the value of a field that is not free text."""
    fits = re.compile(_PATTERNS.get(field, _NAME)).fullmatch
    if field in ("reqtres", "alloctres"):
        return lambda text: bool(fits(text)) and _is_unique(text)
    return lambda text: bool(fits(text))


def _is_unique(tres: str) -> bool:
    """Whether a list of resources has each once; two lists joined by mistake repeat some."""
    names = [part.partition("=")[0] for part in tres.split(",")]
    return len(set(names)) == len(names)


def is_header(names: Collection[str]) -> bool:
    """Whether these are the names in a header of sacct, and not the values of a record."""
    return len(names) > 1 and not {"jobidraw", "jobid", "submit"}.isdisjoint(map(str.lower, names))


def missing_fields(names: Collection[str]) -> list[str]:
    """Return the required fields that are missing."""
    present = {name.lower() for name in names}
    ids = [] if present & {"jobidraw", "jobid"} else ["JobIDRaw"]
    return ids + [name for name in NEEDED if name.lower() not in present]


def slurm_command(
    since: date | str = "YYYY-MM-01", until: date | str = "now", cluster: str | None = None
) -> str:
    """Return the sacct command to run on a Slurm cluster.

    Parameters
    ----------
    since, until
        Day, or time as ``2026-01-31T12:00``: start and end of the window. Jobs that waited or ran
        in it are printed. Windows may overlap and be printed again later.
    cluster
        Name of the Slurm cluster, or several with commas; default the local one.

    Examples
    --------
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -o ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"
    """
    at = f" --clusters={cluster}" if cluster else ""
    return (
        f"TZ=UTC sacct -a -X -D -P --noconvert --delimiter='{DELIMITER}'{at} "
        f"-S {since} -E {until} -o {','.join(REQUESTED)}"
    )
