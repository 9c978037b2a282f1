"""Values that come in clusters: how alike they are, and how many independent ones they match."""

from typing import Any

import numpy as np
import scipy.special as special
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

MOST_ALIKE = 0.95


def correlation(score: ArrayLike, cluster: ArrayLike) -> float:
    """Return the correlation of two values of one cluster, by analysis of variance (Fisher 1925).

    Parameters
    ----------
    score
        Shape (n,): values, of about a normal law.
    cluster
        Shape (n,): integers from 0.

    Returns
    -------
    float
        0 to `MOST_ALIKE`; 0 where there is one cluster, or each value is its own.
    """
    z, of = np.asarray(score, float), np.asarray(cluster)
    size = np.bincount(of).astype(float)
    size, total = size[size > 0], np.bincount(of, z)[size > 0]
    n, groups = z.size, size.size
    if groups < 2 or n <= groups:
        return 0.0
    between = float(((total / size - z.mean()) ** 2 * size).sum()) / (groups - 1)
    within = (float((z**2).sum()) - float((total**2 / size).sum())) / (n - groups)
    usual = (n - float((size**2).sum()) / n) / (groups - 1)
    alike = (between - within) / max(between + (usual - 1) * within, 1e-12)
    return float(np.clip(alike, 0, MOST_ALIKE))


def worth(cluster: ArrayLike, alike: float) -> float:
    """Return how many independent values tell as much of a mean (Kish 1965).

    Parameters
    ----------
    cluster
        Shape (n,): integers from 0.
    alike
        Correlation of two values of one cluster.
    """
    size = np.bincount(np.asarray(cluster, int)).astype(float)
    n = float(size.sum())
    return n / (1 + (float((size**2).sum()) / n - 1) * alike) if n else 0.0


def shared_steps(q: ArrayLike, alike: float) -> Floats:
    """Return the correlation, within a cluster, of whether values lie below a quantile.

    Parameters
    ----------
    q
        Probabilities of the quantiles.
    alike
        Correlation of the values' normal scores: of two of them, both lie below with the
        probability of the bivariate normal law (Owen 1956).
    """
    p = np.clip(np.asarray(q, float), 1e-9, 1 - 1e-9)
    z = special.ndtri(p)
    both = p - 2 * special.owens_t(z, np.sqrt((1 - alike) / (1 + alike)))
    return np.asarray((both - p**2) / (p * (1 - p)))
