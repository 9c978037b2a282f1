"""Compare completion times of repeated jobs, and under speed models, with drawn examples."""

from datetime import datetime, timedelta

import pandas as pd
import pytest

from philly_analysis import Trace
from philly_analysis.errors import InputError
from philly_analysis.forecasts import (
    Request,
    WaitDistribution,
    completion_sentence,
    completion_times,
    draw_completion,
    passed_runs,
    read_queue,
    run_times_by_gang,
    scaled_runs,
)
from philly_analysis.results import Result
from philly_analysis.simulator import Locality, Parallelism

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
        runs = run_times_by_gang(passed_runs(trace, read_queue(trace))).set_index("gpus")
        assert runs.loc[8, "ratio"] == pytest.approx(3 / 4)
        assert runs.loc[8, "kinds"] == 6
        assert runs.loc[2, "run_s"] == pytest.approx(4 * 3_600)
        waits = {2.0: WaitDistribution((0,), (1.0,)), 8.0: WaitDistribution((7_200,), (1.0,))}
        table = completion_times(runs.reset_index(), waits)
    assert table["completion_s"].to_list() == pytest.approx([4 * 3_600, 5 * 3_600])
    [ax] = draw_completion(Result("completion", table)).axes
    ends = [bar.get_window_extent().x1 for bar in ax.patches]
    [hours] = ax.transData.inverted().transform([(x, 0) for x in ends])[:, :1].T
    assert hours == pytest.approx([0, 2, 4, 5])
    assert completion_sentence(table, 8, "repeated job") == (
        "Fewer GPUs end sooner: a typical repeated job ends 4 h after its submission on 2 GPUs, "
        "and 5 h on 8 GPUs. Completion time by gang size: 2 GPUs 4 h; 8 GPUs 5 h."
    )


@pytest.mark.parametrize(("kinds", "job_type"), [(4, True), (6, False)])
def test_a_log_without_enough_repeated_jobs_is_silent(kinds: int, job_type: bool) -> None:
    with repeated(kinds, job_type=job_type) as trace:
        runs = run_times_by_gang(passed_runs(trace, read_queue(trace)))
    assert runs.empty
    assert completion_sentence(completion_times(runs, {}), 8, "job") == ""


def test_runs_that_end_after_the_moment_do_not_count() -> None:
    with repeated(6) as trace:
        queue = read_queue(trace)
        moment = queue.end_s - 3_600 * 0.15  # five of six runs a kind on 2 GPUs end before
        known = passed_runs(trace, queue.until(moment))
        assert len(passed_runs(trace, queue)) == 60
    assert known.groupby("gpus").size().to_dict() == {2: 6 * 3, 8: 6 * 5}


def runs_of(gpus: int, job_type: str | None, users: dict[str, int]) -> pd.DataFrame:
    """Return passed runs of an hour."""
    rows = [(f"{u}{i}", u, job_type, gpus, 3_600.0) for u, n in users.items() for i in range(n)]
    return pd.DataFrame(rows, columns=["job_id", "user", "job_type", "gpus", "run_s"])


def test_measured_scaling_gives_the_run_time_on_other_sizes() -> None:
    """The seconds are those of scaling.csv: 48 samples a step, and 12 at most on a GPU at once."""
    table, sentence = scaled_runs(
        runs_of(4, "bert", {"a": 30}), Parallelism(), Request(4), [1, 2, 4, 8, 0.5]
    )
    step_s = {
        1: 0.9215 + 3 * (0.9215 - 0.0137),  # four passes, the last one synchronises
        2: 0.919 + (0.919 - 0.05467),
        4: 0.9571,
        8: 2.489,
    }
    assert table.set_index("gpus")["run_s"].to_dict() == pytest.approx(
        {gpus: 3_600 * seconds / step_s[4] for gpus, seconds in step_s.items()}
    )
    assert sentence.startswith(
        "Run times on other sizes are computed from 30 passed runs on 4 GPUs by the speed model "
        "Parallelism: by the number of GPUs"
    )
    waits = {2.0: WaitDistribution((60,), (1.0,)), 4.0: WaitDistribution((7_200,), (1.0,))}
    assert completion_sentence(completion_times(table, waits), 4, "job") == (
        "Fewer GPUs end sooner: a typical job ends 113 min after its submission on 2 GPUs, and 3 h "
        "on 4 GPUs. Completion time by gang size: 2 GPUs 113 min; 4 GPUs 3 h."
    )


def test_runs_of_the_asked_user_count_where_they_suffice() -> None:
    runs = pd.concat([runs_of(2, None, {"a": 20, "b": 30}), runs_of(4, None, {"a": 90})])
    speed = Parallelism(alpha=0.5, models=())
    for request, jobs in ((Request(2, user="a"), 20), (Request(2, user="c"), 50), (Request(2), 50)):
        table, sentence = scaled_runs(runs, speed, request, [2, 8])
        assert table["jobs"].to_list() == [jobs, jobs]
        assert table["run_s"].to_list() == pytest.approx([3_600, 1_800])  # 4 ** -0.5 is a half
        assert f"{jobs} runs have no recorded kind of job" in sentence
    table, sentence = scaled_runs(runs_of(2, None, {"a": 19}), speed, Request(2), [2, 8])
    assert table.empty
    assert sentence.endswith("need 20 passed runs on 2 GPUs; the log has 19.")


def test_a_speed_model_that_ignores_the_gang_size_is_refused() -> None:
    with pytest.raises(InputError, match="Locality does not depend on the gang size"):
        scaled_runs(runs_of(2, None, {"a": 20}), Locality(), Request(2), [1, 2, 16])
