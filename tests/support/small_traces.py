"""A trace of three jobs on two machines: one retried job, one still running."""

from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.writer import write_trace

ORIGIN = datetime(2017, 10, 3)


def at(minutes: float) -> datetime:
    """Return the time so many minutes after the trace's origin."""
    return ORIGIN + timedelta(minutes=minutes)


JOBS = pl.DataFrame(
    {
        "job_id": ["a", "b", "c"],
        "vc": ["x", "x", "y"],
        "user": ["ann", "bob", "bob"],
        "gpus": [1, 2, 8],
        "submitted_at": [at(0), at(1), at(2)],
        "status": ["Pass", "Failed", None],
    }
)
# a waits 5 min and runs 10; b runs 4, waits 3, runs 6; c still runs when the log ends
ATTEMPTS = pl.DataFrame(
    {
        "job_id": ["a", "b", "b", "c"],
        "attempt": [1, 1, 2, 1],
        "started_at": [at(5), at(1), at(8), at(4)],
        "ended_at": [at(15), at(5), at(14), None],
        "gpus": [1, 2, 2, 8],
    }
)
MACHINES = pl.DataFrame({"machine_id": ["m0", "m1"], "gpus": [4, 8]})
PLACEMENTS = pl.DataFrame(
    {
        "job_id": ["a", "b", "b", "b", "b", *["c"] * 8],
        "attempt": [1, 1, 1, 2, 2, *[1] * 8],
        "machine_id": ["m0"] * 5 + ["m1"] * 8,
        "gpu": [0, 1, 2, 1, 2, *range(8)],
    }
)


def paper_trace(out: Path, **tables: pl.DataFrame) -> Path:
    """Write the trace, with some tables replaced or added."""
    merged = {
        "jobs": JOBS,
        "attempts": ATTEMPTS,
        "machines": MACHINES,
        "placements": PLACEMENTS,
    } | tables
    return write_trace(out, merged, Manifest(name="paper", source="test", synthetic=True))
