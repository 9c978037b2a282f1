"""Variation of workloads between periods: its parameters and random effects."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from philly_analysis.distributions import Floats
from philly_analysis.study import GANGS

PERIOD_D = 28  # days of one period; a longer sample has several
RUN_TIMES_S = (60.0, 300.0, 1_500.0, 7_200.0, 36_000.0, 216_000.0)
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


@dataclass(frozen=True, slots=True)
class PeriodEffects:
    """Random effects of one period.

    Attributes
    ----------
    log_jobs
        Shape (gang classes, `RUN_TIMES_S`): natural logarithm of the factor on the number of jobs
        of a gang class and run time; interpolated between run times.
    log_dispersion
        Natural logarithm of the factor on the dispersion of hourly arrivals, in excess of what
        the number of jobs explains.
    scale
        Factor on every standard deviation in this period.
    seed
        Seed of the effects on users and statuses.
    """

    log_jobs: Floats
    log_dispersion: float
    scale: float
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
        fitted jobs are the median of the drawn jobs, at 1 their mean. `daily_change_power`,
        `size_sd`, `short_window_power` and `mean_correction` are 0 in models of older versions.
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

    def with_values(self, **values: float) -> Self:
        """Return a copy with other values of some parameters."""
        changed: dict[str, Any] = {name: Estimate(v, v, v) for name, v in values.items()}
        return replace(self, **changed)

    def log_dispersion_correction(self, standard_error: float) -> float:
        """Return the logarithm of the factor on dispersion by regression to the mean."""
        standard_error = min(standard_error, MAX_DISPERSION_SE)
        return self.dispersion_reversion.value * (self.typical_dispersion_se.value - standard_error)

    def class_deviation(self, days: float, daily_change: float) -> float:
        """Return the standard deviation of job classes after a window of some days."""
        change = float(np.clip(daily_change, MIN_DAILY_CHANGE, MAX_DAILY_CHANGE))
        by_change = float(np.power(change, self.daily_change_power.value))
        by_length = float(np.power(_shortness(days), self.short_window_power.value))
        return self.class_sd.value * by_change * by_length

    def dispersion_deviation(self, days: float) -> float:
        """Return the standard deviation of dispersion from so many days to the next period."""
        return self.dispersion_sd.value * float(np.sqrt((1 + _shortness(days)) / 2))

    def periods(
        self, jobs: Floats, gpu_time: Floats, days: float, daily_change: float, seed: int
    ) -> Iterator[PeriodEffects]:
        """Draw the effects of successive periods.

        Half of the variance is common to all periods: the deviation of the fitted period.

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
        """
        rng = np.random.default_rng((seed, PERIOD_D))
        log_run = np.log(RUN_TIMES_S)
        correlation = np.exp(-np.abs(log_run[:, None] - log_run) / self.correlation_length.value)
        factor = np.linalg.cholesky(correlation)
        deviation = np.exp(self.class_sd_slope.value * (log_run - _LOG_HOUR))
        freedom = self.degrees_of_freedom.value
        scale = float(np.sqrt(freedom / rng.chisquare(freedom)))
        sampling_sd = np.sqrt(2 / (jobs + 0.5))
        share = gpu_time / max(float(gpu_time.sum()), 1e-9)
        dispersion_sd = self.dispersion_deviation(days)
        class_sd = self.class_deviation(days, daily_change)
        common = self._normal_effects(rng)
        while True:
            specific = self._normal_effects(rng)
            overall, by_class, count, burst = (
                np.sqrt(0.5) * (a + b) for a, b in zip(common, specific, strict=True)
            )
            spread = scale * deviation * class_sd
            bias = self.mean_correction.value / 2 * spread**2
            mix = spread * (by_class @ factor.T) + sampling_sd * count - bias
            gained = np.log(max(float((share * np.exp(mix)).sum()), 1e-9)) if share.any() else 0.0
            log_jobs = scale * self.activity_sd.value * overall + mix
            log_jobs -= self.gpu_time_compensation.value * gained
            log_dispersion = scale * dispersion_sd * burst[0]
            yield PeriodEffects(
                np.clip(log_jobs, -MAX_LOG_FACTOR, MAX_LOG_FACTOR),
                float(np.clip(log_dispersion, -MAX_LOG_FACTOR, MAX_LOG_FACTOR)),
                scale,
                int(rng.integers(2**62)),
            )

    @staticmethod
    def _normal_effects(rng: np.random.Generator) -> tuple[Floats, ...]:
        classes = (len(GANGS), len(RUN_TIMES_S))
        return tuple(rng.standard_normal(shape) for shape in ((1,), classes, classes, (1,)))


def _shortness(days: float) -> float:
    """Return the length of a period over the length of a window, at least 1."""
    return PERIOD_D / min(days, PERIOD_D)


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_VALUES: dict[str, Any] = {k: Estimate(*v) if isinstance(v, list) else v for k, v in _TABLE.items()}
ESTIMATED = Variation(**_VALUES)
"""Estimated across clusters; `data/README.md` describes how."""
