"""Advise a cluster: replay the recorded jobs, and price possible changes."""

from philly_analysis.experiments.advice.advice import Advice, advise, believed_scenario
from philly_analysis.experiments.advice.baseline import CANDIDATES, fit_baseline
from philly_analysis.experiments.advice.charts import waits_figure
from philly_analysis.experiments.advice.gains import Monthly
from philly_analysis.experiments.advice.judging import clear
from philly_analysis.experiments.advice.lever import VALUES, Assumptions
from philly_analysis.experiments.advice.levers import LEVERS
from philly_analysis.experiments.advice.pricing import Priced, Pricing
from philly_analysis.experiments.advice.recorded import Recorded
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario, outcome
from philly_analysis.experiments.advice.typed import binding_limits, limits_sentences, settings
from philly_analysis.experiments.advice.wording import (
    QUESTION,
    baseline_result,
    brief,
    headline,
    parts,
    recommendation,
    result_of,
    without_card,
)
