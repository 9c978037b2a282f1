"""Variation of workloads between periods: its parameters and random effects.

Two fifths of the file document the parameters, which the random effects are drawn from.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.models.long_memory import MAX_HURST, change_variance, shared_change
from philly_analysis.models.site_variation import SiteVariation
from philly_analysis.models.weekly_jobs import CLASSES, LOG_RUN_S

PERIOD_D = 28  # days of one period; a longer sample has several
MAX_LOG_FACTOR = 5.0
MAX_DISPERSION_SE = 1.5
MIN_DAILY_CHANGE, MAX_DAILY_CHANGE = 0.1, 5.0

_LOG_HOUR = np.log(3_600.0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 90 % range over bootstraps of the clusters it was estimated from."""

    value: float
    low: float
    high: float


ZERO = Estimate(0.0, 0.0, 0.0)
ONE = Estimate(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class PeriodEffects:
    """Random effects of one period.

    Attributes
    ----------
    log_jobs
        Shape (gang classes, `RUN_TIMES_S`): natural logarithm of the factor on the number of jobs
        of a gang class and run time; interpolated between run times.
    log_total
        Natural logarithm of the factor on the number of all jobs; `log_jobs` counts between job
        classes only.
    log_dispersion
        Natural logarithm of the factor on the dispersion of hourly arrivals, in excess of what
        the number of jobs explains.
    scale
        Factor on the standard deviations of users and of the dispersion.
    jobs_scale, class_scale
        Factors on the standard deviations of the number of jobs, and of job classes.
    seed
        Seed of the effects on users and statuses.
    """

    log_jobs: Floats
    log_total: float
    log_dispersion: float
    scale: float
    jobs_scale: float
    class_scale: float
    seed: int


@dataclass(frozen=True, slots=True)
class Variation:
    """Variation between periods, level by level.

    A job class is a gang class and a run time. Given the period's `scale`, the logarithms of the
    factors on job classes are normal. Standard deviations are of natural logarithms.

    Attributes
    ----------
    activity_sd
        Standard deviation of the number of jobs, common to all job classes.
    class_sd
        Standard deviation of the jobs of one job class between periods of `PERIOD_D` days. The
        value holds at a daily change of 1 and a run time of an hour. Gang classes are independent.
    gpu_time_compensation
        Share of the GPU time gained by some job classes that all job classes lose, since the
        cluster has no more GPUs. At 0 there is no loss; 1 leaves changes of GPU time to
        `activity_sd` alone.
    correlation_length
        Natural logarithm of the factor between run times at which the correlation is 1/e.
    class_sd_slope
        Change of the logarithm of `class_sd` per factor e of run time.
    dispersion_power
        Power of the number of jobs with which the dispersion of hourly arrivals grows. The power is
        0 if more jobs are more bursts, 1 if more jobs are larger bursts.
    dispersion_sd
        Standard deviation of the dispersion of hourly arrivals between periods of `PERIOD_D` days,
        in excess of what the number of jobs explains. Shorter windows have a larger standard
        deviation.
    typical_dispersion_se, dispersion_reversion
        Regression to the mean. A window's dispersion is unbiased at the standard error
        `typical_dispersion_se` (`Arrivals.log_dispersion_se`). The logarithm of the next window's
        dispersion is less by `dispersion_reversion` for each 1 of standard error above.
    degrees_of_freedom
        Degrees of freedom of the t distribution of the effects, whose scale differs between
        periods.
    vc_sd
        Standard deviation of the activity of a virtual cluster.
    user_persistence
        Power of a user's activity that persists to the next period: 0 none, 1 all.
    user_sd
        Standard deviation of the innovation of a user's activity.
    leave_probability, leave_power
        Probability that a user of one job submits no more, and the power of the user's jobs with
        which the probability decreases.
    new_user_ratio
        Expected new users over expected leaving users.
    new_user_sd
        Standard deviation of the number of new users.
    status_sd
        Standard deviation of the frequency of each final status.
    unseen_class_jobs
        Expected jobs of a gang class without observed jobs.
    learned_on
        The data, in a sentence.
    daily_change_power
        Power of the daily change (`Arrivals.daily_change`) with which `class_sd` grows.
    size_sd
        Standard deviation of the jobs of one gang size within its class.
    short_window_power
        Power of `PERIOD_D` over the window's days with which `class_sd` grows.
    mean_correction
        Share of half its variance subtracted from the logarithm of the jobs of a class. At 0 the
        fitted jobs are the median of the drawn jobs, at 1 their mean.
    jobs_scale, class_scale
        Median over sites of the factor on the standard deviations of the number of jobs, and on
        the deviations of job classes.
    scale_sd
        Standard deviation over sites of the logarithms of both factors.
    scale_drift
        Standard deviation of the logarithm of the ratio of the factor of the next period to the
        one of the log, times the log's weeks.
    steady_share
        Share of sites whose weeks differ by chance alone.
    long_job_correlation, long_job_sd
        Median over sites of `LongJobs.daily_correlation`, and standard deviation of its logarithm.
    long_job_drift
        Factor on the correlation from the days of a log to the next period.
    long_job_excess
        Mean over sites of `LongJobs.excess`.
    """

    activity_sd: Estimate
    class_sd: Estimate
    gpu_time_compensation: Estimate
    correlation_length: Estimate
    class_sd_slope: Estimate
    dispersion_power: Estimate
    dispersion_sd: Estimate
    typical_dispersion_se: Estimate
    dispersion_reversion: Estimate
    degrees_of_freedom: Estimate
    vc_sd: Estimate
    user_persistence: Estimate
    user_sd: Estimate
    leave_probability: Estimate
    leave_power: Estimate
    new_user_ratio: Estimate
    new_user_sd: Estimate
    status_sd: Estimate
    unseen_class_jobs: Estimate
    learned_on: str
    daily_change_power: Estimate = ZERO
    size_sd: Estimate = ZERO
    short_window_power: Estimate = ZERO
    mean_correction: Estimate = ZERO
    jobs_scale: Estimate = ONE
    class_scale: Estimate = ONE
    scale_sd: Estimate = ZERO
    scale_drift: Estimate = ZERO
    steady_share: Estimate = ZERO
    long_job_correlation: Estimate = ONE
    long_job_sd: Estimate = ONE
    long_job_drift: Estimate = ONE
    long_job_excess: Estimate = ZERO

    def with_values(self, **values: float) -> Self:
        """Return a copy with other values of some parameters."""
        changed: dict[str, Any] = {name: Estimate(v, v, v) for name, v in values.items()}
        return replace(self, **changed)

    def log_dispersion_correction(self, standard_error: float) -> float:
        """Return the logarithm of the factor on dispersion by regression to the mean."""
        standard_error = min(standard_error, MAX_DISPERSION_SE)
        return self.dispersion_reversion.value * (self.typical_dispersion_se.value - standard_error)

    @property
    def hurst(self) -> float:
        """Hurst exponent of the levels of periods."""
        return min(1 - self.short_window_power.value, MAX_HURST)

    def change_deviation(self, days: float, length_d: float = PERIOD_D) -> float:
        """Return the standard deviation of the change from a window to the next period.

        The unit is the change between two periods of `PERIOD_D` days.
        """
        past, future = days / PERIOD_D, length_d / PERIOD_D
        ratio = change_variance(past, future, self.hurst) / change_variance(1, 1, self.hurst)
        return float(np.sqrt(ratio))

    def level_deviation(self, days: float) -> float:
        """Return the standard deviation of the level of some days, as `change_deviation`."""
        level = (days / PERIOD_D) ** (2 * self.hurst - 2)
        return float(np.sqrt(level / change_variance(1, 1, self.hurst)))

    def class_deviation(self, daily_change: float) -> float:
        """Return the standard deviation of job classes between periods of `PERIOD_D` days."""
        change = float(np.clip(daily_change, MIN_DAILY_CHANGE, MAX_DAILY_CHANGE))
        return self.class_sd.value * float(np.power(change, self.daily_change_power.value))

    @property
    def run_time_factor(self) -> Floats:
        """Shape (run times,): factor on `class_sd`, by run time."""
        return np.asarray(np.exp(self.class_sd_slope.value * (LOG_RUN_S - _LOG_HOUR)))

    @property
    def run_time_correlation(self) -> Floats:
        """Shape (run times, run times): correlation of the jobs of two run times."""
        distance = np.abs(LOG_RUN_S[:, None] - LOG_RUN_S)
        return np.asarray(np.exp(-distance / self.correlation_length.value))

    def dispersion_deviation(self, days: float) -> float:
        """Return the standard deviation of dispersion from so many days to the next period."""
        return self.dispersion_sd.value * float(np.sqrt((1 + _shortness(days)) / 2))

    def demand(
        self,
        jobs: Floats,
        gpu_time: Floats,
        deviation: float,
        daily_change: float,
        normal: tuple[Floats, Floats],
    ) -> tuple[Floats, Floats]:
        """Return natural logarithms of the factors on job classes, and on the number of jobs.

        Parameters
        ----------
        jobs, gpu_time
            Shape (gang classes, run times): jobs and GPU time of the fitted window.
        deviation
            Factor on all standard deviations between two periods of `PERIOD_D` days.
        daily_change
            `Arrivals.daily_change` of the fitted window.
        normal
            Shapes (..., 1) and (..., gang classes, run times): standard normal effects on all jobs
            and on job classes.

        Returns
        -------
        tuple
            Shapes (..., gang classes, run times) and (...).
        """
        overall, by_class = normal
        factor = np.linalg.cholesky(self.run_time_correlation)
        spread = deviation * self.class_deviation(daily_change) * self.run_time_factor
        mix = spread * (by_class @ factor.T) - self.mean_correction.value / 2 * spread**2
        common = deviation * self.activity_sd.value * overall[..., 0]
        common -= self.gpu_time_compensation.value * _log_mean(gpu_time, mix)
        log_jobs = mix + common[..., None, None]
        return log_jobs, _log_mean(jobs, log_jobs)

    def periods(
        self,
        jobs: Floats,
        gpu_time: Floats,
        days: float,
        daily_change: float,
        seed: int,
        *,
        length_d: float = PERIOD_D,
        site: SiteVariation | None = None,
    ) -> Iterator[PeriodEffects]:
        """Draw the effects of successive periods.

        The effects of two periods are correlated, since both include the deviation of the fitted
        window (:func:`shared_change`).

        Parameters
        ----------
        jobs
            Shape (gang classes, run times): fitted jobs of each class. Small counts add their
            sampling variance.
        gpu_time
            GPU time of the jobs, of the same shape, in any unit.
        days, daily_change
            Length of the fitted window, and its `Arrivals.daily_change`.
        seed
            Seed of the effects.
        length_d
            Length of each period in days.
        site
            What the site's own weeks say; None: the site varies as other sites do.
        """
        rng = np.random.default_rng((seed, PERIOD_D))
        freedom = self.degrees_of_freedom.value
        scale = float(np.sqrt(freedom / rng.chisquare(freedom)))
        level = float(rng.random())
        jobs_scale, class_scale = site.scales(level) if site else (scale, scale)
        change = self.change_deviation(days, length_d)
        dispersion_sd = self.dispersion_deviation(days)
        # sampling variance of the fitted window and of the period
        length = 1 + days / length_d
        sessions, demands = site.sessions_of(jobs) if site else (float(jobs.sum()), jobs)
        total_sd = np.sqrt(length / max(sessions, 0.5))
        # sessions are part of the shipped variation: their sampling variance is a lower bound
        of_classes = change * class_scale * self.class_deviation(daily_change)
        of_sessions = np.log1p(length / (demands + 0.5)) - (of_classes * self.run_time_factor) ** 2
        of_jobs = length / (jobs + 0.5)
        if site:  # the logarithm of a number with this relative variance
            of_jobs = np.log1p(length / (np.maximum(jobs, demands) + 0.5))
        sampling_variance = np.maximum(of_jobs, of_sessions)
        if site:  # the number of jobs has its part of the sampling variance of GPU time
            of_gpu_time = (gpu_time / max(float(gpu_time.sum()), 1e-9)) ** 2 * sampling_variance
            sampling_variance *= 1 - min(total_sd**2 / max(float(of_gpu_time.sum()), 1e-9), 1.0)
        sampling_sd = np.sqrt(sampling_variance)
        # the mean is kept; at other sites the median of a class without jobs
        sampling_bias = sampling_sd**2 / 2 * (1.0 if site else jobs / (jobs + 0.5))
        shared = shared_change(days / PERIOD_D, self.hurst)
        common = self._normal_effects(rng)
        while True:
            specific = self._normal_effects(rng)
            overall, by_class, count, scale_effects = (
                np.sqrt(shared) * a + np.sqrt(1 - shared) * b
                for a, b in zip(common, specific, strict=True)
            )
            about = jobs, gpu_time
            _, total = self.demand(*about, change * jobs_scale, daily_change, (overall, by_class))
            mix, _ = self.demand(*about, change * class_scale, daily_change, (overall, by_class))
            log_jobs = mix + sampling_sd * count - sampling_bias
            log_total = float(total) + total_sd * float(scale_effects[1])
            log_dispersion = scale * dispersion_sd * float(scale_effects[0])
            yield PeriodEffects(
                np.clip(log_jobs, -MAX_LOG_FACTOR, MAX_LOG_FACTOR),
                float(np.clip(log_total, -MAX_LOG_FACTOR, MAX_LOG_FACTOR)),
                float(np.clip(log_dispersion, -MAX_LOG_FACTOR, MAX_LOG_FACTOR)),
                scale,
                jobs_scale,
                class_scale,
                int(rng.integers(2**62)),
            )

    @staticmethod
    def _normal_effects(rng: np.random.Generator) -> tuple[Floats, ...]:
        return tuple(rng.standard_normal(shape) for shape in ((1,), CLASSES, CLASSES, (2,)))


def _log_mean(weight: Floats, log_factor: Floats) -> Floats:
    """Return the logarithm of the weighted mean of factors on job classes; 0 without weight."""
    total = float(weight.sum())
    if not total > 0:
        return np.zeros(log_factor.shape[:-2])
    mean = (weight / total * np.exp(log_factor)).sum(axis=(-2, -1))
    return np.asarray(np.log(np.maximum(mean, 1e-9)))


def _shortness(days: float) -> float:
    """Return the length of a period over the length of a window, at least 1."""
    return PERIOD_D / min(days, PERIOD_D)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_VALUES: dict[str, Any] = {k: Estimate(*v) if isinstance(v, list) else v for k, v in _TABLE.items()}
ESTIMATED = Variation(**_VALUES)
"""Estimated across clusters; `data/README.md` describes how."""
