"""Observations of a trace small enough to draw."""

from pathlib import Path

import polars as pl

from philly_analysis.models.observations import Observations
from philly_analysis.trace.trace import Trace
from tests.support.small_traces import ATTEMPTS, JOBS, MACHINES, ORIGIN, PLACEMENTS, at, paper_trace

FAILURES = pl.DataFrame({"job_id": ["b", "c"], "attempt": [1, 1], "reason": ["oom", "disk"]})
SHARED = pl.DataFrame({"job_id": ["d"], "attempt": [1], "machine_id": ["m0"], "gpu": [0]})
SAMPLES = pl.DataFrame(
    {
        "sampled_at": [at(m) for m in range(1, 15)],
        "machine_id": "m0",
        # a runs on GPU 0, shared with d; b runs on 1 and 2 in minutes 1 to 4 and 8 to 13
        "util_pct": [[90.0, 0.0, 49.5, 7.0] if m < 14 else [None] * 4 for m in range(1, 15)],
    },
    schema_overrides={"util_pct": pl.List(pl.Float64)},
)


def test_observations_of_a_trace_by_hand(tmp_path: Path) -> None:
    path = paper_trace(
        tmp_path / "t",
        jobs=pl.concat(
            [JOBS, JOBS.tail(1).with_columns(job_id=pl.lit("d"), gpus=pl.lit(1, pl.Int64))]
        ),
        attempts=pl.concat(
            [ATTEMPTS, ATTEMPTS.head(1).with_columns(job_id=pl.lit("d"), started_at=at(4))]
        ),
        machines=pl.concat(
            [MACHINES, MACHINES.head(1).select(machine_id=pl.lit("cpu"), gpus=pl.lit(0, pl.Int64))]
        ),
        placements=pl.concat([PLACEMENTS, SHARED]),
        failures=FAILURES,
        gpu_samples=SAMPLES,
    )
    with Trace(path, run_policy="sum") as trace:
        data = Observations.of_trace(trace)
        (last, every) = Observations.latest_of_trace(trace, 2)
    jobs = data.jobs.set_index("submitted_s")
    began = (ORIGIN - ORIGIN.__class__(1970, 1, 1)).total_seconds()
    assert list(jobs.index - began) == [0, 60, 120, 120]
    assert jobs["run_s"].tolist()[:2] == [600, 600]
    assert jobs["last_share"].tolist()[:2] == [1, 0.6] and jobs["attempts"].tolist()[:2] == [1, 2]
    assert jobs["censored"].tolist() == [False, False, True, False]
    assert every == 4 and last.jobs["gpus"].tolist() == [8, 1] and last.failures.empty
    some = last.where([False, True])
    assert some.jobs.to_dict("list") == {c: [v] for c, v in last.jobs.iloc[1].items()}
    # the attempt that still runs has no known time to failure
    assert data.failures.fillna(-1).to_numpy().tolist() == [["disk", 8, -1], ["oom", 2, 240]]
    assert data.spreads.to_numpy().tolist() == [[1, 1, 2], [2, 1, 2], [8, 1, 1]]
    assert data.machines.to_numpy().tolist() == [[4, 1], [8, 1]]
    # minutes of GPUs that no other attempt held
    assert data.use.to_numpy().tolist() == [
        [2, 1, "Failed", 0, 10],
        [2, 1, "Failed", 50, 10],
    ]
