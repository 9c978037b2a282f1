"""Read the fields that sacct prints from ``fields.toml``: patterns, and common lists of fields.

The patterns split lines whose free text contains the delimiter or a line break, and detect files
without a header by one of :data:`LISTS`.
"""

import re
import tomllib
from collections.abc import Callable, Collection
from datetime import date
from pathlib import Path

from philly_analysis.ingest.raw_tables import RAW_TABLES

_DECLARED = tomllib.loads(Path(__file__).with_name("fields.toml").read_text("utf-8"))
REQUESTED, NEEDED, DELIMITERS, NOTHING, STATES, SELECTED = (
    tuple(_DECLARED[name])
    for name in ("requested", "needed", "delimiters", "nothing", "states", "selected")
)
READ = tuple(RAW_TABLES["sacct"].names[4:])
"""Fields that are read where they are present, after the columns of the place."""
LISTS = (REQUESTED, *map(tuple, _DECLARED["lists"]))
LONG, FREE = frozenset(_DECLARED["long"]), frozenset(_DECLARED["free"])

_NAME = r"[^|^;\x1f\t\n]*"
_PATTERNS: dict[str, str] = {
    "state": rf"({'|'.join(STATES)})( by [^\n]+)?\+?",
    **{field: one["text"] for one in _DECLARED["pattern"] for field in one["fields"]},
}

_RESOURCES = re.compile(_PATTERNS["reqtres"])
_RESOURCE_NAME = re.compile(r"(?:^|,)([^,=]+)=")

Matcher = Callable[[str], object]
"""Returns a true value for a text that fits."""


def matcher(field: str) -> Matcher:
    """Return the test of whether a text may be the value of a field that is not free text."""
    if field in ("reqtres", "alloctres"):
        return _is_resources
    return re.compile(_PATTERNS.get(field, _NAME)).fullmatch


def _is_resources(text: str) -> bool:
    """Whether a text lists each resource once; two lists joined by mistake repeat some."""
    if not _RESOURCES.fullmatch(text):
        return False
    names = _RESOURCE_NAME.findall(text)
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
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -s ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"
    """
    return f"TZ=UTC {sacct_command(str(since), str(until), cluster)}"


def sacct_command(since: str, until: str, cluster: str | None = None) -> str:
    """Return the command without its time zone.

    All states are requested by name: without ``-s``, sacct omits jobs that never became eligible.
    """
    of_cluster = f" --clusters={cluster}" if cluster else ""
    return (
        f"sacct -a -X -D -P --noconvert --delimiter='{DELIMITERS[0]}'{of_cluster} "
        f"-S {since} -E {until} -s {','.join(SELECTED)} -o {','.join(REQUESTED)}"
    )
