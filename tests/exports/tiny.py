"""Five jobs whose exported files can be written by hand."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import polars.selectors as cs

from philly_analysis.workload import Workload

ORIGIN = datetime(2017, 10, 3, 7)


def at(seconds: float) -> datetime:
    """Return the time that many seconds after the first submission."""
    return ORIGIN + timedelta(seconds=seconds)


Row = tuple[str, int, float, list[tuple[float, float]]]
"""A job: its name, GPUs and submission, and the starts and ends of its attempts, in seconds."""


def workload_of(name: str, rows: Iterable[Row], **columns: Sequence[Any]) -> Workload:
    """Return a workload of jobs, which may have further columns."""
    jobs, attempts = [], []
    for job, gpus, submit_s, spans in rows:
        jobs.append((job, gpus, at(submit_s)))
        attempts += [(job, n, at(s), at(e), gpus) for n, (s, e) in enumerate(spans, 1)]
    named, run = (
        pl.DataFrame(some, names.split(), orient="row").with_columns(cs.integer().cast(pl.Int32))
        for some, names in (
            (jobs, "job_id gpus submitted_at"),
            (attempts, "job_id attempt started_at ended_at gpus"),
        )
    )
    return Workload(name, named.with_columns(**{k: pl.Series(v) for k, v in columns.items()}), run)


TINY = workload_of(
    "tiny",
    [  # run: sum, span, last; GPU-seconds (sum)
        ("a", 1, 0, [(5, 605)]),  # 600; 600
        ("b", 2, 10, [(10, 110), (200, 500)]),  # 400, 490, 300; 800
        ("c", 4, 20, [(30, 4030)]),  # 4,000; 16,000
        ("d", 8, 20, [(30, 36030)]),  # 36,000; 288,000
        ("e", 12, 1000, [(1100, 8300)]),  # 7,200; 86,400
    ],
    vc=["v2", "v1", "v1", "v2", "v1"],
    user=["ann", "bob", "ann", "cid", "bob"],
    status=["Pass", "Failed", "Killed", "Pass", "Pass"],
    time_limit_s=[None, 900.0, None, None, None],
)
GPU_S = 600 + 800 + 16_000 + 288_000 + 86_400
SPAN_S = 1000
