"""Goodness of fit: likelihood, Kolmogorov's distance, and its parametric bootstrap test."""

import numpy as np
import scipy.special as special

from philly_analysis.distributions.distribution import Distribution
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.frozen import Continuous
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.distributions.quantile_grid import TIE_GAP

SIMULATIONS = 79
SIMULATED_POINTS = 500
CLUSTERED_POINTS = 1_000
KOLMOGOROV_5PCT = 1.358  # of sqrt(n) D when nothing is fitted
CERTAIN_REJECTION = 3.5  # of sqrt(n) D with censoring or clusters, which widen its distribution
EARLY_STOP_AFTER = 19
EARLY_STOP_SCORE = 3.0


def log_likelihood(distribution: Continuous, x: Lifetimes) -> float:
    """Return the log-likelihood of a sample, censored values included."""
    with np.errstate(all="ignore"):
        return float(distribution.logpdf(x.ended).sum() + distribution.logsf(x.running).sum())


def ks_distance(distribution: Continuous, x: Lifetimes) -> float:
    """Return the largest gap between the CDF and the sample's (Kaplan-Meier if censored)."""
    at, before, after = x.ecdf()
    if x.running.size:  # Kaplan-Meier is unreliable with few values at risk
        kept = x.n - np.searchsorted(x.values, at) >= 0.1 * x.n
        at, before, after = at[kept], before[kept], after[kept]
    # the empirical distribution rises just below a repeated value
    below = distribution.cdf(at * (1 - 1e3 * TIE_GAP))
    return float(max(np.abs(after - distribution.cdf(at)).max(), np.abs(before - below).max()))


def p_value(fitted: Distribution, x: Lifetimes, rng: np.random.Generator) -> float:
    """Test whether the sample comes from the family, by Kolmogorov's distance.

    Parametric bootstrap (Stute et al. 1993): samples of the fitted distribution are refitted, and
    their distances compared with the observed one. A gap too large without any fitting rejects
    at once. Independent samples have at most `SIMULATED_POINTS` values and are compared by
    sqrt(n) D, which hardly depends on n. Clustered samples have the clusters of the data, at most
    `CLUSTERED_POINTS` values.

    Returns
    -------
    float
        The p-value, to a hundredth near 0.05. Clear results stop early (above 5 %, Besag and
        Clifford 1991; below, by a normal approximation of log D).
    """
    family = FAMILIES[fitted.family]
    theta = np.array([p.value for p in fitted.parameters])
    components = theta.size // len(family.names)
    independent = x.cluster is None or x.correlation == 0
    distance = float(fitted.ks or 0)
    if not independent and x.n > CLUSTERED_POINTS:
        x = x.subsample(CLUSTERED_POINTS, rng)
        distance = ks_distance(family.frozen(family.fit(x, components, theta)), x)
    scaled = distance * np.sqrt(x.n if independent else x.effective_n)
    exact_quantile = independent and x.running.size <= 0.1 * x.n
    if scaled > (KOLMOGOROV_5PCT if exact_quantile else CERTAIN_REJECTION):
        return float(min(1.0, 2 * np.exp(-2 * scaled**2)))
    scaled = distance * np.sqrt(x.n)
    frozen = family.frozen(theta)
    gaps, worse = [], 0
    for _ in range(SIMULATIONS):
        like = x.subsample(SIMULATED_POINTS, rng) if independent else x
        sample = _simulate(frozen, like, rng)
        if sample is None:
            continue
        again = family.fit(sample, components, theta)
        gaps.append(float(np.log(ks_distance(family.frozen(again), sample) * np.sqrt(sample.n))))
        worse += bool(gaps[-1] >= np.log(scaled))
        if worse > 0.05 * (SIMULATIONS + 1) - 1:  # 5 % is out of reach
            return worse / len(gaps)
        if len(gaps) == EARLY_STOP_AFTER and not worse:
            beyond = (np.log(scaled) - np.mean(gaps)) / np.std(gaps, ddof=1)
            if beyond > EARLY_STOP_SCORE:
                return float(special.ndtr(-beyond))
    return (worse + 1) / (len(gaps) + 1)


def _simulate(frozen: Continuous, like: Lifetimes, rng: np.random.Generator) -> Lifetimes | None:
    """Draw a sample of a distribution, clustered and censored as a given one."""
    z = rng.standard_normal(like.n)
    if like.cluster is not None:
        shared = rng.standard_normal(int(like.cluster.max()) + 1)[like.cluster]
        z = np.sqrt(like.correlation) * shared + np.sqrt(1 - like.correlation) * z
    x = np.maximum(frozen.ppf(special.ndtr(z)), np.finfo(float).tiny)
    late = np.zeros(like.n, bool)
    if like.running.size:
        # Kaplan-Meier estimate of the censoring times, with the roles of both reversed
        at, _, reached = Lifetimes(like.values, ~like.censored).ecdf()
        limits = np.append(at, np.inf)[np.searchsorted(reached, rng.random(like.n))]
        late = x > limits
        if late.sum() > like.n - 2:
            return None
        x = np.minimum(x, limits)
    return Lifetimes(x, late, like.cluster, like.correlation).sorted()
