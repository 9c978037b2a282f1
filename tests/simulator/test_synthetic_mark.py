"""Check that recorded jobs are not called synthetic when another policy schedules them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from philly_analysis import Trace, Workload, analyze, experiment, sample, simulate, sweep


@pytest.fixture(scope="module")
def recorded() -> Trace:
    """Return a trace of recorded jobs."""
    submitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(120) * 900, unit="s")
    return Trace(
        pd.DataFrame(
            {
                "job_id": [f"j{i}" for i in range(120)],
                "gpus": np.tile([1, 2], 60),
                "submitted_at": submitted,
                "started_at": submitted,
                "ended_at": submitted + pd.to_timedelta(1_000 + np.arange(120), unit="s"),
            }
        )
    )


def test_recorded_jobs_under_another_policy_are_recorded_jobs(recorded: Trace) -> None:
    assert not Workload.from_trace(recorded).synthetic
    fifo = simulate(recorded, "fifo", cluster=8)
    assert not fifo.manifest.synthetic
    assert not analyze(fifo, "run_time").synthetic
    drawn = sample("literature", jobs=30, seed=1)
    assert simulate(drawn, "fifo", cluster=64).manifest.synthetic


@pytest.mark.slow
def test_a_sweep_is_as_synthetic_as_its_jobs(recorded: Trace) -> None:
    assert not sweep(recorded, ["fifo", "easy"], cluster=8).synthetic
    drawn = sample("literature", jobs=30, seed=1)
    assert sweep(drawn, ["fifo", "easy"], cluster=64).synthetic


@pytest.mark.slow
def test_an_experiment_on_recorded_jobs_is_not_synthetic(recorded: Trace) -> None:
    models: Any = [recorded]
    [result] = experiment("synergy", models=models, seeds=1).values()
    assert not result.synthetic
