"""Complete names on the command line, each with its meaning.

Names are read from the files that define them, since the packages take a second to import.
"""

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Choices = list[tuple[str, str]]

_PACKAGE = Path(__file__).parents[1]
_FINDING = re.compile(r'^    question="(.+)",$', re.MULTILINE)
_EXPERIMENT = re.compile(r'^QUESTION = "(.+)"$', re.MULTILINE)
_FAMILY = re.compile(r'^    name = "(\w+)"\n    names = \(([^)]+?),?\)', re.MULTILINE)
_POLICY = re.compile(
    r'^class .*:\n    """(.+?)(?:"""|\n)(?:(?!class ).*\n)*?    name = "(.+)"', re.MULTILINE
)
_SPEED = re.compile(r'^class (\w+).*:\n    """(.+?)(?:"""|\n)', re.MULTILINE)
_SPEED_NAME = re.compile(r'^    "(\w+)": (\w+),$', re.MULTILINE)


def _texts(pattern: str) -> list[tuple[str, str]]:
    """Return the name and text of each file of the package that matches a pattern."""
    return [(file.stem, file.read_text("utf-8")) for file in sorted(_PACKAGE.glob(pattern))]


def _matches(regex: re.Pattern[str], pattern: str) -> list[tuple[str, str]]:
    """Return the groups of each match of a regular expression in files of the package."""
    return [groups for _, text in _texts(pattern) for groups in regex.findall(text)]


def _questions(regex: re.Pattern[str], pattern: str) -> Choices:
    return [(name, text) for name, source in _texts(pattern) for text in regex.findall(source)]


def _tables(pattern: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, tomllib.loads(text)) for name, text in _texts(pattern)]


def dialects() -> Choices:
    """List the dialects of export formats that have several, with each dialect's reader."""
    return [
        (dialect, f"{name}: {described['program']}")
        for name, format_ in _tables("exports/formats/*.toml")
        for dialect, described in format_["dialects"].items()
        if len(format_["dialects"]) > 1
    ]


def experiments() -> Choices:
    """List the experiments with their questions."""
    return _questions(_EXPERIMENT, "experiments/*.py")


def families() -> Choices:
    """List the families of distributions with their parameters."""
    declared = _matches(_FAMILY, "distributions/families.py")
    named = [(name, parameters.replace('"', "")) for name, parameters in declared]
    return [*named, ("empirical", "body, tail_shape, tail_scale")]


def findings() -> Choices:
    """List the findings with their questions."""
    return _questions(_FINDING, "analyses/*.py") + _questions(_FINDING, "models/validation/*.py")


def maps() -> Choices:
    """List the bundled maps of tables, with what each reads."""
    return [(name, table["what"]) for name, table in _tables("ingest/table/maps/*.toml")]


def models() -> Choices:
    """List the bundled models, with what each was fitted to."""
    texts = _texts("models/shipped/*.json")
    return [(name, json.loads(text)["fitted_on"]) for name, text in texts]


def policies() -> Choices:
    """List the scheduling policies, with what each does."""
    return [(name, what) for what, name in _matches(_POLICY, "simulator/policies/**/*.py")]


def speeds() -> Choices:
    """List the models of job speed, with what each depends on."""
    models = dict(_matches(_SPEED, "simulator/speed/*.py"))
    return [
        (name, models[model]) for name, model in _matches(_SPEED_NAME, "simulator/speed/models.py")
    ]


def datasets() -> Choices:
    """List the public traces."""
    [(_, listed)] = _tables("ingest/downloads/datasets.toml")
    return [(name, dataset["what"]) for name, dataset in listed.items()]


def sources() -> Choices:
    """List the sources of raw logs, with what each reads."""
    [(_, texts)] = _tables("ingest/sources.toml")
    return [(name, text["reads"]) for name, text in texts.items()]


def formats() -> Choices:
    """List the export formats, with the reader of each format's default dialect."""
    return [
        (name, next(iter(format_["dialects"].values()))["program"])
        for name, format_ in _tables("exports/formats/*.toml")
    ]


COMPLETIONS: dict[str, Callable[[], Choices]] = {
    "analyze.names": findings,
    "compare.findings": findings,
    "experiment.models": models,
    "experiment.names": experiments,
    "export.dialect": dialects,
    "export.format": formats,
    "fetch.dataset": datasets,
    "fit.family": families,
    "forecast.speed": speeds,
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
