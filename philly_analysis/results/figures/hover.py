"""What a figure says of itself, so that a page can tell the values under the pointer.

Each line and bar carries its name (``data-name``) and the number of its axes (``data-on``), and the
figure where its axes lie and what they measure (``data-axes``, as JSON).
"""

import json
import re
from html import escape
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import BarContainer
from matplotlib.dates import DateConverter
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator

SECONDS, PERCENT, DAYS = "s", "%", "d"
"""Units that an axis may say by its ``gid``; the others are numbers, or have names at ticks."""
_OURS = "of"
_NAMED = re.compile(rf'<g id="{_OURS}-(\d+)-([^"]*)">')
_BARE = re.compile(r'<g id="[^"]*">')
"""Names that nothing refers to."""


def name_marks(fig: Figure) -> None:
    """Give the lines and bars of a figure the names under which its legend has them."""
    for i, ax in enumerate(fig.axes):
        for line in ax.lines:
            line.set_gid(_id(i, line.get_label()))
        for bars in ax.containers:
            if isinstance(bars, BarContainer):
                for bar in bars.patches:
                    long = bar.get_width() if bars.orientation == "horizontal" else bar.get_height()
                    label = "" if str(bars.get_label()).startswith("_") else f"{bars.get_label()}: "
                    bar.set_gid(_id(i, f"{label}{float(long):,.4g}"))


def with_values(text: str, fig: Figure) -> str:
    """Return a figure's SVG text with the names of its marks and where its axes lie."""
    told = json.dumps([_told(ax, fig) for ax in fig.axes], separators=(",", ":"))
    quoted = escape(told, quote=False).replace("'", "&#39;")
    text = _NAMED.sub(r'<g data-on="\1" data-name="\2">', text)
    return _BARE.sub("<g>", text).replace("<svg", f"<svg data-axes='{quoted}'", 1)


def _id(axes: int, label: object) -> str | None:
    name = str(label)
    return None if name.startswith("_") else f"{_OURS}-{axes}-{name}"


def _told(ax: Axes, fig: Figure) -> dict[str, Any] | None:
    """Say where axes lie, in points from the figure's upper left corner, and what they measure."""
    if not (ax.get_visible() and ax.axison):
        return None
    box, scale = ax.bbox, 72 / fig.dpi
    high = fig.bbox.height
    return {
        "x": _axis(ax.xaxis, ax.get_xlim(), box.x0 * scale, box.x1 * scale),
        "y": _axis(ax.yaxis, ax.get_ylim(), (high - box.y0) * scale, (high - box.y1) * scale),
    }


def _axis(axis: Axis, limits: tuple[float, float], begins: float, ends: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "at": [round(begins, 1), round(ends, 1)],
        "lim": [_short(limit) for limit in limits],
    }
    if axis.get_scale() == "log":
        found["log"] = 1
    if label := axis.get_label_text():
        found["label"] = label
    converter = axis.get_converter()
    if isinstance(converter, DateConverter) or type(converter).__name__.endswith("DateConverter"):
        found["lim"] = [86_400 * float(limit) for limit in limits]
        found["unit"] = DAYS
    elif gid := axis.get_gid():
        found["unit"] = gid
    elif isinstance(axis.get_major_formatter(), NullFormatter) or isinstance(
        axis.get_major_locator(), NullLocator
    ):
        found["unit"] = "none"
    elif _names(axis):
        found["ticks"] = _names(axis)
    return found


def _names(axis: Axis) -> list[list[Any]]:
    """Return the places and words of ticks that are words."""
    if not isinstance(axis.get_major_formatter(), FixedFormatter) and not isinstance(
        axis.get_major_locator(), FixedLocator
    ):
        labels: list[Text] = axis.get_ticklabels()
        if not hasattr(axis.get_converter(), "convert") or not labels:
            return []
        if type(axis.get_major_formatter()).__name__ != "StrCategoryFormatter":
            return []
    ticks = zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
    return [[_short(at), label.get_text().replace("\n", ", ")] for at, label in ticks]


def _short(value: float) -> float:
    return float(np.format_float_scientific(value, precision=6, trim="-"))
