"""Annotate SVG figures with names and scales, so that a page shows values under the pointer.

Each line and bar has its name (``data-name``) and the number of its axes (``data-on``). The figure
has the position and scale of its axes (``data-axes``, as JSON).
"""

import json
import re
from html import escape
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryFormatter
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

SECONDS, PERCENT, DAYS = "s", "%", "d"
"""Units that an axis has as its ``gid``; other axes have numbers, or names at ticks."""
_PREFIX = "of"
_NAMED = re.compile(rf'<g id="{_PREFIX}-(\d+)-([^"]*)">')
_UNREFERENCED = re.compile(r'<g id="[^"]*">')


def name_marks(fig: Figure) -> None:
    """Store the legend's names of lines and bars in their ``gid``."""
    for i, ax in enumerate(fig.axes):
        for line in ax.lines:
            line.set_gid(_gid(i, line.get_label()))
        for bars in ax.containers:
            if isinstance(bars, BarContainer):
                for bar in bars.patches:
                    long = bar.get_width() if bars.orientation == "horizontal" else bar.get_height()
                    label = "" if str(bars.get_label()).startswith("_") else f"{bars.get_label()}: "
                    bar.set_gid(_gid(i, f"{label}{float(long):,.4g}"))


def add_hover_data(text: str, fig: Figure) -> str:
    """Return a figure's SVG text with the names of its marks and the scales of its axes."""
    axes = json.dumps([_axes_data(ax, fig) for ax in fig.axes], separators=(",", ":"))
    quoted = escape(axes, quote=False).replace("'", "&#39;")
    text = _NAMED.sub(r'<g data-on="\1" data-name="\2">', text)
    return _UNREFERENCED.sub("<g>", text).replace("<svg", f"<svg data-axes='{quoted}'", 1)


def _gid(axes: int, label: object) -> str | None:
    name = str(label)
    return None if name.startswith("_") else f"{_PREFIX}-{axes}-{name}"


def _axes_data(ax: Axes, fig: Figure) -> dict[str, Any] | None:
    """Return the position of axes, in points from the upper left corner, and their scales."""
    if not (ax.get_visible() and ax.axison):
        return None
    box, scale = ax.bbox, 72 / fig.dpi
    high = fig.bbox.height
    return {
        "x": _axis_data(ax.xaxis, ax.get_xlim(), box.x0 * scale, box.x1 * scale),
        "y": _axis_data(ax.yaxis, ax.get_ylim(), (high - box.y0) * scale, (high - box.y1) * scale),
    }


def _axis_data(axis: Axis, limits: tuple[float, float], start: float, end: float) -> dict[str, Any]:
    description: dict[str, Any] = {
        "at": [round(start, 1), round(end, 1)],
        "lim": [_rounded(limit) for limit in limits],
    }
    formatter, locator = axis.get_major_formatter(), axis.get_major_locator()
    if axis.get_scale() == "log":
        description["log"] = 1
    if label := axis.get_label_text():
        description["label"] = label
    if type(axis.get_converter()).__name__.endswith("DateConverter"):
        description["lim"] = [86_400 * float(limit) for limit in limits]
        description["unit"] = DAYS
    elif gid := axis.get_gid():
        description["unit"] = gid
    elif isinstance(formatter, NullFormatter) or isinstance(locator, NullLocator):
        description["unit"] = "none"
    elif isinstance(formatter, FixedFormatter | StrCategoryFormatter) or isinstance(
        locator, FixedLocator
    ):
        names = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
        ticks = [[_rounded(at), name.get_text().replace("\n", ", ")] for at, name in names]
        if ticks:
            description["ticks"] = ticks
    return description


def _rounded(value: float) -> float:
    return float(np.format_float_scientific(value, precision=6, trim="-"))
