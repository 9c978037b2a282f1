"""Print a catalogue of all sentences on inputs of 0, 1, few and many jobs, and check its grammar.

``pytest -m slow -s tests/report/test_sentences.py`` prints it.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from philly_analysis import (
    Trace,
    advise,
    analyze,
    atlas,
    compare,
    experiment,
    fit,
    load_model,
    report,
    simulate,
    sweep,
)
from philly_analysis.errors import PhillyError
from philly_analysis.experiments import EXPERIMENTS
from philly_analysis.trace.schema import TABLES
from tests.support.html_page import texts

JOBS = {"none": 0, "one passed": 1, "one failed": 1, "one wide": 1, "two": 2, "twelve": 12}
CONDITIONS = {"one passed": "status = 'Pass'", "one failed": "status = 'Failed'"} | {
    "one wide": "gpus > 8"
}
LONGEST = 30
"""Words of a sentence."""

PLURALS = (
    "attempts|cases|claims|clusters|columns|days|draws|facts|files|gangs|GPUs|headlines|hours|jobs|"
    "levers|machines|minutes|months|policies|reasons|retries|rows|runs|seeds|servers|starts|traces|"
    "users|waits|weeks|workloads"
)
WRONG = re.compile(
    rf"(?<![\d.,])\b1 (?:\w+ |GPU |server-)?(?:{PLURALS})\b(?! \w+ file)"
    r"|\b([a-z]{2,}) \1\b|\bnan\b|\bNone\b(?! is)|\binf\b|  |,,|\.\.(?!\.)|\b0 of 0(?![.\d])|\">"
)
"""A plural after 1, a word twice, missing values, broken punctuation, and markup."""

Tables = dict[str, pd.DataFrame]
Said = dict[tuple[str, str], list[str]]
"""By kind of page or finding and text, the inputs that yield it."""


def part(sample: Trace, jobs: int, where: str) -> Tables:
    """Return the tables of the sample with a number of its jobs, which fulfil a condition."""
    chosen = sample.sql(
        f"select job_id from jobs where {where} order by hash(job_id) limit {jobs}"
    ).df()["job_id"]
    tables = {
        name: sample.sql(f"select * from {name}").df() for name in sample.tables if name in TABLES
    }
    used = tables["placements"][tables["placements"]["job_id"].isin(chosen)]["machine_id"]
    for name, rows in tables.items():
        if "job_id" in rows:
            tables[name] = rows[rows["job_id"].isin(chosen)]
        elif name.endswith("_samples"):
            tables[name] = rows[rows["machine_id"].isin(used)]
    return tables


@pytest.fixture(scope="module")
def parts(sample_trace: Path) -> dict[str, Tables]:
    """Parts of the sample by label."""
    with Trace(sample_trace) as sample:
        counts = {**JOBS, "hundreds": 300}
        return {n: part(sample, jobs, CONDITIONS.get(n, "true")) for n, jobs in counts.items()}


def show(said: Said) -> list[str]:
    """Print each text with its inputs; return those that are wrong or too long."""
    for (of, text), labels in sorted(said.items()):
        print(f"{of} [{', '.join(labels)}] {text}")  # noqa: T201 - the catalogue
    return [text for _, text in said if WRONG.search(text) or max(lengths(text)) > LONGEST]


def lengths(text: str) -> Iterator[int]:
    """Yield the words of each sentence, without brackets and code; 0 for enumerations."""
    plain = re.sub(r"\([^()]*\)|`[^`]*`|“[^”]*”", "", text)
    for sentence in re.split(r"(?<=[.!?;:])\s", plain):
        yield len(re.findall(r"\w[\w.,'-]*", sentence)) * (sentence.count(",") < 4)


@pytest.mark.slow
def test_sentences_of_findings_read_well_with_any_number_of_jobs(
    sample_trace: Path, parts: dict[str, Tables]
) -> None:
    said: Said = {}
    for label in JOBS:
        with Trace(parts[label]) as trace:
            collect(said, label, trace)
    with Trace(sample_trace) as sample:
        collect(said, "many", sample)
    assert show(said) == []


def collect(said: Said, label: str, trace: Trace) -> None:
    """Add the label of a trace to each of its sentences."""
    for name, result in analyze(trace).items():
        sentences = [*result.sentences, *result.caveats]
        if (v := result.verdict) is not None:
            card = (v.label, f"{v.number} {v.noun}".strip(), v.cost, v.trend, v.advice)
            sentences += filter(None, card)
        for text in sentences:
            said.setdefault((name, text), []).append(label)


def read(said: Said, kind: str, label: str, out: Path, write: Callable[..., object]) -> None:
    """Write a page, and add the label to each of its texts, or to the error in place of it."""
    folder = out / re.sub(r"\W+", "-", f"{kind} {label}")
    try:
        write(out=folder)
    except PhillyError as error:
        sentences = [str(error)]
    else:
        [page] = folder.rglob("*.html")
        sentences = texts(page.read_text("utf-8"))
    seen = set()
    for text in sentences:
        same = re.sub(r"\d[\d.,]*", "#", text) if not re.search(r"\b1\b", text) else text
        if " " in text and same not in seen:
            seen.add(same)
            said.setdefault((kind, text), []).append(label)


@pytest.mark.slow
def test_sentences_of_comparisons_read_well(parts: dict[str, Tables], tmp_path: Path) -> None:
    hundreds = parts["hundreds"]
    queued = load_model("philly").sample(300, gpus=64, offered=1.3, seed=1)
    pairs: dict[str, Any] = {
        **{f"{label} twice": {"before": t, "after": t} for label, t in parts.items()},
        "none and many": {"none": parts["none"], "many": hundreds},
        "other jobs": {"one": parts["one passed"], "other": parts["one failed"]},
        "a part": {"all": hundreds, "twelve": parts["twelve"]},
        "policies": {p: simulate(queued, p, cluster=64) for p in ("fifo", "srtf", "philly")},
    }
    said: Said = {}
    for label, named in pairs.items():
        read(said, "compare", label, tmp_path, partial(compare, named))
    assert show(said) == []


@pytest.mark.slow
def test_sentences_of_sweeps_read_well(parts: dict[str, Tables], tmp_path: Path) -> None:
    two, three = ["fifo", "srtf"], ["fifo", "srtf", "las"]
    few: Any = {"cluster": 16, "jobs": 60}
    sweeps: dict[str, Callable[..., object]] = {
        "no job": partial(sweep, parts["none"], two),
        "one job, one policy": partial(sweep, "literature", two[:1], jobs=1),
        "one job": partial(sweep, "literature", two, jobs=1),
        "one seed": partial(sweep, "literature", three, loads=(0.5, 1.5), **few),
        "two seeds": partial(sweep, "literature", two, loads=[1.5], seeds=range(2), **few),
        "seeds": partial(
            sweep, ["literature", "philly"], three, loads=[1.5], seeds=range(4), **few
        ),
        "the best first": partial(
            sweep, "literature", three[::-1], loads=[1.5], seeds=range(4), **few
        ),
        "no queue": partial(sweep, "literature", three, loads=[0.1], seeds=range(3), **few),
        "recorded": partial(sweep, [parts["twelve"]], two, cluster="4x8"),
    }
    said: Said = {}
    for label, write in sweeps.items():
        read(said, "sweep", label, tmp_path, write)
    assert show(said) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_sentences_of_experiments_read_well(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: Said = {}
    usual = EXPERIMENTS[name]
    for label, jobs, seeds in (("one draw", 2, 1), ("draws", 120, 3)):
        small = replace(usual.sweep, jobs=jobs, seeds=tuple(range(1, seeds + 1)))
        if name == "synergy":
            small = replace(small, jobs=jobs + 110, window=(50, 100))  # type: ignore[call-arg]
        monkeypatch.setitem(EXPERIMENTS, name, replace(usual, sweep=small))
        read(said, name, label, tmp_path, partial(experiment, name, models=["philly"]))
    assert show(said) == []


@pytest.mark.slow
def test_sentences_of_conclusions_read_well(tmp_path: Path) -> None:
    said: Said = {}
    for label, models, seeds in (("one month", ["philly"], 1), ("months", ["philly", "itp-04"], 3)):
        months = [load_model(m).sample(60, gpus=64, seeds=range(1, seeds + 1)) for m in models]
        write = partial(experiment, "conclusions", models=months, seeds=seeds)
        read(said, "conclusions", label, tmp_path, write)
    assert show(said) == []


@pytest.mark.slow
def test_sentences_of_the_atlas_read_well(
    sample_trace: Path, parts: dict[str, Tables], tmp_path: Path
) -> None:
    said: Said = {}
    with Trace(sample_trace) as sample:
        traces = {label: [Trace(parts[label])] for label in ("none", "two", "hundreds")}
        for label, given in {**traces, "two traces": [*traces["hundreds"], sample]}.items():
            read(said, "atlas", label, tmp_path, partial(atlas, given))
    assert show(said) == []


@pytest.mark.slow
def test_sentences_of_advice_read_well(parts: dict[str, Tables], tmp_path: Path) -> None:
    said: Said = {}
    for label in ("none", "one failed", "two", "twelve", "hundreds"):
        read(said, "advise", label, tmp_path, partial(advise, parts[label], months=0))
    read(said, "advise", "months", tmp_path, partial(advise, parts["hundreds"], months=3))
    assert show(said) == []


@pytest.mark.slow
def test_sentences_of_models_read_well(parts: dict[str, Tables], tmp_path: Path) -> None:
    said: Said = {}
    for label in ("none", "one passed", "two", "twelve", "hundreds"):

        def write(out: Path, label: str = label) -> None:
            report(fit(parts[label]), out)

        read(said, "model", label, tmp_path, write)
    for name in ("literature", "itp-06"):
        read(said, "model", name, tmp_path, partial(report, name))
    assert show(said) == []
