"""The visual language: one style, one colour per gang bucket and status, and the shapes in use."""

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import to_hex, to_rgb
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from matplotlib.typing import RcKeyType

from philly_analysis.study import GANGS, STATUSES

_BLUES = np.array([to_rgb(c) for c in ("#8fb8de", "#3d7ab5", "#1b3f73")])
_LAST = "#d9822b"


def ramp(names: Sequence[str]) -> dict[str, str]:
    """Return a colour per name, in order: blues from light to dark, and orange for the last."""
    *inner, last = names
    at = np.arange(len(inner)) / max(len(inner) - 1, 2)
    blues = np.column_stack([np.interp(at, [0, 0.5, 1], channel) for channel in _BLUES.T])
    return {**dict(zip(inner, map(to_hex, blues), strict=True)), last: _LAST}


GANG_COLORS = ramp(GANGS)
"""Colour by gang bucket: deeper blue for larger gangs, orange for those without an upper end."""

STATUS_COLORS = dict(zip(STATUSES, ("#3a9a78", "#e0a83a", "#c4473f"), strict=True))
ACCENT, MUTED, INK = "#1b3f73", "#9aa5b1", "#22272e"
CYCLE = ("#1b3f73", "#d9822b", "#3a9a78", "#8e5ea2", "#c4473f", "#4fa3c7", "#9c8755", "#5a6570")
"""Colours for categories that have none of their own."""

STYLE: dict[RcKeyType, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 9,
    "axes.prop_cycle": cycler(color=CYCLE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "figure.dpi": 110,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#e6e9ed",
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",
    "svg.hashsalt": "philly_analysis",
    "text.color": INK,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.labelsize": 8.5,
}

_STAMP_INCHES = 0.17

_DRAWN = re.compile(r' (?:d|x|y)="[^"]*"| transform="translate\([^)]*')
_COORDINATE = re.compile(r"-?\d+\.\d+")
_NAMED = re.compile(r'<g id="[^"]*">')
"""Names that nothing refers to."""
_MARK = re.compile(r'(\bid="|href="#|url\(#)([a-z][0-9a-f]{10})\b')
_FONT = " font-family: 'DejaVu Sans';"
"""What each text says, and the whole figure may say once."""
_GAPS = re.compile(r">\n\s*<")

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


class Drawing(Figure):
    """A figure that a notebook shows, whether or not it was told to draw inline."""

    def _repr_png_(self) -> bytes:
        drawn = io.BytesIO()
        with mpl.rc_context(STYLE):
            self.savefig(drawn, format="png", dpi=110)
        return drawn.getvalue()


def canvas(
    columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 3.4, **layout: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure in the house style.

    Parameters
    ----------
    columns, rows
        Panels.
    width, height
        Size in inches, of the whole figure.
    **layout
        Passed to ``Figure.subplots``, e.g. ``sharey=True``.

    Returns
    -------
    tuple
        The figure, and its axes row by row.
    """
    with mpl.rc_context(STYLE):
        fig = Drawing(figsize=(width, height), layout="constrained")
        axes = fig.subplots(rows, columns, squeeze=False, **layout)
    return fig, list(axes.flat)


def time_axis(
    ax: Axes, lo_s: float = 1, hi_s: float = 2_592_000, *, axis: Literal["x", "y"] = "x"
) -> None:
    """Make an axis of seconds logarithmic, ticked in the units that people read."""
    ax.set(**{f"{axis}scale": "log", f"{axis}lim": (lo_s, hi_s)})
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    the_axis.set_major_locator(FixedLocator([t for t in _TIME_TICKS if lo_s <= t <= hi_s]))
    the_axis.set_minor_locator(NullLocator())
    the_axis.set_major_formatter(FuncFormatter(lambda t, _: _TIME_TICKS.get(round(t), "")))


def day_axis(ax: Axes) -> None:
    """Tick a horizontal axis of days as people read them, three days wide or more."""
    lo, hi = ax.get_xlim()
    if hi - lo < 3:
        ax.set_xlim((lo + hi) / 2 - 1.5, (lo + hi) / 2 + 1.5)
    # from four days on, days: hours in halves of days reach no further with so few ticks
    locator = AutoDateLocator(minticks=4, maxticks=9)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    formats = ["%Y", "%b\n%Y", "%d", "%H:%M", "%H:%M", "%S.%f"]
    formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator, formats=formats, show_offset=False
    )
    ax.xaxis.set_major_formatter(formatter)
    ax.set_xlabel("day (UTC)")


def cdf(
    ax: Axes,
    table: pd.DataFrame,
    *,
    value: str,
    by: str,
    colors: Mapping[str, str],
    percentile: str = "percentile",
    counts: Mapping[str, int] | None = None,
) -> None:
    """Draw one cumulative curve per group from a percentile grid.

    Parameters
    ----------
    table
        Long table with the columns `by`, `percentile` (0-100) and `value`.
    colors
        Colour by group; its order is the order of the legend. Groups of the table that have none
        come after it, in colours of their own: no curve is left out.
    counts
        Number of observations by group, added to the legend.
    """
    for i, group in enumerate(ordered(table[by], list(colors))):
        rows = table[table[by] == group].sort_values(percentile)
        color = colors.get(group, CYCLE[i % len(CYCLE)])
        n = f"  n={counts[group]:,}" if counts and group in counts else ""
        ax.plot(rows[value], rows[percentile], color=color, label=f"{group}{n}")
    percent_axis(ax, "share of observations")


def columns(ax: Axes, begins: Iterable[Any], heights: Iterable[float], *, color: str) -> None:
    """Draw a column per day, each from its midnight to the next, from the axis up.

    One shape: drawn as a bar each, the days of a few years take seconds.
    """
    days = pd.Series([*heights], pd.DatetimeIndex([*begins]), float).asfreq("D", fill_value=0.0)
    edges = pd.date_range(days.index[0], periods=len(days) + 1)
    ax.stairs(days.fillna(0.0), edges, fill=True, color=color)
    ax.set_ylim(bottom=0)


def percent_axis(ax: Axes, label: str, *, axis: Literal["x", "y"] = "y") -> None:
    """Give an axis the range 0 to 100 %."""
    ax.set(**{f"{axis}lim": (0, 100), f"{axis}label": label})
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    the_axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g} %"))


def amount_axis(ax: Axes, label: str, *, axis: Literal["x", "y"] = "y") -> None:
    """Give an axis of amounts its name, and whole numbers unless they are small."""
    ax.set(**{f"{axis}label": label})
    the_axis = ax.xaxis if axis == "x" else ax.yaxis
    _, most = ax.get_xlim() if axis == "x" else ax.get_ylim()
    the_axis.set_major_formatter("{x:,.0f}" if most >= 5 else "{x:g}")


def bars(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
    stacked: bool = False,
    label: str = "{:.1f}",
) -> None:
    """Draw bars per group, one per part, side by side or stacked, each with its number."""
    x = np.arange(len(groups))
    width = 0.62 if stacked else 0.8 / max(len(parts), 1)
    bottom = np.zeros(len(groups))
    for i, (name, heights) in enumerate(parts.items()):
        values = np.asarray(heights, float)
        at = x if stacked else x + (i - (len(parts) - 1) / 2) * width
        drawn = ax.bar(
            at,
            values,
            width * 0.94,
            bottom=bottom if stacked else 0,
            color=colors.get(name, CYCLE[i % len(CYCLE)]),
            label=name,
        )
        ax.bar_label(
            drawn,
            labels=["" if not np.isfinite(v) or v == 0 else label.format(v) for v in values],
            label_type="center" if stacked else "edge",
            fontsize=7.5,
            color="white" if stacked else INK,
            padding=0 if stacked else 1,
        )
        if stacked:
            bottom = bottom + np.nan_to_num(values)
    ax.set_xticks(x, list(groups))
    ax.grid(visible=False, axis="x")


def shares(
    ax: Axes,
    groups: Sequence[str],
    parts: Mapping[str, Sequence[float]],
    *,
    colors: Mapping[str, str],
    least: float = 9,
) -> None:
    """Draw a bar per group, from the top, divided as its parts are, in percent of their sum.

    Parts of `least` percent and more carry their number, in black or white, whichever is read
    better.
    """
    y = np.arange(len(groups))[::-1]
    sums = np.sum([np.asarray(values, float) for values in parts.values()], axis=0)
    left = np.zeros(len(groups))
    for name, values in parts.items():
        width = 100 * np.asarray(values, float) / np.where(sums > 0, sums, 1)
        drawn = ax.barh(y, width, 0.7, left=left, color=colors[name], label=name)
        ax.bar_label(
            drawn,
            [f"{w:.0f} %" if w >= least else "" for w in width],
            label_type="center",
            fontsize=8,
            color=readable(colors[name]),
        )
        left += width
    ax.set_yticks(y, list(groups))
    ax.set_xlim(0, 100)
    ax.xaxis.set_major_locator(NullLocator())
    ax.grid(visible=False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)


def share_bars(
    ax: Axes, names: Sequence[str], fracs: Sequence[float], colors: Sequence[str]
) -> None:
    """Draw a share, 0 to 1, per name, each with its number in percent, without an axis."""
    pct = [100 * frac for frac in fracs]
    drawn = ax.bar(range(len(names)), pct, 0.7, color=colors)
    ax.bar_label(drawn, [f"{p:.0f} %" for p in pct], fontsize=8, padding=1)
    ax.set_xticks(range(len(names)), list(names))
    ax.set_ylim(0, max(pct) * 1.15 or 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(visible=False)


def gang_bars(ax: Axes, table: pd.DataFrame, *, part: str, whole: str) -> None:
    """Draw a share per gang bucket, each with what it is a share of.

    Parameters
    ----------
    table
        A row per ``gang``.
    part, whole
        The columns that the share is of.
    """
    rows = table.set_index("gang")
    gangs = ordered(rows.index, GANGS)
    names = [f"{gang}\nn={rows[whole][gang]:,}" for gang in gangs]
    fracs = [rows[part][gang] / rows[whole][gang] for gang in gangs]
    share_bars(ax, names, fracs, [GANG_COLORS[gang] for gang in gangs])


def readable(color: str) -> str:
    """Return black or white, whichever contrasts more with a colour (WCAG 2.2, 1.4.3)."""
    channels = np.array(to_rgb(color))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ (0.2126, 0.7152, 0.0722))
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else INK


def legend(ax: Axes, title: str | None = None, **place: Any) -> None:
    """Add a legend when there is anything to tell apart."""
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        with mpl.rc_context(STYLE):
            ax.legend(handles, labels, title=title, **place)


def empty(fig: Figure, why: str) -> Figure:
    """Say in the middle of a figure why there is nothing to draw."""
    for ax in fig.axes:
        ax.set_axis_off()
    fig.text(0.5, 0.5, why, ha="center", va="center", color=MUTED)
    return fig


def ranges(ax: Axes, table: pd.DataFrame, *, name: str, count: str, color: str = ACCENT) -> None:
    """Draw one line of quantiles per row: 5-95 % thin, 25-75 % thick, the median as a dot.

    Parameters
    ----------
    table
        Columns `name` and `count`, and ``p5_s``, ``p25_s``, ``p50_s``, ``p75_s``, ``p95_s`` in
        seconds; drawn from the top in its order, on a logarithmic axis from one second.
    """
    y = np.arange(len(table))[::-1]
    q = {p: table[f"p{p}_s"].clip(lower=1).to_numpy(float) for p in (5, 25, 50, 75, 95)}
    ax.hlines(y, q[5], q[95], color=color, alpha=0.35, linewidth=1.5)
    ax.hlines(y, q[25], q[75], color=color, alpha=0.8, linewidth=4)
    ax.plot(q[50], y, "o", color=CYCLE[1], markersize=4)
    labels = [f"{plain(n)}  n={k:,}" for n, k in zip(table[name], table[count], strict=True)]
    ax.set_yticks(y, labels, fontsize=7.5)
    time_axis(ax)
    ax.xaxis.set_major_locator(FixedLocator([1, 60, 3_600, 86_400, 2_592_000]))
    ax.grid(visible=False, axis="y")


def ranges_by_kind(
    table: pd.DataFrame, kinds: Mapping[str, str], *, count: str, label: str, most: int = 16
) -> Figure:
    """Draw quantiles per group, one panel per kind of group.

    Parameters
    ----------
    table
        What :func:`ranges` draws, with a column ``kind``.
    kinds
        Word for each kind, in the order of the panels.
    most
        Groups shown per kind, those of the highest `count`; weeks are all shown.
    """
    fig, axes = canvas(len(kinds), width=9.6, height=4.4)
    if table.empty:
        return empty(fig, "nothing to compare")
    for ax, (kind, word) in zip(axes, kinds.items(), strict=True):
        rows = table[table["kind"] == kind]
        shown = rows if kind == "week" else rows.nlargest(most, count)
        ranges(ax, shown, name="name", count=count)
        ax.set_xlabel(label)
        more = f", {most} of {len(rows):,}" if len(shown) < len(rows) else ""
        title(ax, f"{word}s{more}")
    return fig


def plain(name: object) -> str:
    """Return a name from a log as text to draw: no mathematics, and no label left out."""
    text = str(name).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def title(ax: Axes, text: str) -> None:
    """Give a panel its title."""
    ax.set_title(plain(text), loc="left", fontsize=9.5, fontweight="bold", color=INK)


def stamp(fig: Figure, *, synthetic: bool) -> Figure:
    """Mark a figure that was drawn from a synthetic trace."""
    engine = fig.get_layout_engine()
    if synthetic and isinstance(engine, ConstrainedLayoutEngine):
        strip = _STAMP_INCHES / fig.get_figheight()
        engine.set(rect=(0, strip, 1, 1 - strip))
        fig.text(
            0.998,
            0.3 * strip,
            "synthetic data",
            ha="right",
            va="bottom",
            fontsize=8,
            style="italic",
            color="#b0413e",
        )
    return fig


def svg(fig: Figure) -> str:
    """Return a figure as SVG text, without XML preamble, the same for the same figure."""
    out = io.StringIO()
    canvas, engine = FigureCanvasSVG(fig), fig.get_layout_engine()
    with mpl.rc_context(STYLE):
        # laid out here and drawn once: savefig draws twice, the first time for the layout alone
        if engine is not None:
            engine.execute(fig)
            fig.set_layout_engine("none")
        canvas.print_svg(out, metadata={"Date": None})  # type: ignore[no-untyped-call]
    fig.set_layout_engine(engine or "none")
    text = out.getvalue()
    text = _GAPS.sub("><", text[text.index("<svg") :]).replace(_FONT, "")
    text = text.replace("<svg", '<svg font-family="DejaVu Sans, sans-serif"', 1)
    text = _DRAWN.sub(_rounded, _NAMED.sub("<g>", text))
    # figures of one page may draw the same mark
    own = hashlib.sha256(text.encode()).hexdigest()[:8]
    return _MARK.sub(rf"\g<1>{own}-\g<2>", text)


def _rounded(attribute: re.Match[str]) -> str:
    """Round coordinates to a hundredth of a point, which nobody sees."""
    return _COORDINATE.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), attribute[0])


def ordered(present: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the names present, those of `order` first and in its order."""
    names = set(present)
    return [n for n in order if n in names] + sorted(names - set(order))
