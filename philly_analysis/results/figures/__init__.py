"""The common style of all figures: canvas, axes, charts, labels and SVG output."""

from philly_analysis.results.figures.axes import (
    amount_axis,
    day_axis,
    hours_or_minutes,
    percent_axis,
    time_axis,
)
from philly_analysis.results.figures.bar_charts import (
    bars,
    gang_shares,
    hbars,
    job_shares,
    share_bars,
    stacked_shares,
)
from philly_analysis.results.figures.curves import capacity_line, cdf, daily_columns, stacked_steps
from philly_analysis.results.figures.drawing import canvas, drawing_into
from philly_analysis.results.figures.forest_plots import (
    HARMS,
    HELPS,
    UNCLEAR,
    Panel,
    effect_color,
    forest,
    forest_panels,
)
from philly_analysis.results.figures.legends import label_lines, legend
from philly_analysis.results.figures.paper import Style, restyle
from philly_analysis.results.figures.style import (
    ACCENT,
    CYCLE,
    GANG_COLORS,
    INK,
    MUTED,
    SOFT,
    STATUS_COLORS,
    STYLE,
    contrasting,
    darken,
    empty,
    gang_size_colors,
    is_empty,
    literal,
    mark_synthetic,
    ordered,
    ramp,
    shorten,
    title,
)
from philly_analysis.results.figures.svg import svg
