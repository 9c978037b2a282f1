"""Check the summary chapter on a cluster drawn by hand."""

import math
from datetime import timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from philly_analysis.analyses import how_used, why_failures, why_waits, worst_offenders
from philly_analysis.trace.trace import Trace
from tests.analyses import clusters as columns
from tests.analyses.clusters import frame, write_tables
from tests.analyses.samples import gpu_frame
from tests.support.facts import number
from tests.support.small_traces import ORIGIN

# Two servers of 4 GPUs; minutes.
#   m0  a a a a a a c c c c c c . f f f f f f f    a: 4 GPUs, 0-60    c: 4, 60-120  f: 2, 125-200
#   m1  b b b b b b b b b b d d d g g g e e e e    b: 2, 0-100        d: 2, 100-120 g: 2, 125-150
#                                                  e: 4, 150-200
JOBS = [
    ("a", "v", "ann", 4, 0, "Failed"),
    ("b", "v", "bob", 2, 0, "Pass"),
    # 2 GPUs are free, on m1, until a ends: too few for 50 minutes
    ("c", "v", "cid", 4, 10, "Pass"),
    # it fits on m1 all the time: 30 minutes without a cause
    ("d", "v", "dan", 2, 70, "Pass"),
    # 4 GPUs are free, 2 on each server: 20 minutes
    ("e", "v", "eve", 4, 130, "Pass"),
    ("f", "v", "fay", 2, 125, "Killed"),
    ("g", "v", "gus", 2, 125, "Pass"),
]
ATTEMPTS = [
    ("a", 1, 0, 60),
    ("b", 1, 0, 100),
    ("c", 1, 60, 120),
    ("d", 1, 100, 120),
    ("e", 1, 150, 200),
    ("f", 1, 125, 200),
    ("g", 1, 125, 150),
]
HELD = {
    "a": ("m0", range(4)),
    "b": ("m1", range(2)),
    "c": ("m0", range(4)),
    "d": ("m1", range(2)),
    "e": ("m1", range(4)),
    "f": ("m0", range(2)),
    "g": ("m1", range(2)),
}
PLACEMENTS = frame(
    "placements",
    ("job_id", "attempt", "machine_id", "gpu"),
    [(job, 1, machine, gpu) for job, (machine, gpus) in HELD.items() for gpu in gpus],
)
MACHINES = frame("machines", ("machine_id", "gpus"), [("m0", 4), ("m1", 4)])
QUOTAS = frame("virtual_clusters", ("vc", "gpus"), [("v", 100)])
# an hour of a: one GPU busy, one idle, two between
SAMPLES = gpu_frame(
    [(ORIGIN + timedelta(minutes=m), "m0", [100.0, 0.0, 50.0, 10.0]) for m in range(60)]
)
FAILURES = frame("failures", ("job_id", "attempt", "reason"), [("a", 1, "Import error")])


def cluster(path: Path, **tables: pl.DataFrame) -> Trace:
    jobs, attempts = (
        frame("jobs", columns.JOBS, JOBS),
        frame("attempts", columns.ATTEMPTS, ATTEMPTS),
    )
    return Trace(write_tables(path, {"jobs": jobs, "attempts": attempts, **tables}))


PLACED = {"placements": PLACEMENTS, "machines": MACHINES, "virtual_clusters": QUOTAS}


def test_waits_are_divided_by_what_kept_them(tmp_path: Path) -> None:
    with cluster(tmp_path / "t", **PLACED) as trace:
        result = why_waits.compute(trace)
    facts = {f.name: f.value for f in result.facts}
    assert facts["wait_s"] == 60 * (50 + 30 + 20)
    shares = {"full": 50, "scattered": 20, "unknown": 30, "quota": 0, "held": 0}
    assert {cause: facts[f"{cause}_pct"] for cause in shares} == pytest.approx(shares)
    assert result.headline == "full_pct"
    assert "50 % of that time fewer GPUs were free" in result.sentences[0].replace("50.0", "50")


@pytest.mark.parametrize(("mostly", "named"), [(0.2, True), (0.4, False)])
def test_the_answer_names_a_large_unknown_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mostly: float, named: bool
) -> None:
    monkeypatch.setattr(why_waits, "_MOSTLY", mostly)  # the unknown part is 30 % here
    with cluster(tmp_path / "t", **PLACED) as trace:
        answer, *others = why_waits.compute(trace).sentences
    assert ("for 30.0 % the cause is unknown" in answer) == named
    assert any("the cause is unknown" in sentence for sentence in others) != named


def test_without_placements_no_cause_is_made_up(tmp_path: Path) -> None:
    with cluster(tmp_path / "t") as trace:
        result = why_waits.compute(trace)
    assert number(result, "unknown_pct") == 100
    # c, d and e of seven
    assert result.headline == "long_pct"
    assert number(result, "long_pct") == pytest.approx(300 / 7)
    assert any("is unknown" in sentence for sentence in result.sentences)


def test_use_is_that_of_the_samples(tmp_path: Path) -> None:
    with cluster(tmp_path / "t", **PLACED, gpu_samples=SAMPLES) as trace:
        result = how_used.compute(trace)
    assert number(result, "mean_pct") == pytest.approx((100 + 0 + 50 + 10) / 4)
    assert number(result, "idle_pct") == pytest.approx(25)
    assert dict(result.table.itertuples(index=False)) == {-1: 1, 0: 1, 25: 1, 75: 1}
    assert "1 of 4" in result.sentences[1].replace(".00", "")


@pytest.mark.parametrize(("users", "top"), [(9, None), (10, 1), (20, 2)])
def test_the_advice_names_a_tenth_of_ten_users_or_more(users: int, top: int | None) -> None:
    said = how_used._advice(pd.DataFrame({"idle_h": [1.0] * users}), users)
    tenth = f"A tenth of the users, {top} of {users}, have 10.0 % of the idle GPU hours"
    assert said.startswith(tenth if top else "Ask the users named below whether")


def test_use_without_samples_is_that_of_the_summaries(tmp_path: Path) -> None:
    told = frame(
        "summaries", ("job_id", "attempt", "util_pct"), [("a", 1, 0.0), ("b", 1, 60.0), ("c", 1, 0)]
    )
    with cluster(tmp_path / "t", summaries=told) as trace:
        result = how_used.compute(trace)
    held_h = {"a": 4.0, "b": 200 / 60, "c": 4.0}
    assert number(result, "mean_pct") == pytest.approx(60 * held_h["b"] / sum(held_h.values()))
    assert dict(result.table.itertuples(index=False)) == pytest.approx({-1: 8, 50: held_h["b"]})
    assert "Sample the GPUs" in result.advice


def test_use_without_readings_is_what_jobs_hold(tmp_path: Path) -> None:
    with cluster(tmp_path / "t", **PLACED) as trace:
        result = how_used.compute(trace)
    # of 8 GPUs for 200 minutes; free beside others: two GPUs of m1 while
    # b and d run and g does, two of m0 while f does
    held_h = (4 * 60 + 2 * 100 + 4 * 60 + 2 * 20 + 4 * 50 + 2 * 75 + 2 * 25) / 60
    beside_h = (2 * 100 + 2 * 20 + 2 * 25 + 2 * 75) / 60
    assert result.table["gpu_h"].to_list() == pytest.approx(
        [held_h, beside_h, 8 * 200 / 60 - held_h - beside_h]
    )
    assert number(result, "held_pct") == pytest.approx(100 * held_h / (8 * 200 / 60))
    assert result.fact("held_low_pct") is None  # one week has no variation between weeks
    assert "Sample the GPUs" in result.advice
    assert how_used.plot(result).axes


def test_weeks_tell_how_sure_it_is_what_jobs_hold(tmp_path: Path) -> None:
    # four GPUs from a Tuesday noon on; the first gang ends on the second Tuesday, a day after the
    # second week began, the next two run into the third and for all of the fourth
    day, held = 24 * 60, {"a": (4, 0.5, 7.0), "b": (1, 8.5, 16.25), "c": (2, 20.0, 27.0)}
    gpus = iter([*range(4), 3, 0, 1])
    jobs = [(job, "v", job, n, begins * day, "Pass") for job, (n, begins, _) in held.items()]
    runs = [(job, 1, begins * day, ends * day) for job, (_, begins, ends) in held.items()]
    places = [(job, 1, "m0", next(gpus)) for job, (n, _, _) in held.items() for _ in range(n)]
    tables = {
        "jobs": frame("jobs", columns.JOBS, jobs),
        "attempts": frame("attempts", columns.ATTEMPTS, runs),
        "placements": frame("placements", ("job_id", "attempt", "machine_id", "gpu"), places),
        "machines": frame("machines", ("machine_id", "gpus"), [("m0", 4)]),
    }
    with Trace(write_tables(tmp_path / "t", tables)) as trace:
        weeks, result = trace.answer("idle_gpus").df(), how_used.compute(trace)
    assert len(weeks) == 4
    there, busy = weeks["capacity_gpu_h"].to_numpy(), weeks["held_gpu_h"].to_numpy()
    frac = busy.sum() / there.sum()
    # Cochran's linearised error of a ratio, three degrees of freedom
    error = math.sqrt(4 / 3 * ((busy - frac * there) ** 2).sum()) / there.sum()
    low = 100 * max(0.0, frac - 3.182446 * error)
    assert number(result, "held_low_pct") == pytest.approx(low, abs=1e-4)


def test_failures_are_counted_by_reason_or_by_jobs_without_reasons(tmp_path: Path) -> None:
    with cluster(tmp_path / "told", **PLACED, failures=FAILURES) as trace:
        told = why_failures.compute(trace)
    with cluster(tmp_path / "untold", **PLACED) as trace:
        untold = why_failures.compute(trace)
    held_h = (4 * 60 + 2 * 100 + 4 * 60 + 2 * 20 + 4 * 50 + 2 * 75 + 2 * 25) / 60
    for result in (told, untold):
        assert number(result, "gpu_h_pct") == pytest.approx(100 * 4 / held_h)
    assert (told.headline, number(told, "top_pct")) == ("top_pct", 100)
    assert list(told.table["reason"]) == ["Import error"]
    assert untold.headline == "failed_pct"
    assert number(untold, "failed_pct") == pytest.approx(100 / 7)
    assert list(untold.table.itertuples(index=False, name=None)) == [("2-4", 7, 1)]
    assert "the output of failed attempts" in untold.advice


def test_whoever_idles_or_loses_most_is_named(tmp_path: Path) -> None:
    with cluster(tmp_path / "t", **PLACED, gpu_samples=SAMPLES) as trace:
        table = worst_offenders.compute(trace).table.fillna("")
    assert list(table.itertuples(index=False, name=None)) == [
        ("idle_user", "ann", "", 1.0, 100.0),
        ("idle_job", "ann", "a", 1.0, 100.0),
        ("failed_user", "ann", "", 4.0, 100.0),
        ("failed_job", "ann", "a", 4.0, 100.0),
    ]
