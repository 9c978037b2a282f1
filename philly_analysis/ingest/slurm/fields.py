"""What sacct prints: its fields, how each looks, the lists of them in use, and the one to ask for.

The patterns let a line be taken apart whose free text holds the delimiter or a line break, and let
a file without a header be known by one of :data:`LISTS`.
"""

import re
from collections.abc import Callable, Collection
from datetime import date

ASKED = (
    "JobIDRaw",
    "JobID",
    "Cluster",
    "Partition",
    "QOS",
    "Account",
    "User",
    "UID",
    "State",
    "ExitCode",
    "DerivedExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "Suspended",
    "NNodes",
    "NCPUS",
    "ReqTRES",
    "AllocTRES",
    "NodeList",
    "Reason",
    "Flags",
    "Priority",
    "AdminComment",
)
"""The fields that :func:`slurm_command` asks for: every release since 20.11 has them."""

LISTS = (
    ASKED,
    # what this page asked for before, and what XDMoD's manual asks for
    (
        "JobIDRaw",
        "JobID",
        "Partition",
        "User",
        "State",
        "ExitCode",
        "Submit",
        "Eligible",
        "Start",
        "End",
        "TimelimitRaw",
        "NNodes",
        "NCPUS",
        "ReqTRES",
        "AllocTRES",
        "NodeList",
    ),
    (
        "JobID",
        "JobIDRaw",
        "Cluster",
        "Partition",
        "QOS",
        "Account",
        "Group",
        "GID",
        "User",
        "UID",
        "Submit",
        "Eligible",
        "Start",
        "End",
        "Elapsed",
        "ExitCode",
        "State",
        "NNodes",
        "NCPUS",
        "ReqCPUS",
        "ReqMem",
        "ReqTRES",
        "AllocTRES",
        "Timelimit",
        "NodeList",
        "JobName",
    ),
)
"""Lists of fields by which a file without a header is known."""

READ = (
    "jobidraw",
    "jobid",
    "cluster",
    "partition",
    "qos",
    "account",
    "user",
    "uid",
    "state",
    "exitcode",
    "submit",
    "eligible",
    "start",
    "end",
    "elapsedraw",
    "elapsed",
    "timelimitraw",
    "timelimit",
    "suspended",
    "ncpus",
    "reqmem",
    "reqtres",
    "alloctres",
    "nodelist",
    "reason",
    "admincomment",
)
"""Fields that are read where they are there; any other field is passed over."""

NEEDED = ("State", "Submit", "Start", "End")
"""Fields that a file must have, beside JobIDRaw or JobID."""

DELIMITER = "^|^"
"""What :func:`slurm_command` asks for: no name holds it."""

DELIMITERS = (DELIMITER, ";|;", "|#", "\x1f", "\t", ";", "|", ",")
"""Delimiters tried on a file without a header, those that contain others first."""

NOTHING = ("", "Unknown", "None", "None assigned", "N/A", "INVALID")
"""Texts that stand for no value."""

STATES = (
    "BOOT_FAIL",
    "CANCELLED",
    "COMPLETED",
    "COMPLETING",
    "CONFIGURING",
    "DEADLINE",
    "FAILED",
    "NODE_FAIL",
    "OUT_OF_MEMORY",
    "PENDING",
    "PREEMPTED",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "REVOKED",
    "RUNNING",
    "SIGNALING",
    "SPECIAL_EXIT",
    "STAGE_OUT",
    "STOPPED",
    "SUSPENDED",
    "TIMEOUT",
)

LONG = frozenset(("jobid", "partition", "reqtres", "alloctres", "nodelist", "flags"))
"""Fields of lists, which hold commas and may do so where the delimiter is one."""

FREE = frozenset(
    (
        "jobname",
        "comment",
        "admincomment",
        "systemcomment",
        "workdir",
        "submitline",
        "extra",
        "container",
        "stdout",
        "stderr",
        "stdin",
        "constraints",
        "wckey",
        "mcslabel",
    )
)
"""Fields of free text: they may hold the delimiter and line breaks."""

_ID = r"\d+(_(\d+|\[[^\]\n]*\]))?(\+\d+)?"
STEP = r"\.(\d+|batch|extern|interactive|TBD|\d+\+\d+)"
"""How the id of a step goes on after that of its job."""
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
    **dict.fromkeys(("submit", "eligible", "start", "end"), _TIME),
    **dict.fromkeys(("elapsed", "timelimit", "suspended", "reserved", "planned"), _SPAN),
    **dict.fromkeys(
        (
            "uid",
            "gid",
            "nnodes",
            "ncpus",
            "reqcpus",
            "alloccpus",
            "allocnodes",
            "elapsedraw",
            "priority",
            "restarts",
            "cputimeraw",
            "dbindex",
            "associd",
        ),
        _NUMBER,
    ),
    "timelimitraw": r"(\d*|UNLIMITED|Partition_Limit)",
    "reqmem": r"([\d.]+[KMGTPE]?[nc]?)?",
    "reqtres": _TRES,
    "alloctres": _TRES,
    "nodelist": r"(None assigned|(?!None$)[\w.\-]+(\[[\d,\-]+\][\w.\-]*)*"
    # one of a list of hosts has a number in it, as a list may be parted by the delimiter
    r"(,(?=[\w.\-]*[\d\[])[\w.\-]+(\[[\d,\-]+\][\w.\-]*)*)*)",
    "flags": r"\w*|(?!None,)\w+(,\w+)*",
    "partition": r"[^|^;\x1f\t\n,]*(,[^|^;\x1f\t\n,]+)*",
}

Matcher = Callable[[str], bool]


def matcher(field: str) -> Matcher:
    """Return the test of whether a text may be the value of a field that is not free text."""
    fits = re.compile(_PATTERNS.get(field, _NAME)).fullmatch
    if field in ("reqtres", "alloctres"):
        return lambda text: bool(fits(text)) and _once(text)
    return lambda text: bool(fits(text))


def _once(tres: str) -> bool:
    """Whether a list of resources names each once: two lists that were joined do not."""
    names = [part.partition("=")[0] for part in tres.split(",")]
    return len(set(names)) == len(names)


def names_fields(names: Collection[str]) -> bool:
    """Whether these are the names in a header of sacct, and not the values of a record."""
    return len(names) > 1 and not {"jobidraw", "jobid", "submit"}.isdisjoint(map(str.lower, names))


def lacking(names: Collection[str]) -> list[str]:
    """Return the fields that are needed and not there."""
    there = {name.lower() for name in names}
    ids = [] if there & {"jobidraw", "jobid"} else ["JobIDRaw"]
    return ids + [name for name in NEEDED if name.lower() not in there]


def slurm_command(
    since: date | str = "YYYY-MM-01", until: date | str = "now", cluster: str | None = None
) -> str:
    """Print the sacct command to run on a Slurm cluster.

    Parameters
    ----------
    since, until
        Day, or moment as ``2026-01-31T12:00``, from which and until which jobs are printed that
        waited or ran then. Windows may overlap and be printed again later.
    cluster
        Cluster to ask for, as Slurm names it, several with commas; default the one at hand.

    Examples
    --------
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -o ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"
    """
    at = f" --clusters={cluster}" if cluster else ""
    return (
        f"TZ=UTC sacct -a -X -D -P --noconvert --delimiter='{DELIMITER}'{at} "
        f"-S {since} -E {until} -o {','.join(ASKED)}"
    )
