"""Complete names on the command line, each with its meaning; packages are imported on demand."""

from collections.abc import Callable, Iterable
from typing import Any

from philly_analysis import api

Choices = list[tuple[str, str]]


def dialects() -> Choices:
    """List the dialects of export formats that have several, with the reader of each."""
    known = api.formats()
    known = known[known["format"].duplicated(keep=False)]
    return _choices(known["dialect"], known["format"] + ": " + known["reader"])


def experiments() -> Choices:
    """List the experiments, with the question of each."""
    from philly_analysis.experiments import ACROSS, EXPERIMENTS

    questions = {name: e.question for name, e in EXPERIMENTS.items()}
    questions |= {name: module.QUESTION for name, module in ACROSS.items()}
    return list(questions.items())


def families() -> Choices:
    """List the families of distributions, with the parameters of each."""
    from philly_analysis.distributions import EMPIRICAL, EMPIRICAL_PARAMETERS, FAMILIES

    names = {name: family.names for name, family in FAMILIES.items()}
    names[EMPIRICAL] = EMPIRICAL_PARAMETERS
    return [(name, ", ".join(parameters)) for name, parameters in names.items()]


def findings() -> Choices:
    """List the findings, with the question of each."""
    from philly_analysis.report import ANALYSES

    return [(name, analysis.QUESTION) for name, analysis in ANALYSES.items()]


def maps() -> Choices:
    """List the bundled maps of tables, with what each reads."""
    from philly_analysis.ingest import table_maps

    return list(table_maps().items())


def models() -> Choices:
    """List the bundled models, with what each was fitted to."""
    known = api.models()
    return _choices(known["model"], known["fitted_on"])


def policies() -> Choices:
    """List the scheduling policies, with what each does."""
    known = api.policies()
    return _choices(known["policy"], known["what"])


def speeds() -> Choices:
    """List the models of job speed, with what each depends on."""
    from philly_analysis.simulator import SPEEDS

    return [(name, (speed.__doc__ or "").partition("\n")[0]) for name, speed in SPEEDS.items()]


def datasets() -> Choices:
    """List the public traces."""
    known = api.datasets()
    return _choices(known["dataset"], known["what"])


def sources() -> Choices:
    """List the sources of raw logs, with what each reads."""
    known = api.sources()
    return _choices(known["source"], known["reads"])


def formats() -> Choices:
    """List the export formats, with the reader of each format's default dialect."""
    known = api.formats().drop_duplicates("format")
    return _choices(known["format"], known["reader"])


def _choices(names: Iterable[Any], meanings: Iterable[Any]) -> Choices:
    return list(zip(names, meanings, strict=True))


COMPLETIONS: dict[str, Callable[[], Choices]] = {
    "analyze.names": findings,
    "compare.findings": findings,
    "experiment.models": models,
    "experiment.names": experiments,
    "export.dialect": dialects,
    "export.format": formats,
    "fetch.dataset": datasets,
    "fit.family": families,
    "ingest.map": maps,
    "ingest.source": sources,
    "policies.name": policies,
    "sample.model": models,
    "simulate.policy": policies,
    "simulate.speed": speeds,
    "sweep.policies": policies,
    "sweep.speed": speeds,
    "sweep.workloads": models,
}
"""Names that complete a parameter, by verb and parameter."""
