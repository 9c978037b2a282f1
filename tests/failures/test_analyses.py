"""Check findings on failures: known answers on drawn attempts."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import polars as pl
import pytest

from philly_analysis.analyses import (
    failure_costs,
    failure_reasons,
    failure_repetition,
    failure_statuses,
    time_to_failure,
)
from philly_analysis.failures import tiers_of
from philly_analysis.results import Result
from philly_analysis.trace.trace import Trace
from tests.support.clusters import COLUMNS, MakeTrace, frame

# a fails twice on 4 GPUs (2 min, then 60 min) and passes; b fails three times on 1 GPU (10 min
# each); c fails on 8 GPUs after 100 min; d is killed on 2 GPUs and has no output
DRAWN_JOBS = [
    ("a", "v", "ann", 4, 0, "Pass"),
    ("b", "v", "bob", 1, 0, "Failed"),
    ("c", "v", "bob", 8, 0, "Failed"),
    ("d", "v", "ann", 2, 0, "Killed"),
]
# job, attempt, start, end, reason of its failure
DRAWN = [
    ("a", 1, 0, 2, "Import error"),
    ("a", 2, 10, 70, "CUDA failure"),
    ("a", 3, 80, 180, None),
    ("b", 1, 0, 10, "Import error"),
    ("b", 2, 20, 30, "Import error"),
    ("b", 3, 40, 50, "Import error"),
    ("c", 1, 0, 100, "No signature"),
    ("d", 1, 0, 30, None),
]


def failures_of(rows: list[tuple[str, int, str]]) -> pl.DataFrame:
    return frame(
        "failures",
        ("job_id", "attempt", "reason", "tier"),
        [(job, n, reason, "+".join(tiers_of(reason))) for job, n, reason in rows],
    )


@pytest.fixture
def drawn(make_trace: MakeTrace) -> Trace:
    failures = failures_of([(job, n, reason) for job, n, _, _, reason in DRAWN if reason])
    return make_trace(DRAWN_JOBS, [row[:4] for row in DRAWN], failures=failures)


def _row(result: Result, reason: str) -> dict[Hashable, Any]:
    [row] = result.table[result.table["reason"] == reason].to_dict("records")
    return row


def test_table_7_of_a_drawn_cluster(drawn: Trace) -> None:
    result = failure_reasons.compute(drawn)
    reasons = ["Import error", "CUDA failure", "No signature", "all"]
    assert result.table["reason"].tolist() == reasons
    row = _row(result, "Import error")
    # 2 min on 4 GPUs and three times 10 min on 1: 32 of 192 minutes, 38 of 1078 GPU minutes
    assert (row["trials"], row["jobs"], row["users"], row["tier"]) == (4, 2, 2, "IF+U")
    assert (row["gpus_1"], row["gpus_2_4"], row["gpus_over_4"]) == (3, 1, 0)
    assert row["rtf_p50_s"] == 600
    assert row["rtf_share_pct"] == pytest.approx(100 * 32 / 192)
    assert row["gpu_h_share_pct"] == pytest.approx(100 * 38 / (38 + 240 + 800))
    total = _row(result, "all")
    assert (total["trials"], total["jobs"], total["users"]) == (6, 3, 2)
    assert total["gpu_h"] == pytest.approx(1078 / 60)
    assert result.fact("no_signature_pct") == pytest.approx(100 / 6)
    assert result.fact("tier_AE_pct") == pytest.approx(100 / 6)


def test_repetition_per_job_and_user(drawn: Trace) -> None:
    result = failure_repetition.compute(drawn)
    row = _row(result, "Import error")
    assert (row["trials_per_job"], row["trials_per_user"]) == (2, 2)
    assert row["top_user_pct"] == 75
    # over the three rows: 6 trials, 2 + 1 + 1 jobs, 2 + 1 + 1 users
    assert (result.fact("trials_per_job"), result.fact("trials_per_user")) == (1.5, 1.5)
    assert (result.fact("top"), result.fact("top_trials_pct")) == (3, 100)
    assert "Import error recurs most for the same user: 2.0 times" in " ".join(result.sentences)


def test_a_reason_that_each_user_meets_once_does_not_recur(make_trace: MakeTrace) -> None:
    jobs = [(user, "v", user, 1, 0, "Failed") for user in ("ann", "bob")]
    failures = failures_of([(user, 1, "Import error") for user in ("ann", "bob")])
    attempts = [(user, 1, 0, 10) for user in ("ann", "bob")]
    result = failure_repetition.compute(make_trace(jobs, attempts, failures=failures))
    assert _row(result, "Import error")["trials_per_user"] == 1
    assert len(result.sentences) == 1 and "recurs" not in result.sentences[0]


def test_percentiles_of_the_time_to_failure(drawn: Trace) -> None:
    result = time_to_failure.compute(drawn)
    runs = {
        "1": [600, 600, 600],
        "2-4": [120, 3600],
        ">4": [6000],
        "all": [600, 600, 600, 120, 3600, 6000],
    }
    for demand, run_s in runs.items():
        rows = result.table[(result.table["reason"] == "all") & (result.table["demand"] == demand)]
        expected = np.percentile(run_s, rows["percentile"])
        assert rows["run_s"].to_numpy() == pytest.approx(expected)
        assert set(rows["trials"]) == {len(run_s)}


def test_what_a_pool_would_save(drawn: Trace) -> None:
    result = failure_costs.compute(drawn)
    # only a's first attempt failed within 5 minutes: 3 of its 4 GPUs for 2 minutes
    assert result.fact("pool_saved_gpu_h") == pytest.approx(6 / 60)
    assert _row(result, "Import error")["early"] == 1
    # a: 2 min, c: 5 min, d: 5 min on one GPU; b runs on one GPU anyway
    assert result.fact("pool_cost_gpu_h") == pytest.approx(12 / 60)
    assert result.fact("lost_gpu_h") == pytest.approx(1078 / 60)


def test_retries_that_never_helped_are_those_after_the_first_failure(make_trace: MakeTrace) -> None:
    jobs = [(f"j{i}", "v", "u", 2, 0, "Failed") for i in range(5)] + [
        ("k", "v", "u", 2, 0, "Pass"),
        ("once", "v", "u", 2, 0, "Failed"),
    ]
    attempts = [(f"j{i}", n, 60 * n, 60 * n + 30) for i in range(5) for n in (1, 2, 3)]
    attempts += [("k", 1, 0, 30), ("k", 2, 60, 90), ("once", 1, 0, 30)]
    rows = [(f"j{i}", n, "Syntax error") for i in range(5) for n in (1, 2, 3)]
    rows += [("k", 1, "Permission error"), ("once", 1, "Syntax error")]
    result = failure_costs.compute(make_trace(jobs, attempts, failures=failures_of(rows)))
    syntax, permission = _row(result, "Syntax error"), _row(result, "Permission error")
    assert (syntax["retried"], syntax["passed"], syntax["retry_never_helped"]) == (5, 0, True)
    assert (permission["retried"], permission["passed"]) == (1, 1)
    assert not permission["retry_never_helped"]
    # two later attempts of five jobs, half an hour on 2 GPUs each
    assert syntax["retry_saved_gpu_h"] == result.fact("retry_saved_gpu_h") == pytest.approx(10)


def test_statuses_alone(make_trace: MakeTrace) -> None:
    jobs = [
        ("a", "v", "u", 1, 0, "Pass"),
        ("b", "v", "u", 2, 0, "Failed"),
        ("c", "v", "u", 1, 0, "Killed"),
    ]
    attempts = frame(
        "attempts",
        (*COLUMNS["attempts"], "end_reason", "exit_code"),
        [
            ("a", 1, 0, 2, None, 1),
            ("a", 2, 3, 9, None, 0),
            ("b", 1, 0, 60, "failed", 139),
            ("b", 2, 60, 120, "preempted", None),
            ("b", 3, 120, 180, None, 137),
            ("c", 1, 0, 9, None, None),
        ],
    )
    result = failure_statuses.compute(make_trace(jobs, attempts))
    counts = {
        (row["ending"], row["exit_code"] if row["exit_code"] == row["exit_code"] else None): row[
            "attempts"
        ]
        for row in result.table.to_dict("records")
    }
    # b's second attempt was preempted: it did not fail
    assert counts == {
        ("all", None): 3,
        ("retried, then passed", 1): 1,
        ("retried, then unsuccessful", 139): 1,
        ("last attempt, unsuccessful", 137): 1,
    }
    assert result.fact("attempts") == 3
    assert result.fact("retried") == 2
    assert result.fact("rtf_p50_s") == 3600  # 2, 60 and 60 minutes
    assert result.fact("signalled_pct") == pytest.approx(100 * 2 / 3)
    assert any("are unknown" in caveat for caveat in result.caveats)
