"""Check tempered tails: bounds, moments, mean and 99 % quantile of the data, atoms."""

import numpy as np
import pytest
import scipy.stats as sp
from scipy.integrate import quad

from philly_analysis.distributions import fit_distribution
from philly_analysis.distributions.quantile_grid import QuantileGrid
from philly_analysis.distributions.truncated import Truncated


@pytest.mark.parametrize(("n", "sigma"), [(86, 1.8), (300, 1.8), (5_000, 2.5)])
@pytest.mark.parametrize("seed", range(3))
def test_tempered_tails_keep_mean_and_upper_quantile(n: int, sigma: float, seed: int) -> None:
    x = np.random.default_rng(seed).lognormal(6, sigma, n)
    fitted = fit_distribution(x, tempered=True)
    # the largest of 86 values may be more than a smooth tail of 1 % can hold
    assert fitted.mean() == pytest.approx(x.mean(), rel=0.05 if n > 100 else 0.07)
    assert float(fitted.ppf(0.99)) == pytest.approx(np.quantile(x, 0.99), rel=0.1)
    assert fitted.support()[1] == pytest.approx(x.max() * (1 + 1 / n))
    assert fitted.rvs(20_000, random_state=1).max() <= x.max() * (1 + 1 / n)
    assert np.isfinite(fitted.std()) and fitted.upper == pytest.approx(fitted.support()[1])


def test_the_empirical_distribution_keeps_the_mean_exactly() -> None:
    x = np.random.default_rng(5).pareto(1.2, 3_000) + 1
    fitted = fit_distribution(x, family="empirical", tempered=True)
    assert fitted.mean() == pytest.approx(x.mean(), rel=0.01)
    # a sample of it has that mean, too
    assert fitted.rvs(400_000, random_state=2).mean() == pytest.approx(x.mean(), rel=0.03)
    heavy = fit_distribution(x, family="empirical")
    assert heavy.upper is None


def test_a_class_keeps_its_mean_if_one_value_is_a_third_of_the_sum() -> None:
    x = np.append(np.random.default_rng(7).lognormal(8, 1, 86), 0.0)
    x[-1] = 0.6 * x.sum()
    fitted = fit_distribution(x, family="empirical", tempered=True)
    assert 0.35 < x[-1] / x.sum() < 0.4
    assert fitted.mean() == pytest.approx(x.mean(), rel=0.05)
    assert float(fitted.ppf(0.99)) == pytest.approx(np.quantile(x, 0.99), rel=0.1)
    q = (np.arange(100_000) + 0.5) / 100_000
    assert fitted.mean() == pytest.approx(float(fitted.ppf(q).mean()), rel=1e-3)
    assert float(fitted.cdf(x.max() * (1 + 1 / 87))) == 1.0


@pytest.mark.parametrize("values", [(4, 9), (9, 9), (365.46, 11_132.98, 16_612.82)])
def test_a_tail_of_few_values_is_within_their_bound(values: tuple[float, ...]) -> None:
    fitted = fit_distribution(np.array(values), family="empirical", tempered=True)
    longest, n = max(values), len(values)
    drawn = fitted.rvs(500, random_state=1)
    assert drawn.min() > 0 and max(drawn.max(), fitted.ppf(1)) <= longest * (1 + 1 / n)
    assert fitted.mean() == pytest.approx(np.mean(values), rel=0.35)


def test_a_truncated_distribution_is_that_of_scipy_within_the_bound() -> None:
    whole, upper = sp.lognorm(1.5, scale=100), 2_000.0
    cut = Truncated(whole, upper)
    x = np.array([1.0, 50.0, 1_999.0, 2_000.0, 1e5])
    assert cut.cdf(x) == pytest.approx(np.minimum(whole.cdf(x) / whole.cdf(upper), 1))
    assert cut.cdf(x) + cut.sf(x) == pytest.approx(1)
    assert cut.cdf(cut.ppf([0.1, 0.9, 0.999])) == pytest.approx([0.1, 0.9, 0.999])
    mean = quad(lambda v: v * whole.pdf(v), 0, upper)[0] / whole.cdf(upper)
    assert cut.mean() == pytest.approx(mean, rel=1e-6)


def test_the_density_and_the_atoms_have_probability_one() -> None:
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.lognormal(5, 1, 800), np.full(400, 3_600.0)])
    fitted = fit_distribution(x, family="empirical", tempered=True)
    [(value, mass)] = fitted.atoms()
    assert value == 3_600 and mass == pytest.approx(1 / 3, abs=0.015)
    v = np.geomspace(fitted.support()[0], fitted.support()[1], 400_001)
    density = np.trapezoid(fitted.pdf(v) * v, np.log(v))
    assert density + mass == pytest.approx(1, abs=0.002)


def test_moments_of_a_truncated_tail() -> None:
    grid = QuantileGrid(np.array([1.0, 2.0, 4.0]), 0.9, 0.8, 3.0, 50.0)
    for order in (1, 2):
        density = quad(lambda v, k=order: v**k * grid.pdf(v), 1, 50, points=[2, 4], limit=200)[0]
        assert grid.moment(order) == pytest.approx(density, rel=1e-5)
    assert grid.ppf(1.0) == pytest.approx(50)
