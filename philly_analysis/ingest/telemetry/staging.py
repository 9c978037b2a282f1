"""Stage telemetry readings on disk: device, time and measures."""

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.sql import arrow_table
from philly_analysis.ingest.telemetry.file_name import FileName
from philly_analysis.ingest.trace_builder import REJECTED, Rejected

MEASURES = ("util_pct", "engine_pct", "sm_active_pct", "mem_used_gb", "power_w", "mem_gb", "job")
"""Measures of a reading; the n-th bit of ``says`` is set if the reading has the n-th measure.

``engine_pct`` is the share of time in which the graphics or compute engine was active, in place of
utilisation for devices without it, such as MIG instances. ``mem_gb`` is the device's memory, and
``job`` the number of the job that holds it.
"""

NOTHING = frozenset(("", "n/a", "[n/a]", "err!", "-"))
"""Words for a missing value, like any other in brackets, e.g. [Not Supported]."""

_PART_ROWS = 500_000
READINGS = RAW_TABLES["readings"]
_RAW_CHARS = 1_000
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
FROM_US, UNTIL_US = 946684800 * 10**6, 4102444800 * 10**6
"""Range of valid times: the years 2000 to 2100."""


@dataclass(frozen=True, slots=True)
class Series:
    """Identity of the device of some readings.

    Attributes
    ----------
    hosts
        Possible names of the machine, the likeliest first.
    gpu
        Index of the GPU; None if unknown.
    mig_instance, mig_profile
        MIG instance of the GPU, if it is one.
    jobs
        Possible identifiers of the job that holds it.
    step_us
        Microseconds from one reading to the next, if the file has them.
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
    """Whether microseconds since 1970 are in the range of valid times."""
    return FROM_US <= at_us < UNTIL_US


def scaled_number(text: str, factor: float = 1.0, blank: float | None = None) -> float | None:
    """Return a printed number, with or without a unit, times a factor; None if it is missing.

    Parameters
    ----------
    blank
        Numbers from here on are missing values.

    Raises
    ------
    ValueError
        The text is neither a number nor a word for a missing value.

    Examples
    --------
    >>> scaled_number(" 45 %"), scaled_number("12 W", 0.5), scaled_number("[Not Supported]")
    (45.0, 6.0, None)
    """
    word = text.strip()
    if word.lower() in NOTHING or (word.startswith("[") and word.endswith("]")):
        return None
    value, _, unit = word.partition(" ")
    if not _NUMBER.fullmatch(value) or len(unit) > 4:
        raise ValueError(text)
    number = float(value)
    return None if blank is not None and number >= blank else number * factor


@dataclass(slots=True)
class Stage:
    """Readings in parts on disk, and records that cannot be read.

    Attributes
    ----------
    first_series
        Number of the first series of this ingest.
    file_name
        Parts of the current file's name.
    says
        Measures of each series, see :data:`MEASURES`.
    read
        Readings and unreadable records so far.
    ignored
        Values of metrics that no table has.
    """

    folder: Path
    first_series: int = 0
    files: list[str] = field(default_factory=list)
    file_name: FileName = field(default_factory=FileName)
    series: dict[Series, int] = field(default_factory=dict)
    says: dict[int, int] = field(default_factory=dict)
    read: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _blocks: list[pa.Table] = field(default_factory=list)
    _rows: list[tuple[object, ...]] = field(default_factory=list)
    _unreadable: list[Rejected] = field(default_factory=list)
    _in_memory: int = 0
    _parts: int = 0

    def begin(self, file: str, file_name: FileName | None = None) -> None:
        """Start a file, the origin of the following readings."""
        self.files.append(file)
        self.file_name = file_name or FileName()

    def add(self, line: int, series: Series, at_us: int, values: dict[str, float | None]) -> None:
        """Add one reading of a device, with the values of several measures."""
        says = sum(1 << MEASURES.index(name) for name in values)
        n = self._number(series, says)
        row = (None if v is None or math.isnan(v) else v for v in map(values.get, MEASURES))
        self._rows.append((self.read, len(self.files) - 1, line, n, at_us, says, *row))
        self._count(1)

    def add_block(
        self,
        line: int,
        series: Series,
        at_us: npt.NDArray[np.int64],
        measure: str,
        values: npt.NDArray[np.float64],
    ) -> None:
        """Add the readings of one measure of a device; NaN is a missing value."""
        says, n = 1 << MEASURES.index(measure), len(values)
        constant = {
            "file": len(self.files) - 1,
            "line": line,
            "series": self._number(series, says),
            "says": says,
        }
        varying = {
            "number": pa.array(range(self.read, self.read + n), pa.int64()),
            "at_us": pa.array(at_us, pa.int64()),
            measure: pa.array(values, pa.float64(), from_pandas=True),
        }
        columns = [
            varying[name] if name in varying else pa.repeat(pa.scalar(constant.get(name), kind), n)
            for name, kind in zip(READINGS.names, READINGS.types, strict=True)
        ]
        self._blocks.append(pa.table(columns, READINGS))
        self._count(n)

    def reject(self, line: int | None, reason: str, raw: str) -> None:
        """Add a record of the file that cannot be read."""
        self._unreadable.append((self.files[-1], line, reason, raw[:_RAW_CHARS]))
        self._count(1)

    def write(self) -> None:
        """Write the readings in memory to disk."""
        readings = pa.concat_tables([*self._blocks, arrow_table(self._rows, READINGS)])
        unreadable = arrow_table(self._unreadable, REJECTED)
        for kind, rows in (("readings", readings), ("unreadable", unreadable)):
            pq.write_table(rows, self.folder / f"{kind}-{self._parts:05}.parquet")
        self._parts += 1
        self._blocks, self._rows, self._unreadable, self._in_memory = [], [], [], 0

    def parts(self, kind: str) -> list[Path]:
        """Return the files of ``readings``, or of what is ``unreadable``."""
        return sorted(self.folder.glob(f"{kind}-*.parquet"))

    def series_table(self) -> pa.Table:
        """Return the series, numbered, with their measures."""
        rows = [
            {"series": n, "says": self.says[n]}
            | {name: getattr(s, name) for name in Series.__dataclass_fields__}
            for s, n in self.series.items()
        ]
        return pa.Table.from_pylist(rows, RAW_TABLES["series"])

    def _number(self, series: Series, says: int) -> int:
        n = self.series.setdefault(series, self.first_series + len(self.series))
        self.says[n] = self.says.get(n, 0) | says
        return n

    def _count(self, n: int) -> None:
        self.read += n
        self._in_memory += n
        if self._in_memory >= _PART_ROWS:
            self.write()
