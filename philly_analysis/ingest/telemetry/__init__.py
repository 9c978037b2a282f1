"""Telemetry of GPUs: Prometheus' answers, scrapes of exporters, nvidia-smi and dcgmi dmon.

A folder may mix them, gzipped or not, under any names; each file is known by what is in it. What
they tell becomes samples, devices, and which GPU an attempt held, beside any source's job log.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import first_lines
from philly_analysis.ingest.telemetry import dmon, nvidia_smi, prometheus, scrape
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.names import Named, named
from philly_analysis.ingest.telemetry.readings import Stage
from philly_analysis.ingest.timezones import zone_named

Read = Callable[[Path, Named, Stage], None]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Where telemetry is, and how to read it.

    Attributes
    ----------
    files
        The files, in the order in which they are read.
    top
        The folder that was given, or that of the file.
    zone
        Zone of the clocks of files that print none.
    """

    files: tuple[Path, ...]
    top: Path
    zone: tzinfo = UTC


def telemetry_at(path: str | Path | None, clock: str) -> Telemetry | None:
    """Return where telemetry is, and how to read it; None where there is none.

    Raises
    ------
    InputError
        There is no file at the path, or no such time zone.
    """
    if path is None:
        return None
    zone = zone_named(clock)
    given = Path(path)
    found = sorted(p for p in given.rglob("*") if p.is_file()) if given.is_dir() else [given]
    files = tuple(p for p in found if p.is_file() and not p.name.startswith("."))
    if not files:
        raise InputError(f"no telemetry at {given}: give a file, or a folder of files")
    return Telemetry(files, given if given.is_dir() else given.parent, zone)


def stage_files(telemetry: Telemetry, stage: Stage) -> None:
    """Stage the readings of every file, and of one that is cut off what can be read.

    Files that are none are rejected as a whole, and noted.

    Raises
    ------
    InputError
        No file is telemetry.
    """
    clock = Clock(telemetry.zone)
    refused: dict[Path, str] = {}
    headers: list[Sequence[str]] = []
    waiting = list(telemetry.files)
    # a file without a header waits: one beside it may name its fields
    for reader_of in (_reader, _headerless):
        unknown = []
        for file in waiting:
            stage.begin(file.name)
            try:
                read = reader_of(file, clock, headers)
                if read is None:
                    unknown.append(file)
                else:
                    read(file, named(file, telemetry.top, clock), stage)
            except InputError as error:
                refused[file] = str(error)
                stage.reject(None, "a file that is no telemetry, or was cut off", str(error))
        waiting = unknown
    if refused and not stage.series:
        file, why = next(iter(refused.items()))
        more = f" ({len(refused) - 1} more files are none either.)" if len(refused) > 1 else ""
        raise InputError(f"{file} is no telemetry: {why}{more}")
    stage.notes += [f"{file.name}: {why}" for file, why in refused.items()]
    if clock.asked:
        stage.notes.append(
            f"Times of the telemetry that name no zone are read as {telemetry.zone}, "
            "the telemetry clock that was asked for."
        )


def _reader(file: Path, clock: Clock, headers: list[Sequence[str]]) -> Read | None:
    """Return what reads a file, or None where nothing in it tells.

    Raises
    ------
    InputError
        It is something else.
    """
    lines = [line for line in first_lines(file) if line.strip()]
    first = lines[0] if lines else ""
    if first.lstrip().startswith("{"):
        prometheus.check_answer(first)
        return prometheus.read_prometheus
    if columns := nvidia_smi.columns_of(first):
        if missing := [name for name in ("timestamp", "index") if name not in columns]:
            raise InputError(
                f"it lacks {' and '.join(missing)}. Ask for them: "
                f"nvidia-smi --query-gpu={','.join(nvidia_smi.ASKED)} --format=csv"
            )
        headers.append(columns)
        return partial(nvidia_smi.read_nvidia_smi, columns, clock)
    if any(map(dmon.HEADER.fullmatch, lines)):
        return partial(dmon.read_dmon, clock)
    if first.startswith("# HELP") or any(map(scrape.LINE.fullmatch, lines)):
        return scrape.read_scrape
    return None


def _headerless(file: Path, clock: Clock, headers: list[Sequence[str]]) -> Read | None:
    lines = [line for line in first_lines(file) if line.strip()]
    for columns in (*headers, nvidia_smi.ASKED):
        if 2 * sum(nvidia_smi.is_line(line, columns) for line in lines) > len(lines):
            return partial(nvidia_smi.read_nvidia_smi, columns, clock)
    raise InputError(
        "its first lines are neither Prometheus' nor those of nvidia-smi or dcgmi dmon"
    )
