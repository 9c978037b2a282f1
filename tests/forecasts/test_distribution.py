"""Compare the distribution of a wait with SciPy's, and its interval with the definition."""

import numpy as np
import pytest
from scipy.stats import rv_discrete

from philly_analysis.forecasts import WaitDistribution
from philly_analysis.forecasts.points import POINTS, equal_points, ranks, sorted_points

WAITS, SHARES = (0, 5, 60, 4_000), (0.3, 0.2, 0.4, 0.1)
WAIT = WaitDistribution(WAITS, SHARES)


def test_methods_are_those_of_scipy() -> None:
    frozen = rv_discrete(values=(WAITS, SHARES))()
    levels = [0.05, 0.3, 0.31, 0.5, 0.95]
    assert np.array_equal(WAIT.ppf(levels), frozen.ppf(levels))
    assert WAIT.cdf([0, 59, 60, 1e9]) == pytest.approx(frozen.cdf([0, 59, 60, 1e9]))
    assert WAIT.sf([0, 59]) == pytest.approx(frozen.sf([0, 59]))
    for name in ("mean", "median", "std", "var"):
        assert getattr(WAIT, name)() == pytest.approx(getattr(frozen, name)())
    drawn = WAIT.rvs(20_000, random_state=1)
    assert np.mean(drawn == 60) == pytest.approx(0.4, abs=0.02)


def test_an_interval_begins_at_a_likely_shortest_wait_and_else_has_equal_tails() -> None:
    assert tuple(map(int, WAIT.interval(0.9))) == (
        0,
        60,
    )  # 30 % is more than a tail of 5 %: 0 to the 90th percentile
    rare = WaitDistribution(tuple(range(100)), (0.01,) * 100)
    assert tuple(map(int, rare.interval(0.9))) == (4, 94)


def test_a_job_that_has_waited_waits_longer() -> None:
    later = WAIT.after(5)
    assert later.waits == (60, 4_000)
    assert later.shares == pytest.approx((0.8, 0.2))
    assert WAIT.after(9_000).waits == (9_000,)


def test_the_sentence_has_the_numbers() -> None:
    assert WAIT.describe("A job of 2 GPUs") == (
        "A job of 2 GPUs waits 5 s (median). With a probability of 50 % the job waits 0 s to 5 s, "
        "with 90 % 0 s to 1 min. Probability to start within 5 min: 90 %, 1 h: 90 %, 8 h: 100 %."
    )


def test_points_are_quantiles_of_weighted_waits() -> None:
    rng = np.random.default_rng(0)
    waits, weights = rng.exponential(100, 50), rng.random(50)
    levels = (np.arange(POINTS) + 0.5) / POINTS
    expected = np.quantile(waits, levels, method="inverted_cdf", weights=weights)
    assert equal_points(waits, weights) == pytest.approx(expected)
    assert sorted_points(sorted(waits)) == pytest.approx(
        np.quantile(waits, levels, method="inverted_cdf"), rel=0.2
    )


def test_ranks_are_the_probabilities_beside_a_wait() -> None:
    points = np.repeat([0.0, 10.0], POINTS // 2)
    assert ranks(points, 0.0) == (0.0, 0.5)
    assert ranks(points, 10.0) == (0.5, 1.0)
    low, high = ranks(points, 5.0)
    assert low < 0.5 < high
    assert high - low == pytest.approx(1 / POINTS)
