"""Read GPU telemetry: Prometheus responses, exporter scrapes, nvidia-smi and dcgmi dmon.

A folder may mix them, gzipped or not, under any names; each file is detected by its content. The
readings become samples, devices, and the GPUs that attempts held, beside any source's job log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import Read, first_lines, kind_error, read_files
from philly_analysis.ingest.telemetry import dmon, nvidia_smi, prometheus, scrape
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.file_name import parse_name
from philly_analysis.ingest.telemetry.staging import Stage
from philly_analysis.ingest.timezones import find_zone


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Files of telemetry.

    Attributes
    ----------
    files
        The files, in the order in which they are read.
    top
        The given folder, or the folder of the given file.
    zone
        Time zone of files without one.
    """

    files: tuple[Path, ...]
    top: Path
    zone: tzinfo = UTC


def find_telemetry(path: Path | None, clock: str) -> Telemetry | None:
    """Return the files of telemetry at a path, or None without a path.

    Raises
    ------
    InputError
        There is no file at the path, or no such time zone.
    """
    if path is None:
        return None
    zone = find_zone(clock)
    paths = sorted(path.rglob("*")) if path.is_dir() else [path]
    files = tuple(p for p in paths if p.is_file() and not p.name.startswith("."))
    if not files:
        raise InputError(f"no telemetry at {path}: give a file, or a folder of files")
    return Telemetry(files, path if path.is_dir() else path.parent, zone)


def stage_files(telemetry: Telemetry, stage: Stage) -> None:
    """Stage the readings of every file, up to the end of a truncated file.

    Files of another kind are rejected as a whole, with a note.

    Raises
    ------
    InputError
        No file is telemetry.
    """
    clock = Clock(telemetry.zone)
    headers: list[Sequence[str]] = []

    def begin(file: Path) -> None:
        stage.begin(file.name, parse_name(file, telemetry.top, clock))

    detectors = (partial(d, clock, headers, stage) for d in (_detect, _detect_bare))
    refused = read_files(telemetry.files, *detectors, begin=begin)
    if refused and not stage.series:
        raise kind_error(refused, "telemetry")
    for file, reason in refused.items():
        stage.begin(file.name)
        stage.reject(None, "a file that is no telemetry, or was cut off", reason)
        stage.notes.append(f"{file.name}: {reason}")
    if clock.used:
        stage.notes.append(
            f"Times of the telemetry without a zone are read as {telemetry.zone}, the given "
            "telemetry clock."
        )


def _detect(clock: Clock, headers: list[Sequence[str]], stage: Stage, file: Path) -> Read | None:
    """Return what reads a file, or None for one of an unknown kind.

    Raises
    ------
    InputError
        The file is of another kind.
    """
    lines = [line for line in first_lines(file) if line.strip()]
    first = lines[0] if lines else ""
    if first.lstrip().startswith("{"):
        prometheus.check_response(first)
        return partial(prometheus.read_prometheus, stage)
    if columns := nvidia_smi.parse_header(first):
        if missing := nvidia_smi.missing_fields(columns):
            raise InputError(
                f"it lacks {' and '.join(missing)}. Query them: "
                f"nvidia-smi --query-gpu={','.join(nvidia_smi.DEFAULT_FIELDS)} --format=csv"
            )
        headers.append(columns)
        return partial(nvidia_smi.read_nvidia_smi, columns, clock, stage)
    if any(map(dmon.HEADER.fullmatch, lines)):
        return partial(dmon.read_dmon, clock, stage)
    if first.startswith("# HELP") or any(map(scrape.LINE.fullmatch, lines)):
        return partial(scrape.read_scrape, stage)
    return None


def _detect_bare(clock: Clock, headers: list[Sequence[str]], stage: Stage, file: Path) -> Read:
    """Return what reads a file without a header, by another's header or the default fields."""
    lines = [line for line in first_lines(file) if line.strip()]
    for columns in (*headers, nvidia_smi.DEFAULT_FIELDS):
        if 2 * sum(nvidia_smi.is_row(line, columns) for line in lines) > len(lines):
            return partial(nvidia_smi.read_nvidia_smi, columns, clock, stage)
    raise InputError("its first lines are not output of Prometheus, nvidia-smi or dcgmi dmon")
