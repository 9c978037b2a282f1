"""Design effect of clustered data: intracluster correlation and effective sample size."""

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike

from philly_analysis.distributions.arrays import Floats

MAX_CORRELATION = 0.95


def intracluster_correlation(score: ArrayLike, cluster: ArrayLike) -> float:
    """Return the correlation of two values of one cluster, by analysis of variance (Fisher 1925).

    Parameters
    ----------
    score
        Shape (n,): approximately normal values.
    cluster
        Shape (n,): integers from 0.

    Returns
    -------
    float
        0 to `MAX_CORRELATION`; 0 for a single cluster or if each value is its own cluster.
    """
    z, index = np.asarray(score, float), np.asarray(cluster)
    size = np.bincount(index).astype(float)
    size, total = size[size > 0], np.bincount(index, z)[size > 0]
    n, groups = z.size, size.size
    if groups < 2 or n <= groups:
        return 0.0
    between = float(((total / size - z.mean()) ** 2 * size).sum()) / (groups - 1)
    within = (float((z**2).sum()) - float((total**2 / size).sum())) / (n - groups)
    typical = (n - float((size**2).sum()) / n) / (groups - 1)
    correlation = (between - within) / max(between + (typical - 1) * within, 1e-12)
    return float(np.clip(correlation, 0, MAX_CORRELATION))


def effective_size(cluster: ArrayLike, correlation: float) -> float:
    """Return the number of independent values with an equally precise mean (Kish 1965).

    Parameters
    ----------
    cluster
        Shape (n,): integers from 0.
    correlation
        Correlation of two values of one cluster.
    """
    size = np.bincount(np.asarray(cluster, int)).astype(float)
    n = float(size.sum())
    return n / (1 + (float((size**2).sum()) / n - 1) * correlation) if n else 0.0


def indicator_correlation(q: ArrayLike, correlation: float) -> Floats:
    """Return the intracluster correlation of the indicators of lying below a quantile.

    Parameters
    ----------
    q
        Probabilities of the quantiles.
    correlation
        Correlation of the normal scores of two values of one cluster. Both values lie below the
        quantile with the probability of the bivariate normal distribution (Owen 1956).
    """
    p = np.clip(np.asarray(q, float), 1e-9, 1 - 1e-9)
    z = special.ndtri(p)
    both = p - 2 * special.owens_t(z, np.sqrt((1 - correlation) / (1 + correlation)))
    return np.asarray((both - p**2) / (p * (1 - p)))
