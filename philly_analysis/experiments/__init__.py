"""Simulate systems that followed the study, its guidelines, and sweeps of what-ifs."""

from philly_analysis.experiments import advice, conclusions, sweeps
from philly_analysis.experiments.advice import (
    Advice,
    Assumptions,
    Priced,
    Scenario,
    believed_scenario,
)
from philly_analysis.experiments.amoeba import AMOEBA
from philly_analysis.experiments.antman import ANTMAN
from philly_analysis.experiments.effects import contrast_tables, contrasts
from philly_analysis.experiments.experiment import Experiment
from philly_analysis.experiments.guidelines import GUIDELINES
from philly_analysis.experiments.increments import choice_table
from philly_analysis.experiments.job_sources import (
    EnsembleJobs,
    JobSource,
    ModelJobs,
    TraceJobs,
    quotas_by_use,
)
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.experiments.queue_load import lacks_queue
from philly_analysis.experiments.run_plans import plan_runs
from philly_analysis.experiments.runs import Run, RunOptions
from philly_analysis.experiments.sweep_tables import MEASURES, policy_table
from philly_analysis.experiments.sweeps import SweepResult, result_of
from philly_analysis.experiments.synergy import SYNERGY

EXPERIMENTS: dict[str, Experiment] = {
    "guidelines": GUIDELINES,
    "synergy": SYNERGY,
    "amoeba": AMOEBA,
    "antman": ANTMAN,
}
"""Experiments on one source of jobs at a time, by name."""

ACROSS = {"conclusions": conclusions}
"""Experiments that compare sources of jobs, by name; each experiment has a separate page."""
