"""Verbs that lead through several rooms: they open what they are given, ask, and write."""

from collections.abc import Iterable
from pathlib import Path

from philly_analysis.errors import UnknownNameError
from philly_analysis.experiments import EXPERIMENTS
from philly_analysis.experiments.workloads import law_of
from philly_analysis.models.library import load_model
from philly_analysis.page import Chapter, results_page, section
from philly_analysis.progress import step

SEEDS = "seeds"
"""Name of the page of all experiments: the systems that grew from the study."""


def experiment(
    names: Iterable[str] = (),
    models: Iterable[str | Path] = ("literature", "philly"),
    out: str | Path = "reports",
) -> Path:
    """Re-run the headline results of Synergy, Amoeba and AntMan on workload models.

    Parameters
    ----------
    names
        Keys of :data:`philly_analysis.experiments.EXPERIMENTS`; all when none.
    models
        Names of models that ship, or files: whose jobs they run on.
    out
        Folder of reports; the page goes to ``out/<names>/report.html``, or ``out/seeds`` for all.

    Returns
    -------
    Path
        The page: a chapter per experiment, a section per model.

    Raises
    ------
    UnknownNameError
        A name is not an experiment, or not a model.
    """
    chosen = list(names)
    for name in chosen:
        if name not in EXPERIMENTS:
            raise UnknownNameError("experiment", name, EXPERIMENTS)
    laws = {Path(model).stem: law_of(load_model(model).sample) for model in models}
    chapters = []
    for name in chosen or EXPERIMENTS:
        asked = EXPERIMENTS[name]
        sections = []
        for model, law in laws.items():
            with step(f"{name} on {model}"):
                result = asked.compute(law, model)
            question = f"{asked.QUESTION} On the jobs of “{model}”"
            sections.append(section(f"{name}-{model}", question, result, asked.plot(result)))
        chapters.append(Chapter(name.capitalize(), tuple(sections)))
    return results_page(
        "The systems that followed Philly",
        "Synergy, Amoeba and AntMan each answered a guideline of the Philly study. Here each "
        "one's headline is re-run as a curve over offered load and over the assumption that "
        "decides it, on the workload that papers assume and on models of real ones: how far does "
        "the conclusion move?",
        chapters,
        Path(out) / ("-".join(chosen) or SEEDS),
    )
