"""Read rows of a trace as objects, and group and sum them in plain Python."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np

from philly_analysis.trace.trace import Trace

Row = Any
"""A row, its columns as attributes."""

Out = Iterator[tuple[Any, ...]]
"""Rows of a reference, as tuples."""

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EPOCH = datetime(1970, 1, 1)


class Rows:
    """The rows of each table and relation of a trace, as attributes."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._known: dict[str, list[Row]] = {}

    def __getattr__(self, name: str) -> list[Row]:
        if name not in self._known:
            relation = self.trace.sql(f"from {name}")
            self._known[name] = [
                SimpleNamespace(**dict(zip(relation.columns, row, strict=True)))
                for row in relation.fetchall()
            ]
        return self._known[name]


def by(
    rows: Iterable[Row], key: str | Callable[[Row], tuple[Any, ...]]
) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by columns, or by a function of the row."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row) if callable(key) else tuple(getattr(row, c) for c in key.split())].append(
            row
        )
    return groups


def cube(
    rows: list[Row], names: str, without: Any = None
) -> Iterator[tuple[tuple[Any, ...], list[Row]]]:
    """Group rows by every subset of columns; the others have the value `without`."""
    columns = names.split()
    for n in range(len(columns) + 1) if rows else ():
        for kept in itertools.combinations(columns, n):
            for key, group in by(rows, " ".join(kept)).items():
                values = dict(zip(kept, key, strict=True))
                yield tuple(values.get(c, without) for c in columns), group


def tally(rows: Iterable[tuple[Any, ...]], numbers: int = 1) -> Iterator[tuple[Any, ...]]:
    """Sum the last columns of rows by the others."""
    totals: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0] * numbers)
    for row in rows:
        sums = totals[row[:-numbers]]
        sums[:] = (a + b for a, b in zip(sums, row[-numbers:], strict=True))
    return ((*key, *sums) for key, sums in totals.items())


def column(rows: Iterable[Row], name: str) -> list[Any]:
    """Return the values of a column that are known."""
    return [v for row in rows if (v := getattr(row, name)) is not None]


def total(values: Iterable[float | None]) -> float | None:
    """Sum the known values; None without any."""
    numbers_only = [v for v in values if v is not None]
    return sum(numbers_only) if numbers_only else None


def quantile(values: Iterable[float], q: float) -> float | None:
    """Return the quantile between the two nearest values; None without any."""
    numbers_only = list(values)
    return float(np.quantile(numbers_only, q)) if numbers_only else None


def curve(*key: Any, values: list[float], cols: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return rows of the percentiles 0 to 100 of a group."""
    at = np.percentile(values, range(101)) if values else [None] * 101
    return [(*key, *cols, p, v) for p, v in enumerate(at)]


def seconds(earlier: datetime | None, later: datetime | None) -> float | None:
    """Seconds between two moments; None if one is unknown."""
    return None if earlier is None or later is None else (later - earlier).total_seconds()


def ratio(one: float | None, other: float | None) -> float | None:
    """Quotient; None if one is unknown or the divisor is zero."""
    return None if one is None or not other else one / other


def bucket(gpus: int | None, *ends: int) -> str | None:
    """Bucket of a number of GPUs: the study's gang sizes, unless other ends are given."""
    if not gpus:
        return None
    low = 1
    for end in ends or (1, 4, 8):
        if gpus <= end:
            return str(low) if low == end else f"{low}-{end}"
        low = end + 1
    return f">{low - 1}"


def monday(moment: datetime) -> datetime:
    """Start of the week of a moment."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return day - timedelta(days=day.weekday())


def minute(moment: datetime) -> datetime:
    """Start of the minute of a moment."""
    return moment.replace(second=0, microsecond=0)


def attempts_of(t: Rows) -> dict[str, list[Row]]:
    return {
        j: sorted(some, key=lambda a: a.attempt) for (j,), some in by(t.attempts, "job_id").items()
    }


def keyed(rows: list[Row]) -> dict[tuple[str, int], Row]:
    return {(r.job_id, r.attempt): r for r in rows}


def first(*values: Any) -> Any:
    """The first value that is known."""
    return next((v for v in values if v is not None), None)


def us(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def lasts(run: Row) -> bool:
    """Whether a run, if there is one, has known times and a length above zero."""
    return bool(run and run.started_at and run.until_at and run.until_at > run.started_at)


def trusted_run(r: Row) -> tuple[float | None, float | None]:
    """Seconds and GPU hours of a run, if there is one; None: unknown or not trusted."""
    if r is None or r.flag is not None or r.run_s is None:
        return None, None
    return r.run_s, None if r.gpus is None else r.run_s * r.gpus / 3600


def values(row: Row) -> tuple[Any, ...]:
    """Return the values of a row."""
    return tuple(vars(row).values())
