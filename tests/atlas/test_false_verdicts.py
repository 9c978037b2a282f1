"""Count false verdicts on simulated clusters with and without an effect, and at a threshold."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from philly_analysis.atlas.catalogue import CLAIMS
from philly_analysis.atlas.claim import Claim, Finding, Verdict
from philly_analysis.atlas.decision import decide
from philly_analysis.atlas.resampling import Resampling

pytestmark = pytest.mark.slow

CLUSTERS = {15: 800, 60: 400, 240: 200}
"""Simulated clusters by their number of users or weeks."""


def users(rng: np.random.Generator, n: int, effect: int) -> pd.DataFrame:
    """Jobs of users of unequal size, whose run times and failures differ by user.

    With the effect, large gangs fail more and run longer, failed jobs run longer, a user's
    failures repeat, and spread gangs use less.
    """
    user = np.repeat(np.arange(n), np.minimum(rng.geometric(1 / 25, n), 100))
    mood, level = rng.normal(0, 1, (2, n, 1))[..., 0]
    large = rng.random(len(user)) < 0.3
    hit = rng.random(len(user)) < 1 / (1 + np.exp(1 - 0.5 * mood[user] - effect * large))
    alike = rng.random(len(user)) < 1 / (1 + np.exp(1 - 2 * effect * mood[user]))
    x = np.exp(4 + level[user] + rng.normal(0, 1, len(user)))
    used = 50 + 10 * level[user] + rng.normal(0, 15, len(user)) - 10 * effect * large
    return pd.DataFrame(
        {
            "user": user,
            "gang": np.where(large, ">8", "1"),
            "length": np.where(x > np.exp(6.2), "longer", "a day"),
            "jobs": 1,
            "failed": hit.astype(int),
            "status": np.where(hit, "Failed", "Pass"),
            "gpu_h": x * (1 + effect * hit),
            "run_s": x * (1 + effect * large),
            "gpus": 8,
            "spread": large,
            "attempts": 1,
            "minutes": x,
            "sum_pct": x * used.clip(0, 100),
            "before": pd.Series(alike).groupby(user).shift(),
            "alike": alike.astype(int),
        }
    )


def repeating(rng: np.random.Generator, n: int, effect: int) -> pd.DataFrame:
    """Failures of a user's job after the job before."""
    rows = users(rng, n, effect).dropna(subset="before")
    return rows.assign(after_failure=rows["before"].astype(bool), failed=rows["alike"])


CYCLE = np.cos(2 * np.pi * np.arange(24) / 24)


def hours(rng: np.random.Generator, n: int, effect: int) -> pd.DataFrame:
    """Jobs by hour in weeks of unequal load: with the effect in cycles, and in bursts."""
    days = pd.date_range("2026-01-05", periods=7 * n)
    level = np.repeat(rng.lognormal(0, 0.3, n), 7)[:, None]
    dip = 1 - 0.3 * effect * (days.day_of_week.to_numpy() > 4)[:, None]
    burst = rng.lognormal(-0.3 * effect, 0.8 * effect, (len(days), 24))
    jobs = rng.poisson(12 * level * dip * (1 + 0.25 * effect * CYCLE) * burst).ravel()
    day, hour = days.repeat(24), np.tile(np.arange(24), len(days))
    squared = np.diff(jobs, prepend=jobs[0]) ** 2
    rows = {"day": day, "hour": hour, "weekday": day.day_of_week, "jobs": jobs, "squared": squared}
    return pd.DataFrame(rows)


def weeks(rng: np.random.Generator, n: int, effect: int) -> pd.DataFrame:
    """Waits by gang and failures, in weeks that differ: with the effect twice as many."""
    days = np.repeat(pd.date_range("2026-01-05", periods=7 * n), 2)
    large, late = np.tile([True, False], 7 * n), np.arange(14 * n) >= 7 * n
    long = np.repeat(rng.beta(4, 16, n), 14) * (1 + effect * large)
    rate = np.repeat(rng.lognormal(0, 0.4, n), 14) * (1 + effect * late)
    waits = rng.poisson(30, 14 * n)
    return pd.DataFrame(
        {
            "day": days,
            "gang": np.where(large, ">8", "1"),
            "waits": waits,
            "long_waits": rng.binomial(waits, np.minimum(long, 1)),
            "late": late,
            "attempts": waits,
            "gpu_years": 1.0,
            "failures": rng.poisson(3 * rate),
        }
    )


def sizes(rng: np.random.Generator, n: int, effect: int) -> pd.DataFrame:
    """Waits after long and short ones, and failures by gang: with the effect four times as many."""
    rows = weeks(rng, n, effect)
    rate = np.repeat(rng.lognormal(0, 0.4, n), 14) * (1 + 3 * effect * (rows["gang"] == ">8"))
    return rows.assign(after_long=rows["gang"] == ">8", failures=rng.poisson(3 * rate))


ROWS: dict[str, Callable[[np.random.Generator, int, int], pd.DataFrame]] = {
    "failures_repeat": repeating,
    "waits_rise_with_gangs": weeks,
    "waits_are_predictable": sizes,
    "gangs_fail_more_per_gpu": sizes,
    "failures_rise_with_age": weeks,
    "load_follows_the_day": hours,
    "load_follows_the_week": hours,
    "submissions_are_bursty": hours,
}


def verdicts(
    claim: Claim, blocks: int, made: Callable[[np.random.Generator], pd.DataFrame]
) -> Counter[Verdict]:
    """Count the verdicts of a claim on simulated clusters."""
    claim = replace(claim, measure=replace(claim.measure, panel=lambda rows: rows))
    rng, undecided = np.random.default_rng(blocks), Finding(claim.name, "t", Verdict.UNDECIDED)
    return Counter(decide(undecided, claim, made(rng)).verdict for _ in range(CLUSTERS[blocks]))


@pytest.mark.parametrize("effect", [0, 1])
@pytest.mark.parametrize("blocks", CLUSTERS)
@pytest.mark.parametrize("name", [c.name for c in CLAIMS.values() if c.of_effect])
def test_each_verdict_is_wrong_in_at_most_one_of_twenty_clusters(
    name: str, blocks: int, effect: int
) -> None:
    claim = CLAIMS[name]
    made = ROWS.get(name, users)
    found = verdicts(claim, blocks, lambda rng: made(rng, blocks, effect))
    right = Verdict.HOLDS if effect else Verdict.ABSENT
    wrong = set(Verdict) - {right, Verdict.UNDECIDED}
    assert all(found[verdict] <= 0.05 * CLUSTERS[blocks] for verdict in wrong), found


LEVELS = (
    *("killed_jobs_cost_much", "gpu_time_is_in_large_gangs", "long_jobs_use_most"),
    *("most_jobs_use_one_gpu", "jobs_are_short"),
)


def ended(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Jobs of which a part is killed, without an effect."""
    rows = users(rng, n, 0)
    return rows.assign(status=np.where(rows["failed"], "Killed", "Pass"))


@cache
def world() -> pd.DataFrame:
    """Return the jobs of so many users that their shares are the true ones."""
    return ended(np.random.default_rng(0), 40_000)


@pytest.mark.parametrize("blocks", CLUSTERS)
@pytest.mark.parametrize("name", LEVELS)
def test_a_level_at_its_threshold_is_decided_falsely_in_at_most_one_of_twenty_clusters(
    name: str, blocks: int
) -> None:
    claim, rows = CLAIMS[name], world()
    whole = Resampling("users", np.zeros(len(rows), np.int64), np.ones((1, 1)))
    at = replace(claim, threshold=float(claim.measure.statistic(rows, whole)[0]))
    found = verdicts(at, blocks, lambda rng: ended(rng, blocks))
    assert all(found[v] <= 0.05 * CLUSTERS[blocks] for v in (Verdict.HOLDS, Verdict.REVERSED)), (
        found
    )
