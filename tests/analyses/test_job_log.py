"""Check overview, queueing delay, status and retries on traces small enough to count by hand."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pandas as pd
import polars as pl
import pytest

from philly_analysis import Result, analyze
from philly_analysis.analyses import job_status, overview, queueing_delay, retries, workload_account
from philly_analysis.analyses.shared.published import compare_published
from philly_analysis.trace.manifest import Account, Sample
from philly_analysis.trace.trace import Trace
from tests.support.clusters import MakeTrace, frame, write_tables
from tests.support.small_traces import ATTEMPTS, JOBS, MACHINES, at, paper_trace

# minutes; the log ends at 60 with job d still running
_JOBS = [
    ("a", "x", "ann", 1, 0, "Pass"),
    ("b", "x", "bob", 2, 0, "Failed"),
    ("c", "y", "bob", 8, 10, "Killed"),
    ("d", "y", "cid", 8, 10, None),
    ("e", "y", "cid", 1, 20, "Failed"),
]
_ATTEMPTS = [
    ("a", 1, 0, 30),
    ("b", 1, 5, 10),
    ("b", 2, 10, 20),
    ("b", 3, 40, 60),
    ("c", 1, 40, 45),
    ("d", 1, 30, None),
]


@pytest.fixture
def hand_drawn(make_trace: MakeTrace) -> Trace:
    return make_trace(_JOBS, _ATTEMPTS)


@pytest.mark.parametrize(("by", "said"), [(("status",), ()), (("selection",), ("Some jobs.",))])
def test_findings_on_jobs_selected_from_a_trace_say_so(
    hand_drawn: Trace, monkeypatch: pytest.MonkeyPatch, by: tuple[str, ...], said: tuple[str, ...]
) -> None:
    def plain(trace: Trace) -> Result:
        return Result("plain", trace.sql("select gpus from jobs").df())

    assert analyze(hand_drawn, plain).caveats == ()
    sampled = replace(hand_drawn.manifest, sample=Sample("Some jobs.", by))
    monkeypatch.setattr(hand_drawn, "manifest", sampled)
    assert analyze(hand_drawn, plain).caveats == said


def test_status_by_count_and_gpu_time(hand_drawn: Trace) -> None:
    result = job_status.compute(hand_drawn)
    hours = dict(zip(result.table["status"], result.table["gpu_h"], strict=True))
    assert hours == pytest.approx(
        {"Pass": 0.5, "Failed": 2 * 35 / 60, "Killed": 8 * 5 / 60, "(none)": 8 * 30 / 60}
    )
    assert result.fact("jobs_Failed_pct") == 40
    assert result.fact("gpu_h_Pass_pct") == pytest.approx(100 * 0.5 / sum(hours.values()))
    assert "1 job still running" in result.caveats[0]
    # 3 of 5 jobs, and 70 + 40 of 380 GPU minutes
    assert "60.0 % of all jobs and 28.9 % of the GPU time" in result.sentences[1]


def test_retries_and_unsuccessful_share(hand_drawn: Trace) -> None:
    table = retries.compute(hand_drawn).table.set_index("gang")
    assert list(table.loc["2-4", ["jobs", "attempts", "retries_per_job"]]) == [1, 3, 2]
    assert list(table.loc["5-8", ["jobs", "with_status", "unsuccessful_pct"]]) == [2, 1, 0]
    # e never got an attempt
    everyone = list(table.loc["all", ["jobs", "retried_pct", "unsuccessful_pct"]])
    assert everyone == [4, 25, pytest.approx(100 / 3)]


def test_excluded_jobs_are_listed_by_number_then_by_reason() -> None:
    rows = [("left out", why, n, 1.0) for why, n in (("b", 2), ("a", 2), ("c", 9), ("d", 1))]
    table = pd.DataFrame([*rows, ("ended", "", 1, 1.0)], columns=["part", "why", "jobs", "gpu_h"])
    answer = SimpleNamespace(df=lambda: table)
    result = workload_account.compute(cast("Trace", SimpleNamespace(answer=lambda _: answer)))
    reasons = [said.split(": ")[1] for said in result.sentences if "excluded" in said]
    assert reasons == ["c.", "a.", "b.", "d."]


def test_waits_of_zero_count(hand_drawn: Trace) -> None:
    result = queueing_delay.compute(hand_drawn)
    assert result.fact("waits") == 6 and result.fact("zeros") == 2
    # 0, 0, 5, 20, 20 and 30 minutes
    assert result.fact("median_wait_s") == 12.5 * 60 and result.fact("p90_wait_s") == 25 * 60
    assert len(queueing_delay.plot(result).axes) == 1
    [meaning] = [f.meaning for f in result.facts if f.name == "gang_rho"]
    assert meaning.endswith("of gang size and wait")


def test_negative_waits_and_flags_are_excluded_and_counted(make_trace: MakeTrace) -> None:
    attempts = frame(
        "attempts",
        ("job_id", "attempt", "started_at", "ended_at", "flag"),
        [("a", 1, 0, 30, None), ("a", 2, 10, 40, None), ("b", 1, 5, 9, "fake_start")],
    )
    result = queueing_delay.compute(make_trace(_JOBS, attempts))
    assert result.fact("waits") == 1
    assert "1 attempt excluded: negative wait." in result.caveats
    assert "1 attempt excluded: fake start." in result.caveats


def test_overview_counts_days_gaps_and_rejects(tmp_path: Path) -> None:
    samples = pl.DataFrame(
        {
            "sampled_at": [at(m) for m in (0, 1, 59, 60 * 9)],
            "machine_id": ["m0", "m0", "m1", "m1"],
            "util_pct": [[1.0] * 4, [2.0] * 4, [3.0] * 8, [None] * 8],
        }
    )
    path = write_tables(
        tmp_path / "t",
        {"jobs": JOBS, "attempts": ATTEMPTS, "machines": MACHINES, "gpu_samples": samples},
        "philly",
        synthetic=False,
        accounts=(Account("jobs", 4, 3, {"bad": 1}),),
    )
    with Trace(path) as trace:
        result = overview.compute(trace)
        comparisons = compare_published(trace, "overview", result.facts)
    published = {c.what: c for c in comparisons}
    assert result.table["jobs"].to_list() == [3]
    assert result.table["gpu_samples"].to_list() == [4]
    # a 10 min, b 4 + 6 min on 2 GPUs, c from 4 to the last moment, 15, on 8
    assert result.fact("gpu_h") == pytest.approx((10 + 20 + 88) / 60)
    assert result.fact("rows_rejected") == 1 and result.fact("gpus") == 12
    assert "No GPU samples for 8 h from 2017-10-03 01:00." in result.caveats
    assert published["jobs"].published == 96_260 and published["jobs"].measured == 3
    assert "3 of the archive's 117,325 jobs" in published["jobs"].reason


def test_a_synthetic_trace_is_not_compared_with_the_study(tmp_path: Path) -> None:
    with Trace(paper_trace(tmp_path / "t")) as trace:
        for name, analysis in (("overview", overview), ("job_status", job_status)):
            assert compare_published(trace, name, analysis.compute(trace).facts) == ()
