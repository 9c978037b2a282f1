"""When jobs arrive: a weekly rhythm, bursty hours that cling together, batches within an hour."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.fft as fft
import scipy.signal as signal
import scipy.stats as sp
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError

Floats = NDArray[np.float64]

HOUR_S = 3_600
WEEK_H = 168
MAX_LAG_H = 2 * WEEK_H
BATCH_GAP_S = 30
_ROUNDS = 12
_ROUNDS_X_HOURS = 3_000_000
_CORRECTIONS = 5
_CLASS_EDGES = (1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513)
_SPACING_KNOTS = 201


@dataclass(frozen=True, slots=True)
class Spacing:
    """How arrivals lie within an hour that has at least `arrivals` of them.

    Attributes
    ----------
    inner, outer
        Evenly spaced quantiles, in seconds, of the gaps between arrivals, and from the hour's
        ends to the first and last.
    """

    arrivals: int
    inner: tuple[float, ...]
    outer: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A model of submission times.

    Hourly counts have a given law and a given autocorrelation and follow the hour of the week;
    within an hour the gaps have a law that depends on how busy the hour is, and cling together.
    Counts are made with the right law and spectrum at once (iterated amplitude-adjusted Fourier
    transform; Schreiber and Schmitz 1996), so that a sample's dispersion and autocorrelation are
    the fitted ones up to its finite length.

    Attributes
    ----------
    n
        Arrivals that it was fitted to.
    hours
        Hours observed.
    rate_per_h
        Shape (168,): mean arrivals per hour of the week, from Monday 00:00 UTC.
    count_levels, count_quantiles
        Quantile function of the arrivals in an hour, linear between these points.
    autocorrelation
        Of the hourly counts, at lags of 1, 2, .. hours.
    spacings
        By ascending arrivals in the hour.
    spacing_correlation
        Correlation of the normal scores of successive gaps.
    gaps_s
        Percentiles 0 to 100 of the gaps between successive arrivals, as observed.
    dispersion
        Variance of the hourly counts over their mean (1 for a Poisson process), as observed.
    """

    n: int
    hours: int
    rate_per_h: tuple[float, ...]
    count_levels: tuple[float, ...]
    count_quantiles: tuple[float, ...]
    autocorrelation: tuple[float, ...]
    spacings: tuple[Spacing, ...]
    spacing_correlation: float
    gaps_s: tuple[float, ...]
    dispersion: float

    @classmethod
    def fit(cls, at_s: ArrayLike, windows: ArrayLike | None = None) -> Self:
        """Fit to submission times.

        Parameters
        ----------
        at_s
            Shape (n,): submissions, Unix seconds in UTC.
        windows
            Shape (k, 2): start and end of the times observed, Unix seconds, whole hours. The
            hours from the first submission to the last when absent.

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
        levels = _levels(counts.count.size)
        spacings, clinging = _spacings(at)
        return cls(
            n=at.size,
            hours=counts.count.size,
            rate_per_h=_rounded(rate),
            count_levels=tuple(float(v) for v in levels),
            count_quantiles=_rounded(_quantile_line(counts.count, levels)),
            autocorrelation=_rounded(counts.autocorrelation(MAX_LAG_H)),
            spacings=spacings,
            spacing_correlation=clinging,
            gaps_s=_rounded(np.quantile(counts.gaps_s(), np.linspace(0, 1, 101))),
            dispersion=counts.dispersion,
        )

    @classmethod
    def poisson(cls, rate_per_h: float) -> Self:
        """Return arrivals that know nothing of each other or of the time, by their mean rate."""
        levels = np.concatenate((np.linspace(0, 0.99, 100), [0.995, 0.999, 0.9999]))
        counts = np.maximum(sp.poisson(rate_per_h).ppf(levels), 0)  # SciPy starts at -1
        line = np.sum((counts[1:] + counts[:-1]) / 2 * np.diff(levels)) / levels[-1]
        hours = 10_000
        return cls(
            n=round(rate_per_h * hours),
            hours=hours,
            rate_per_h=(rate_per_h,) * WEEK_H,
            count_levels=tuple(float(v) for v in levels),
            count_quantiles=_rounded(counts * rate_per_h / max(float(line), 1e-12)),
            autocorrelation=(0.0,),
            spacings=(),
            spacing_correlation=0.0,
            gaps_s=_rounded(sp.expon(scale=HOUR_S / rate_per_h).ppf(np.linspace(0, 0.999, 101))),
            dispersion=1.0,
        )

    @property
    def mean_per_h(self) -> float:
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
            How many, over how long; either follows from the other and the rate. Both: the rate
            is scaled to give them.
        load
            Factor on the rate, when it is not already settled by both.

        Returns
        -------
        numpy.ndarray
            Shape (n,), ascending whole seconds after a Monday 00:00 UTC.

        Raises
        ------
        ModelError
            Neither jobs nor days, numbers that are not positive, or a load beside both.
        """
        if jobs is None and days is None:
            raise ModelError("a sample needs a number of jobs, or of days, or both")
        if min(v for v in (jobs, days, load) if v is not None) <= 0:
            raise ModelError(f"jobs {jobs}, days {days} and load {load} must be positive")
        if jobs is not None and days is not None and load != 1:
            raise ModelError("jobs and days together settle the load; leave the load at 1")
        rate = self.mean_per_h * load
        span_h = days * 24 if days is not None else float(jobs or 0) / rate
        whole = int(np.ceil(span_h))
        expected = self._hourly(rng, whole)
        if span_h < whole:
            expected[-1] *= span_h - (whole - 1)
        expected *= (jobs or span_h * rate) / expected.sum()
        # Systematic rounding: every hour within one of its count, and the total exact.
        edges = np.floor(np.cumsum(expected) + (0.5 if jobs is not None else rng.random()))
        counts = np.diff(edges, prepend=0).astype(int)
        last_s = (span_h - (whole - 1)) * HOUR_S
        return self._within(rng, counts, last_s)

    def _hourly(self, rng: np.random.Generator, hours: int) -> Floats:
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
        share = min(rate.var() / max(self.dispersion * self.mean_per_h, 1e-12), 1.0)
        amplitude = _amplitude(target, size)
        noise = fft.irfft(fft.rfft(rng.standard_normal(size)) * amplitude, size)
        noise /= noise.std() or 1.0
        score = np.sqrt(1 - share) * noise + np.sqrt(share) * rhythm / (rate.std() or 1.0)
        steps = np.interp((np.arange(size) + 0.5) / size, self.count_levels, self.count_quantiles)
        score = _with_spectrum(score, steps, target, rhythm)
        out = np.empty(hours)
        out[np.argsort(score[:hours], kind="stable")] = values
        return out + 1e-9

    def _within(self, rng: np.random.Generator, counts: NDArray[np.int_], last_s: float) -> Floats:
        """Place each hour's arrivals in it: anywhere, where nothing is known of their spacing."""
        if not self.spacings:
            hour = np.repeat(np.arange(counts.size), counts)
            length = np.where(hour == counts.size - 1, last_s, HOUR_S)
            return np.sort(np.floor(hour * HOUR_S + rng.random(hour.size) * length))
        busy = np.flatnonzero(counts)
        n = counts[busy]
        # One more gap than arrivals: to the first, between them, and from the last.
        hour = np.repeat(np.arange(busy.size), n + 1)
        first = np.concatenate(([0], np.cumsum(n + 1)[:-1]))
        outer = np.zeros(hour.size, bool)
        outer[first] = outer[first + n] = True
        rho = self.spacing_correlation
        noise = rng.standard_normal(hour.size) * np.sqrt(1 - rho**2)
        u = sp.norm.cdf(signal.lfilter([1.0], [1.0, -rho], noise))
        edges = np.array([s.arrivals for s in self.spacings])
        kind = np.clip(np.searchsorted(edges, n, side="right") - 1, 0, edges.size - 1)[hour]
        gap = np.empty(hour.size)
        for i, spacing in enumerate(self.spacings):
            for grid, where in ((spacing.inner, ~outer), (spacing.outer, outer)):
                mine = (kind == i) & where
                gap[mine] = np.interp(u[mine], np.linspace(0, 1, len(grid)), grid)
        # Gaps must fill the hour. Short ones are a batch's own and stay; the others stretch.
        length = np.where(busy == counts.size - 1, last_s, HOUR_S)
        elastic = outer | (gap > BATCH_GAP_S)
        gap = np.where(elastic, np.maximum(gap, 1e-3), gap)
        rigid_s = np.add.reduceat(np.where(elastic, 0, gap), first)
        elastic_s = np.add.reduceat(np.where(elastic, gap, 0), first)
        room = length - rigid_s > 0.05 * length
        stretch = np.where(room, (length - rigid_s) / elastic_s, length / (rigid_s + elastic_s))
        gap = np.rint(gap * np.where(elastic | ~room[hour], stretch[hour], 1.0))
        run = np.cumsum(gap)
        offset = run - (run[first] - gap[first])[hour]
        closing = np.zeros(hour.size, bool)
        closing[first + n] = True
        at = busy[hour] * HOUR_S + np.minimum(offset, length[hour] - 1)
        return np.sort(np.maximum(at[~closing], 0))


@dataclass(frozen=True, slots=True)
class HourlyCounts:
    """Submissions per hour over the hours observed.

    Attributes
    ----------
    at_s
        Submissions within the windows, ascending, Unix seconds.
    hour
        Shape (h,): the hours observed, in hours since the Unix epoch, ascending.
    count
        Shape (h,): submissions in each.
    """

    at_s: Floats
    hour: NDArray[np.int_]
    count: NDArray[np.int_]

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
        own = (at // HOUR_S).astype(int)
        index = np.searchsorted(hour, own)
        inside = (index < hour.size) & (hour[np.minimum(index, hour.size - 1)] == own)
        return cls(at[inside], hour, np.bincount(index[inside], minlength=hour.size))

    @property
    def dispersion(self) -> float:
        """Variance over mean."""
        return float(self.count.var() / max(self.count.mean(), 1e-12))

    def autocorrelation(self, max_lag: int) -> Floats:
        """Return the autocorrelation at lags 1, 2, .. hours, over the pairs of hours observed."""
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
        # A lag that hardly any two hours observed are apart says nothing: bridge it.
        known = pairs >= 0.25 * pairs[0]
        lag = np.arange(lags + 1)
        return np.asarray(np.interp(lag, lag[known], value[known])[1:])

    def gaps_s(self) -> Floats:
        """Return the seconds between successive submissions with no unobserved hour between."""
        gap = np.diff(self.at_s)
        own = (self.at_s // HOUR_S).astype(int)
        index = np.searchsorted(self.hour, own)
        joined = np.diff(index) == np.diff(own)
        return np.asarray(gap[joined])


def hour_of_week(hour: NDArray[np.int_]) -> NDArray[np.int_]:
    """Hour of the week, 0 is Monday 00:00, of hours since the Unix epoch (a Thursday)."""
    return np.asarray((hour + 72) % WEEK_H)


def _weekly_rate(hour: NDArray[np.int_], count: NDArray[np.int_]) -> Floats:
    """Mean by hour of the week, drawn towards weekday or weekend, hour of day, and the mean.

    Each level counts as one more observation of the level below it.
    """
    week = hour_of_week(hour)
    day = week % 24 + 24 * (week >= 120)
    rate = np.full(WEEK_H, count.mean())
    slots = np.arange(WEEK_H)
    for key, size, of in (
        (week % 24, 24, slots % 24),
        (day, 48, slots % 24 + 24 * (slots >= 120)),
        (week, WEEK_H, slots),
    ):
        total = np.bincount(key, count, size)[of]
        seen = np.bincount(key, minlength=size)[of]
        rate = (total + rate) / (seen + 1)
    return np.asarray(rate * count.mean() / max(float(rate.mean()), 1e-12))


def _levels(hours: int) -> Floats:
    """Probabilities of a quantile line: percents, then ever finer towards the busiest hours."""
    body = np.linspace(0, 0.98, 50)
    top = 1 - 0.02 * 0.7 ** np.arange(40)
    top = top[1 - top > 1.5 / hours]
    return np.concatenate((body, top[1:], [1.0]))


def _quantile_line(count: NDArray[np.int_], levels: Floats) -> Floats:
    """Quantiles such that the line through them has the mean of the counts."""
    ordered = np.sort(count).astype(float)
    centres = (np.arange(ordered.size) + 0.5) / ordered.size
    line = np.interp(levels, centres, ordered)
    mean = np.sum((line[1:] + line[:-1]) / 2 * np.diff(levels))
    return np.asarray(line * count.mean() / max(mean, 1e-12))


def _with_spectrum(score: Floats, steps: Floats, target: Floats, rhythm: Floats) -> Floats:
    """Return scores that order the values `steps` into a series with that autocorrelation.

    The series follows `rhythm`, what the hour of the week adds to the mean, with a slope of 1.
    """
    size = steps.size
    lags = min(target.size, size // 2 - 1)
    wanted = target[:lags].copy()
    rounds = int(np.clip(_ROUNDS_X_HOURS // size, 3, _ROUNDS))
    series = np.empty(size)
    rhythm_power = float(rhythm @ rhythm)
    for _ in range(_CORRECTIONS):
        amplitude = _amplitude(wanted, size)
        for _ in range(rounds):
            series[np.argsort(score, kind="stable")] = steps
            spectrum = fft.rfft(series - steps.mean())
            score = fft.irfft(spectrum * amplitude / np.maximum(np.abs(spectrum), 1e-12), size)
            if rhythm_power > 1e-9 * size:
                unit = float(score @ score) / max(float(series @ series), 1e-12)
                score += (1 - float(series @ rhythm) / rhythm_power) * np.sqrt(unit) * rhythm
        series[np.argsort(score, kind="stable")] = steps
        reached = fft.irfft(np.abs(fft.rfft(series - steps.mean())) ** 2, size)
        # A skewed law of counts pulls the correlation towards zero: aim beyond by as much.
        wanted += target[:lags] - reached[1 : lags + 1] / max(reached[0], 1e-12)
    return score


def _amplitude(autocorrelation: Floats, size: int) -> Floats:
    """Fourier amplitudes of a series of `size` hours with unit variance times its own length.

    The autocorrelation is cut off by a flat-top window (Politis and Romano 1995), and what the
    cut makes negative in the spectrum is set to zero.
    """
    lags = min(autocorrelation.size, size // 2 - 1)
    lag = np.arange(lags + 1)
    taper = np.clip(2 * (1 - lag / (lags + 1)), 0, 1)
    r = np.concatenate(([1.0], autocorrelation[:lags])) * taper
    circle = np.zeros(size)
    circle[: lags + 1] = r
    circle[size - lags :] = r[1:][::-1]
    power = np.maximum(fft.rfft(circle).real, 0)
    power[0] = 0
    return np.asarray(np.sqrt(power))


def _spacings(at: Floats) -> tuple[tuple[Spacing, ...], float]:
    """Quantiles of gaps by the hour's arrivals, and how successive ones cling."""
    hour = (at // HOUR_S).astype(int)
    _, first, n = np.unique(hour, return_index=True, return_counts=True)
    offset = at - hour * HOUR_S
    own = np.repeat(np.arange(n.size), n)
    inner_gap = np.diff(offset)
    inside = own[1:] == own[:-1]
    inner, inner_own = inner_gap[inside], own[1:][inside]
    outer = np.concatenate((offset[first], HOUR_S - offset[first + n - 1]))
    outer_n = np.tile(n, 2)
    made: list[Spacing] = []
    edges = [e for e in _CLASS_EDGES if e <= n.max()]
    levels = np.linspace(0, 1, _SPACING_KNOTS)
    score = np.zeros(inner.size)
    for low, high in zip(edges, [*edges[1:], np.inf], strict=True):
        mine = (n[inner_own] >= low) & (n[inner_own] < high)
        ends = (outer_n >= low) & (outer_n < high)
        if not ends.any() or (low > 1 and not mine.any()):
            continue
        if mine.any():
            rank = sp.rankdata(inner[mine]) / (mine.sum() + 1)
            score[mine] = sp.norm.ppf(rank)
        made.append(
            Spacing(
                low,
                _rounded(np.quantile(inner[mine], levels)) if mine.any() else (0.0, 0.0),
                _rounded(np.quantile(outer[ends], levels)),
            )
        )
    pairs = inner_own[1:] == inner_own[:-1] if inner.size > 1 else np.zeros(0, bool)
    if pairs.sum() < 10:
        return tuple(made), 0.0
    clinging = float(np.mean(score[1:][pairs] * score[:-1][pairs]) / max(score.var(), 1e-12))
    return tuple(made), round(float(np.clip(clinging, 0.0, 0.95)), 4)


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{v:.5g}") for v in values)
