"""How far a law lies from a sample, and whether the sample may come from its family."""

import numpy as np
import scipy.special as special
from numpy.typing import NDArray

from philly_analysis.distributions.continuous import HAIR, Law
from philly_analysis.distributions.distribution import Distribution
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.lifetimes import Lifetimes

Floats = NDArray[np.float64]

SIMULATIONS = 79
SIMULATED_POINTS = 500
CLUSTERED_POINTS = 1_000
KNOWN_LAW_5PCT = 1.358  # Kolmogorov's 5 % point of sqrt(n) D when nothing is fitted
CUT_LAW = 3.5  # far beyond it, where censoring or clusters widen the law of the distance
CLEAR_AFTER = 19
CLEAR = 3.0


def log_likelihood(law: Law, x: Lifetimes) -> float:
    """Return the logarithm of the likelihood of a sample, censored values included."""
    with np.errstate(all="ignore"):
        return float(law.logpdf(x.ended).sum() + law.logsf(x.running).sum())


def ks(law: Law, x: Lifetimes) -> float:
    """Return the largest gap between a law's CDF and the sample's (Kaplan-Meier's if censored)."""
    at, before, after = x.ecdf()
    if x.running.size:  # Kaplan-Meier is noise where hardly anything is still at risk
        kept = x.n - np.searchsorted(x.values, at) >= 0.1 * x.n
        at, before, after = at[kept], before[kept], after[kept]
    # Just below a value the empirical law of a repeated value has not risen yet.
    below = law.cdf(at * (1 - 1e3 * HAIR))
    return float(max(np.abs(after - law.cdf(at)).max(), np.abs(before - below).max()))


def p_value(
    fitted: Distribution, x: Lifetimes, rng: np.random.Generator, simulations: int = SIMULATIONS
) -> float:
    """Test whether the sample comes from the family, by Kolmogorov's distance.

    A gap that is too large even for a law that was not fitted counts at once: fitting only makes
    gaps smaller. Otherwise the distance of samples of the fitted law, each refitted, is what the
    observed one is compared with (parametric bootstrap; Stute et al. 1993). Independent values
    are simulated `SIMULATED_POINTS` at most, and compared by sqrt(n) D, whose law hardly depends
    on n. Of values in clusters as many are tested as are simulated, `CLUSTERED_POINTS` at most,
    as alike and in the same clusters: more of them would be worth hardly more.

    Returns
    -------
    float
        The p-value, to a hundredth near 0.05: what is clear after a few simulations is left at
        that (above, by Besag and Clifford 1991; below, by the normal law of log D).
    """
    family = FAMILIES[fitted.family]
    theta = np.array([p.value for p in fitted.parameters])
    components = theta.size // len(family.names)
    alone = x.cluster is None or x.alike == 0
    distance = float(fitted.ks or 0)
    if not alone and x.n > CLUSTERED_POINTS:
        x = x.drawn(CLUSTERED_POINTS, rng)
        distance = ks(family.law(family.fit(x, components, theta)), x)
    scaled = distance * np.sqrt(x.n if alone else x.worth)
    if scaled > (KNOWN_LAW_5PCT if alone and x.running.size <= 0.1 * x.n else CUT_LAW):
        return float(min(1.0, 2 * np.exp(-2 * scaled**2)))
    scaled = distance * np.sqrt(x.n)
    gaps: list[float] = []
    worse = 0
    for _ in range(simulations):
        like = x.drawn(SIMULATED_POINTS, rng) if alone else x
        sample = _simulated(fitted, like, rng)
        if sample is None:
            continue
        again = family.fit(sample, components, theta)
        gaps.append(float(np.log(ks(family.law(again), sample) * np.sqrt(sample.n))))
        worse += bool(gaps[-1] >= np.log(scaled))
        if worse > 0.05 * (simulations + 1) - 1:  # 5 % is out of reach
            return worse / len(gaps)
        if len(gaps) == CLEAR_AFTER and not worse:
            beyond = (np.log(scaled) - np.mean(gaps)) / np.std(gaps, ddof=1)
            if beyond > CLEAR:
                return float(special.ndtr(-beyond))
    return (worse + 1) / (len(gaps) + 1)


def _simulated(fitted: Distribution, like: Lifetimes, rng: np.random.Generator) -> Lifetimes | None:
    """Draw a sample of the fitted law, clustered and cut as values like these are."""
    z = rng.standard_normal(like.n)
    if like.cluster is not None:
        whole = rng.standard_normal(int(like.cluster.max()) + 1)[like.cluster]
        z = np.sqrt(like.alike) * whole + np.sqrt(1 - like.alike) * z
    x = np.maximum(fitted.ppf(special.ndtr(z)), np.finfo(float).tiny)
    late = np.zeros(like.n, bool)
    if like.running.size:
        # The law of the cuts: Kaplan-Meier again, with the roles of end and cut exchanged.
        at, _, reached = Lifetimes(like.values, ~like.censored).ecdf()
        index = np.searchsorted(reached, rng.random(like.n))
        limits = np.append(at, np.inf)[index]
        late = x > limits
        if late.sum() > like.n - 2:
            return None
        x = np.minimum(x, limits)
    return Lifetimes(x, late, like.cluster, like.alike).ordered()
