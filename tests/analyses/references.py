"""Plain-Python references of the relations, minute by minute."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl

from philly_analysis.trace.trace import Trace


def log_end(tables: dict[str, pl.DataFrame]) -> datetime:
    """Last moment that a trace knows of."""
    moments: list[datetime] = tables["jobs"]["submitted_at"].to_list()
    for column in ("started_at", "ended_at"):
        moments += tables["attempts"][column].to_list()
    return max(filter(None, moments))


HeldGpu = tuple[
    dict[tuple[str, int], set[int]], Counter[tuple[str | None, int]], Callable[[datetime], int]
]


def held_minutes(tables: dict[str, pl.DataFrame]) -> HeldGpu:
    """Walk minute by minute.

    Returns
    -------
    tuple
        GPUs busy by (machine, minute), GPUs in use by (VC, minute), and the function that
        numbers minutes from the first submission.
    """
    origin: datetime = min(tables["jobs"]["submitted_at"])
    end = log_end(tables)

    def minute(at: datetime) -> int:
        return round((at - origin).total_seconds() / 60)

    jobs = {r["job_id"]: r for r in tables["jobs"].iter_rows(named=True)}
    last = dict(tables["attempts"].group_by("job_id").agg(pl.max("attempt")).iter_rows())
    busy: dict[tuple[str, int], set[int]] = defaultdict(set)
    used: Counter[tuple[str | None, int]] = Counter()
    spans = {}
    for a in tables["attempts"].iter_rows(named=True):
        until = a["ended_at"]
        if until is None and last[a["job_id"]] == a["attempt"]:
            until = end
        if a["started_at"] is None or until is None:
            continue
        span = spans[a["job_id"], a["attempt"]] = range(minute(a["started_at"]), minute(until))
        for t in span:
            used[jobs[a["job_id"]]["vc"], t] += jobs[a["job_id"]]["gpus"]
    for p in tables["placements"].iter_rows(named=True):
        for t in spans.get((p["job_id"], p["attempt"]), ()):
            busy[p["machine_id"], t].add(p["gpu"])
    return busy, used, minute


def capacities(tables: dict[str, pl.DataFrame]) -> dict[str, int]:
    """GPUs by machine."""
    return dict(tables["machines"].select("machine_id", "gpus").iter_rows())


def trusted_waits(trace: Trace) -> list[dict[str, Any]]:
    """Rows of waits with a trusted wait of a known gang."""
    waits: pl.DataFrame = trace.sql("select * from waits where flag is null and gpus > 0").pl()
    return waits.to_dicts()
