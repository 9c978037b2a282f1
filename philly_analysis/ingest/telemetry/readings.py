"""Readings on their way to samples: which device told what, when; staged on disk as read."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

MEASURES = ("util_pct", "engine_pct", "sm_active_pct", "mem_used_gb", "power_w", "mem_gb", "job")
"""What a reading may tell; of ``says``, the n-th bit is set where it tells the n-th of them.

``engine_pct`` is the share of time in which the graphics or compute engine was active: what stands
for utilisation where a device, such as a MIG instance, has none. ``mem_gb`` is the memory that the
device has, ``job`` the number of the job that holds it.
"""

MIB = 1048576 / 1e9
"""Gigabytes (10^9 bytes) of a MiB."""

NOTHING = frozenset(("", "n/a", "[n/a]", "err!", "-"))
"""Words that stand for no value; so does anything else in brackets, as [Not Supported]."""

_PART_ROWS = 500_000
READINGS = pa.schema(
    [
        ("number", pa.int64()),
        ("file", pa.int32()),
        ("line", pa.int64()),
        ("series", pa.int32()),
        ("at_us", pa.int64()),
        ("says", pa.int32()),
        *((name, pa.float64()) for name in MEASURES),
    ]
)
_UNREADABLE = pa.schema(
    [
        ("source_file", pa.string()),
        ("source_line", pa.int64()),
        ("reason", pa.string()),
        ("raw", pa.string()),
    ]
)
_RAW_SHOWN = 1_000
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
FROM_US, UNTIL_US = 946684800 * 10**6, 4102444800 * 10**6
"""Moments between which there were such GPUs: of the years 2000 to 2100."""


@dataclass(frozen=True, slots=True)
class Series:
    """What stays the same from reading to reading: whose they are.

    Attributes
    ----------
    hosts
        What may be the name of the machine, the likeliest first.
    gpu
        Index of the GPU; None where it is not told.
    mig_instance, mig_profile
        Which MIG instance of the GPU, where it is one.
    jobs
        What may be the identifier of the job that holds it.
    step_us
        Microseconds from one reading to the next, where the file tells.
    """

    hosts: tuple[str, ...]
    gpu: int | None
    uuid: str | None = None
    bus_id: str | None = None
    model: str | None = None
    mig_instance: str | None = None
    mig_profile: str | None = None
    cluster: str | None = None
    jobs: tuple[str, ...] = ()
    step_us: int | None = None


def is_time(at_us: float) -> bool:
    """Whether microseconds since 1970 are a moment at which there were such GPUs."""
    return FROM_US <= at_us < UNTIL_US


def number(text: str) -> float | None:
    """Return a number as it is printed, with a unit or without; None where there is none.

    Raises
    ------
    ValueError
        The text is neither a number nor one of the words for nothing.

    Examples
    --------
    >>> number(" 45 %"), number("1234 MiB"), number("[Not Supported]")
    (45.0, 1234.0, None)
    """
    word = text.strip()
    if word.lower() in NOTHING or (word.startswith("[") and word.endswith("]")):
        return None
    value, _, unit = word.partition(" ")
    if not _NUMBER.fullmatch(value) or len(unit) > 4:
        raise ValueError(text)
    return float(value)


@dataclass(slots=True)
class Stage:
    """Readings as they come, in parts on disk, and what could not be read."""

    folder: Path
    files: list[str] = field(default_factory=list)
    series: dict[Series, int] = field(default_factory=dict)
    says: dict[int, int] = field(default_factory=dict)
    read: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _blocks: list[pa.Table] = field(default_factory=list)
    _rows: list[tuple[object, ...]] = field(default_factory=list)
    _unreadable: list[tuple[str, int | None, str, str]] = field(default_factory=list)
    _held: int = 0
    _parts: int = 0

    def begin(self, file: str) -> None:
        """Say which file the next readings are from."""
        self.files.append(file)

    def add(self, line: int, series: Series, at_us: int, told: dict[str, float | None]) -> None:
        """Add one reading of a device, of several measures."""
        says = sum(1 << MEASURES.index(name) for name in told)
        n = self._number(series, says)
        values = (None if v is None or math.isnan(v) else v for v in map(told.get, MEASURES))
        self._rows.append((self.read, len(self.files) - 1, line, n, at_us, says, *values))
        self._count(1)

    def add_block(
        self,
        line: int,
        series: Series,
        at_us: npt.NDArray[np.int64],
        measure: str,
        values: npt.NDArray[np.float64],
    ) -> None:
        """Add the readings of one measure of a device, those that are no number as no value."""
        says, n = 1 << MEASURES.index(measure), len(values)
        constant = {
            "file": len(self.files) - 1,
            "line": line,
            "series": self._number(series, says),
            "says": says,
        }
        columns = []
        for name, kind in zip(READINGS.names, READINGS.types, strict=True):
            if name == "number":
                columns.append(pa.array(range(self.read, self.read + n), kind))
            elif name == "at_us":
                columns.append(pa.array(at_us, kind))
            elif name == measure:
                columns.append(pa.array(values, kind, from_pandas=True))
            else:
                columns.append(pa.repeat(pa.scalar(constant.get(name), kind), n))
        self._blocks.append(pa.table(columns, READINGS))
        self._count(n)

    def reject(self, line: int | None, reason: str, raw: str) -> None:
        """Count a record of the file as none that can be read."""
        self._unreadable.append((self.files[-1], line, reason, raw[:_RAW_SHOWN]))
        self._count(1)

    def write(self) -> None:
        """Write what is held to disk."""
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(c, t) for c, t in zip(columns, READINGS.types, strict=True)]
            self._blocks.append(pa.table(arrays, READINGS))
        if self._blocks:
            pq.write_table(
                pa.concat_tables(self._blocks), self.folder / f"readings-{self._parts:05}.parquet"
            )
        if self._unreadable:
            columns = zip(*self._unreadable, strict=True)
            arrays = [pa.array(c, t) for c, t in zip(columns, _UNREADABLE.types, strict=True)]
            pq.write_table(
                pa.table(arrays, _UNREADABLE),
                self.folder / f"unreadable-{self._parts:05}.parquet",
            )
        self._parts += 1
        self._blocks, self._rows, self._unreadable, self._held = [], [], [], 0

    def parts(self, kind: str) -> list[Path]:
        """Files on disk of the readings, or of what is unreadable."""
        return sorted(self.folder.glob(f"{kind}-*.parquet"))

    def series_table(self) -> pa.Table:
        """Return the series, numbered, with what their readings tell."""
        rows = [
            {
                "series": n,
                "says": self.says[n],
                **{name: getattr(s, name) for name in Series.__dataclass_fields__},
            }
            for s, n in self.series.items()
        ]
        texts = pa.list_(pa.string())
        kinds = {"hosts": texts, "jobs": texts, "gpu": pa.int64(), "step_us": pa.int64()}
        fields = [(n, kinds.get(n, pa.string())) for n in Series.__dataclass_fields__]
        return pa.Table.from_pylist(
            rows, pa.schema([("series", pa.int32()), ("says", pa.int32()), *fields])
        )

    def _number(self, series: Series, says: int) -> int:
        n = self.series.setdefault(series, len(self.series))
        self.says[n] = self.says.get(n, 0) | says
        return n

    def _count(self, n: int) -> None:
        self.read += n
        self._held += n
        if self._held >= _PART_ROWS:
            self.write()
