"""Fit a distribution to a censored sample: every family by likelihood, judged, and chosen."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    Candidate,
    Distribution,
    Parameter,
    observed,
)
from philly_analysis.distributions.empirical import fit_empirical
from philly_analysis.distributions.families import FAMILIES, Family
from philly_analysis.distributions.goodness import KNOWN_LAW_5PCT, ks, log_likelihood, p_value
from philly_analysis.distributions.intervals import with_intervals
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.errors import ModelError, UnknownNameError

Floats = NDArray[np.float64]

SIGNIFICANT = 0.05
NEAR = 0.03
AUTOMATIC = tuple(name for name in FAMILIES if name != "pareto")
"""Families tried when none is named. Pareto's minimum is a chosen threshold, so it is for tails."""


def fit_distribution(
    values: ArrayLike,
    censored: ArrayLike | None = None,
    *,
    family: str | None = None,
    families: tuple[str, ...] = AUTOMATIC,
    cluster: ArrayLike | None = None,
    alike: float | None = None,
    seed: int = 0,
    what: str = "values",
) -> Distribution:
    """Fit one distribution to positive values, some of them right-censored.

    Each family is fitted by maximum likelihood. In order of BIC, the first that a goodness-of-fit
    test does not reject is taken; when none passes, the empirical law with a parametric tail is.
    So few independent values may tell nothing against a law far from them: one whose CDF is more
    than `NEAR` from the data's, and farther than independent values would be, is not taken.
    Values of one cluster are alike: criterion, test and intervals allow for it.

    Parameters
    ----------
    values, censored
        Shape (n,): durations, and whether each is only a lower bound.
    family
        Take this family, whatever the test says of it (which `rejected` then tells).
    families
        Families to try when none is forced.
    cluster
        Shape (n,), integers: values of one cluster are alike, as a user's jobs are. None: all
        are independent.
    alike
        Correlation of their normal scores; measured when None.
    seed
        Seed of the Monte-Carlo test.
    what
        What the values are, for error messages.

    Raises
    ------
    ModelError
        No values, one value, all censored, or values that are not positive.
    UnknownNameError
        No such family.
    """
    x = Lifetimes.of(values, censored, what, cluster=cluster, alike=alike)
    if family == EMPIRICAL:
        return fit_empirical(x)
    for name in (family,) if family else families:
        if name not in FAMILIES:
            raise UnknownNameError("family of distributions", name, [*FAMILIES, EMPIRICAL])
    rng = np.random.default_rng(seed)
    if family:
        chosen = _fit_family(FAMILIES[family], x)
        if chosen is None:
            raise ModelError(f"{what}: the {family} family cannot be fitted to these {x.n} values")
        return replace(_judged(chosen, x, rng), parameters=with_intervals(chosen, x))
    if np.unique(x.ended).size == 1:  # a single repeated value has no spread to fit
        return fit_empirical(x)
    tried = [d for d in (_fit_family(FAMILIES[name], x) for name in families) if d is not None]
    tried.sort(key=_bic)
    passed = None
    judged: list[Distribution] = []
    for candidate in tried:
        if passed is None and _near(candidate):
            candidate = _judged(candidate, x, rng)
            passed = None if candidate.rejected else candidate
        judged.append(candidate)
    candidates = tuple(
        Candidate(d.family, float(d.aic or 0), float(d.ks or 0), d.rejected, d.bic, d.p)
        for d in judged
    )
    if passed is None:
        return replace(fit_empirical(x), candidates=candidates)
    return replace(passed, candidates=candidates, parameters=with_intervals(passed, x))


def _fit_family(family: Family, x: Lifetimes) -> Distribution | None:
    """Fit one family at its best number of components; None when the likelihood has no maximum."""
    best: Distribution | None = None
    thin = x.thinned()
    for size in family.sizes:
        if x.n < 5 * size * len(family.names):
            continue
        theta = family.fit(thin, size, None)
        if not np.isfinite(theta).all():
            continue
        law = family.law(theta)
        fitted = Distribution(
            family.name,
            tuple(map(Parameter, family.labels(theta.size), theta.tolist())),
            n=x.n,
            censored=x.running.size,
            worth=x.worth,
            alike=x.alike,
        )
        fitted = replace(fitted, aic=2 * fitted.free - 2 * log_likelihood(law, x))
        if np.isfinite(_bic(fitted)) and (best is None or _bic(fitted) < _bic(best)):
            best = fitted
    return best and replace(best, ks=ks(best.law(), x), observed=observed(x))


def _judged(fitted: Distribution, x: Lifetimes, rng: np.random.Generator) -> Distribution:
    p = p_value(fitted, x, rng)
    return replace(fitted, p=float(f"{p:.3g}"), rejected=p <= SIGNIFICANT)


def _near(fitted: Distribution) -> bool:
    clustered = fitted.worth is not None and fitted.worth < fitted.n
    return not clustered or float(fitted.ks or 0) <= max(NEAR, KNOWN_LAW_5PCT / np.sqrt(fitted.n))


def _bic(fitted: Distribution) -> float:
    return np.inf if fitted.bic is None else fitted.bic
