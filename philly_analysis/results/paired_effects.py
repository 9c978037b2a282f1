"""Estimate the effect of a treatment from pairs, and format percent changes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

FEWEST_PAIRS = 3
"""Fewest pairs for an interval."""
_TAIL = 0.025
"""Probability beyond each end of an interval."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Effect of a treatment from paired measurements, with a 95 % interval.

    Attributes
    ----------
    effect
        Mean change; NaN without pairs.
    low, high
        95 % interval of `effect`; NaN with fewer than three pairs.
    pairs
        Number of pairs.
    """

    effect: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        """Return the effect and its interval as text."""
        if np.isnan(self.low):
            return f"{self.effect:+.3g}"
        return f"{self.effect:+.3g} (95 % interval {self.low:+.3g} to {self.high:+.3g})"


def paired(after: ArrayLike, before: ArrayLike, *, relative: bool = False) -> Paired:
    """Estimate the effect of a treatment from pairs with and without it.

    The interval is Student's of the differences, in which common causes of a pair cancel, such as
    the random seed of its jobs.

    Parameters
    ----------
    after, before
        Values with and without the treatment, shape (n,), in the same order.
    relative
        Return the change in percent of `before`, from the mean logarithm of the ratios, so that
        halving and doubling are symmetric. All values must be positive.
    """
    from scipy import special  # slow to import, and most commands need none

    a, b = np.asarray(after, float), np.asarray(before, float)
    change = np.log(a) - np.log(b) if relative else a - b
    n = len(change)
    mean = float(change.mean()) if n else np.nan
    half = (
        float(special.stdtrit(n - 1, 1 - _TAIL) * change.std(ddof=1) / np.sqrt(n))
        if n >= FEWEST_PAIRS
        else np.nan
    )
    bounds = (mean, mean - half, mean + half)
    if relative:
        bounds = tuple(100 * float(np.expm1(x)) for x in bounds)  # type: ignore[assignment]
    return Paired(*bounds, pairs=n)


def mean_interval(values: ArrayLike, least: float = 0.0, most: float = np.inf) -> Paired:
    """Estimate a mean with a 95 % interval on a scale on which the mean is possible.

    Student's interval is computed on the scale of the logarithm of the distance from the least
    possible value, or of the logit between both bounds. The delta method carries the standard error
    to the scale. Means at a bound have an interval of the bound alone if all values are equal;
    otherwise the interval is not known.

    Parameters
    ----------
    values
        Values, shape (n,).
    least, most
        Least and largest possible value. If a value is below `least`, the least possible value is
        taken as 0.
    """
    from scipy import special  # slow to import, and most commands need none

    x = np.asarray(values, float)
    n = x.size
    mean = float(x.mean()) if n else np.nan
    if n < FEWEST_PAIRS:
        return Paired(mean, np.nan, np.nan, n)
    half = float(special.stdtrit(n - 1, 1 - _TAIL) * x.std(ddof=1) / np.sqrt(n))
    if not half:
        return Paired(mean, mean, mean, n)
    floor = least if x.min() >= least else 0.0
    if np.isfinite(most) and floor < mean < most:
        width = most - floor
        part = (mean - floor) / width
        at, of_scale = special.logit(part), half / width / (part * (1 - part))
        low, high = (floor + width * float(special.expit(at + d * of_scale)) for d in (-1, 1))
        return Paired(mean, low, high, n)
    if mean > floor:
        excess = mean - floor
        low, high = (floor + excess * float(np.exp(d * half / excess)) for d in (-1, 1))
        return Paired(mean, low, high, n)
    return Paired(mean, np.nan, np.nan, n)


def pairs_for(after: ArrayLike, before: ArrayLike, within_pct: float) -> int | None:
    """Return how many pairs give an interval of a percent change of at most ± `within_pct`.

    The standard deviation of the logarithms of ratios comes from the pairs so far; None: fewer than
    three pairs, or a value that is not positive.
    """
    from scipy import special  # slow to import, and most commands need none

    a, b = np.asarray(after, float), np.asarray(before, float)
    if a.size < FEWEST_PAIRS or not ((a > 0) & (b > 0)).all():
        return None
    deviation = float((np.log(a) - np.log(b)).std(ddof=1))
    half = np.log1p(within_pct / 100)
    n = FEWEST_PAIRS
    while special.stdtrit(n - 1, 1 - _TAIL) * deviation / np.sqrt(n) > half:
        n += max(n // 50, 1)
    return n


def change_text(change: Paired) -> str:
    """Return a percent change with its interval as text."""
    text = f"{_signed(change.effect)} %"
    if change.low != change.low:
        return text
    return f"{text} ({interval_text(change)})"


def interval_text(change: Paired) -> str:
    """Return the interval of a percent change as text, without its unit."""
    return f"{_signed(change.low)} to {_signed(change.high)}"


def change_size(change: Paired) -> str:
    """Return a percent change and its interval as text without signs: by how much it differs."""
    if change.effect < 0:
        change = Paired(-change.effect, -change.high, -change.low, change.pairs)
    return change_text(change).replace("+", "")


def is_clear(change: Paired) -> bool:
    """Return whether the interval of a change excludes zero."""
    return change.low > 0 or change.high < 0


def is_zero(change: Paired) -> bool:
    """Return whether a change and its interval round to zero."""
    return change_text(change) in {"0 %", "0 % (0 to 0)"}


def _signed(value: float) -> str:
    """Return a percentage with two digits; values just above −100 are not rounded to it."""
    digits = 0 if abs(round(value, 1)) >= 10 and not -100 < value < -99 else 1
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "\N{MINUS SIGN}") if rounded else "0"
