"""Compare completion times of repeated jobs with a drawn example."""

from datetime import datetime, timedelta

import pandas as pd
import pytest

from philly_analysis import Trace
from philly_analysis.forecasts import (
    WaitDistribution,
    completion_sentence,
    completion_times,
    run_times_by_gang,
)

BEGIN = datetime(2026, 3, 2)


def repeated(kinds: int, *, job_type: bool = True) -> Trace:
    """Return kinds of jobs that run 4 h on 2 GPUs and 3 h on 8, five times each."""
    jobs, attempts = [], []
    for kind in range(kinds):
        for gpus, hours in ((2, 4), (8, 3)):
            for n in range(5):
                name = f"k{kind}-{gpus}-{n}"
                jobs.append((name, f"u{kind}", gpus, BEGIN, "Pass", "net" if job_type else None))
                attempts.append((name, 1, BEGIN, BEGIN + timedelta(hours=hours + 0.1 * (n - 2))))
    columns = ["job_id", "user", "gpus", "submitted_at", "status", "job_type"]
    return Trace(
        {
            "jobs": pd.DataFrame(jobs, columns=columns),
            "attempts": pd.DataFrame(
                attempts, columns=["job_id", "attempt", "started_at", "ended_at"]
            ),
        }
    )


def test_fewer_gpus_end_sooner_where_the_wait_is_longer_than_the_gain() -> None:
    with repeated(6) as trace:
        runs = run_times_by_gang(trace).set_index("gpus")
        assert runs.loc[8, "ratio"] == pytest.approx(3 / 4)
        assert runs.loc[8, "kinds"] == 6
        assert runs.loc[2, "run_s"] == pytest.approx(4 * 3_600)
        waits = {2.0: WaitDistribution((0,), (1.0,)), 8.0: WaitDistribution((7_200,), (1.0,))}
        table = completion_times(runs.reset_index(), waits)
    assert table["completion_s"].to_list() == pytest.approx([4 * 3_600, 5 * 3_600])
    assert completion_sentence(table, 8) == (
        "Fewer GPUs end sooner: a typical repeated job ends 4 h after its submission on 2 GPUs, "
        "and 5 h on 8 GPUs."
    )


@pytest.mark.parametrize(("kinds", "job_type"), [(4, True), (6, False)])
def test_a_log_without_enough_repeated_jobs_is_silent(kinds: int, job_type: bool) -> None:
    with repeated(kinds, job_type=job_type) as trace:
        runs = run_times_by_gang(trace)
    assert runs.empty
    assert completion_sentence(completion_times(runs, {}), 8) == ""
