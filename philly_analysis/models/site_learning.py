"""Update the variation between periods by the weeks of a site's log.

The levels of days are fractional Gaussian noise, whose standard deviation is the shipped one times
the site's scale. A share of the sites is steady; the logarithm of the scale of the other sites is
normal. The posterior of the scale is computed on a grid, from the restricted likelihood of counts
(Patterson and Thompson 1971): sampling variance is added, and the mean of each day of the week is
unknown, so that one week says nothing.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from philly_analysis.distributions import Floats
from philly_analysis.models.between_period import Estimate, Variation
from philly_analysis.models.long_memory import correlation
from philly_analysis.models.parts import Parts
from philly_analysis.models.predictive import jobs_and_gpu_s
from philly_analysis.models.site_variation import LEVELS, SiteVariation
from philly_analysis.models.weekly_jobs import CLASSES, WEEK_D, WeeklyJobs

MIN_WEEKLY_JOBS = 5
"""Fewest mean weekly jobs of a compared class: the logarithm of a smaller count is not normal."""
DRAWS = 200
GRID = np.linspace(-4, 3, 71)
"""Natural logarithms of scales."""
NEAR_STEADY = 0.2
"""Largest scale of the classes of a steady site: a class then varies by 16 % between periods."""


@dataclass(frozen=True, slots=True)
class FittedLog:
    """Fitted numbers of a log that determine the shipped variation.

    Attributes
    ----------
    jobs, gpu_s
        Shape (gang classes, run times): jobs and GPU seconds.
    daily_change
        `Arrivals.daily_change`.
    vc_shares
        Shares of virtual clusters in jobs.
    """

    jobs: Floats
    gpu_s: Floats
    daily_change: float
    vc_shares: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, model: Parts) -> Self:
        """Return the numbers of a model."""
        shares = np.array([c.share for c in model.users.virtual_clusters])
        shares /= shares.sum()
        return cls(*jobs_and_gpu_s(model), model.arrivals.daily_change, tuple(shares.tolist()))


def learn(log: FittedLog, variation: Variation, weekly: WeeklyJobs) -> SiteVariation:
    """Return a site's variation, given the weeks of its log."""
    weeks = len(weekly.daily)
    jobs_sd = jobs_deviations(log, variation)
    of_jobs = of_classes = np.zeros(GRID.size)
    if weeks > 1:
        of_jobs = _jobs_likelihood(variation, weekly, jobs_sd)
        of_classes = _class_likelihood(log, variation, weekly)
    jobs_scale = _posterior(variation, variation.jobs_scale, of_jobs, weeks)
    near_steady = np.flatnonzero(np.log(NEAR_STEADY) >= GRID).size
    class_scale = _posterior(variation, variation.class_scale, of_classes, weeks, near_steady)
    prior = _posterior(variation, variation.jobs_scale, np.zeros(GRID.size), 1)
    weekly_sd = variation.level_deviation(WEEK_D) * np.interp(
        np.log([np.median(jobs_scale), np.median(prior)]), GRID, jobs_sd
    )
    return SiteVariation(
        weeks=weeks,
        jobs_scale=_rounded(jobs_scale, 4),
        class_scale=_rounded(class_scale, 4),
        weekly_jobs_sd=round(float(weekly_sd[0]), 4),
        prior_weekly_jobs_sd=round(float(weekly_sd[1]), 4),
        sessions=round(weekly.sessions, 1),
        class_demands=tuple(_rounded(row, 1) for row in weekly.class_demands),
    )


def _rounded(values: Floats, digits: int) -> tuple[float, ...]:
    return tuple(np.round(values, digits).tolist())


def jobs_deviations(log: FittedLog, variation: Variation) -> Floats:
    """Return standard deviations of the log of jobs between two periods, for scales of `GRID`."""
    rng = np.random.default_rng(DRAWS)
    normal = rng.standard_normal((DRAWS, 1)), rng.standard_normal((DRAWS, *CLASSES))
    of_vcs = 0.0
    if len(log.vc_shares) > 1:
        of_vcs = variation.vc_sd.value**2 * float(np.square(log.vc_shares).sum())
    variance = [
        variation.demand(log.jobs, log.gpu_s, scale, log.daily_change, normal)[1].var()
        + scale**2 * of_vcs
        for scale in np.exp(GRID)
    ]
    return np.sqrt(variance)


def _jobs_likelihood(variation: Variation, weekly: WeeklyJobs, jobs_sd: Floats) -> Floats:
    """Return the log-likelihood of the jobs of days, by scale."""
    day = (weekly.start_d[:, None] + np.arange(WEEK_D)).ravel()
    weekday = (np.floor(day) % WEEK_D)[:, None] == np.arange(WEEK_D)
    return _restricted(
        np.log(weekly.daily.ravel() + 0.5)[:, None],
        weekday,
        variation.level_deviation(1) * jobs_sd[:, None],
        np.array([day.size / max(weekly.sessions, 0.5)]),
        correlation(day, variation.hurst),
    )


def _class_likelihood(log: FittedLog, variation: Variation, weekly: WeeklyJobs) -> Floats:
    """Return the log-likelihood of the shares of job classes, as if independent, by scale."""
    weeks = len(weekly.by_class)
    by_class = weekly.by_class.reshape(weeks, -1)
    share = by_class.sum(axis=0) / max(by_class.sum(), 1)
    compared = (by_class.mean(axis=0) >= MIN_WEEKLY_JOBS) & (share < 1)
    if not compared.any():
        return np.zeros(GRID.size)
    variance = share_variances(log, variation, share)[compared]
    sampling = (1 - share) * weeks / np.maximum(weekly.class_sessions.ravel(), 0.5)
    total = np.maximum(by_class.sum(axis=1, keepdims=True), 0.5)
    return _restricted(
        np.log((by_class[:, compared] + 0.5) / total),
        np.ones((weeks, 1), bool),
        variation.level_deviation(WEEK_D) * np.exp(GRID)[:, None] * np.sqrt(variance),
        sampling[compared],
        correlation(weekly.start_d / WEEK_D, variation.hurst),
    )


def share_variances(log: FittedLog, variation: Variation, share: Floats) -> Floats:
    """Return variances of the logs of shares of job classes between two periods, at a scale of 1.

    By the delta method, a share changes by the change of its class, less the mean change.
    """
    sd = variation.class_deviation(log.daily_change) * variation.run_time_factor
    within = sd[:, None] * variation.run_time_correlation * sd
    change = np.eye(share.size) - share
    return np.diag(change @ np.kron(np.eye(CLASSES[0]), within) @ change.T)


def _restricted(
    values: Floats, design: NDArray[np.bool_], sd: Floats, sampling: Floats, memory: Floats
) -> Floats:
    """Return the restricted log-likelihood of series, summed over the series, by scale.

    Parameters
    ----------
    values
        Shape (times, series).
    design
        Shape (times, means): which mean each time has.
    sd
        Shape (scales, series): standard deviation of the level of one time.
    sampling
        Shape (series,): sampling variance of one time.
    memory
        Shape (times, times): correlation of the levels.
    """
    means = design[:, design.any(axis=0)]
    contrasts = np.linalg.qr(means.astype(float), "complete")[0][:, means.shape[1] :]
    of_contrasts, vectors = np.linalg.eigh(contrasts.T @ memory @ contrasts)
    squares = (vectors.T @ contrasts.T @ values) ** 2
    variance = sd[:, None, :] ** 2 * of_contrasts[:, None] + sampling
    return np.asarray(-0.5 * (np.log(variance) + squares / variance).sum(axis=(1, 2)))


def _posterior(
    variation: Variation, median: Estimate, log_likelihood: Floats, weeks: int, steady: int = 1
) -> Floats:
    """Return quantiles of the posterior of a scale.

    A steady site has one of the `steady` smallest scales of `GRID`, each as likely as another.
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    drift = variation.scale_drift.value / max(weeks, 1)
    drifted = _normal(GRID[:, None] - GRID, drift) @ likelihood
    weight = _normal(GRID - np.log(median.value), variation.scale_sd.value) * drifted
    weight *= 1 - variation.steady_share.value
    weight[:steady] += variation.steady_share.value / steady * likelihood[:steady]
    reached = (np.cumsum(weight) - weight / 2) / weight.sum()
    return np.exp(np.interp(LEVELS, reached, GRID))


def _normal(distance: Floats, sd: float) -> Floats:
    """Return the probabilities of a normal distribution on the grid, in rows."""
    density = np.exp(-((distance / max(sd, 1e-3)) ** 2) / 2)
    return np.asarray(density / density.sum(axis=-1, keepdims=True))
