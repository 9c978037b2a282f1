"""Model validation: calibration, coverage, baselines, and comparison with the literature."""

from philly_analysis.models.validation import calibration, other_months, philly_like
from philly_analysis.models.validation.calibration import REAL_PART, held_out
from philly_analysis.models.validation.coverage import (
    CONFIDENCE,
    DRAWS,
    HOUR_S,
    METHODS,
    MISS_COST,
    NO_VARIATION,
    RUN_TIMES_S,
    STATISTICS,
    WORKLOAD_MODEL,
    Window,
    model_draws,
    score,
    statistics,
    width_and_miss,
    window_pairs,
)
from philly_analysis.models.validation.splits import SPLITS
from philly_analysis.trace import Analysis

VALIDATIONS: tuple[Analysis, ...] = (
    calibration.ANALYSIS,
    other_months.ANALYSIS,
    philly_like.ANALYSIS,
)
"""Findings on how well models predict, in the order of the page."""
