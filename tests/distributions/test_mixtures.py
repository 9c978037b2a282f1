"""Check that fitted mixtures maximise the likelihood of right-censored samples."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.design_effect import indicator_correlation
from philly_analysis.distributions.expectation_maximisation import fit_exponentials, fit_lognormals
from philly_analysis.distributions.lifetimes import Lifetimes


def log_normals(values: Floats, parameters: Floats) -> tuple[Floats, Floats]:
    """Return the density and the survival function of a mixture of log-normals."""
    weight, mu, sigma = parameters.reshape(-1, 3).T
    parts = stats.lognorm(sigma, scale=np.exp(mu))
    return parts.pdf(values[:, None]) @ weight, parts.sf(values[:, None]) @ weight


def exponentials(values: Floats, parameters: Floats) -> tuple[Floats, Floats]:
    weight, scale = parameters.reshape(-1, 2).T
    parts = stats.expon(scale=scale)
    return parts.pdf(values[:, None]) @ weight, parts.sf(values[:, None]) @ weight


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize(("fit", "shape"), [(fit_lognormals, log_normals),
                                          (fit_exponentials, exponentials)])  # fmt: skip
@pytest.mark.parametrize("limit", [np.inf, 150.0])
def test_no_parameters_nearby_are_likelier(
    fit: Callable[[Lifetimes, int], Floats],
    shape: Callable[[Floats, Floats], tuple[Floats, Floats]],
    components: int,
    limit: float,
) -> None:
    rng = np.random.default_rng(5)
    drawn = np.where(rng.random(900) < 0.6, rng.lognormal(2, 0.8, 900), rng.lognormal(6, 1, 900))
    until = np.minimum(limit, rng.exponential(8 * limit, 900)) if limit < np.inf else limit
    sample = Lifetimes.of(np.minimum(drawn, until), drawn > until)
    assert sample.censored.any() == (limit < np.inf)

    def likelihood(parameters: Floats) -> float:
        density, survival = shape(sample.values, parameters)
        return float(np.log(np.where(sample.censored, survival, density)).sum())

    mixture = fit(sample, components)
    size = len(mixture) // components
    best = likelihood(mixture)
    for i in range(len(mixture)):
        for factor in (0.95, 1.05):
            near = mixture.copy()
            near[i] *= factor
            near[::size] /= near[::size].sum()
            assert likelihood(near) <= best + 0.02


def test_the_correlation_of_values_below_a_quantile_is_that_of_normal_scores() -> None:
    # Sheppard 1898: both lie below the median with probability 1/4 + arcsin(r) / 2 pi
    correlation = indicator_correlation([0.5], 0.3)
    assert correlation == pytest.approx([2 / np.pi * np.arcsin(0.3)])
    ends = indicator_correlation([0.0, 1.0], 0.3)
    assert np.isfinite(ends).all() and (abs(ends) < 0.01).all()
