"""List the sources of raw logs, and detect the source of given files."""

from collections.abc import Callable
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.ingest.accounting import GRID_ENGINE, LSF, PARSERS, PBS
from philly_analysis.ingest.accounting.record import Parse
from philly_analysis.ingest.kubernetes import KUBERNETES
from philly_analysis.ingest.kubernetes.pod_metrics import is_pod_metrics
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
from philly_analysis.ingest.table import TABLE, mapped_source, own_map
from philly_analysis.ingest.table.detection import fitting_maps

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
        No source is detected, several are, or the source takes no map.
    """
    if name == AUTO:
        name, detected_map = detect_source(raw)
        table_map = table_map or detected_map
    if name not in SOURCES:
        raise UnknownNameError("source", name, SOURCES)
    if table_map is None:
        return SOURCES[name]
    if name != TABLE.name:
        raise InputError(f"source {name} takes no map: only {TABLE.name} does.")
    return mapped_source(table_map)


def detect_source(raw: Path) -> tuple[str, str | None]:
    """Return the name of the source that reads these raw files, and of the shipped map that fits.

    Raises
    ------
    InputError
        There are no files, no source recognises them, or several do.
    """
    if not raw.exists():
        raise InputError(f"there is no {raw}: give a file or a folder of raw logs.")
    files = sorted(p for p in raw.iterdir() if p.is_file()) if raw.is_dir() else [raw]
    if own_map(raw).is_file():
        return TABLE.name, None
    starts = [(file, _first_lines(file)) for file in files[:_MOST_FILES]]
    sources = [name for name, is_of in _RECOGNISERS.items() if any(starmap(is_of, starts))]
    maps = fitting_maps(raw)
    if len(sources) + len(maps) == 1:
        return (sources[0], None) if sources else (TABLE.name, maps[0])
    if sources or maps:
        fits = [*sources, *(f"{TABLE.name} with the map {name}" for name in maps)]
        raise InputError(
            f"{raw} fits several sources: {', '.join(fits)}. Name the source, "
            "or give the folder of its files alone."
        )
    raise InputError(
        f"no source recognises {raw}: it has no cluster_job_log, no output of sacct, no list of "
        "Kubernetes objects, no accounting log of PBS, LSF or Grid Engine, no file of a public "
        "trace whose map ships, and no map beside a table. Name the source: sources() lists them."
    )


def _first_lines(file: Path) -> list[str]:
    """Return the first lines of a file; none if the file cannot be read."""
    try:
        return first_lines(file)
    except InputError:
        return []


def _is_philly(file: Path, _: list[str]) -> bool:
    return file.name.startswith("cluster_job_log") or file.name.endswith(_ARCHIVES)


def _is_sacct(file: Path, lines: list[str]) -> bool:
    """Return whether a file with these first lines is output of sacct."""
    if lines and lines[0].lstrip().startswith("{"):
        try:
            return is_accounting(next(json_items(file, "jobs"), None))
        except InputError:
            return False
    return bool(lines and (parse_header(lines[0]) or detect_header(lines, ())))


def _is_log(parse: Parse, _: Path, lines: list[str]) -> bool:
    """Return whether a line is a record of a scheduler's accounting log."""
    return any(map(parse, lines))


_RECOGNISERS: dict[str, Callable[[Path, list[str]], bool]] = {
    PHILLY.name: _is_philly,
    PHILLY_MULTIGPU.name: lambda file, _: file.name == MULTIGPU_JOBS,
    PAI.name: lambda file, _: file.name.startswith("pai_job_table.csv"),
    SLURM.name: _is_sacct,
    KUBERNETES.name: lambda file, lines: is_list(file, lines) or is_pod_metrics(file, lines),
    **{name: partial(_is_log, parse) for name, parse in PARSERS.items()},
}
"""Tests whether a file, by its name and its first lines, is of a source."""
