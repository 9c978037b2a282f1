"""Compare each effect with a plain-Python reference or another computation."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis.analyses import locality_effect
from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Finding, Verdict
from philly_analysis.atlas.decision import decide, evaluate_claim
from philly_analysis.atlas.evaluation import evaluate
from philly_analysis.atlas.profile import describe
from philly_analysis.atlas.resampling import resampling
from philly_analysis.trace.trace import Trace
from tests.analyses.plain import Row, Rows
from tests.analyses.samples import sampled_cluster
from tests.atlas.test_aggregates import busiest_window, folds
from tests.atlas.test_cells import top_tenth
from tests.support.clusters import ODD, random_tables, table_of, write_tables
from tests.support.slow import quick_first

LARGE, ONE = ("5-8", ">8"), ("1",)


def share(rows: list[Row], part: str, total: str) -> float:
    return float(sum(getattr(r, part) for r in rows) / sum(getattr(r, total) for r in rows))


def part_of(rows: list[Row], part: str, by: str, value: object) -> float:
    some = sum(getattr(r, part) for r in rows if getattr(r, by) == value)
    return float(some / sum(getattr(r, part) for r in rows))


def shares(
    rows: list[Row], part: str, total: str, by: str, upper: Sequence[Any], lower: Sequence[Any]
) -> float:
    """Share of events in one group over that in another."""
    above, below = ([r for r in rows if getattr(r, by) in some] for some in (upper, lower))
    return share(above, part, total) / share(below, part, total)


def top_tenth_of(rows: list[Row]) -> float:
    return top_tenth([r.gpu_h for r in rows])


def busiest(rows: list[Row], by: str, period: int, window: int) -> float:
    """Busiest over quietest window, found in one half of the calendar, counted in the other."""

    def fold(day: int) -> int:
        return (day if by == "hour" else (day - 1) // 7) % 2  # the first day was a Monday

    counts = ((r.day.toordinal(), getattr(r, by), r.jobs) for r in rows)
    return busiest_window(folds(counts, fold), period, window)


def cost_of_unsuccessful(rows: list[Row]) -> float:
    lost = [r for r in rows if r.status != "Pass"]
    gpu_h, jobs = (
        sum(getattr(r, c) for r in lost) / sum(getattr(r, c) for r in rows)
        for c in ("gpu_h", "jobs")
    )
    return float(gpu_h / jobs)


EFFECTS: dict[str, Callable[[list[Row]], float]] = {
    "waits_rise_with_gangs": lambda r: shares(r, "long_waits", "waits", "gang", LARGE, ONE),
    "waits_are_predictable": lambda r: shares(
        r, "long_waits", "waits", "after_long", [True], [False]
    ),
    "gangs_fail_more_per_gpu": lambda r: shares(r, "failures", "gpu_years", "gang", LARGE, ONE),
    "starts_out_of_order": lambda r: 100 * share(r, "overtook", "starts"),
    "out_of_order_is_harmless": lambda r: 100 * share(r, "harmless", "overtakings"),
    "fragmentation_delays_most": lambda r: 100 * share(r, "fragmentation_s", "decided_s"),
    "large_gangs_are_spread": lambda rows: (
        100 * share([r for r in rows if r.gang in LARGE], "spread", "attempts")
    ),
    "jobs_are_short": lambda rows: median_low(r.run_s for r in rows),
    "gpu_time_is_in_few_jobs": top_tenth_of,
    "gpu_time_is_of_few_users": top_tenth_of,
    "load_follows_the_day": lambda rows: busiest(rows, "hour", 24, 8),
    "submissions_are_bursty": lambda rows: share(rows, "squared", "jobs") / 2,
    "most_jobs_use_one_gpu": lambda rows: 100 * part_of(rows, "jobs", "gang", "1"),
    "gpu_time_is_in_large_gangs": lambda rows: 100 * part_of(rows, "gpu_h", "gang", ">8"),
    "jobs_need_less_than_one_gpu": lambda rows: 100 - 100 * part_of(rows, "jobs", "kind", "whole"),
    "long_jobs_use_most": lambda rows: 100 * part_of(rows, "gpu_h", "length", "longer"),
    "large_gangs_run_longer": lambda rows: (
        median_low(r.run_s for r in rows if r.gang in LARGE)
        / median_low(r.run_s for r in rows if r.gang in ONE)
    ),
    "most_jobs_wait_little": lambda rows: median_low(r.wait_s for r in rows),
    "idle_gpus_are_fragments": lambda rows: 100 * part_of(rows, "gpu_h", "servers", "partly used"),
    "retries_help": lambda rows: 100 * share(rows, "passed", "jobs"),
    "gpus_fail_rarely": lambda rows: 100 * share(rows, "failures", "gpu_years"),
    "failures_rise_with_age": lambda rows: (
        share([r for r in rows if r.late], "failures", "gpu_years")
        / share([r for r in rows if not r.late], "failures", "gpu_years")
    ),
    "killed_jobs_cost_much": lambda rows: 100 * part_of(rows, "gpu_h", "status", "Killed"),
    "time_limits_are_loose": lambda rows: 100 * share(rows, "loose", "runs"),
    "unsuccessful_jobs_cost_most": cost_of_unsuccessful,
    "large_gangs_fail_more": lambda r: shares(r, "failed", "jobs", "gang", LARGE, ONE),
    "failures_repeat": lambda r: shares(r, "failed", "jobs", "after_failure", [True], [False]),
    "failures_come_early": lambda rows: median_low(r.run_s for r in rows),
}
"""Effect of each claim from the rows of its relation, which test_every_relation checks."""


def effect(trace: Trace, name: str) -> float:
    claim = CLAIMS[name]
    rows = trace.answer(claim.relation).df()
    return float(claim.measure.statistic(rows, resampling(rows, of_users=claim.of_users))[0])


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trace]:
    """A tidy random cluster of 150 jobs, whose virtual clusters have quotas."""
    tables = random_tables(request.param, 150, tidy=True)
    quotas = [(f"v{i}", 4 + 2 * i) for i in range(3)]
    limits = pl.Series("time_limit_s", [600.0 * (1 + i % 9) for i in range(len(tables["jobs"]))])
    tables["jobs"] = tables["jobs"].with_columns(limits)
    ends = ["completed", "node_failure", "failed"]
    reasons = pl.Series("end_reason", [ends[i % 3] for i in range(len(tables["attempts"]))])
    tables["attempts"] = tables["attempts"].with_columns(reasons)
    tables["virtual_clusters"] = table_of("virtual_clusters", quotas)
    with Trace(write_tables(tmp_path_factory.mktemp("world") / "t", tables)) as trace:
        yield trace


@pytest.mark.parametrize("name", EFFECTS)
def test_an_effect_is_that_of_plain_python(name: str, world: Trace) -> None:
    expected = EFFECTS[name](getattr(Rows(world), CLAIMS[name].relation))
    assert effect(world, name) == pytest.approx(expected, rel=1e-9)


def test_the_week_is_that_of_plain_python() -> None:
    days = [date(2026, 1, 5) + timedelta(days=i) for i in range(60)]
    jobs = np.random.default_rng(1).integers(1, 90, 60)
    rows = pd.DataFrame({"day": days, "weekday": [d.isoweekday() % 7 for d in days], "jobs": jobs})
    statistic = CLAIMS["load_follows_the_week"].measure.statistic(
        rows, resampling(rows, of_users=False)
    )
    expected = busiest(list(rows.itertuples()), "weekday", 7, 2)
    assert statistic[0] == pytest.approx(expected, rel=1e-12) and expected > 1.2


def test_failures_are_counted_among_attempts_and_divided_by_gpu_years() -> None:
    rows = pd.DataFrame(
        {"late": [False, True], "attempts": [40, 50], "gpu_years": [0.1, 0.3], "failures": [6, 9]}
    )
    measure = CLAIMS["failures_rise_with_age"].measure
    counts = {group: n.sum() for group, n in measure.groups(rows).items()}
    assert counts == {"attempts later": 50, "attempts earlier": 40}
    rows["user"] = ["a", "b"]
    statistic = measure.statistic(rows, resampling(rows, of_users=True))
    assert statistic[0] == pytest.approx((9 / 0.3) / (6 / 0.1))


@pytest.mark.slow
def test_utilisation_is_that_of_its_findings(tmp_path: Path) -> None:
    with Trace(write_tables(tmp_path / "t", sampled_cluster(3))) as trace:
        held = trace.answer("sampled_attempts").pl()
        mean = held["sum_pct"].sum() / held["minutes"].sum()
        spread = locality_effect.compute(trace).fact("effect_all_pct")
        assert effect(trace, "gpus_are_used_little") == pytest.approx(mean)
        readings = sorted((r.bin, r.minutes) for r in Rows(trace).gpu_readings_are_low)
        upto, half = 0.0, sum(m for _, m in readings) / 2
        while upto < half:
            (value, minutes), *readings = readings
            upto += minutes
        assert effect(trace, "gpu_readings_are_low") == value
        assert effect(trace, "spread_gangs_use_less") == pytest.approx(spread)


@pytest.mark.parametrize(
    "odd", quick_first(["empty", "one job", "never ran", "no VCs, all overlapping", "random"], 2)
)
def test_every_claim_can_be_asked_of_whatever_trace(odd: str, tmp_path: Path) -> None:
    with Trace(write_tables(tmp_path / "t", ODD[odd])) as trace:
        table = evaluate([trace]).table
    assert list(table["claim"]) == list(CLAIMS)
    assert (table["why"].str.len() > 0).eq(table["verdict"] == "cannot be said").all()


@pytest.mark.parametrize(
    ("name", "by", "value"),
    [("gpu_time_is_in_large_gangs", "gang", ">8"), ("killed_jobs_cost_much", "status", "Killed")],
)
def test_an_interval_reaches_the_share_with_one_more_user_as_heavy_as_the_heaviest(
    name: str, by: str, value: str
) -> None:
    """Of 60 users with a GPU hour each one has the value, so that resampling underestimates it."""
    rows = pd.DataFrame({"user": [f"u{i}" for i in range(60)], by: "other", "jobs": 9, "gpu_h": 1.0,
                         "day": date(2026, 1, 1)})  # fmt: skip
    rows.loc[0, [by, "gpu_h"]] = value, 0.5
    rows.loc[1, "gpu_h"] = 20.0
    decision = decide(Finding(name, "c", Verdict.UNDECIDED), CLAIMS[name], rows)
    assert decision.effect.high == pytest.approx(100 * 20.5 / (58 + 20.5 + 20))


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    tables = random_tables(5, 60)
    shuffled = {n: t.sample(fraction=1, shuffle=True, seed=4) for n, t in tables.items()}
    with (
        Trace(write_tables(tmp_path / "a", tables)) as one,
        Trace(write_tables(tmp_path / "b", shuffled)) as other,
    ):
        for claim in CLAIMS.values():
            answers = [evaluate_claim(t, claim, describe(t, "t")) for t in (one, other)]
            assert answers[0].effect == answers[1].effect or answers[0].why == answers[1].why
            assert pl.DataFrame(answers[0].panel).equals(pl.DataFrame(answers[1].panel))
