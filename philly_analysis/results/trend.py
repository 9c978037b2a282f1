"""Compare a share in the last four weeks of a trace with the share in the four weeks before."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.results.facts import Fact
from philly_analysis.results.formatting import count, share
from philly_analysis.results.intervals import (
    FEWEST,
    cluster_codes,
    count_clusters,
    half_width,
    interval_facts,
)

if TYPE_CHECKING:
    import pandas as pd

_MONTH = 4
"""Weeks of a month. Whole weeks have equal numbers of each weekday."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Change of a share from one period to the next period of equal length.

    Attributes
    ----------
    earlier, later
        Share in each period, 0 to 1; NaN without periods.
    low, high
        95 % interval of ``later - earlier``; NaN without periods.
    weeks
        Length of each period; 0: there are none.
    why
        Why there are none; empty otherwise.
    """

    earlier: float = np.nan
    later: float = np.nan
    low: float = np.nan
    high: float = np.nan
    weeks: int = 0
    why: str = ""

    def __str__(self) -> str:
        """Return the change as a sentence, or why it is not known."""
        if not self.weeks:
            return self.why
        words = "no clear change from"
        if self.low > 0:
            words = "up from"
        if self.high < 0:
            words = "down from"
        span = "week" if self.weeks == 1 else f"{self.weeks} weeks"
        short = "" if self.weeks == _MONTH else " (too short to compare months)"
        last, before = share(self.later), share(self.earlier)
        if last == before:
            return f"{last} in the last {span} and in the {span} before{short}."
        return f"{last} in the last {span}, {words} {before} in the {span} before{short}."

    def facts(self) -> tuple[Fact, ...]:
        """Return both shares in percent, and the change in percentage points, as facts."""
        change = (self.later - self.earlier, self.low, self.high)
        return (
            Fact("trend_weeks", self.weeks, "weeks of each of the two periods of the trend"),
            Fact("trend_before_pct", 100 * self.earlier, "the headline's share in the first"),
            Fact("trend_last_pct", 100 * self.later, "the headline's share in the second"),
            *interval_facts(
                "trend{}_pct", (100 * v for v in change), "change, in percentage points"
            ),
        )


def share_trend(
    days: "Sequence[date | None] | pd.Series[Any]",
    hits: ArrayLike,
    clusters: ArrayLike,
    weights: ArrayLike,
    what: str,
) -> Trend:
    """Compare a share of clustered observations in the last weeks with the share in earlier weeks.

    Each period has four weeks, or as many whole weeks as fit twice. Both periods need observations
    on half of their days. Clusters may be in both periods. The interval is therefore the linearised
    interval of a difference of two ratios of cluster totals (Cochran, Sampling Techniques, 1977,
    section 6.4).

    Parameters
    ----------
    days
        Day of each observation, shape (n,); observations without a day or a weight are excluded.
    hits, clusters, weights
        Hits, clusters and weights of `clustered_share`, shape (n,).
    what
        The observations in words, plural.
    """
    import pandas as pd

    day = pd.to_datetime(pd.Series(days)).to_numpy("datetime64[D]")
    x, w = np.asarray(hits, float), np.asarray(weights, float)
    used = ~np.isnat(day) & (w > 0)
    if not used.any():
        return Trend(why=f"Not known: the {what} have no dates.")
    day, x, w, codes = day[used], x[used], w[used], cluster_codes(clusters, len(used))[used]
    age = (day.max() - day).astype(int)
    span = int(age.max()) + 1
    weeks = min(_MONTH, span // 14)
    if weeks == 0:
        return Trend(why=f"Not known: the {what} span {count(span, 'day')}; two weeks are needed.")
    periods = np.stack([(age >= 7 * weeks) & (age < 14 * weeks), age < 7 * weeks])
    seen = [len(np.unique(age[period])) for period in periods]
    if 2 * min(seen) < 7 * weeks:
        which = (
            f"the {7 * weeks} days before" if seen[0] < seen[1] else f"the last {7 * weeks} days"
        )
        return Trend(why=f"Not known: {what} on only {min(seen)} of {which}.")
    if count_clusters(codes[periods.any(axis=0)]) < FEWEST:
        return Trend(why="Not known: fewer than three users.")
    wholes = [math.fsum(w[period]) for period in periods]  # the same for rows in any order
    earlier, later = (
        math.fsum(w[period] * x[period]) / whole
        for period, whole in zip(periods, wholes, strict=True)
    )
    influence = sum(
        sign * period * w * (x - frac) / whole
        for sign, period, frac, whole in zip(
            (-1, 1), periods, (earlier, later), wholes, strict=True
        )
    )
    among = periods.any(axis=0)
    half = half_width(np.asarray(influence)[among], codes[among], 1.0)
    change = later - earlier
    return Trend(earlier, later, change - half, change + half, weeks)
