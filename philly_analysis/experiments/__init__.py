"""The study's guidelines, and the systems that followed it: their results, re-run as curves."""

from concurrent.futures import Executor
from typing import Any, Protocol

from matplotlib.figure import Figure

from philly_analysis.experiments import amoeba, antman, conclusions, guidelines, sweeps, synergy
from philly_analysis.experiments.effects import Shown, in_words
from philly_analysis.experiments.outage_rates import recorded_outages
from philly_analysis.experiments.runs import Assumed, plan_runs
from philly_analysis.experiments.workloads import JobLaw, Jobs, LawOf, MonthsOf, WindowsOf
from philly_analysis.results import Result


class Experiment(Protocol):
    """What each module of this package offers."""

    QUESTION: str
    """What it asks, as the page's heading."""

    Sweep: type[Any]
    """What is varied, its seeds too; a frozen dataclass."""

    SHOWN: Shown
    """What its page shows in numbers."""

    MODELLED: tuple[str, ...]
    """What is modelled, and what is not."""

    def compute(
        self,
        law: JobLaw,
        law_name: str,
        sweep: Any = None,
        *,
        executor: Executor | None = None,
    ) -> Result:
        """Run it on a law of jobs."""

    def plot(self, result: Result) -> Figure:
        """Draw its curves, the published value beside them."""


EXPERIMENTS: dict[str, Experiment] = {
    "guidelines": guidelines,
    "synergy": synergy,
    "amoeba": amoeba,
    "antman": antman,
}
"""Every experiment that is run on the jobs of one law at a time, by name."""

ACROSS = {"conclusions": conclusions}
"""Every experiment that sets laws of jobs side by side, by name: pages of their own."""
