"""Fit a distribution to a censored sample: choose the family by BIC and goodness of fit."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions.distribution import (
    EMPIRICAL,
    Candidate,
    Distribution,
    Parameter,
    observed_quantiles,
)
from philly_analysis.distributions.empirical import fit_empirical, longest
from philly_analysis.distributions.families import FAMILIES
from philly_analysis.distributions.family import Family
from philly_analysis.distributions.goodness import (
    KOLMOGOROV_5PCT,
    ks_distance,
    log_likelihood,
    p_value,
)
from philly_analysis.distributions.intervals import parameter_intervals
from philly_analysis.distributions.lifetimes import Lifetimes
from philly_analysis.errors import ModelError, UnknownNameError

SIGNIFICANCE = 0.05
MAX_KS = 0.03
MAX_MEAN_ERROR, MAX_P99_ERROR = 0.05, 0.1
"""Largest relative errors of mean and 99 % quantile of a tempered family; a convention."""
AUTOMATIC = tuple(name for name in FAMILIES if name != "pareto")
"""Families tried by default. Pareto's minimum is a chosen threshold, so it is for tails only."""


def fit_distribution(
    values: ArrayLike,
    censored: ArrayLike | None = None,
    *,
    family: str | None = None,
    cluster: ArrayLike | None = None,
    correlation: float | None = None,
    seed: int = 0,
    noun: str = "values",
    tempered: bool = False,
) -> Distribution:
    """Fit one distribution to positive values, some of them right-censored.

    Each family is fitted by maximum likelihood. The result is the first family, in order of BIC,
    that a goodness-of-fit test does not reject. If all families are rejected, the result is the
    empirical distribution with a parametric tail. Criterion, test and intervals allow for clusters.
    With few effective values the test has no power. A family is then not taken if its CDF is too
    far from the sample's CDF. The greatest permitted distance is `MAX_KS`, or the 5 % critical
    distance of as many independent values if that is larger.

    Parameters
    ----------
    values, censored
        Shape (n,): durations, and whether each is only a lower bound.
    family
        Force this family; `rejected` is then the result of its test.
    cluster
        Shape (n,), integers: values of one cluster are correlated, as a user's jobs are. None: all
        values are independent.
    correlation
        Correlation of the normal scores of values of one cluster; estimated when None.
    seed
        Seed of the Monte-Carlo test.
    noun
        Name of the values in error messages.
    tempered
        Truncate the tail at the longest value (see :func:`~.empirical.longest`). A family is then
        not taken if its mean is off the sample's by more than `MAX_MEAN_ERROR`, or its 99 %
        quantile by more than `MAX_P99_ERROR`.

    Raises
    ------
    ModelError
        There are no values, fewer than two uncensored values, or values that are not positive.
    UnknownNameError
        The family is not known.
    """
    x = Lifetimes.of(values, censored, noun, cluster=cluster, correlation=correlation)
    if family == EMPIRICAL:
        return fit_empirical(x, tempered=tempered)
    rng = np.random.default_rng(seed)
    if family:
        if family not in FAMILIES:
            raise UnknownNameError("family of distributions", family, [*FAMILIES, EMPIRICAL])
        forced = _fit_family(FAMILIES[family], x, tempered=tempered)
        if forced is None:
            raise ModelError(f"{noun}: the {family} family cannot be fitted to these {x.n} values")
        return replace(_test(forced, x, rng), parameters=parameter_intervals(forced, x))
    if np.unique(x.ended).size == 1:  # a single repeated value has no spread to fit
        return fit_empirical(x, tempered=tempered)
    tried = (_fit_family(FAMILIES[name], x, tempered=tempered) for name in AUTOMATIC)
    fits = [d for d in tried if d is not None]
    fits.sort(key=_bic)
    passed = None
    for i, fitted in enumerate(fits):
        if passed is None and _close_enough(fitted) and (not tempered or _keeps_tail(fitted, x)):
            fits[i] = _test(fitted, x, rng)
            passed = None if fits[i].rejected else fits[i]
    candidates = tuple(
        Candidate(d.family, float(d.aic or 0), float(d.ks or 0), d.rejected, d.bic, d.p)
        for d in fits
    )
    if passed is None:
        return replace(fit_empirical(x, tempered=tempered), candidates=candidates)
    return replace(passed, candidates=candidates, parameters=parameter_intervals(passed, x))


def _fit_family(family: Family, x: Lifetimes, *, tempered: bool) -> Distribution | None:
    """Fit a family with its best number of components; None if the likelihood has no maximum."""
    fits, thin = [], x.thinned()
    for size in family.sizes:
        if x.n < 5 * size * len(family.names):
            continue
        theta = family.fit(thin, size, None)
        if not np.isfinite(theta).all():
            continue
        fitted = Distribution(
            family.name,
            tuple(map(Parameter, family.labels(theta.size), theta.tolist())),
            n=x.n,
            censored=x.running.size,
            effective_n=x.effective_n,
            correlation=x.correlation,
            upper=longest(x) if tempered else None,
        )
        likelihood = log_likelihood(family.frozen(theta), x)
        deviance = -2 * likelihood * (x.effective_n / x.n)
        fits.append(replace(fitted, aic=2 * fitted.free + deviance))
    best = min((d for d in fits if np.isfinite(_bic(d))), key=_bic, default=None)
    return best and replace(best, ks=ks_distance(best.frozen(), x), observed=observed_quantiles(x))


def _test(fitted: Distribution, x: Lifetimes, rng: np.random.Generator) -> Distribution:
    p = p_value(fitted, x, rng)
    return replace(fitted, p=float(f"{p:.3g}"), rejected=p <= SIGNIFICANCE)


def _close_enough(fitted: Distribution) -> bool:
    clustered = fitted.effective_n is not None and fitted.effective_n < fitted.n
    largest = max(MAX_KS, KOLMOGOROV_5PCT / np.sqrt(fitted.n))
    return not clustered or float(fitted.ks or 0) <= largest


def _keeps_tail(fitted: Distribution, x: Lifetimes) -> bool:
    """Return whether mean and 99 % quantile are near the sample's mean and quantile."""
    if x.running.size:  # the sample has no mean
        [p99], reach = x.quantiles([0.99])
        return bool(reach < 0.99 or abs(float(fitted.ppf(0.99)) / p99 - 1) <= MAX_P99_ERROR)
    p99 = float(np.quantile(x.values, 0.99))
    near = abs(float(fitted.ppf(0.99)) / p99 - 1) <= MAX_P99_ERROR
    return near and abs(fitted.mean() / float(x.values.mean()) - 1) <= MAX_MEAN_ERROR


def _bic(fitted: Distribution) -> float:
    return np.inf if fitted.bic is None else fitted.bic
