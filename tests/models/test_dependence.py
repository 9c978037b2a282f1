"""Intervals and tests on correlated and censored data of a known distribution.

The long tests repeat; a share p of n repeats has a standard error of
sqrt(p (1 - p) / n), 1 % at 95 % of 500.
"""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.special as special

from philly_analysis.distributions.distribution import EMPIRICAL
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.models.components.gang_size import GangSizeDistribution
from tests.distributions.test_distributions import TRUE, known
from tests.models.jobs import Floats, Ints, clustered_scores

CORRELATION = 0.3
LEVELS = np.array([0.25, 0.5, 0.9])


def clustered(
    rng: np.random.Generator, family: str, users: int, each: int, *, uneven: bool = False
) -> tuple[Floats, Ints]:
    """Return values of a family, and their users: of equal or Zipf-distributed numbers of jobs."""
    n = users * each
    share = 1 / np.arange(1, users + 1)
    user = rng.choice(users, n, p=share / share.sum()) if uneven else np.repeat(range(users), each)
    return known(family).ppf(special.ndtr(clustered_scores(rng, user, CORRELATION))), user


def rates(repeats: int, family: str, users: int, each: int, *, uneven: bool) -> Sequence[float]:
    """Return the share of rejections of the true family, and the coverage of its intervals."""
    rng = np.random.default_rng(20_180_101)
    rejected, parameters, quantiles = 0, [], []
    truth = known(family).ppf(LEVELS)
    for i in range(repeats):
        x, user = clustered(rng, family, users, each, uneven=uneven)
        fitted = fit_distribution(x, family=family, cluster=user, seed=i)
        rejected += bool(fitted.rejected)
        parameters.append(
            [
                p.low is not None and p.high is not None and p.low <= true <= p.high
                for p, true in zip(fitted.parameters, TRUE[family], strict=True)
            ]
        )
        low, high = fit_distribution(x, family=EMPIRICAL, cluster=user).quantile_interval(LEVELS)
        quantiles.append((low <= truth) & (truth <= high))
    return rejected / repeats, float(np.mean(parameters)), float(np.mean(quantiles))


@pytest.mark.slow
@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize("family", ["lognormal", "weibull"])
def test_rejection_and_coverage_of_clustered_values(family: str, uneven: bool) -> None:
    """500 repeats of 1,800 values of 120 users."""
    rejected, parameters, quantiles = rates(500, family, 120, 15, uneven=uneven)
    assert 0.03 - 0.01 <= rejected <= 0.08
    assert 0.93 <= parameters <= 0.97 and 0.93 <= quantiles <= 0.975


def test_rejection_and_coverage_of_clustered_values_in_20_repeats() -> None:
    """The probability outside of the bounds is 0.1 %."""
    rejected, parameters, quantiles = rates(20, "lognormal", 40, 10, uneven=False)
    assert rejected <= 5 / 20 and parameters >= 0.8 and quantiles >= 0.8


def test_intervals_without_clusters_are_too_narrow() -> None:
    rng = np.random.default_rng(7)
    inside = {True: 0, False: 0}
    for _ in range(40):
        x, user = clustered(rng, "lognormal", 40, 25)
        for clusters in inside:
            fitted = fit_distribution(x, family=EMPIRICAL, cluster=user if clusters else None)
            low, high = fitted.quantile_interval(0.5)
            inside[clusters] += bool(low <= known("lognormal").median() <= high)
    assert inside[True] >= 34 > 30 >= inside[False]


def test_intervals_of_gang_sizes_cover_with_clusters() -> None:
    rng = np.random.default_rng(1)
    inside = {True: 0, False: 0}
    for _ in range(200):
        user = np.repeat(range(80), 12)
        share = rng.beta(0.7, 1.3, 80)[user]
        gpus = np.where(rng.random(user.size) < share, 8, 1)
        for clusters in inside:
            sizes = GangSizeDistribution.fit(gpus, user if clusters else None)
            inside[clusters] += sizes.low[1] <= 0.35 <= sizes.high[1]
    assert inside[True] >= 180 > 140 >= inside[False]
