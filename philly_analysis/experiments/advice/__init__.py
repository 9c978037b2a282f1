"""Advise a cluster: replay its own jobs, and price what could be changed."""

from philly_analysis.experiments.advice.advice import Advice, Priced, advise
from philly_analysis.experiments.advice.levers import LEVERS, Assumptions
from philly_analysis.experiments.advice.wording import (
    QUESTION,
    baseline_result,
    brief,
    headline,
    parts,
    result_of,
    settings,
    waits_figure,
    without_clear_gain,
)
