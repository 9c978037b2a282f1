"""Forecast a plain cluster: coverage, loss, what is known at a moment, and what is refused."""

import heapq
import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import Trace, forecast, reliability
from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.forecasts import Believed, Forecast, Request, backtest, read_queue
from philly_analysis.forecasts.believed import Replays
from philly_analysis.forecasts.state import submission_states
from philly_analysis.results import Result
from tests.support.clusters import write_tables
from tests.support.command_line import run

BEGIN = datetime(2026, 3, 2)
JOBS, GPUS = 300, 16


def plain_fifo(jobs: int = JOBS, seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the jobs and attempts of a cluster that starts jobs strictly in order."""
    rng = random.Random(seed)
    free, clock, moment = GPUS, 0.0, 0.0
    running: list[tuple[float, int]] = []
    submitted, attempts = [], []
    for i in range(jobs):
        moment += rng.expovariate(1 / 560)
        gpus = rng.choice([1, 1, 2, 8])
        run_s = rng.lognormvariate(7, 1)
        clock = max(clock, moment)
        while free < gpus or (running and running[0][0] <= clock):
            end_s, held = heapq.heappop(running)
            clock, free = max(clock, end_s), free + held
        free -= gpus
        heapq.heappush(running, (clock + run_s, gpus))
        at = [BEGIN + timedelta(seconds=round(s)) for s in (moment, clock, clock + run_s)]
        submitted.append((f"j{i:04}", "p", f"u{i % 5}", gpus, at[0], "Pass"))
        attempts.append((f"j{i:04}", 1, at[1], at[2]))
    columns = ["job_id", "vc", "user", "gpus", "submitted_at", "status"]
    return (
        pd.DataFrame(submitted, columns=columns),
        pd.DataFrame(attempts, columns=["job_id", "attempt", "started_at", "ended_at"]),
    )


def untried(_: float) -> str:
    """Return why no policy is tried."""
    return "the test is about the conditional forecast"


def opened(jobs: pd.DataFrame, attempts: pd.DataFrame) -> Trace:
    return Trace({"jobs": jobs, "attempts": attempts})


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Grow ten trees in place of a hundred: the tests are about the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("philly_analysis.forecasts.forest.TREES", 10)
        yield


@pytest.fixture(scope="module")
def trace() -> Iterator[Trace]:
    """Return the trace, whose last five jobs still wait."""
    jobs, attempts = plain_fifo()
    waiting = jobs["job_id"].tail(5)
    jobs.loc[jobs["job_id"].isin(waiting), "status"] = None
    with opened(jobs, attempts[~attempts["job_id"].isin(waiting)]) as trace:
        yield trace


@pytest.fixture(scope="module")
def answer(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Forecast:
    return forecast(trace, tmp_path_factory.mktemp("page") / "page", gpus=8)


def test_a_forecast_is_a_distribution_with_a_sentence(answer: Forecast) -> None:
    assert answer.cdf(answer.ppf(0.5)) >= 0.5
    low, high = answer.interval(0.9)
    assert low <= answer.median() <= high
    assert answer.mean() == pytest.approx(answer.rvs(50_000, random_state=1).mean(), rel=0.05)
    assert str(answer) == answer.sentence
    assert str(answer).startswith("A job of 8 GPUs, submitted 2026-03-")
    assert set(answer.result.table["gpus"]) == {1, 2, 8}


def test_the_sentences_say_why_the_queue_is_not_simulated(answer: Forecast) -> None:
    assert "not simulated: the log does not record the servers." in " ".join(
        answer.result.sentences
    )


def test_the_table_has_nested_intervals_of_each_gang_size(answer: Forecast) -> None:
    table = answer.result.table
    ends = table[["low_90_s", "low_50_s", "median_s", "high_50_s", "high_90_s"]]
    assert (ends.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    assert (table["within_5_min"] <= table["within_1_h"]).all()


def test_the_backtest_beats_the_climatology_and_covers(answer: Forecast) -> None:
    table = answer.backtest
    overall: Any = table[table["gang"].isna()].set_index("method")
    assert overall.loc["chosen", "ratio"] < 0.85
    assert overall.loc["climatology", "ratio"] == 1
    assert overall.loc["chosen", "jobs"] == pytest.approx(JOBS / 5, abs=6)
    assert overall.loc["chosen", "covered_90_pct"] > 82
    assert overall.loc["chosen", "covered_50_pct"] > 38


@pytest.mark.slow
def test_intervals_cover_on_average_over_logs() -> None:
    covered = []
    for seed in range(1, 6):
        with opened(*plain_fifo(600, seed)) as trace:
            queue = read_queue(trace)
        states = submission_states(queue, queue.jobs.assign(ahead=np.arange(len(queue.jobs))))
        table = backtest(queue, states, untried).table()
        chosen: Any = table[table["gang"].isna() & (table["method"] == "chosen")]
        covered.append(chosen[["covered_50_pct", "covered_90_pct"]].iloc[0])
    means = pd.DataFrame(covered).mean()
    assert means["covered_50_pct"] == pytest.approx(50, abs=8)
    assert means["covered_90_pct"] == pytest.approx(90, abs=5)


def test_the_page_has_the_forecast_the_week_and_the_backtest(answer: Forecast) -> None:
    assert answer.result.write_page is not None
    assert {"gang", "day", "hour", "median_s"} <= set(answer.week)
    assert len(answer.week) == 168 * answer.week["gang"].nunique()


@pytest.mark.slow
def test_a_pending_job_has_a_forecast_of_its_remaining_wait(trace: Trace) -> None:
    table = forecast(trace, pending=True)
    assert isinstance(table, Result)
    assert list(table.table["job_id"]) == [f"j{i:04}" for i in range(JOBS - 5, JOBS)]
    assert (table.table["low_90_s"] >= 0).all()
    queue = read_queue(trace)
    waited = queue.end_s - queue.jobs["entered_s"].tail(5)
    assert table.table["waited_s"].to_numpy() == pytest.approx(waited.to_numpy())


@pytest.mark.slow
def test_a_forecast_at_a_moment_does_not_know_what_follows() -> None:
    jobs, attempts = plain_fifo(150)
    moment = "2026-03-02 12:00"
    later = attempts["started_at"] >= moment
    attempts_else = attempts.assign(
        started_at=attempts["started_at"].where(
            ~later, attempts["started_at"] + pd.Timedelta("9h")
        ),
        ended_at=attempts["ended_at"].where(
            attempts["ended_at"] < moment, attempts["ended_at"] + pd.Timedelta("30h")
        ),
    )
    answers = []
    for rows in (attempts, attempts_else):
        with opened(jobs, rows) as trace:
            answers.append(forecast(trace, gpus=2, at=moment))
    assert answers[0].waits == answers[1].waits
    assert answers[0].shares == answers[1].shares


def test_a_backtest_never_reads_the_tested_waits_in_training() -> None:
    jobs, attempts = plain_fifo(200)
    with opened(jobs, attempts) as trace:
        queue = read_queue(trace)
    states = submission_states(queue, queue.jobs.assign(ahead=np.arange(len(queue.jobs))))
    whole = backtest(queue, states, untried).outcomes
    assert (whole["part"] == "test").sum() == 40 * whole["method"].nunique()
    first = queue.until(float(queue.entered_s[160]))
    part = backtest(queue, states, untried).outcomes
    assert len(first.jobs) == 160
    pd.testing.assert_frame_equal(part, whole)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"started_at": "ended_at"}, None),
        ({}, "every job starts in the second"),
    ],
)
def test_a_log_without_waits_says_so(change: dict[str, str], match: str | None) -> None:
    jobs, attempts = plain_fifo(80)
    if match:
        attempts["started_at"] = jobs["submitted_at"]
    else:
        attempts = attempts.assign(
            started_at=pd.Series(dtype="datetime64[us]"),
            ended_at=pd.Series(dtype="datetime64[us]"),
            run_s=60.0,
        )
    with (
        opened(jobs, attempts) as trace,
        pytest.raises(InputError, match=match or "no job has a submission and a start"),
    ):
        forecast(trace)


def test_few_waits_are_refused_with_their_number() -> None:
    with opened(*plain_fifo(30)) as trace, pytest.raises(InputError, match="records 30 waits"):
        forecast(trace)


def test_unknown_names_and_times_are_errors(trace: Trace) -> None:
    with pytest.raises(UnknownNameError, match="no virtual cluster named 'q'"):
        forecast(trace, vc="q")
    with pytest.raises(InputError, match="after the end of the log"):
        forecast(trace, at="2030-01-01")
    with pytest.raises(InputError, match="gpus is 0"):
        forecast(trace, gpus=0)


def test_a_request_reads_as_a_sentence() -> None:
    request = Request(4, vc="p", servers=2, time_limit_s=7_200)
    assert str(request) == (
        "A job of 4 GPUs in virtual cluster p on 2 servers with a time limit of 2 h"
    )


def test_the_command_prints_sentences_and_the_weekly_table(tmp_path: Path) -> None:
    jobs, attempts = plain_fifo(80)
    tables = {"jobs": pl.from_pandas(jobs), "attempts": pl.from_pandas(attempts)}
    folder = write_tables(tmp_path / "trace", tables)
    rows: list[dict[str, Any]] = json.loads(run("forecast", folder, "--week", "--json"))
    assert {row["gang"] for row in rows} == {"1", "2-4", "5-8"}
    printed = run("forecast", folder, "--gpus", "2", "--time-limit", "8h")
    assert "A job of 2 GPUs with a time limit of 8 h" in printed


def test_reliability_is_the_finding() -> None:
    jobs, attempts = plain_fifo(80)
    with opened(jobs, attempts.assign(end_reason="node_failure")) as trace:
        found = reliability(trace)
    assert found.name == "reliability"
    assert found.table["failures"].max() == 80


def test_times_of_checkpoints_and_waits_can_be_given(tmp_path: Path) -> None:
    jobs, attempts = plain_fifo(80)
    tables = {"jobs": pl.from_pandas(jobs), "attempts": pl.from_pandas(attempts)}
    tables["attempts"] = tables["attempts"].with_columns(end_reason=pl.lit("node_failure"))
    folder = write_tables(tmp_path / "trace", tables)
    usual = reliability(folder).table
    answer = reliability(folder, checkpoint_s=600, write_s=0, recovery_s=60, wait_s=0)
    [row] = answer.table[answer.table["gpus"] == 8].to_dict("records")
    # Daly's equation without writing: exp(-u/M) x/(exp(x) - 1) with x = 600 s / M
    x = 600 / row["mttf_s"]
    assert row["ratio"] == pytest.approx(np.exp(-60 / row["mttf_s"]) * x / np.expm1(x))
    assert row["ratio_with_wait"] == row["ratio"]
    assert "Given are a checkpoint after 10 min of work" in answer.caveats[1]
    pd.testing.assert_frame_equal(reliability(folder).table, usual)  # not from given times
    printed = run("reliability", folder, "--wait-s", "0")
    assert "ratio_with_wait" in printed and "per_1000_part_days" in printed
    assert max(map(len, printed.splitlines())) <= 240
    rows: list[dict[str, Any]] = json.loads(run("reliability", folder, "--json"))
    assert set(rows[0]) == set(usual)
    with pytest.raises(InputError, match="wait_s is -1"):
        reliability(folder, wait_s=-1)


@pytest.mark.slow
def test_the_queue_is_simulated_where_a_policy_reproduces_the_waits() -> None:
    jobs, attempts = plain_fifo(400)
    machines = pd.DataFrame({"machine_id": ["m"], "gpus": [GPUS]})
    with Trace({"jobs": jobs, "attempts": attempts, "machines": machines}) as trace:
        answer = forecast(trace, gpus=8)
    assert "uses simulations of the queue" in " ".join(answer.result.sentences)
    overall: Any = answer.backtest[answer.backtest["gang"].isna()].set_index("method")
    assert overall.loc["replay", "ratio"] < overall.loc["last wait", "ratio"]
    assert overall.loc["chosen", "ratio"] == overall.loc["replay", "ratio"]


@pytest.mark.slow
def test_jobs_of_a_strict_queue_start_in_order_in_each_simulation() -> None:
    jobs, attempts = plain_fifo(400)
    begun = attempts["started_at"].to_numpy()
    waiting = [int(((jobs["submitted_at"] < t) & (begun >= t)).sum()) for t in jobs["submitted_at"]]
    at = jobs["submitted_at"][int(np.argmax(waiting))]
    machines = pd.DataFrame({"machine_id": ["m"], "gpus": [GPUS]})
    at_s = at.timestamp() if at.tzinfo else at.tz_localize("UTC").timestamp()
    with Trace({"jobs": jobs, "attempts": attempts, "machines": machines}) as trace:
        queue = read_queue(trace).until(at_s)
        believed = Believed.fit(trace, at_s)
    assert isinstance(believed, Believed) and believed.name == "first come, first served"
    rows = queue.jobs[~np.isfinite(queue.jobs["left_s"])].to_dict("records")
    replays = Replays.after(believed, queue, at_s)
    waits = np.array(replays.waits(rows, len(queue.jobs), at_s))
    assert len(rows) == max(waiting) > 5
    assert (np.diff(waits, axis=0) >= 0).all()
    assert np.ptp(waits, axis=1).all()
