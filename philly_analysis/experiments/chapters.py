"""Runs the experiments on workload models: each system's headline, published beside simulated."""

from collections.abc import Iterable, Mapping

from philly_analysis.errors import UnknownNameError
from philly_analysis.experiments import EXPERIMENTS
from philly_analysis.experiments.workloads import law_of
from philly_analysis.models import WorkloadModel
from philly_analysis.page import Chapter, section
from philly_analysis.progress import step

TITLE = "The systems that followed Philly"
LEDE = (
    "Synergy, Amoeba and AntMan each answered a guideline of the Philly study. Here each one's "
    "headline is re-run as a curve over offered load and over the assumption that decides it, on "
    "the workload that papers assume and on models of real ones: how far does the conclusion move?"
)

QUESTIONS = {
    "synergy": "What does dividing CPUs and memory by need do to completion times?",
    "amoeba": "What does elasticity do to completion times?",
    "antman": "What does sharing GPUs do to the use of the cluster?",
}
"""What each experiment asks, as the page's heading."""


def chapters(models: Mapping[str, WorkloadModel], names: Iterable[str] = ()) -> list[Chapter]:
    """Run experiments on models, one chapter per experiment and one section per model.

    Parameters
    ----------
    models
        Workload models by the name to show.
    names
        Keys of ``simulator.experiments.EXPERIMENTS``; all when none.

    Raises
    ------
    UnknownNameError
        A name is not an experiment.
    """
    made = []
    for name in _known(names):
        experiment = EXPERIMENTS[name]
        sections = []
        for law_name, model in models.items():
            with step(f"{name} on {law_name}"):
                result = experiment.compute(law_of(model.sample), law_name)
            question = f"{QUESTIONS[name]} On the jobs of “{law_name}”"
            figure = experiment.plot(result)
            sections.append(section(f"{name}-{law_name}", question, result, figure))
        made.append(Chapter(name.capitalize(), tuple(sections)))
    return made


def _known(names: Iterable[str]) -> list[str]:
    chosen = list(names) or list(EXPERIMENTS)
    for name in chosen:
        if name not in EXPERIMENTS:
            raise UnknownNameError("experiment", name, EXPERIMENTS)
    return chosen
