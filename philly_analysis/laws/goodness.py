"""How far a law lies from a sample, and whether the sample may come from its family."""

import numpy as np
from numpy.typing import NDArray

from philly_analysis.laws.continuous import HAIR, Law
from philly_analysis.laws.distribution import Distribution
from philly_analysis.laws.families import FAMILIES
from philly_analysis.laws.lifetimes import Lifetimes

Floats = NDArray[np.float64]

SIMULATIONS = 79
SIMULATED_POINTS = 500
KNOWN_LAW_5PCT = 1.358  # Kolmogorov's 5 % point of sqrt(n) D when nothing is fitted
CUT_LAW = 2.5  # the same with much censoring, which widens Kaplan-Meier's error: far beyond 5 %


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


def is_rejected(
    fitted: Distribution, x: Lifetimes, rng: np.random.Generator, simulations: int = SIMULATIONS
) -> bool:
    """Test at 5 % whether the sample comes from the family, by Kolmogorov's distance.

    A gap that is too large even for a law that was not fitted is rejected at once: fitting only
    makes gaps smaller. Otherwise the distance of samples of the fitted law, each refitted, is
    what the observed one is compared with (parametric bootstrap; Stute et al. 1993). The
    simulated samples are at most `SIMULATED_POINTS` large and compared by sqrt(n) D, whose
    distribution hardly depends on n.
    """
    scaled = float(fitted.ks or 0) * np.sqrt(x.n)
    if scaled > (KNOWN_LAW_5PCT if x.running.size <= 0.1 * x.n else CUT_LAW):
        return True
    family = FAMILIES[fitted.family]
    size = min(x.n, SIMULATED_POINTS)
    theta = np.array([p.value for p in fitted.parameters])
    components = theta.size // len(family.names)
    worse = done = 0
    for _ in range(simulations):
        sample = _simulated(fitted, x.drawn(size, rng), rng)
        if sample is None:
            continue
        again = family.fit(sample, components, theta)
        done += 1
        worse += ks(family.law(again), sample) * np.sqrt(sample.n) >= scaled
        if worse > 0.05 * (simulations + 1) - 1:  # 5 % is out of reach (Besag and Clifford 1991)
            return False
    return bool((worse + 1) / (done + 1) <= 0.05)


def _simulated(fitted: Distribution, like: Lifetimes, rng: np.random.Generator) -> Lifetimes | None:
    """Draw a sample of the fitted law, cut where values like these are cut."""
    x = np.maximum(fitted.rvs(like.n, rng), np.finfo(float).tiny)
    if not like.running.size:
        return Lifetimes.of(x)
    # The law of the cuts: Kaplan-Meier again, with the roles of end and cut exchanged.
    at, _, reached = Lifetimes(like.values, ~like.censored).ecdf()
    index = np.searchsorted(reached, rng.random(like.n))
    limits = np.append(at, np.inf)[index]
    late = x > limits
    return None if late.sum() > like.n - 2 else Lifetimes.of(np.minimum(x, limits), late)
