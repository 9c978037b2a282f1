"""Reads ``nvidia-smi --query-gpu=… --format=csv``, with and without header and units."""

import re
from collections.abc import Sequence
from pathlib import Path

from philly_analysis.ingest.raw_file import line_text, numbered_lines
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.names import Named
from philly_analysis.ingest.telemetry.readings import MIB, Series, Stage, is_time, number

ASKED = (
    "timestamp",
    "index",
    "uuid",
    "utilization.gpu",
    "utilization.memory",
    "memory.used",
    "power.draw",
)
"""The fields that a file without a header is taken to have, in this order."""

_MEASURES = {
    "utilization.gpu": ("util_pct", 1.0),
    "memory.used": ("mem_used_gb", MIB),
    "memory.total": ("mem_gb", MIB),
    "power.draw": ("power_w", 1.0),
    "power.draw.average": ("power_w", 1.0),
}
_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(\.\d+)?")


def columns_of(first: str) -> tuple[str, ...] | None:
    """Return the fields that a header names, or None if it is none."""
    names = tuple(re.sub(r" \[[^\[\]]*\]$", "", part.strip()) for part in first.split(","))
    known = {"timestamp", "index", "gpu_uuid", *ASKED, *_MEASURES}
    return names if len(known & set(names)) >= 2 and not _TIME.search(first) else None


def is_line(text: str, columns: Sequence[str]) -> bool:
    """Whether a line may be one of a file that has these fields and no header."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(columns) or not {"timestamp", "index"} <= set(columns):
        return False
    said = dict(zip(columns, parts, strict=True))
    return bool(_TIME.fullmatch(said["timestamp"])) and said["index"].isdecimal()


def read_nvidia_smi(
    columns: Sequence[str], clock: Clock, path: Path, named: Named, stage: Stage
) -> None:
    """Stage the readings of a file: each line is one of a GPU.

    Raises
    ------
    InputError
        It was cut off.
    """
    known: dict[tuple[str, ...], Series] = {}
    identity = [
        columns.index(name) if name in columns else None
        for name in ("index", "uuid", "pci.bus_id", "name")
    ]
    if identity[1] is None and "gpu_uuid" in columns:
        identity[1] = columns.index("gpu_uuid")
    at = columns.index("timestamp")
    told_at = [(i, *_MEASURES[name]) for i, name in enumerate(columns) if name in _MEASURES]
    for place, line in numbered_lines(path):
        text = line_text(line)
        if not text.strip() or columns_of(text):
            continue
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != len(columns):
            stage.reject(place, "wrong number of fields", text)
            continue
        at_us = clock.at_us(parts[at], of=(path, parts[identity[0] or 0]))
        if at_us is None or not is_time(at_us):
            stage.reject(place, "the timestamp is not a time of that clock", text)
            continue
        key = tuple("" if i is None else parts[i] for i in identity)
        if key not in known:
            index, uuid, bus_id, model = key
            known[key] = Series(
                hosts=named.hosts,
                gpu=int(index) if re.fullmatch(r"\d{1,9}", index) else None,
                uuid=uuid or None,
                bus_id=bus_id or None,
                model=model or None,
                step_us=named.step_us,
            )
        try:
            told = {measure: _times(parts[i], factor) for i, measure, factor in told_at}
        except ValueError:
            stage.reject(place, "a value is not a number", text)
            continue
        stage.add(place, known[key], at_us, told)


def _times(text: str, factor: float) -> float | None:
    value = number(text)
    return None if value is None else value * factor
