"""The visual language: one style, the axes and shapes in use, and how figures are written."""

from philly_analysis.figures.axes import amount_axis, day_axis, percent_axis, time_axis
from philly_analysis.figures.beside import name_lines
from philly_analysis.figures.canvas import canvas
from philly_analysis.figures.legends import legend
from philly_analysis.figures.shapes import (
    bars,
    cdf,
    columns,
    gang_bars,
    ranges,
    ranges_by_kind,
    share_bars,
    shares,
)
from philly_analysis.figures.style import (
    ACCENT,
    CYCLE,
    GANG_COLORS,
    INK,
    MUTED,
    SOFT,
    STATUS_COLORS,
    STYLE,
    empty,
    gang_sizes,
    is_empty,
    legible,
    ordered,
    plain,
    ramp,
    readable,
    stamp,
    title,
)
from philly_analysis.figures.svg import svg

__all__ = [
    "ACCENT",
    "CYCLE",
    "GANG_COLORS",
    "INK",
    "MUTED",
    "SOFT",
    "STATUS_COLORS",
    "STYLE",
    "amount_axis",
    "bars",
    "canvas",
    "cdf",
    "columns",
    "day_axis",
    "empty",
    "gang_bars",
    "gang_sizes",
    "is_empty",
    "legend",
    "legible",
    "name_lines",
    "ordered",
    "percent_axis",
    "plain",
    "ramp",
    "ranges",
    "ranges_by_kind",
    "readable",
    "share_bars",
    "shares",
    "stamp",
    "svg",
    "time_axis",
    "title",
]
