"""Check estimates of directions, shares and rates, and the coverage of their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, poisson, spearmanr, t, ttest_rel

from philly_analysis.results.formatting import share
from philly_analysis.results.intervals import (
    Rate,
    clustered_share,
    dispersion,
)
from philly_analysis.results.paired_effects import paired
from philly_analysis.results.rank_correlation import rank_association


def test_the_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, 300)
    y = x + rng.normal(0, 3, 300)
    association = rank_association(x, y)
    assert association.rho == pytest.approx(spearmanr(x, y).statistic)
    assert association.low < association.rho < association.high
    assert association.n == association.clusters == 300


def test_the_correlation_does_not_depend_on_the_order_of_pairs() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 50, 2_000), rng.lognormal(8, 2, 2_000)
    users = np.array([f"user{n}" for n in rng.integers(0, 40, 2_000)], dtype=object)
    users[::7] = None
    expected = rank_association(x, y, users)
    for _ in range(5):
        order = rng.permutation(2_000)
        assert rank_association(x[order], y[order], users[order]) == expected


def test_a_share_does_not_depend_on_the_order_of_observations() -> None:
    rng = np.random.default_rng(5)
    hits, weights = rng.random(2_000) < 0.3, rng.lognormal(8, 2, 2_000)
    users = rng.integers(0, 40, 2_000)
    for of in (None, weights):
        expected = clustered_share(hits, users, of)
        for _ in range(5):
            order = rng.permutation(2_000)
            weighed = None if of is None else of[order]
            assert clustered_share(hits[order], users[order], weighed) == expected


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [True, False])
def test_the_interval_covers_no_association_nineteen_times_in_twenty(clustered: bool) -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(60), 20)
    covered = naive = 0
    trials = 400
    for _ in range(trials):
        x, y = (
            (rng.normal(size=60)[users] + 0.3 * rng.normal(size=1200) for _ in "xy")
            if clustered
            else (rng.normal(size=1200) for _ in "xy")
        )
        one = rank_association(x, y, users)
        covered += one.low <= 0 <= one.high
        other = rank_association(x, y)
        naive += other.low <= 0 <= other.high
    assert 0.91 <= covered / trials <= 0.985
    # without clusters, dependent observations would give too short an interval
    assert naive / trials < 0.6 if clustered else naive / trials > 0.91


def test_directions_and_their_sentences() -> None:
    x = np.arange(50)
    words = {"rises": "up", "falls": "down", "unclear": "?"}
    noise = np.random.default_rng(3).normal(size=50)
    assert rank_association(x, x + noise).sentence(**words).startswith("up (rank correlation +")
    assert rank_association(x, -x + noise).sentence(**words).startswith("down (rank correlation -")
    assert rank_association(x, noise).direction == "unclear"


def test_missing_values_are_excluded_and_missing_users_are_clusters_of_one() -> None:
    users = np.array(["a", None, "b", None, "a"], dtype=object)
    association = rank_association([1, 2, np.nan, 4, 5], [1, 2, 3, 4, np.nan], users)
    assert (association.n, association.clusters) == (3, 3)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_observations_or_clusters_have_no_interval(n: int) -> None:
    association = rank_association(range(n), range(n))
    assert association.direction == "unclear" and np.isnan(association.rho)
    assert "too few to tell" in association.sentence(rises="up", falls="down", unclear="unclear")


def test_jobs_of_one_user_are_one_observation() -> None:
    association = rank_association(range(100), range(100), ["same"] * 100)
    assert association.rho == pytest.approx(1) and association.direction == "unclear"


@pytest.mark.parametrize(
    ("users", "why"), [("ab", "too few to tell"), ("aabbcc", "a constant"), ("abc", "a constant")]
)
def test_a_constant_has_no_correlation(users: str, why: str) -> None:
    association = rank_association([1] * len(users), range(len(users)), [*users])
    assert association.direction == "unclear"
    assert f": {why}" in association.sentence(rises="up", falls="down", unclear="unclear")


def test_the_interval_of_a_share_of_independent_observations_is_students() -> None:
    hits = np.r_[np.ones(30), np.zeros(70)]
    interval = clustered_share(hits)
    half = t.ppf(0.975, 99) * hits.std(ddof=1) / np.sqrt(100)
    assert (interval.frac, interval.low, interval.high) == pytest.approx(
        (0.3, 0.3 - half, 0.3 + half)
    )
    assert (
        str(interval) == f"30.0 % (95 % interval {share(interval.low)} to {share(interval.high)})"
    )
    # two users are too few clusters
    assert np.isnan(clustered_share(hits, np.arange(100) % 2).low)
    assert np.isnan(clustered_share([]).frac)
    assert clustered_share([1, 0], weights=[3, 1]).frac == 0.75


@pytest.mark.parametrize("hit", [0, 1])
def test_shares_of_0_and_1_have_an_interval(hit: int) -> None:
    interval = clustered_share(np.full(60, hit), np.arange(60) % 20)
    exact = binomtest(20 * hit, 20).proportion_ci(method="exact")
    assert (interval.frac, interval.low, interval.high) == pytest.approx(
        (hit, exact.low, exact.high)
    )


@pytest.mark.slow
def test_the_interval_of_a_share_is_wider_for_clustered_observations() -> None:
    rng = np.random.default_rng(3)
    users = np.repeat(np.arange(50), rng.integers(5, 60, 50))
    covered = naive = 0
    for _ in range(1_000):
        habit = rng.beta(1, 2, 50)
        hits = rng.random(len(users)) < habit[users]
        one, other = clustered_share(hits, users), clustered_share(hits)
        covered += one.low <= 1 / 3 <= one.high
        naive += other.low <= 1 / 3 <= other.high
    assert 0.91 <= covered / 1_000 <= 0.985
    assert naive / 1_000 < 0.6


@given(events=st.integers(0, 400), exposure=st.floats(1e-3, 1e6))
def test_the_interval_of_a_rate_is_that_of_poissons_tails(events: int, exposure: float) -> None:
    low, high = Rate(events, exposure).interval
    if events:
        assert poisson.sf(events - 1, low * exposure) == pytest.approx(0.025)
        assert poisson.cdf(events, high * exposure) == pytest.approx(0.025)
    else:
        assert low == 0
        assert poisson.cdf(0, high * exposure) == pytest.approx(0.05)


def test_the_mean_time_of_a_gang_is_that_of_its_parts_divided() -> None:
    rate = Rate(4, 200.0)
    mean, low, high = rate.mean_time()
    assert mean == 50 and low < 50 < high
    assert rate.mean_time(8) == pytest.approx((mean / 8, low / 8, high / 8))
    # without an event the bound is the time watched over -ln 0.05
    assert Rate(0, 300.0).mean_time(5) == pytest.approx((np.inf, 300 / 5 / 2.995732, np.inf))
    assert Rate(0, 0.0).mean_time() == (np.inf, 0, np.inf)


def test_events_on_few_places_are_overdispersed() -> None:
    days = np.full(50, 10.0)
    lemons = np.zeros(50, int)
    lemons[:3] = 10
    uneven, p = dispersion(lemons, days)
    assert uneven == pytest.approx(np.var(lemons, ddof=1) / lemons.mean())
    assert p < 0.001
    assert dispersion(np.ones(50, int), days)[1] == 1
    assert np.isnan(dispersion([1, 0], [1, 1])[1]) and np.isnan(dispersion([3], [1])[1])
    # a place that was never observed does not count
    assert dispersion([*lemons, 0], [*days, 0]) == (uneven, p)
    # twice the days, twice the failures: as chance would have it
    assert dispersion([10, 20], [100.0, 200.0])[1] > 0.9


@pytest.mark.slow
def test_the_dispersion_test_has_its_nominal_level() -> None:
    rng = np.random.default_rng(5)
    days = rng.uniform(1, 100, 40)
    p = [dispersion(rng.poisson(0.02 * days), days, draws=499)[1] for _ in range(600)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_the_interval_of_pairs_is_students() -> None:
    rng = np.random.default_rng(6)
    one, other = rng.normal(size=12), rng.normal(size=12)
    computed, expected = paired(one, other), ttest_rel(one, other).confidence_interval(0.95)
    interval = np.array([expected.low, expected.high])
    assert [computed.low, computed.high] == pytest.approx(interval)
    changed = paired(np.exp(one), np.exp(other), relative=True)
    assert [changed.low, changed.high] == pytest.approx(100 * np.expm1(interval))
    halved = paired([2.0, 8.0, 3.0], [4.0, 16.0, 6.0], relative=True)
    assert (halved.effect, halved.low, halved.high) == pytest.approx((-50, -50, -50))
    few = paired([1.0, 2.0], [1.0, 1.0])
    assert few.effect == 0.5 and np.isnan(few.low) and few.pairs == 2
    assert np.isnan(paired([], []).effect)
