"""Check the block bootstrap: statistics of one draw, and the coverage of intervals."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from philly_analysis.atlas import measures
from philly_analysis.atlas.calendar_measures import cycle_ratio
from philly_analysis.atlas.measure import Statistic
from philly_analysis.atlas.resampling import (
    FEWEST_BLOCKS,
    Resampling,
    median,
    ratio,
    resampling,
    top_share,
)

RNG = np.random.default_rng(7)
ROWS = pd.DataFrame({"user": RNG.integers(0, 40, 600).astype(str), "x": RNG.lognormal(3, 2, 600)})


@pytest.fixture(scope="module")
def r() -> Resampling:
    return resampling(ROWS, of_users=True)


def repeated(r: Resampling, drawing: int) -> pd.Series:
    """The values of one drawing, each row as often as its block was taken."""
    return ROWS["x"].repeat(r.weights[drawing, r.codes].astype(int))


@pytest.mark.parametrize("drawing", [0, 1, 500, 1000])
def test_statistics_are_those_of_the_rows_drawn(r: Resampling, drawing: int) -> None:
    x = repeated(r, drawing).to_numpy()
    assert len(np.unique(r.codes)) == r.blocks == 40
    assert r.weights[drawing].sum() == 40
    assert r.sums(ROWS["x"])[drawing] == pytest.approx(x.sum())
    # the quantile grid has a thousand steps: here every row is one of them
    assert median(r, ROWS["x"])[drawing] == np.quantile(x, 0.5, method="inverted_cdf")
    k = len(x) / 10
    top = np.sort(x)[::-1]
    expected = (top[: int(k)].sum() + (k - int(k)) * top[int(k)]) / x.sum()
    assert top_share(r, ROWS["x"], 0.1)[drawing] == pytest.approx(expected, rel=0.02)
    if drawing == 0:
        assert top_share(r, ROWS["x"], 0.1)[0] == pytest.approx(expected, rel=1e-12)


def test_the_top_of_many_rows_is_found_to_a_thousandth() -> None:
    rows = pd.DataFrame(
        {"user": np.arange(50_000) % 90, "x": np.random.default_rng(1).pareto(1.1, 50_000)}
    )
    r = resampling(rows, of_users=True)
    top = np.sort(rows["x"])[::-1]
    assert top_share(r, rows["x"], 0.1)[0] == pytest.approx(top[:5_000].sum() / top.sum(), rel=1e-3)
    exact = np.quantile(rows["x"], 0.5, method="inverted_cdf")
    assert median(r, rows["x"])[0] == exact
    draws = median(r, rows["x"])[1:]
    assert abs(np.median(draws) / exact - 1) < 0.02


def test_blocks_are_users_then_weeks_then_days() -> None:
    days = pd.date_range("2026-01-05", periods=7 * FEWEST_BLOCKS)  # from a Monday on
    rows = pd.DataFrame({"user": [None] * len(days), "day": days})
    weeks = resampling(rows, of_users=True)
    assert (weeks.kind, weeks.blocks) == ("weeks", FEWEST_BLOCKS)
    assert all(len(set(weeks.codes[i : i + 7])) == 1 for i in range(0, len(days), 7))
    few = resampling(rows[:-7], of_users=True)
    assert (few.kind, few.blocks) == ("days", 7 * (FEWEST_BLOCKS - 1))
    named = rows.assign(user=pd.Series(["a", "b", None, "a"] * (len(days) // 4)))
    users = resampling(named, of_users=True)
    assert (users.kind, users.blocks) == ("users", 2 + len(days) // 4)
    counts = named["user"].map({"a": 1, "b": 1}).fillna(3)  # the unknown users have half of them
    assert resampling(named, of_users=True, counts=counts).kind == "weeks"


def test_no_interval_where_drawings_say_nothing(r: Resampling) -> None:
    rare = np.zeros(len(ROWS))
    rare[0] = 1  # in blocks that every third drawing leaves out
    effect = r.estimate(ratio(np.ones(1001), r.sums(rare)))
    assert effect.value == 1 and np.isnan(effect.low)


DAY = cycle_ratio("hour", 24, 8, 1)


def test_the_day_is_tested_on_days_that_did_not_choose_its_thirds() -> None:
    """Jobs at random hours: a third that is merely busiest by chance does not count as busy."""
    rows = pd.DataFrame(
        {
            "day": np.repeat(pd.date_range("2026-01-05", periods=60), 5),
            "hour": np.random.default_rng(0).integers(0, 24, 300),
            "jobs": 1,
        }
    )
    r = resampling(rows, of_users=False)
    naive = rows.groupby("hour")["jobs"].sum().reindex(range(24)).fillna(0).to_numpy()
    thirds = [np.roll(naive, -i)[:8].sum() for i in range(24)]
    assert max(thirds) / min(thirds) > 1.2
    effect = r.estimate(DAY.statistic(rows, r))
    assert effect.low < 1 < effect.high


def test_the_panel_of_a_cycle_is_relative_to_its_mean() -> None:
    days = pd.to_datetime(["2026-01-05", "2026-01-06", "2026-01-06"])
    rows = pd.DataFrame({"day": days, "hour": [3, 3, 23], "jobs": [20, 10, 18]})
    panel = DAY.panel(rows)  # two an hour on average
    assert panel["x"].tolist() == [*range(24)]
    assert panel["n"].tolist() == [0, 0, 0, 30, *[0] * 19, 18]
    assert panel["y"].tolist() == [0, 0, 0, 15, *[0] * 19, 9]
    assert DAY.panel(rows.head(0))["y"].tolist() == [0] * 24


def users(
    rng: np.random.Generator, n: int, *, effect: float = 1, related: float = 1
) -> pd.DataFrame:
    """Jobs of users of unequal size, each with a failure rate and, `related` to it, a run time.

    `effect` is the effect of large gangs on failures, and of failures on GPU time.
    """
    user = np.repeat(np.arange(n), np.minimum(rng.geometric(1 / 25, n), 100))
    mood = rng.normal(0, 1, n)
    large = rng.random(len(user)) < 0.3
    hit = rng.random(len(user)) < 1 / (1 + np.exp(1 - 0.5 * mood[user] - effect * large))
    level = related * mood + np.sqrt(1 - related**2) * rng.normal(0, 1, n)
    x = np.exp(4 + level[user] + rng.normal(0, 1, len(user)))
    status = np.where(hit, "Failed", "Pass")
    made = {"user": user, "x": x, "large": large, "jobs": 1, "hit": hit.astype(int)}
    return pd.DataFrame(made | {"status": status, "gpu_h": x * (1 + effect * hit)})


CYCLE = np.cos(2 * np.pi * np.arange(24) / 24)


def weeks(rng: np.random.Generator, n: int, *, effect: float = 1) -> pd.DataFrame:
    """Jobs by hour: a daily cycle, days of unequal load, bursts."""
    days = pd.date_range("2026-01-05", periods=7 * n)
    level = rng.lognormal(0, 0.6, (len(days), 1))
    jobs = rng.poisson(
        12 * level * (1 + 0.25 * effect * CYCLE) * rng.lognormal(-0.3, 0.8, (len(days), 24))
    )
    hour = np.tile(np.arange(24), len(days))
    return pd.DataFrame({"day": np.repeat(days, 24), "hour": hour, "jobs": jobs.ravel()})


FAILURES_OF_LARGE = measures.ratio_of_shares(
    "hit", "jobs", "large", ("large", (True,)), ("small", (False,)), counted=("{}", "{}")
)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [15, 60])
@pytest.mark.parametrize(
    ("rows", "statistic", "least"),
    [
        (users, measures.median_of("x", "jobs").statistic, 0.91),
        (users, FAILURES_OF_LARGE.statistic, 0.91),
        (users, measures.cost_ratio().statistic, 0.85),
        (weeks, DAY.statistic, 0.92),
    ],
    ids=["median", "ratio of shares", "ratio of costs", "day"],
)
def test_intervals_cover_the_truth(
    rows: Callable[[np.random.Generator, int], pd.DataFrame],
    statistic: Statistic,
    least: float,
    blocks: int,
) -> None:
    rng = np.random.default_rng(blocks)
    world = rows(rng, 1_000 if rows is weeks else 40_000)
    truth = float(statistic(world, whole(world))[0])
    covered = 0
    for _ in range(200):
        some = rows(rng, blocks)
        r = resampling(some, of_users=rows is users)
        effect = r.estimate(statistic(some, r))
        covered += effect.low <= truth <= effect.high
    assert least <= covered / 200 < 1


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [15, 60])
def test_a_share_of_the_top_is_not_given_too_high(blocks: int) -> None:
    """The reason why claims of it take only the lower end of the interval from the drawings."""
    rng = np.random.default_rng(blocks)
    world = users(rng, 40_000)
    truth = float(top_share(whole(world), world["x"], 0.1)[0])
    low = high = 0
    for _ in range(200):
        some = users(rng, blocks)
        r = resampling(some, of_users=True)
        effect = r.estimate(top_share(r, some["x"], 0.1))
        low += effect.low > truth
        high += effect.high < truth
    assert low / 200 <= 0.025 < 0.1 < high / 200


def whole(rows: pd.DataFrame) -> Resampling:
    """All rows, once."""
    return Resampling("users", np.zeros(len(rows), np.int64), np.ones((1, 1)))
