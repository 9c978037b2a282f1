"""Where in their hour jobs arrive: the busier the hour, the tighter, and in batches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from philly_analysis.distributions import rounded
from philly_analysis.models.components.hourly_counts import HOUR_S

Floats = NDArray[np.float64]

BATCH_GAP_S = 30
_CLASS_EDGES = (1, 2, 3, 5, 9, 17, 33, 65, 129, 257, 513)
_KNOTS = 201

DIGITS = 5
"""Significant digits of the numbers of arrivals in a model's file."""


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


def fit_spacings(at_s: Floats) -> tuple[tuple[Spacing, ...], float]:
    """Fit spacings to submission times.

    Parameters
    ----------
    at_s
        Shape (n,), ascending: submissions, in seconds of which each whole hour begins a new hour.

    Returns
    -------
    tuple
        Spacings by ascending arrivals in the hour, and the correlation of the normal scores of
        successive gaps: how much a short gap follows a short one.
    """
    hour = (at_s // HOUR_S).astype(int)
    _, first, n = np.unique(hour, return_index=True, return_counts=True)
    offset = at_s - hour * HOUR_S
    own = np.repeat(np.arange(n.size), n)
    inner_gap = np.diff(offset)
    inside = own[1:] == own[:-1]
    inner, inner_own = inner_gap[inside], own[1:][inside]
    outer = np.concatenate((offset[first], HOUR_S - offset[first + n - 1]))
    outer_n = np.tile(n, 2)
    made: list[Spacing] = []
    edges = [e for e in _CLASS_EDGES if e <= n.max()]
    levels = np.linspace(0, 1, _KNOTS)
    score = np.zeros(inner.size)
    for low, high in zip(edges, [*edges[1:], np.inf], strict=True):
        mine = (n[inner_own] >= low) & (n[inner_own] < high)
        ends = (outer_n >= low) & (outer_n < high)
        if not ends.any() or (low > 1 and not mine.any()):
            continue
        if mine.any():
            rank = scipy.stats.rankdata(inner[mine]) / (mine.sum() + 1)
            score[mine] = scipy.stats.norm.ppf(rank)
        made.append(
            Spacing(
                low,
                rounded(np.quantile(inner[mine], levels), DIGITS) if mine.any() else (0.0, 0.0),
                rounded(np.quantile(outer[ends], levels), DIGITS),
            )
        )
    pairs = inner_own[1:] == inner_own[:-1] if inner.size > 1 else np.zeros(0, bool)
    if pairs.sum() < 10:
        return tuple(made), 0.0
    clinging = float(np.mean(score[1:][pairs] * score[:-1][pairs]) / max(score.var(), 1e-12))
    return tuple(made), round(float(np.clip(clinging, 0.0, 0.95)), 4)


def placed(
    counts: NDArray[np.int_],
    spacings: Sequence[Spacing],
    correlation: float,
    last_s: float,
    rng: np.random.Generator,
) -> Floats:
    """Place each hour's arrivals in it: anywhere, where nothing is known of their spacing.

    Parameters
    ----------
    counts
        Shape (h,): arrivals in each hour.
    spacings, correlation
        As :func:`fit_spacings` gives them.
    last_s
        Length of the last hour, s.

    Returns
    -------
    numpy.ndarray
        Ascending whole seconds after the start of the first hour.
    """
    if not spacings:
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
    noise = rng.standard_normal(hour.size) * np.sqrt(1 - correlation**2)
    u = scipy.stats.norm.cdf(scipy.signal.lfilter([1.0], [1.0, -correlation], noise))
    edges = np.array([s.arrivals for s in spacings])
    kind = np.clip(np.searchsorted(edges, n, side="right") - 1, 0, edges.size - 1)[hour]
    gap = np.empty(hour.size)
    for i, spacing in enumerate(spacings):
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
