"""Check statements of a fitted distribution: intervals of means, families, infinite moments."""

import numpy as np
import pytest
import scipy.stats as sp

from philly_analysis.distributions import PooledDistribution, fit_distribution
from philly_analysis.distributions.goodness import ks_distance
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.errors import ModelError
from philly_analysis.models import load_model
from philly_analysis.models.components import GangSizeDistribution


def test_the_interval_of_a_mean_is_the_bootstrap_interval() -> None:
    x = np.random.default_rng(3).lognormal(5, 1, 600)
    fitted = fit_distribution(x, family="empirical", tempered=True)
    means = np.random.default_rng(4).choice(x, (2_000, x.size)).mean(axis=1)
    expected = np.quantile(means, [0.025, 0.975])
    assert fitted.mean_interval() == pytest.approx(expected, rel=0.03)
    assert fitted.mean_interval(0.5)[0] > fitted.mean_interval()[0]


@pytest.mark.slow
def test_intervals_of_means_cover_the_mean_of_dependent_values() -> None:
    rng, covered = np.random.default_rng(5), 0
    user = np.repeat(np.arange(80), 5)
    for _ in range(200):
        z = np.sqrt(0.5) * (rng.standard_normal(80)[user] + rng.standard_normal(400))
        fitted = fit_distribution(np.exp(z), family="empirical", cluster=user, tempered=True)
        low, high = fitted.mean_interval(0.9)
        covered += low <= np.exp(0.5) <= high
    assert 0.84 <= covered / 200 <= 0.95


def test_a_pool_has_intervals_and_atoms() -> None:
    rng = np.random.default_rng(6)
    short = np.concatenate([rng.lognormal(4, 1, 300), np.full(100, 600.0)])
    long = rng.lognormal(7, 1, 100)
    parts = {
        name: fit_distribution(x, family="empirical", tempered=True)
        for name, x in {"short": short, "long": long}.items()
    }
    pool = PooledDistribution(parts, {"short": 400, "long": 100})
    both = np.concatenate([short, long])
    assert pool.effective_n == pytest.approx(500)
    half = 1.965 * both.std() / np.sqrt(500)
    mean_low, mean_high = pool.mean_interval()
    assert mean_high - mean_low == pytest.approx(2 * half, rel=0.1)
    low, high = pool.quantile_interval(0.5)
    ordered = np.sort(both)
    assert ordered[215] < low < ordered[240] and ordered[260] < high < ordered[285]
    [(value, mass)] = pool.atoms()
    assert value == 600 and mass == pytest.approx(0.2, abs=0.01)


def test_the_pool_of_a_model_allows_for_users_with_jobs_of_several_sizes() -> None:
    duration = load_model("philly").duration
    pool = duration()
    assert pool.effective_n is not None
    assert pool.effective_n == duration.effective_n and pool.effective_n < pool.n / 10
    low, high = duration.mean_interval()
    assert low < duration.mean() < high


def test_the_mean_gang_has_an_interval_by_users() -> None:
    rng = np.random.default_rng(7)
    gpus = rng.choice([1, 2, 8], 200)
    low, high = GangSizeDistribution.fit(gpus).mean_interval()
    assert high - low == pytest.approx(2 * 1.972 * gpus.std() / np.sqrt(200), rel=0.02)
    user = np.repeat(np.arange(200), 10)
    again = GangSizeDistribution.fit(np.repeat(gpus, 10), user).mean_interval()
    assert again == pytest.approx((low, high), rel=0.01)
    with pytest.raises(ModelError, match="not fitted"):
        GangSizeDistribution((1, 8), (0.5, 0.5), (0, 0), (1, 1), 0).mean_interval()


def test_an_infinite_standard_deviation_and_a_limited_shape_are_stated() -> None:
    x = np.random.default_rng(8).pareto(0.6, 4_000) + 1
    fitted = fit_distribution(x, family="empirical")
    assert np.isinf(fitted.std()) and fitted.mean_interval() == (0, np.inf)
    assert "tail shape limited to 0.7" in repr(fitted)
    assert "infinite standard deviation" in repr(fitted)
    tempered = fit_distribution(x, family="empirical", tempered=True)
    assert np.isfinite(tempered.std()) and "infinite" not in repr(tempered)
    lomax = fit_distribution(sp.lomax(1.5).rvs(900, random_state=1), family="lomax")
    assert ("infinite" in repr(lomax)) == (lomax.parameters[0].value <= 2)


def test_aic_and_bic_are_on_the_scale_of_the_effective_sample_size() -> None:
    x = np.random.default_rng(9).lognormal(5, 1, 86)
    fitted = fit_distribution(x, family="lognormal")
    assert fitted.aic == pytest.approx(
        4 - 2 * sp.lognorm(x_sd(x), scale=x_scale(x)).logpdf(x).sum()
    )
    assert fitted.bic == pytest.approx((fitted.aic or 0) + 2 * (np.log(86) - 2))
    user = np.repeat(np.arange(86), 4)
    repeated = fit_distribution(np.repeat(x, 4), family="lognormal", cluster=user)
    # four copies of each value are worth the values once
    assert repeated.aic == pytest.approx(fitted.aic, rel=0.05)
    assert repeated.bic == pytest.approx(fitted.bic, rel=0.05)


def test_a_family_far_from_dependent_values_is_neither_tested_nor_taken() -> None:
    rng = np.random.default_rng(10)
    user = np.repeat(np.arange(40), 100)
    z = 0.9 * rng.standard_normal(40)[user] + 0.45 * rng.standard_normal(4_000)
    x = np.where(z > 0, np.exp(8 + z), np.exp(3 + z))  # a gap that no family has
    fitted = fit_distribution(x, cluster=user)
    sample = Lifetimes.of(x)
    far = [c for c in fitted.candidates if c.ks > max(0.03, 1.358 / np.sqrt(4_000))]
    assert far and all(c.rejected is None and c.p is None for c in far)
    assert fitted.family not in {c.family for c in far}
    assert fitted.ks == pytest.approx(ks_distance(fitted.frozen(), sample), abs=1e-9)


def x_sd(x: np.ndarray) -> float:
    """Return the maximum-likelihood sigma of log-normal values."""
    return float(np.log(x).std())


def x_scale(x: np.ndarray) -> float:
    """Return the maximum-likelihood median of log-normal values."""
    return float(np.exp(np.log(x).mean()))


def test_without_tempering_the_empirical_distribution_keeps_the_mean() -> None:
    for seed, n in enumerate((86, 900, 5_000)):
        x = np.random.default_rng(seed).lognormal(6, 1.5, n)
        assert fit_distribution(x, family="empirical").mean() == pytest.approx(x.mean(), rel=1e-3)
