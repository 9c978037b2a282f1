"""Within-hour arrival times: gaps depend on the hour's count and are autocorrelated."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from philly_analysis.distributions import Floats, Ints, round_significant
from philly_analysis.models.components.hourly_counts import HOUR_S

BATCH_GAP_S = 30
_CLASS_EDGES = (1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513)
_LEVELS = np.linspace(0, 1, 201)
DIGITS = 5  # significant digits of the numbers of arrivals in a model's file


@dataclass(frozen=True, slots=True)
class IntrahourGaps:
    """Gaps within an hour of at least `arrivals` arrivals.

    Attributes
    ----------
    inner, outer
        Evenly spaced quantiles, in seconds, of the gaps between arrivals, and from the hour's
        ends to the first and last.
    """

    arrivals: int
    inner: tuple[float, ...]
    outer: tuple[float, ...]


def fit_intrahour_gaps(at_s: Floats) -> tuple[tuple[IntrahourGaps, ...], float]:
    """Fit gaps within an hour to submission times.

    Parameters
    ----------
    at_s
        Shape (n,), ascending: submissions, in seconds since the start of some hour.

    Returns
    -------
    tuple
        Gaps by ascending arrivals in the hour, and the correlation of the normal scores of
        successive gaps.
    """
    hour = (at_s // HOUR_S).astype(int)
    _, first, n = np.unique(hour, return_index=True, return_counts=True)
    offset = at_s - hour * HOUR_S
    hour_of = np.repeat(np.arange(n.size), n)
    inside = hour_of[1:] == hour_of[:-1]
    inner, inner_hour = np.diff(offset)[inside], hour_of[1:][inside]
    outer = np.concatenate((offset[first], HOUR_S - offset[first + n - 1]))
    outer_n = np.tile(n, 2)
    made: list[IntrahourGaps] = []
    edges = [e for e in _CLASS_EDGES if e <= n.max()]
    score = np.zeros(inner.size)
    for low, high in zip(edges, [*edges[1:], np.inf], strict=True):
        mine = (n[inner_hour] >= low) & (n[inner_hour] < high)
        ends = (outer_n >= low) & (outer_n < high)
        if not ends.any() or (low > 1 and not mine.any()):
            continue
        inner_quantiles: tuple[float, ...] = (0.0, 0.0)
        if mine.any():
            rank = scipy.stats.rankdata(inner[mine]) / (mine.sum() + 1)
            score[mine] = scipy.stats.norm.ppf(rank)
            inner_quantiles = round_significant(np.quantile(inner[mine], _LEVELS), DIGITS)
        outer_quantiles = round_significant(np.quantile(outer[ends], _LEVELS), DIGITS)
        made.append(IntrahourGaps(low, inner_quantiles, outer_quantiles))
    pairs = inner_hour[1:] == inner_hour[:-1]
    if pairs.sum() < 10:
        return tuple(made), 0.0
    correlation = float(np.mean(score[1:][pairs] * score[:-1][pairs]) / max(score.var(), 1e-12))
    return tuple(made), round(float(np.clip(correlation, 0.0, 0.95)), 4)


def place_arrivals(
    counts: Ints,
    gaps: Sequence[IntrahourGaps],
    correlation: float,
    last_s: float,
    rng: np.random.Generator,
) -> Floats:
    """Draw the times of each hour's arrivals: uniform if no gaps were fitted.

    Parameters
    ----------
    counts
        Shape (h,): arrivals in each hour.
    gaps, correlation
        The result of :func:`fit_intrahour_gaps`.
    last_s
        Length of the final hour, s.

    Returns
    -------
    numpy.ndarray
        Ascending whole seconds after the start of the first hour.
    """
    if not gaps:
        hour = np.repeat(np.arange(counts.size), counts)
        length = np.where(hour == counts.size - 1, last_s, HOUR_S)
        return np.sort(np.floor(hour * HOUR_S + rng.random(hour.size) * length))
    busy = np.flatnonzero(counts)
    n = counts[busy]
    # one more gap than arrivals: before the first arrival, between arrivals, and after the last
    # arrival
    hour = np.repeat(np.arange(busy.size), n + 1)
    first = np.concatenate(([0], np.cumsum(n + 1)[:-1]))
    outer = np.zeros(hour.size, bool)
    outer[first] = outer[first + n] = True
    noise = rng.standard_normal(hour.size) * np.sqrt(1 - correlation**2)
    u = scipy.stats.norm.cdf(scipy.signal.lfilter([1.0], [1.0, -correlation], noise))
    edges = np.array([g.arrivals for g in gaps])
    of_class = np.clip(np.searchsorted(edges, n, side="right") - 1, 0, edges.size - 1)[hour]
    gap = np.empty(hour.size)
    for i, quantiles in enumerate(gaps):
        for grid, where in ((quantiles.inner, ~outer), (quantiles.outer, outer)):
            mine = (of_class == i) & where
            gap[mine] = np.interp(u[mine], np.linspace(0, 1, len(grid)), grid)
    # Gaps must fill the hour: gaps within a batch keep their length, other gaps are scaled.
    length = np.where(busy == counts.size - 1, last_s, HOUR_S)
    elastic = outer | (gap > BATCH_GAP_S)
    gap = np.where(elastic, np.maximum(gap, 1e-3), gap)
    rigid_s = np.add.reduceat(np.where(elastic, 0, gap), first)
    elastic_s = np.add.reduceat(np.where(elastic, gap, 0), first)
    fits = length - rigid_s > 0.05 * length
    factor = np.where(fits, (length - rigid_s) / elastic_s, length / (rigid_s + elastic_s))
    gap = np.rint(gap * np.where(elastic | ~fits[hour], factor[hour], 1.0))
    elapsed = np.cumsum(gap)
    offset = elapsed - (elapsed[first] - gap[first])[hour]
    closing = np.zeros(hour.size, bool)
    closing[first + n] = True
    at = busy[hour] * HOUR_S + np.minimum(offset, length[hour] - 1)
    return np.sort(np.maximum(at[~closing], 0))
