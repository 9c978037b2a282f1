"""Fit a distribution to a censored sample: every family by likelihood, judged, and chosen."""

from dataclasses import replace

import numpy as np
import scipy.stats as sp
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.laws.continuous import HAIR, Law, QuantileGrid, separated
from philly_analysis.laws.distribution import (
    EMPIRICAL,
    EMPIRICAL_PARAMETERS,
    OBSERVED_LEVELS,
    Candidate,
    Distribution,
    Parameter,
)
from philly_analysis.laws.families import FAMILIES, Family
from philly_analysis.laws.lifetimes import Lifetimes

Floats = NDArray[np.float64]

SIMULATIONS = 79
SIMULATED_POINTS = 500
KNOWN_LAW_5PCT = 1.358  # Kolmogorov's 5 % point of sqrt(n) D when nothing is fitted
CUT_LAW = 2.5  # the same with much censoring, which widens Kaplan-Meier's error: far beyond 5 %
KNOTS = 201
BODY = 0.99
TAIL_POINTS = 100
MAX_TAIL_SHAPE = 0.7  # at 1 a law has no mean, and near it hardly one
INFORMATION_POINTS = 2_000
UNIDENTIFIED = 10.0  # a standard error this large, in logarithms, is no interval at all
AUTOMATIC = tuple(name for name in FAMILIES if name != "pareto")
"""Families tried when none is named. Pareto's minimum is a chosen threshold, so it is for tails."""


def fit_distribution(
    values: ArrayLike,
    censored: ArrayLike | None = None,
    *,
    family: str | None = None,
    families: tuple[str, ...] = AUTOMATIC,
    seed: int = 0,
    what: str = "values",
) -> Distribution:
    """Fit one distribution to positive values, some of them right-censored.

    Each family is fitted by maximum likelihood. In order of AIC, the first that a goodness-of-fit
    test does not reject is taken; when none passes, the empirical law with a parametric tail is.

    Parameters
    ----------
    values, censored
        Shape (n,): durations, and whether each is only a lower bound.
    family
        Take this family, whatever the test says of it (which `rejected` then tells).
    families
        Families to try when none is forced.
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
    x = Lifetimes.of(values, censored, what)
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
        rejected = is_rejected(chosen, x, rng)
        return replace(chosen, rejected=rejected, parameters=_with_intervals(chosen, x))
    if np.unique(x.ended).size == 1:  # a single repeated value has no spread to fit
        return fit_empirical(x)
    tried = [d for d in (_fit_family(FAMILIES[name], x) for name in families) if d is not None]
    tried.sort(key=_aic)
    passed = None
    judged: list[Distribution] = []
    for candidate in tried:
        if passed is None:
            candidate = replace(candidate, rejected=is_rejected(candidate, x, rng))
            passed = None if candidate.rejected else candidate
        judged.append(candidate)
    candidates = tuple(Candidate(d.family, _aic(d), float(d.ks or 0), d.rejected) for d in judged)
    if passed is None:
        return replace(fit_empirical(x), candidates=candidates)
    return replace(passed, candidates=candidates, parameters=_with_intervals(passed, x))


def fit_empirical(x: Lifetimes, knots: int = KNOTS) -> Distribution:
    """Return quantiles with a generalised Pareto tail over the top percent of the sample.

    A small sample gets fewer knots, so that the law smooths the data instead of repeating it. The
    shape of the tail is that of the `TAIL_POINTS` largest values (of a tenth of the sample, if
    that is less): above a threshold it does not depend on the threshold (Pickands 1975). Its
    scale keeps the mean of the data, on which the load of a sample rests.
    """
    at, _, reached = x.ecdf()
    reach = float(reached[-1])

    def level(tail: float) -> float:
        """Probability below a tail of that share; a value that repeats is below it as a whole."""
        top = x.quantiles([reach * (1 - tail)])[0][0]
        return float(reached[np.searchsorted(at, top)])

    body = level(min(max(1 - BODY, 5 / x.n), 0.2))
    levels = np.linspace(0, body, int(np.clip(x.n // 3, 5, knots)))
    grid = np.asarray(_rounded(x.quantiles(levels)[0]))
    low = x.quantiles([level(max(1 - BODY, min(TAIL_POINTS / x.n, 0.1)))])[0][0]
    shape, over, ends = _tail_shape(x, float(low))
    above = x.values > grid[-1]
    excess, late = x.values[above] - grid[-1], x.censored[above]
    if not excess.size or late.all():
        scale = grid[-1] * 1e-6
    elif late.any():  # of an exponential law, by total time over ends
        scale = float(excess.sum() / (~late).sum()) * (1 - shape)
    else:
        scale = float(excess.mean()) * (1 - shape)
    if shape < 0 and excess.size:  # the support must reach past the largest value seen
        scale = max(scale, -shape * float(excess.max()) * 1.001)
    scale = max(float(scale), grid[-1] * 1e-9)
    half = 1.96 / np.sqrt(max(ends, 1))
    spread = float(np.exp(half * np.sqrt(2 * (1 + shape))))
    values = (body, shape, scale)
    low_high = ((None, None), (shape - (1 + shape) * half, shape + (1 + shape) * half),
                (scale / spread, scale * spread))  # fmt: skip
    law = QuantileGrid(separated(grid), *values)
    return Distribution(
        EMPIRICAL,
        tuple(
            Parameter(
                name, float(value), *(None if e is None or not over else float(e) for e in ends_)
            )
            for name, value, ends_ in zip(EMPIRICAL_PARAMETERS, values, low_high, strict=True)
        ),
        n=x.n,
        censored=x.running.size,
        ks=_ks(law, x),
        knots=tuple(float(g) for g in grid),
        observed=_observed(x),
    )


def _tail_shape(x: Lifetimes, threshold: float) -> tuple[float, int, int]:
    """Return the generalised Pareto shape above a threshold, the values there, and the ended ones.

    The shape's asymptotic variance is (1 + shape)^2 / n (Smith 1987).
    """
    over = x.values > threshold
    excess, late = x.values[over] - threshold, x.censored[over]
    ends = int((~late).sum())
    if ends < 10:
        return 0.0, int(over.sum()), ends
    shape, _loc, _scale = sp.genpareto.fit(
        sp.CensoredData(excess[~late], right=excess[late]), 0.1, floc=0, scale=excess.mean()
    )
    return float(np.clip(shape, -0.5, MAX_TAIL_SHAPE)), int(over.sum()), ends


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
        worse += _ks(family.law(again), sample) * np.sqrt(sample.n) >= scaled
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


def _fit_family(family: Family, x: Lifetimes) -> Distribution | None:
    """Fit one family at its best number of components; None when the likelihood has no maximum."""
    best: tuple[float, Floats] | None = None
    thin = x.thinned()
    for size in family.sizes:
        if x.n < 5 * size * len(family.names):
            continue
        theta = family.fit(thin, size, None)
        if not np.isfinite(theta).all():
            continue
        aic = 2 * (theta.size - (family.sizes != (1,))) - 2 * _log_likelihood(family.law(theta), x)
        if np.isfinite(aic) and (best is None or aic < best[0]):
            best = (aic, theta)
    if best is None:
        return None
    aic, theta = best
    return Distribution(
        family.name,
        tuple(map(Parameter, family.labels(theta.size), theta.tolist())),
        n=x.n,
        censored=x.running.size,
        aic=float(aic),
        ks=_ks(family.law(theta), x),
        observed=_observed(x),
    )


def _observed(x: Lifetimes) -> tuple[float, ...]:
    values, reach = x.quantiles(OBSERVED_LEVELS)
    return _rounded(values[np.asarray(OBSERVED_LEVELS) <= reach])


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{v:.6g}") for v in values)


def _aic(fitted: Distribution) -> float:
    return np.inf if fitted.aic is None else fitted.aic


def _log_likelihood(law: Law, x: Lifetimes) -> float:
    with np.errstate(all="ignore"):
        return float(law.logpdf(x.ended).sum() + law.logsf(x.running).sum())


def _ks(law: Law, x: Lifetimes) -> float:
    at, before, after = x.ecdf()
    if x.running.size:  # Kaplan-Meier is noise where hardly anything is still at risk
        kept = x.n - np.searchsorted(x.values, at) >= 0.1 * x.n
        at, before, after = at[kept], before[kept], after[kept]
    # Just below a value the empirical law of a repeated value has not risen yet.
    below = law.cdf(at * (1 - 1e3 * HAIR))
    return float(max(np.abs(after - law.cdf(at)).max(), np.abs(before - below).max()))


def _with_intervals(fitted: Distribution, x: Lifetimes) -> tuple[Parameter, ...]:
    """Return 95 % intervals from the observed information, symmetric on each parameter's scale."""
    family = FAMILIES[fitted.family]
    theta = np.array([p.value for p in fitted.parameters])
    names = family.labels(theta.size)
    scales = family.scales * (theta.size // len(family.scales))
    if family.name == "pareto":
        half = 1.96 / np.sqrt(x.ended.size)
        return (
            Parameter(names[0], float(theta[0]), theta[0] * np.exp(-half), theta[0] * np.exp(half)),
            Parameter(
                names[1], float(theta[1]), theta[1] * 0.025 ** (1 / (x.n * theta[0])), theta[1]
            ),
        )
    thin = x.thinned(INFORMATION_POINTS)
    weight = x.n / thin.n
    # Shares sum to one: the last is not free, and moves against the others.
    free = np.array(
        [s != "share" or i < theta.size - len(family.names) for i, s in enumerate(scales)]
    )

    def outer(value: float, scale: str) -> float:
        if scale == "positive":
            return float(np.log(value))
        return float(np.log(value / (1 - value))) if scale == "share" else value

    def inner(u: Floats) -> Floats:
        full = np.array(
            [
                np.exp(v) if s == "positive" else 1 / (1 + np.exp(-v)) if s == "share" else v
                for v, s in zip(u, scales, strict=True)
            ]
        )
        shares = np.flatnonzero([s == "share" for s in scales])
        if shares.size:
            full[shares[-1]] = max(1 - full[shares[:-1]].sum(), 1e-12)
        return full

    centre = np.array([outer(v, s) for v, s in zip(theta, scales, strict=True)])

    def loss(step: Floats) -> float:
        u = centre.copy()
        u[free] += step
        return -weight * _log_likelihood(family.law(inner(u)), thin)

    dim = int(free.sum())
    h = 1e-3
    unit = np.eye(dim) * h
    hessian = np.empty((dim, dim))
    for i in range(dim):
        for j in range(i, dim):
            hessian[i, j] = hessian[j, i] = (
                loss(unit[i] + unit[j]) - loss(unit[i] - unit[j])
                - loss(unit[j] - unit[i]) + loss(-unit[i] - unit[j])
            ) / (4 * h * h)  # fmt: skip
    with np.errstate(all="ignore"):
        covariance = (
            np.linalg.pinv(hessian) if np.isfinite(hessian).all() else np.full((dim, dim), np.nan)
        )
        se = np.full(theta.size, np.nan)
        se[free] = np.sqrt(np.diag(covariance))
        shares = [i for i, s in enumerate(scales) if s == "share"]
        if shares:
            inside = np.array(
                [np.flatnonzero(np.flatnonzero(free) == i)[0] for i in shares[:-1]], int
            )
            slope = theta[shares[:-1]] * (1 - theta[shares[:-1]])
            last = theta[shares[-1]]
            variance = slope @ covariance[np.ix_(inside, inside)] @ slope
            se[shares[-1]] = np.sqrt(variance) / max(last * (1 - last), 1e-12)

    def back(value: float, scale: str) -> float:
        if scale == "positive":
            return float(np.exp(value))
        return float(1 / (1 + np.exp(-value))) if scale == "share" else float(value)

    return tuple(
        Parameter(
            name, float(value),
            back(u - 1.96 * s, scale) if s < UNIDENTIFIED else None,
            back(u + 1.96 * s, scale) if s < UNIDENTIFIED else None,
        )
        for name, value, u, s, scale in zip(names, theta, centre, se, scales, strict=True)
    )  # fmt: skip
