"""Check offered load: the rate changes and days stay days, or submissions are stretched."""

import pickle
from collections import Counter
from dataclasses import replace
from datetime import datetime

import polars as pl
import pytest

from philly_analysis import Workload, load_model
from philly_analysis.errors import WorkloadError
from tests.exports.tiny import ORIGIN, TINY, workload_of

HOUR_S, DAY_S, WEEK_S = 3600, 86_400, 604_800


@pytest.fixture(scope="module")
def office() -> Workload:
    """Return five weeks of jobs that are submitted from 07:00 to 10:00 only."""
    rows = []
    for day in range(35):
        for i in range(12):
            submit_s = float(day * DAY_S + i * 900)
            run_s = 600 + 37 * (day * 12 + i) % 5000
            rows.append(
                (f"{day:02}-{i:02}", 1 + i % 4, submit_s, [(submit_s + 5, submit_s + run_s)])
            )
    return workload_of("office", rows)


def load_by_hand(workload: Workload, gpus: int) -> float:
    ends = workload.attempts.pl().with_columns(ran=pl.col("ended_at") - pl.col("started_at"))
    gpu_s = (ends["ran"].dt.total_seconds() * ends["gpus"]).sum()
    submitted = workload.jobs.pl()["submitted_at"]
    span_s = (submitted.max() - submitted.min()).total_seconds()
    return float(gpu_s / gpus / span_s)


@pytest.mark.parametrize("factor", [0.4, 1.7, 3.2])
def test_recorded_jobs_change_their_rate_and_days_stay_days(
    office: Workload, factor: float
) -> None:
    before = load_by_hand(office, 64)
    after = office.with_load(factor * before, 64, seed=3)
    assert load_by_hand(after, 64) == pytest.approx(factor * before, rel=0.01)
    jobs = after.jobs.pl()
    assert len(jobs) == pytest.approx(factor * len(office), rel=0.03)
    assert set(jobs["submitted_at"].dt.hour()) <= {7, 8, 9}
    recorded = {r["job_id"]: r for r in office.jobs.pl().iter_rows(named=True)}
    ran = {r["job_id"]: r for r in after.attempts.pl().iter_rows(named=True)}
    copies: Counter[str] = Counter()
    for row in jobs.iter_rows(named=True):
        job, _, copy = row["job_id"].partition("~")
        copies[job] += 1
        moved = (row["submitted_at"] - recorded[job]["submitted_at"]).total_seconds()
        assert moved % WEEK_S == 0 and (moved == 0 or copy)
        assert row["submitted_at"] >= ORIGIN and row["gpus"] == recorded[job]["gpus"]
        assert (ran[row["job_id"]]["started_at"] - row["submitted_at"]).total_seconds() == 5
    assert set(copies.values()) <= {int(factor), int(factor) + 1}
    assert after.notes[-1].endswith("Days stay days.")


def test_seeds_select_other_jobs(office: Workload) -> None:
    load = load_by_hand(office, 64) / 2
    first, again, other = (
        set(office.with_load(load, 64, seed=seed).jobs.pl()["job_id"]) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_stretched_jobs_are_the_same_in_longer_days(office: Workload) -> None:
    load = load_by_hand(office, 64)
    longer = office.stretched(load / 2, 64)
    assert load_by_hand(longer, 64) == pytest.approx(load / 2, rel=1e-3)
    times, before = (w.jobs.pl()["submitted_at"] - ORIGIN for w in (longer, office))
    assert (times.dt.total_seconds() == 2 * before.dt.total_seconds()).all()
    assert longer.notes[-1].endswith("a day of the rhythm lasts 48 hours.")


def test_drawn_jobs_are_drawn_again_at_the_load() -> None:
    model = load_model("literature")
    whole = model.sample(jobs=400, gpus=64, offered=0.9, seed=5)
    drawn = model.sample(jobs=400, gpus=64, seed=5)
    for again in (drawn, pickle.loads(pickle.dumps(drawn)), drawn.as_runs("last")):  # noqa: S301
        assert again.with_load(0.9, 64).jobs.pl().equals(whole.jobs.pl())
    changed = drawn.as_runs("last").with_load(0.9, 64)
    assert changed.changes.run_policy == "last"
    few = replace(drawn, jobs=drawn.jobs.pl().head(200), attempts=drawn.attempts.pl().head(200))
    kept = few.with_load(0.9, 64).jobs.pl()["job_id"].str.split("~").list.first()
    assert set(kept) <= set(
        few.jobs.pl()["job_id"]
    )  # other jobs than the model's are recorded jobs


def test_a_month_at_a_load_has_the_days_of_a_month() -> None:
    for offered in (0.3, 1.2):
        drawn = load_model("literature").sample(gpus=64, offered=offered, seed=2)
        submitted = drawn.jobs.pl()["submitted_at"]
        assert (submitted.max() - submitted.min()).total_seconds() / DAY_S == pytest.approx(
            28, rel=0.05
        )
        assert submitted.min() >= datetime(2018, 1, 1)


def test_a_large_job_is_noted_and_an_impossible_load_refused() -> None:
    drawn = load_model("philly").sample(jobs=30, gpus=64, seed=1)
    largest = drawn.attempts.pl().with_columns(
        gpu_s=(pl.col("ended_at") - pl.col("started_at")).dt.total_seconds() * pl.col("gpus")
    )["gpu_s"]
    noted = [note for note in drawn.notes if note.startswith("One job has")]
    assert bool(noted) == (largest.max() / largest.sum() > 0.1)
    with pytest.raises(WorkloadError, match="must be above 0"):
        TINY.with_load(0, 64)
    with pytest.raises(WorkloadError, match="too few of the 5 jobs remain"):
        TINY.with_load(1e-9, 64)
