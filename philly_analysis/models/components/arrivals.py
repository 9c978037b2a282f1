"""Model of arrivals: weekly rhythm, autocorrelated hourly counts, batches within an hour."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.fft as fft
from numpy.typing import ArrayLike

from philly_analysis.distributions import (
    Floats,
    Ints,
    fourier_amplitudes,
    impose_autocorrelation,
    round_significant,
)
from philly_analysis.errors import ModelError
from philly_analysis.models.components.hourly_counts import (
    HOUR_S,
    WEEK_H,
    HourlyCounts,
    hour_of_week,
)
from philly_analysis.models.components.intrahour import (
    DIGITS,
    IntrahourGaps,
    fit_intrahour_gaps,
    place_arrivals,
)

MAX_LAG_H = 2 * WEEK_H


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A model of submission times.

    Hourly counts have the fitted distribution and autocorrelation and follow the hour of the
    week (iterated amplitude-adjusted Fourier transform; Schreiber and Schmitz 1996). Gaps within
    an hour depend on the hour's count and are autocorrelated. A sample's dispersion and
    autocorrelation equal the fitted values up to the sample's finite length.

    Attributes
    ----------
    n
        Number of arrivals fitted to.
    hours
        Observed hours.
    rate_per_h
        Shape (168,): mean arrivals per hour of the week, from Monday 00:00 UTC.
    count_levels, count_quantiles
        Quantile function of the arrivals in an hour, linear between these points.
    autocorrelation
        Autocorrelation of the hourly counts, at lags of 1, 2, .. hours.
    intrahour_gaps
        Gaps within an hour, by ascending arrivals in the hour.
    gap_correlation
        Correlation of the normal scores of successive gaps.
    gaps_s
        Observed percentiles 0 to 100 of the gaps between successive arrivals.
    dispersion
        Observed variance of the hourly counts over their mean (1 for a Poisson process).
    log_dispersion_se
        Standard error of the natural logarithm of the dispersion.
    daily_change
        Root mean square change of the natural logarithm of a day's arrivals to the next day.
    """

    n: int
    hours: int
    rate_per_h: tuple[float, ...]
    count_levels: tuple[float, ...]
    count_quantiles: tuple[float, ...]
    autocorrelation: tuple[float, ...]
    intrahour_gaps: tuple[IntrahourGaps, ...]
    gap_correlation: float
    gaps_s: tuple[float, ...]
    dispersion: float
    log_dispersion_se: float = 0.0
    daily_change: float = 1.0

    @classmethod
    def fit(cls, at_s: ArrayLike, windows: ArrayLike | None = None) -> Self:
        """Fit to submission times.

        Parameters
        ----------
        at_s
            Shape (n,): submissions, Unix seconds in UTC.
        windows
            Shape (k, 2): start and end of the observed times, Unix seconds, whole hours. None:
            from the hour of the earliest submission to the hour of the latest.

        Raises
        ------
        ModelError
            Fewer than ten submissions, or all in one hour.
        """
        counts = HourlyCounts.of(at_s, windows)
        at = counts.at_s
        if at.size < 10:
            raise ModelError(f"arrivals: {at.size} submissions; at least ten are needed")
        if counts.hour.size < 2:
            raise ModelError("arrivals: all submissions fall in one hour; two hours are needed")
        rate = _weekly_rate(counts.hour, counts.count)
        levels = _quantile_levels(counts.count.size)
        gaps, gap_correlation = fit_intrahour_gaps(at)
        return cls(
            n=at.size,
            hours=counts.count.size,
            rate_per_h=round_significant(rate, DIGITS),
            count_levels=tuple(float(v) for v in levels),
            count_quantiles=round_significant(_quantile_function(counts.count, levels), DIGITS),
            autocorrelation=round_significant(counts.autocorrelation(MAX_LAG_H), DIGITS),
            intrahour_gaps=gaps,
            gap_correlation=gap_correlation,
            gaps_s=round_significant(np.quantile(counts.gaps_s(), np.linspace(0, 1, 101)), DIGITS),
            dispersion=counts.dispersion,
            log_dispersion_se=round(counts.log_dispersion_se, DIGITS),
            daily_change=round(counts.daily_change, DIGITS),
        )

    @property
    def rate(self) -> float:
        """Mean arrivals per hour."""
        return self.n / self.hours

    def sample(
        self,
        rng: np.random.Generator,
        *,
        jobs: int | None = None,
        days: float | None = None,
        load: float = 1.0,
    ) -> Floats:
        """Draw submission times.

        Parameters
        ----------
        jobs, days
            Number of jobs and length; either follows from the other and the rate. With both, the
            rate is scaled.
        load
            Factor on the rate; only without one of both.

        Returns
        -------
        numpy.ndarray
            Shape (n,), ascending whole seconds after a Monday 00:00 UTC.

        Raises
        ------
        ModelError
            Neither jobs nor days, numbers that are not positive, or a load beside both.
        """
        check_sample_size(jobs, days, load)
        rate = self.rate * load
        span_h = days * 24 if days is not None else float(jobs or 0) / rate
        hours = int(np.ceil(span_h))
        expected = self._hourly_counts(rng, hours)
        if span_h < hours:
            expected[-1] *= span_h - (hours - 1)
        expected *= (jobs or span_h * rate) / expected.sum()
        # systematic rounding: each hour is within 1 of its expected count, and the total is exact
        edges = np.floor(np.cumsum(expected) + (0.5 if jobs is not None else rng.random()))
        counts = np.diff(edges, prepend=0).astype(int)
        last_s = (span_h - (hours - 1)) * HOUR_S
        return place_arrivals(counts, self.intrahour_gaps, self.gap_correlation, last_s, rng)

    def _hourly_counts(self, rng: np.random.Generator, hours: int) -> Floats:
        """Draw the arrivals of each hour, before rounding."""
        values = np.interp(
            (np.arange(hours) + 0.5) / hours, self.count_levels, self.count_quantiles
        )
        if hours < 8:
            return np.asarray(rng.permutation(values) + 1e-9)
        size = fft.next_fast_len(hours, real=True)
        target = np.asarray(self.autocorrelation)
        rate = np.asarray(self.rate_per_h)
        rhythm = np.resize(rate - rate.mean(), size)
        share = min(rate.var() / max(self.dispersion * self.rate, 1e-12), 1.0)
        noise = fft.irfft(
            fft.rfft(rng.standard_normal(size)) * fourier_amplitudes(target, size), size
        )
        noise /= noise.std() or 1.0
        score = np.sqrt(1 - share) * noise + np.sqrt(share) * rhythm / (rate.std() or 1.0)
        steps = np.interp((np.arange(size) + 0.5) / size, self.count_levels, self.count_quantiles)
        score = impose_autocorrelation(score, steps, target, rhythm)
        out = np.empty(hours)
        out[np.argsort(score[:hours], kind="stable")] = values
        return out + 1e-9


def check_sample_size(jobs: int | None, days: float | None, load: float) -> None:
    """Check that arrivals of this size can be drawn.

    Raises
    ------
    ModelError
        Neither jobs nor days, numbers that are not positive, or jobs, days and a load.
    """
    if jobs is None and days is None:
        raise ModelError("a sample needs a number of jobs, or of days, or both")
    if min(v for v in (jobs, days, load) if v is not None) <= 0:
        raise ModelError(f"jobs {jobs}, days {days} and load {load} must be positive")
    if jobs is not None and days is not None and load != 1:
        raise ModelError("jobs and days together determine the load; give two of the three")


def _weekly_rate(hour: Ints, count: Ints) -> Floats:
    """Return the mean by hour of the week, shrunk to the hour of the weekday, of the day, and all.

    The mean of each coarser level counts as one observation of the finer one.
    """
    week = hour_of_week(hour)
    rate, hours = np.full(WEEK_H, count.mean()), np.arange(WEEK_H)
    for level in (hours % 24, hours % 24 + 24 * (hours >= 120), hours):
        total = np.bincount(level[week], count, WEEK_H)[level]
        seen = np.bincount(level[week], minlength=WEEK_H)[level]
        rate = (total + rate) / (seen + 1)
    return np.asarray(rate * count.mean() / max(float(rate.mean()), 1e-12))


def _quantile_levels(hours: int) -> Floats:
    """Return the levels of the quantile function: ever finer towards the busiest hours."""
    body = np.linspace(0, 0.98, 50)
    top = 1 - 0.02 * 0.7 ** np.arange(40)
    top = top[1 - top > 1.5 / hours]
    return np.concatenate((body, top[1:], [1.0]))


def _quantile_function(count: Ints, levels: Floats) -> Floats:
    """Return quantiles such that the line through them has the mean of the counts."""
    ordered = np.sort(count).astype(float)
    centres = (np.arange(ordered.size) + 0.5) / ordered.size
    line = np.interp(levels, centres, ordered)
    mean = np.sum((line[1:] + line[:-1]) / 2 * np.diff(levels))
    return np.asarray(line * count.mean() / max(mean, 1e-12))
