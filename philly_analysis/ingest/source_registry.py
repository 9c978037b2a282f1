"""List the sources of raw logs, and detect the source of given files."""

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.ingest.accounting import GRID_ENGINE, LSF, PARSERS, PBS
from philly_analysis.ingest.kubernetes import KUBERNETES
from philly_analysis.ingest.kubernetes.snapshots import is_list
from philly_analysis.ingest.pai import PAI
from philly_analysis.ingest.philly import PHILLY
from philly_analysis.ingest.philly.archive import OPTIONAL_FILES
from philly_analysis.ingest.philly_multigpu import PHILLY_MULTIGPU
from philly_analysis.ingest.philly_multigpu.files import JOBS as MULTIGPU_JOBS
from philly_analysis.ingest.raw_file import first_lines, json_items
from philly_analysis.ingest.slurm import SLURM
from philly_analysis.ingest.slurm.accounting_json import is_accounting
from philly_analysis.ingest.slurm.fields import slurm_command
from philly_analysis.ingest.slurm.printed import detect_header, parse_header
from philly_analysis.ingest.source import Source
from philly_analysis.ingest.source_texts import source_texts
from philly_analysis.ingest.table import TABLE, mapped_source

if TYPE_CHECKING:
    import pandas as pd

SOURCES: dict[str, Source] = {
    source.name: source
    for source in (PHILLY, PHILLY_MULTIGPU, SLURM, KUBERNETES, PBS, LSF, GRID_ENGINE, PAI, TABLE)
}
"""The sources of raw logs, by name."""

AUTO = "auto"
"""Name that selects the source by the files."""
_MOST_FILES = 50
_ARCHIVES = (".tar.gz", ".tgz")


def sources() -> "pd.DataFrame":
    """List the sources that raw logs may come from.

    Returns
    -------
    pandas.DataFrame
        One row per source: source, reads, files, fills (tables), lacks.
    """
    import pandas as pd

    texts = source_texts()
    named = {"command": slurm_command(), "optional": ", ".join(OPTIONAL_FILES)}
    rows = [
        (name, t["reads"], t["files"].format(**named), ", ".join(source.fills), t["lacks"])
        for name, source in SOURCES.items()
        for t in [texts[name]]
    ]
    return pd.DataFrame(rows, columns=["source", "reads", "files", "fills", "lacks"])


def find_source(name: str, raw: Path, table_map: str | Path | None) -> Source:
    """Return the source of a name, or of the files if the name is ``auto``.

    Raises
    ------
    UnknownNameError
        There is no such source.
    InputError
        No source is detected, or the source takes no map.
    """
    name = detect_source(raw) if name == AUTO else name
    if name not in SOURCES:
        raise UnknownNameError("source", name, SOURCES)
    if table_map is None:
        return SOURCES[name]
    if name != TABLE.name:
        raise InputError(f"source {name} takes no map: only {TABLE.name} does.")
    return mapped_source(table_map)


def detect_source(raw: Path) -> str:
    """Return the name of the source that reads these raw files.

    Raises
    ------
    InputError
        There are no files, or no source recognises them.
    """
    if not raw.exists():
        raise InputError(f"there is no {raw}: give a file or a folder of raw logs.")
    files = sorted(p for p in raw.iterdir() if p.is_file()) if raw.is_dir() else [raw]
    names = {file.name for file in files}
    if raw.name.endswith(_ARCHIVES) or any(n.startswith("cluster_job_log") for n in names):
        return PHILLY.name
    if MULTIGPU_JOBS in names:
        return PHILLY_MULTIGPU.name
    if any(name.startswith("pai_job_table.csv") for name in names):
        return PAI.name
    if "map.toml" in names or raw.with_name(f"{raw.name.split('.')[0]}.toml").is_file():
        return TABLE.name
    starts = {file: _first_lines(file) for file in files[:_MOST_FILES]}
    if any(_is_sacct(file, lines) for file, lines in starts.items()):
        return SLURM.name
    if any(is_list(file, lines) for file, lines in starts.items()):
        return KUBERNETES.name
    names_of_logs = [
        name
        for name, parse in PARSERS.items()
        if any(map(parse, chain.from_iterable(starts.values())))
    ]
    if names_of_logs:
        if names_of_logs[1:]:
            raise InputError(
                f"{raw} has accounting logs of {' and '.join(names_of_logs)}. Name one of them as "
                "the source, and give the folder of its files alone."
            )
        return names_of_logs[0]
    raise InputError(
        f"no source recognises {raw}: it has no cluster_job_log, no output of sacct, no "
        "list of Kubernetes objects, no accounting log of PBS, LSF or Grid Engine, and no map "
        "beside a table. Name the source: sources() lists them."
    )


def _first_lines(file: Path) -> list[str]:
    """Return the first lines of a file; none if the file cannot be read."""
    try:
        return first_lines(file)
    except InputError:
        return []


def _is_sacct(file: Path, lines: list[str]) -> bool:
    """Return whether a file with these first lines is output of sacct."""
    if lines and lines[0].lstrip().startswith("{"):
        try:
            return is_accounting(next(json_items(file, "jobs"), None))
        except InputError:
            return False
    return bool(lines and (parse_header(lines[0]) or detect_header(lines, ())))
