"""Hourly counts of submissions: dispersion, autocorrelation, daily change."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.fft as fft
from numpy.typing import ArrayLike

from philly_analysis.distributions import Floats, Ints
from philly_analysis.errors import ModelError

HOUR_S = 3_600
WEEK_H = 168
DAY_H = 24
MIN_CHANGES = 3


@dataclass(frozen=True, slots=True)
class HourlyCounts:
    """Submissions per observed hour.

    Attributes
    ----------
    at_s
        Submissions within the windows, ascending, Unix seconds.
    hour
        Shape (h,): the observed hours, in hours since the Unix epoch, ascending.
    count
        Shape (h,): submissions in each.
    """

    at_s: Floats
    hour: Ints
    count: Ints

    @classmethod
    def of(cls, at_s: ArrayLike, windows: ArrayLike | None = None) -> Self:
        """Count submissions by hour; see :meth:`Arrivals.fit` for the parameters."""
        at = np.sort(np.asarray(at_s, dtype=float).ravel())
        if at.size == 0:
            raise ModelError("arrivals: there are no submissions")
        if windows is None:
            hour = np.arange(at[0] // HOUR_S, at[-1] // HOUR_S + 1, dtype=int)
        else:
            spans = (np.asarray(windows, float).reshape(-1, 2) // HOUR_S).astype(int)
            hour = np.unique(np.concatenate([np.arange(a, b) for a, b in spans]))
        hour_of = (at // HOUR_S).astype(int)
        inside = np.isin(hour_of, hour)
        index = np.searchsorted(hour, hour_of[inside])
        return cls(at[inside], hour, np.bincount(index, minlength=hour.size))

    @property
    def dispersion(self) -> float:
        """Variance over mean."""
        return float(self.count.var() / max(self.count.mean(), 1e-12))

    @property
    def log_dispersion_se(self) -> float:
        """Standard error of the logarithm of the dispersion, by the delete-a-day jackknife.

        With fewer than four days, thirds of the time are deleted.
        """
        length = int(np.clip(self.count.size // 3, 1, DAY_H))
        first = np.arange(0, self.count.size, length)
        jobs, squares = (np.add.reduceat(self.count**power, first) for power in (1, 2))
        hours = self.count.size - np.diff(first, append=self.count.size)
        mean = np.maximum((jobs.sum() - jobs) / np.maximum(hours, 1), 1e-12)
        variance = (squares.sum() - squares) / np.maximum(hours, 1) - mean**2
        replicates = np.log(np.maximum(variance / mean, 1e-3))
        return float(np.sqrt((first.size - 1) * replicates.var()))

    @property
    def daily_change(self) -> float:
        """Root mean square change of ln(1 + jobs) between consecutive whole days; 1 if unknown."""
        day, hours = np.unique((self.hour - self.hour[0]) // DAY_H, return_counts=True)
        whole = day[hours == DAY_H]
        jobs = np.bincount((self.hour - self.hour[0]) // DAY_H, self.count)
        change = np.diff(np.log1p(jobs[whole]))[np.diff(whole) == 1]
        return float(np.sqrt((change**2).mean())) if change.size >= MIN_CHANGES else 1.0

    def autocorrelation(self, max_lag: int) -> Floats:
        """Return the autocorrelation at lags 1, 2, .. hours, over pairs of observed hours."""
        first, size = self.hour[0], int(self.hour[-1] - self.hour[0] + 1)
        x, seen = np.zeros(size), np.zeros(size)
        x[self.hour - first] = self.count - self.count.mean()
        seen[self.hour - first] = 1
        lags = min(max_lag, max(size // 4, 1))
        pad = fft.next_fast_len(size + lags, real=True)
        products = fft.irfft(np.abs(fft.rfft(x, pad)) ** 2, pad)[: lags + 1]
        pairs = np.round(fft.irfft(np.abs(fft.rfft(seen, pad)) ** 2, pad)[: lags + 1])
        variance = max(products[0] / pairs[0], 1e-12)
        value = products / np.maximum(pairs, 1) / variance
        # interpolate lags with too few pairs of observed hours
        frequent = pairs >= 0.25 * pairs[0]
        lag = np.arange(lags + 1)
        return np.asarray(np.interp(lag, lag[frequent], value[frequent])[1:])

    def gaps_s(self) -> Floats:
        """Return the seconds between successive submissions without an unobserved hour between."""
        gap = np.diff(self.at_s)
        hour = (self.at_s // HOUR_S).astype(int)
        index = np.searchsorted(self.hour, hour)
        joined = np.diff(index) == np.diff(hour)
        return np.asarray(gap[joined])


def hour_of_week(hour: Ints) -> Ints:
    """Return the hour of the week (0: Monday 00:00) of hours since the Unix epoch (a Thursday)."""
    return np.asarray((hour + 72) % WEEK_H)
