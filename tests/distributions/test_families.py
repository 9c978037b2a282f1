"""Compare the families' likelihoods with SciPy, their derivatives with differences of values."""

import doctest

import numpy as np
import pytest

from philly_analysis.distributions import families
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.family import ShapeScaleFamily

SHAPE_SCALE = [family for family in FAMILIES.values() if isinstance(family, ShapeScaleFamily)]
X = np.array([0.3, 1.0, 4.0, 25.0])


@pytest.mark.parametrize("family", SHAPE_SCALE, ids=lambda family: family.name)
@pytest.mark.parametrize(("shape", "scale"), [(0.7, 2.0), (1.8, 0.5)])
def test_likelihoods_are_those_of_scipy(
    family: ShapeScaleFamily, shape: float, scale: float
) -> None:
    lognormal = family.name == "lognormal"
    theta = [np.log(scale), shape] if lognormal else [shape, scale]
    frozen = family.frozen(np.array(theta))
    constant = np.log(2 * np.pi) / 2 if lognormal else 0.0
    assert family.log_pdf(X, shape, scale).value - constant == pytest.approx(frozen.logpdf(X))
    assert family.log_sf(X, shape, scale).value == pytest.approx(frozen.logsf(X))


@pytest.mark.parametrize("family", SHAPE_SCALE, ids=lambda family: family.name)
@pytest.mark.parametrize("method", ["log_pdf", "log_sf"])
def test_derivatives_are_slopes(family: ShapeScaleFamily, method: str) -> None:
    log, step = getattr(family, method), 1e-5
    shape, scale = 1.3, 2.5
    terms, up, down = log(X, shape, scale), np.exp(step), np.exp(-step)
    by_shape = log(X, shape * up, scale).value - log(X, shape * down, scale).value
    by_scale = log(X, shape, scale * up).value - log(X, shape, scale * down).value
    assert terms.by_log_shape == pytest.approx(by_shape / (2 * step), rel=1e-5, abs=1e-7)
    assert terms.by_log_scale == pytest.approx(by_scale / (2 * step), rel=1e-5, abs=1e-7)


def test_the_examples_of_the_families_are_right() -> None:
    outcome = doctest.testmod(families)
    assert (outcome.failed, outcome.attempted) == (0, 2 + len(FAMILIES) - 1)
