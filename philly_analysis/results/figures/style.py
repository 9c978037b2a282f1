"""Define the common style: colours, fonts, titles and the mark of synthetic data."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.typing import RcKeyType

from philly_analysis.results.escaping import printable
from philly_analysis.study import GANGS, STATUSES, gang_class

_BLUES = np.array([to_rgb(c) for c in ("#8fb8de", "#3d7ab5", "#1b3f73")])
_LAST = "#d9822b"


def ramp(names: Sequence[str]) -> dict[str, str]:
    """Return a colour per name, in order: blues from light to dark, orange for the final name."""
    *inner, last = names
    at = np.arange(len(inner)) / max(len(inner) - 1, 2)
    blues = np.column_stack([np.interp(at, [0, 0.5, 1], channel) for channel in _BLUES.T])
    return {**dict(zip(inner, map(to_hex, blues), strict=True)), last: _LAST}


GANG_COLORS = ramp(GANGS)
"""Colour by gang bucket: deeper blue for larger gangs, orange for buckets without an upper end."""

STATUS_COLORS = dict(zip(STATUSES, ("#3a9a78", "#e0a83a", "#c4473f"), strict=True))
ACCENT, MUTED, SOFT, INK = "#1b3f73", "#9aa5b1", "#5b6672", "#22272e"
"""Colours of data, reference marks, secondary text and text."""
CYCLE = ("#1b3f73", "#d9822b", "#3a9a78", "#8e5ea2", "#c4473f", "#4fa3c7", "#d3b94f", "#5a6570")
"""Colours of other categories, in order."""


def gang_size_colors(sizes: Iterable[int]) -> dict[str, str]:
    """Return a colour per gang size: the colour of its bucket, lighter for smaller sizes."""
    of: dict[int, list[int]] = {}
    for size in sorted(set(sizes)):
        of.setdefault(int(gang_class(size)), []).append(size)
    colors = {}
    for bucket, some in of.items():
        color = np.array(to_rgb(GANG_COLORS[GANGS[bucket]]))
        for i, size in enumerate(some):
            paler = _PALER * (len(some) - 1 - i) / max(len(some) - 1, 1)
            colors[str(size)] = to_hex(tuple(color + (1 - color) * paler))
    return colors


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


TARGET: ContextVar[Axes | None] = ContextVar("axes to draw into", default=None)
"""Axes of a user's figure to draw into, instead of a figure of its own."""

_MARK_INCHES = 0.17
_NOTHING, _MARK = "nothing", "synthetic"
_PALER = 0.5
"""Blend of a bucket's smallest size with white."""


def contrasting(color: str) -> str:
    """Return black or white, whichever has more contrast to a colour (WCAG 2.2, 1.4.3)."""
    light = luminance(np.array(to_rgb(color)))
    return "white" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "black"


def darken(color: str) -> str:
    """Return a colour dark enough for text on white: a contrast of 4.5 (WCAG 2.2, 1.4.3)."""
    channels = np.array(to_rgb(color))
    while luminance(channels) > 1.05 / 4.6 - 0.05:
        channels = channels * 0.95
    return to_hex(tuple(channels))


def luminance(channels: "np.typing.NDArray[np.float64]") -> float:
    """Return the relative luminance of sRGB channels (WCAG 2.2)."""
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def empty(fig: Figure, why: str) -> Figure:
    """Return a figure that only has a reason why there is no data; a page omits it."""
    target = TARGET.get()
    for ax in fig.axes if target is None else [target]:
        ax.set_axis_off()
    if target is not None:
        target.text(0.5, 0.5, why, ha="center", va="center", transform=target.transAxes)
    else:
        fig.text(0.5, 0.5, why, ha="center", va="center", color=SOFT, gid=_NOTHING)
    return fig


def is_empty(fig: Figure) -> bool:
    """Return whether a figure has no data (see :func:`empty`)."""
    return any(text.get_gid() == _NOTHING for text in fig.texts)


_LONGEST = 200


def literal(name: object) -> str:
    """Return a name from a log as literal text for matplotlib.

    Mathematics and hidden labels are disabled, invisible characters escaped, long names cut.
    """
    text = printable(str(name))
    text = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…").replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def shorten(name: str, most: int) -> str:
    """Return a name of at most so many letters, with an ellipsis in the middle."""
    kept = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - kept]}…{name[-kept:]}"


def title(ax: Axes, text: str) -> None:
    """Set the title of a panel."""
    ax.set_title(literal(text), loc="left", fontsize=9.5, fontweight="bold", color=INK)


def mark_synthetic(fig: Figure, *, synthetic: bool) -> Figure:
    """Mark a figure of a synthetic trace, once."""
    engine = fig.get_layout_engine()
    marked = any(text.get_gid() == _MARK for text in fig.texts)
    if synthetic and not marked and isinstance(engine, ConstrainedLayoutEngine):
        strip = _MARK_INCHES / fig.get_figheight()
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
            gid=_MARK,
        )
    return fig


def ordered(present: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return the names present: names of `order` in this order, then the other names sorted."""
    names = set(present)
    return [n for n in order if n in names] + sorted(names - set(order))
