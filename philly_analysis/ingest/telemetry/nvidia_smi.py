"""Read ``nvidia-smi --query-gpu=… --format=csv``, with or without header and units."""

import re
from collections.abc import Sequence
from pathlib import Path

from philly_analysis.ingest.raw_file import text_lines
from philly_analysis.ingest.telemetry.clock import Clock
from philly_analysis.ingest.telemetry.metrics import NVIDIA_SMI
from philly_analysis.ingest.telemetry.staging import Series, Stage, is_time, scaled_number

DEFAULT_FIELDS = (
    *("timestamp", "index", "uuid", "utilization.gpu", "utilization.memory"),
    *("memory.used", "power.draw"),
)
"""Fields that a file without a header is assumed to have, in this order."""

_BUS_ID = ("pci.bus_id", "gpu_bus_id")
_IDENTITY = (("index",), ("uuid", "gpu_uuid"), _BUS_ID, ("name", "gpu_name"))
_NEEDED = {"timestamp": ("timestamp",), "index": ("index", *_BUS_ID)}

_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(\.\d+)?")


def parse_header(first: str) -> tuple[str, ...] | None:
    """Return the fields of a header, or None if the line is none."""
    names = tuple(re.sub(r" \[[^\[\]]*\]$", "", part.strip()) for part in first.split(","))
    fields = {"timestamp", "index", "gpu_uuid", *DEFAULT_FIELDS, *NVIDIA_SMI}
    return names if len(fields & set(names)) >= 2 and not _TIME.search(first) else None


def missing_fields(columns: Sequence[str]) -> list[str]:
    """Return the fields that readings need: a time, and an index or bus id."""
    return [name for name, fields in _NEEDED.items() if not {*fields} & {*columns}]


def is_row(text: str, columns: Sequence[str]) -> bool:
    """Whether a line may be a row with these fields."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != len(columns):
        return False
    values = dict(zip(columns, parts, strict=True))
    return bool(_TIME.fullmatch(values["timestamp"])) and values.get("index", "0").isdecimal()


def read_nvidia_smi(columns: Sequence[str], clock: Clock, stage: Stage, path: Path) -> None:
    """Stage the readings of a file: each line is one of a GPU.

    Raises
    ------
    InputError
        The file is truncated.
    """
    series: dict[tuple[str, ...], Series] = {}
    identity = [
        next((columns.index(name) for name in names if name in columns), None)
        for names in _IDENTITY
    ]
    at = columns.index("timestamp")
    measures = [(i, *NVIDIA_SMI[name]) for i, name in enumerate(columns) if name in NVIDIA_SMI]
    for number, text in text_lines(path):
        if not text.strip() or parse_header(text):
            continue
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != len(columns):
            stage.reject(number, "wrong number of fields", text)
            continue
        key = tuple("" if i is None else parts[i] for i in identity)
        at_us = clock.at_us(parts[at], of=(path, key))
        if at_us is None or not is_time(at_us):
            stage.reject(number, "the timestamp is not a time of that clock", text)
            continue
        if key not in series:
            index, uuid, bus_id, model = key
            series[key] = Series(
                hosts=stage.file_name.hosts,
                gpu=int(index) if re.fullmatch(r"\d{1,9}", index) else None,
                uuid=uuid or None,
                bus_id=bus_id or None,
                model=model or None,
                step_us=stage.file_name.step_us,
            )
        try:
            measured = {name: scaled_number(parts[i], factor) for i, name, factor in measures}
        except ValueError:
            stage.reject(number, "a value is not a number", text)
            continue
        stage.add(number, series[key], at_us, measured)
