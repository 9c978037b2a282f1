"""Format axes of times, days, percentages and amounts."""

from math import isfinite
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from philly_analysis.results.figures.hover import PERCENT, SECONDS

_TIME_TICKS = {
    1: "1 s",
    10: "10 s",
    60: "1 min",
    600: "10 min",
    3_600: "1 h",
    86_400: "1 d",
    604_800: "1 wk",
    2_592_000: "30 d",
    31_536_000: "1 yr",
    315_360_000: "10 yr",
}


_FEW_TICKS = (1, 60, 3_600, 86_400, 2_592_000, 315_360_000)
"""Ticks of a short axis."""
_TICK_INCHES = {"x": 0.5, "y": 0.2}


def time_axis(
    ax: Axes, lo_s: float = 1, hi_s: float | None = None, *, axis: Literal["x", "y"] = "x"
) -> None:
    """Make an axis of seconds logarithmic, with ticks in seconds, minutes, hours and days.

    Parameters
    ----------
    lo_s, hi_s
        Ends of the axis; None: the first tick beyond all data on this axis and on shared axes.
    """
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    if hi_s is None:
        shared = ax.get_shared_x_axes() if axis == "x" else ax.get_shared_y_axes()
        drawn = [getattr(one.dataLim, f"{axis}1") for one in shared.get_siblings(ax)]
        most = max((m for m in drawn if isfinite(m)), default=0)
        hi_s = next((t for t in _TIME_TICKS if t >= max(most, 60)), most)
    ax.set(**{f"{axis}scale": "log", f"{axis}lim": (lo_s, hi_s)})
    ticks = [t for t in _TIME_TICKS if lo_s <= t <= hi_s]
    long = ax.bbox.size[0 if axis == "x" else 1] / ax.figure.dpi
    if long < _TICK_INCHES[axis] * len(ticks):
        ticks = [t for t in ticks if t in _FEW_TICKS]
    the_axis.set_major_locator(FixedLocator(ticks))
    the_axis.set_minor_locator(NullLocator())
    the_axis.set_gid(SECONDS)
    the_axis.set_major_formatter(FuncFormatter(lambda t, _: _TIME_TICKS.get(round(t), "")))


def day_axis(ax: Axes) -> None:
    """Format a horizontal axis of days, at least three days wide."""
    lo, hi = ax.get_xlim()
    if hi - lo < 3:
        ax.set_xlim((lo + hi) / 2 - 1.5, (lo + hi) / 2 + 1.5)
    # with these ticks, axes of four days and more are ticked by day
    locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formats = ["%Y", "%b\n%Y", "%d", "%H:%M", "%H:%M", "%S.%f"]
    formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator, formats=formats, show_offset=False
    )
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel("day (UTC)")


def percent_axis(ax: Axes, label: str, *, axis: Literal["x", "y"] = "y") -> None:
    """Label an axis and set its range to 0 to 100 %."""
    ax.set(**{f"{axis}lim": (0, 100), f"{axis}label": label})
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    the_axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g} %"))
    the_axis.set_gid(PERCENT)


def hours_or_minutes(longest_s: float) -> tuple[str, int]:
    """Return the unit of an axis of times, and its seconds: hours above three hours."""
    return ("hours", 3_600) if longest_s > 3 * 3_600 else ("minutes", 60)


def amount_axis(ax: Axes, label: str, *, axis: Literal["x", "y"] = "y") -> None:
    """Label an axis of amounts, with whole numbers unless they are small."""
    ax.set(**{f"{axis}label": label})
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    _, most = ax.get_xlim() if axis == "x" else ax.get_ylim()
    if axis == "x":
        the_axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    the_axis.set_major_formatter("{x:,.0f}" if most >= 5 else "{x:g}")
