"""Confidence intervals of the quantiles and the mean of a fitted distribution."""

from collections.abc import Callable

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats
from philly_analysis.distributions.design_effect import indicator_correlation
from philly_analysis.distributions.frozen import probabilities
from philly_analysis.errors import ModelError


def quantile_interval(
    ppf: Callable[[Floats], Floats],
    q: ArrayLike,
    confidence: float,
    n: int,
    effective_n: float | None,
    correlation: float,
) -> tuple[Floats, Floats]:
    """Return the ends of intervals of quantiles: see :meth:`Distribution.quantile_interval`."""
    p, independent = probabilities(q), _fitted(effective_n, "quantiles")
    size: float | Floats = independent
    if correlation:
        excess = (n / independent - 1) / max(correlation, 1e-9)
        size = n / (1 + excess * indicator_correlation(p, correlation))
    half = _critical(confidence, size) * np.sqrt(p * (1 - p) / size)
    return ppf(np.maximum(p - half, 0)), ppf(np.minimum(p + half, 1))


def mean_interval(
    mean: float, std: float, confidence: float, effective_n: float | None
) -> tuple[float, float]:
    """Return the ends of the interval of a mean: see :meth:`Distribution.mean_interval`."""
    independent = _fitted(effective_n, "the mean")
    if not np.isfinite(std):
        return 0.0, np.inf
    half = _critical(confidence, independent) * std / mean / np.sqrt(independent)
    with np.errstate(over="ignore"):
        return float(mean * np.exp(-half)), float(mean * np.exp(half))


def _fitted(effective_n: float | None, what: str) -> float:
    if not effective_n:
        raise ModelError(f"a distribution not fitted to values has no intervals of {what}")
    return effective_n


def _critical(confidence: float, independent: float | Floats) -> Floats:
    """Return the quantile of Student's t distribution at the upper end of an interval."""
    outside = (1 - probabilities(confidence, "a confidence")) / 2
    freedom = np.maximum(np.asarray(independent) - 1, 1)
    return np.asarray(special.stdtrit(freedom, 1 - outside))
