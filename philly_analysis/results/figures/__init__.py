"""The visual language: one style, the axes and shapes in use, and how figures are written."""

from philly_analysis.results.figures.axes import amount_axis, day_axis, percent_axis, time_axis
from philly_analysis.results.figures.drawing import canvas
from philly_analysis.results.figures.legends import legend
from philly_analysis.results.figures.line_labels import name_lines
from philly_analysis.results.figures.shapes import (
    bars,
    cdf,
    columns,
    gang_bars,
    ranges,
    ranges_by_kind,
    share_bars,
    shares,
)
from philly_analysis.results.figures.style import (
    ACCENT,
    CYCLE,
    GANG_COLORS,
    INK,
    MUTED,
    SOFT,
    STATUS_COLORS,
    STYLE,
    cut,
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
from philly_analysis.results.figures.svg import svg
