"""Compare the last whole calendar week of a log with the week before, for a weekly mail."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from philly_analysis.results import Result, duration, number

_WEEK = pd.Timedelta(days=7)


@dataclass(frozen=True, slots=True)
class WeekChange:
    """One number of the last whole week of a log, and of the week before.

    Attributes
    ----------
    measure
        What is counted.
    unit
        ``GPU h``, ``s``, ``%``; empty: a count.
    last, before
        The number in each week.
    monday
        First day of the last whole week, UTC.
    """

    measure: str
    unit: str
    last: float
    before: float
    monday: pd.Timestamp

    def __str__(self) -> str:
        """Return both numbers in words, with the change in percent."""
        last, before = (self._text(value) for value in (self.last, self.before))
        if self.unit == "%":
            change = f", {self.last - self.before:+.1f} percentage points"
        elif self.before > 0 and self.unit != "s":
            change = f", {100 * (self.last / self.before - 1):+.0f} %"
        else:
            change = ""
        return f"{self.measure}: {last} ({before} in the week before{change})"

    def _text(self, value: float) -> str:
        if self.unit == "s":
            return duration(value)
        return f"{number(value)} {self.unit}" if self.unit else f"{value:,.0f}"


def week_changes(
    results: Mapping[str, Result], period: tuple[pd.Timestamp, ...]
) -> list[WeekChange]:
    """Return the changes from the last whole calendar week but one to the last whole week.

    Parameters
    ----------
    period
        First submission and end of the log, UTC; empty: unknown.

    Returns
    -------
    list of WeekChange
        Empty if the log has fewer than two whole weeks, Monday to Sunday.
    """
    if not period:
        return []
    end = period[1].ceil("D")
    monday = (end - pd.Timedelta(days=end.weekday())).normalize() - _WEEK
    if period[0].normalize() > monday - _WEEK:
        return []
    return list(_changes(results, monday))


def _changes(results: Mapping[str, Result], monday: pd.Timestamp) -> Iterator[WeekChange]:
    for finding, column, day, measure, unit, total in _MEASURES:
        if finding in results and column in results[finding].table:
            table = results[finding].table
            days = pd.to_datetime(table[day])
            last, before = (
                total(table.loc[(days >= begin) & (days < begin + _WEEK), column].astype(float))
                for begin in (monday, monday - _WEEK)
            )
            yield WeekChange(measure, unit, last, before, monday)
    if "usage" in results and "idle_gpu_h" in (table := results["usage"].table):
        of_weeks = table.groupby(pd.to_datetime(table["week"]))[
            ["idle_gpu_h", "sampled_gpu_h"]
        ].sum()
        if {monday, monday - _WEEK} <= set(of_weeks.index[of_weeks["sampled_gpu_h"] > 0]):
            idle = 100 * of_weeks["idle_gpu_h"] / of_weeks["sampled_gpu_h"]
            share = float(idle[monday]), float(idle[monday - _WEEK])
            yield WeekChange("idle share of sampled GPU hours", "%", *share, monday)


def _sum(values: "pd.Series[float]") -> float:
    return float(values.sum())


def _max(values: "pd.Series[float]") -> float:
    return float(values.max()) if len(values) else 0.0


_MEASURES: tuple[tuple[str, str, str, str, str, Callable[["pd.Series[float]"], float]], ...] = (
    ("overview", "jobs", "day", "jobs submitted", "", _sum),
    ("overview", "gpu_h", "day", "allocated", "GPU h", _sum),
    ("waits_by_day", "gpu_wait_h", "day", "waited", "GPU h", _sum),
    ("waits_by_day", "longest_s", "day", "longest wait", "s", _max),
)
"""Finding, column, day column, measure, unit, and how the days of a week are combined."""
