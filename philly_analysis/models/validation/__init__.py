"""Model validation: calibration, coverage, baselines, and comparison with the literature."""

from philly_analysis.models.validation import calibration, other_months, philly_like
from philly_analysis.trace import Analysis

VALIDATIONS: tuple[Analysis, ...] = (
    calibration.ANALYSIS,
    other_months.ANALYSIS,
    philly_like.ANALYSIS,
)
"""Findings on how well models predict, in the order of the page."""
