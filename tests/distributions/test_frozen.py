"""Distributions have the methods and values of SciPy's frozen ones."""

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.stats as sp
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis.distributions.distribution import EMPIRICAL, Distribution
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.distributions.quantile_grid import QuantileGrid
from philly_analysis.errors import ModelError
from philly_analysis.models import load_model
from philly_analysis.models.components.gang_size import GangSizeDistribution
from tests.distributions.test_distributions import ALL, known

SCIPY: dict[str, Any] = {
    "exponential": sp.expon(scale=300),
    "weibull": sp.weibull_min(0.6, scale=900),
    "lognormal": sp.lognorm(1.8, scale=np.exp(6)),
    "gamma": sp.gamma(0.5, scale=2_000),
    "lomax": sp.lomax(1.6, scale=500),
    "pareto": sp.pareto(1.4, scale=60),
}
Q = np.array([[0.001, 0.1, 0.5], [0.9, 0.99, 1 - 1e-9]])


@pytest.mark.parametrize("family", SCIPY)
def test_parametric_distributions_are_those_of_scipy(family: str) -> None:
    ours, theirs = known(family), SCIPY[family]
    x = theirs.ppf(Q)
    assert x.shape == ours.pdf(x).shape == Q.shape
    for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf"):
        np.testing.assert_allclose(getattr(ours, name)(x), getattr(theirs, name)(x), rtol=1e-9)
    for name in ("ppf", "isf"):
        np.testing.assert_allclose(getattr(ours, name)(Q), getattr(theirs, name)(Q), rtol=1e-9)
    for name in ("mean", "median", "var", "std", "entropy", "support"):
        np.testing.assert_allclose(getattr(ours, name)(), getattr(theirs, name)(), rtol=1e-9)
    if math.isfinite(ours.var()):
        np.testing.assert_allclose(ours.stats("mvsk"), theirs.stats("mvsk"), rtol=1e-6)
        np.testing.assert_allclose(ours.stats(), theirs.stats(), rtol=1e-9)
    np.testing.assert_allclose(ours.interval([0.5, 0.9]), theirs.interval([0.5, 0.9]), rtol=1e-9)
    assert ours.expect(np.log) == pytest.approx(theirs.expect(np.log), rel=1e-5)
    assert ours.bic is None


@pytest.mark.parametrize("distribution", ALL.values(), ids=ALL)
def test_moments_and_entropy_are_those_of_the_quantiles(distribution: Distribution) -> None:
    u = (np.arange(200_000) + 0.5) / 200_000
    x = distribution.ppf(u)
    if distribution.family not in ("lomax", "pareto"):  # their means need more quantiles
        assert distribution.mean() == pytest.approx(x.mean(), rel=0.02)
    if math.isfinite(distribution.var()) and distribution.family != "lognormal":
        assert distribution.var() == pytest.approx(x.var(), rel=0.02)
        assert distribution.moment(2) == pytest.approx((x**2).mean(), rel=0.02)
    assert distribution.entropy() == pytest.approx(-distribution.logpdf(x).mean(), abs=0.005)
    assert distribution.expect(np.sqrt) == pytest.approx(np.sqrt(x).mean(), rel=0.01)
    np.testing.assert_allclose(distribution.isf(1 - u[::997]), x[::997], rtol=1e-6)
    tail = np.array([1e-11, 1e-9, 1e-6])
    np.testing.assert_allclose(distribution.sf(distribution.isf(tail)), tail, rtol=1e-6)
    np.testing.assert_allclose(distribution.logcdf(x), np.log(distribution.cdf(x)), atol=1e-9)
    low, high = distribution.interval(0.8)
    np.testing.assert_allclose(distribution.cdf([low, high]), [0.1, 0.9], atol=1e-9)
    assert distribution.support()[0] <= x[0] and x[-1] <= distribution.support()[1]


def test_density_and_moments_of_a_grid_by_hand() -> None:
    """Half log-uniform on 1 to e, half 2 above e and exponential of mean 2."""
    distribution = QuantileGrid(np.array([1.0, math.e]), 0.5, 0.0, 2.0)
    assert distribution.support() == (1, math.inf)
    assert distribution.mean() == pytest.approx(0.5 * (math.e - 1) + 0.5 * (math.e + 2))
    assert distribution.moment(2) == pytest.approx(
        0.25 * (math.e**2 - 1) + 0.5 * (math.e**2 + 4 * math.e + 8)
    )
    # densities 1/(2x) on the left, the last knot included, and exp(-excess / 2) / 4 above
    density = distribution.pdf([0.9, 1, 2, math.e, math.e + 2])
    assert density == pytest.approx([0, 0.5, 0.25, 0.5 / math.e, 0.25 / math.e])
    # of 1/(2x) on the left, the mean of log x is 1/2; on the right log 2 for the half, log 2 + 1
    assert distribution.entropy() == pytest.approx(
        0.5 * (np.log(2) + 0.5) + 0.5 * (2 * np.log(2) + 1)
    )


@given(st.lists(st.sampled_from([1, 2, 4, 8, 16, 64]), min_size=1, max_size=40))
def test_gang_sizes_have_scipys_discrete_distribution_and_the_sorted_sample(
    gpus: list[int],
) -> None:
    distribution = GangSizeDistribution.fit(gpus)
    theirs = sp.rv_discrete(values=(distribution.sizes, distribution.shares))
    x = np.array([0, 1, 2, 3, 8, 64, 65])
    for name in ("pmf", "cdf", "sf"):
        np.testing.assert_allclose(
            getattr(distribution, name)(x), getattr(theirs, name)(x), atol=1e-12
        )
    for name in ("mean", "var", "std", "entropy"):
        assert getattr(distribution, name)() == pytest.approx(
            float(getattr(theirs, name)()), abs=1e-9
        )
    ordered = np.sort(gpus)
    q = (np.arange(len(gpus)) + 0.5) / len(gpus)
    assert distribution.ppf(q).tolist() == ordered.tolist()
    assert distribution.isf(q).tolist() == ordered[::-1].tolist()
    assert distribution.support() == (ordered[0], ordered[-1])
    assert distribution.expect(np.log2) == pytest.approx(np.log2(gpus).mean())
    assert distribution.median() == ordered[(len(gpus) - 1) // 2]
    low, high = distribution.interval(0.5)
    assert distribution.ppf(0.25) == low and distribution.isf(0.25) == high
    assert set(distribution.rvs((3, 4), 1).ravel()) <= set(gpus)
    np.testing.assert_allclose(np.exp(distribution.logpmf(x)), distribution.pmf(x))
    np.testing.assert_allclose(np.exp(distribution.logcdf(x)), distribution.cdf(x))


def test_quantiles_at_sums_of_shares_are_exact_although_the_sums_are_rounded() -> None:
    distribution = GangSizeDistribution.fit(range(1, 11))
    tenths = np.arange(11) / 10  # eight tenths add up to less than 0.8
    assert distribution.ppf(tenths).tolist() == [1, *range(1, 11)]
    assert distribution.isf(tenths).tolist() == [*range(10, 0, -1), 1]


@given(st.lists(st.floats(0.5, 1e6), min_size=30, max_size=200, unique=True))
def test_the_empirical_distribution_has_the_quantiles_of_its_sample(values: list[float]) -> None:
    distribution = fit_distribution(values, family=EMPIRICAL)
    ordered = np.sort(values)
    gap = np.abs(distribution.cdf(ordered) - (np.arange(ordered.size) + 0.5) / ordered.size)
    assert gap.max() <= 3.5 / ordered.size + 0.01  # a knot for every three values


@pytest.mark.parametrize(
    "distribution", [*ALL.values(), GangSizeDistribution.fit([1, 8])], ids=[*ALL, "gangs"]
)
def test_probabilities_outside_of_0_to_1_are_errors(distribution: Any) -> None:
    for method in (distribution.ppf, distribution.isf, distribution.interval):
        for wrong in (-0.1, 1.1, [0.5, 2.0]):
            with pytest.raises(ModelError, match="must lie between 0 and 1"):
                method(wrong)
    assert np.isnan(distribution.ppf(np.nan)) and np.isnan(distribution.isf([np.nan, 0.5])[0])
    assert np.isnan(distribution.cdf(np.nan)) and np.isnan(distribution.sf(np.nan))


def test_intervals_of_quantiles_are_order_statistics() -> None:
    x = np.random.default_rng(2).lognormal(5, 1, 400)
    distribution = fit_distribution(x, family=EMPIRICAL)
    low, high = distribution.quantile_interval([0.5])
    # binomial(400, 1/2) lies within 20 of 200 in 95 %
    assert np.sort(x)[175] < low < np.sort(x)[186] and np.sort(x)[214] < high < np.sort(x)[225]
    twins = fit_distribution(
        np.repeat(x, 4), family=EMPIRICAL, cluster=np.repeat(np.arange(400), 4)
    )
    assert twins.effective_n == pytest.approx(400, rel=0.1)
    np.testing.assert_allclose(twins.quantile_interval([0.5]), [low, high], rtol=0.05)
    with pytest.raises(ModelError, match="not fitted to values"):
        known("gamma").quantile_interval(0.5)


def test_the_plot_is_of_the_cdf_and_of_the_data() -> None:
    fitted = load_model("philly").duration(gpus=8)
    ax = plt.figure().subplots()
    fitted.plot(ax=ax)
    line, points = (np.asarray(drawn.get_xydata()) for drawn in ax.lines)
    np.testing.assert_allclose(line[:, 1], 100 * fitted.cdf(line[:, 0]))
    assert points[:, 0].tolist() == list(fitted.observed[4::5])
    assert points[[0, -1], 1].tolist() == [5, 95]
    plt.close("all")
