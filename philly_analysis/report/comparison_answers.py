"""Write the page of a comparison of traces."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from philly_analysis.errors import TraceError
from philly_analysis.experiments import MEASURES, SweepResult, result_of
from philly_analysis.report.comparison import (
    compare_traces,
    in_words,
)
from philly_analysis.report.comparison_figures import plot_activity, plot_groups, plot_times
from philly_analysis.report.comparison_groups import user_table
from philly_analysis.report.comparison_wording import activity_sentences, group_sentences
from philly_analysis.report.computing import analyze
from philly_analysis.report.rendering import results_page
from philly_analysis.report.sections import Card, Chapter, section
from philly_analysis.results import NOT_KNOWN, Result
from philly_analysis.simulator import POLICIES, Months, months_of
from philly_analysis.trace import TABLES, TraceLike, open_trace
from philly_analysis.workload import Ensemble

Compared = TraceLike | Months | Ensemble
"""What can be compared."""


def comparison_page(
    traces: Sequence[Compared | Sequence[Compared] | Mapping[str, Compared]],
    findings: Sequence[str],
    out: str | Path | None,
) -> Result:
    """Compare traces, with a page if a folder is given: see :func:`philly_analysis.compare`."""
    names: list[str] = []
    compared: list[Compared] = []
    for one in traces:
        if isinstance(one, Mapping) and not one.keys() <= TABLES.keys():
            names += one.keys()
            compared += one.values()
        else:
            compared += cast("list[Compared]", one if isinstance(one, list | tuple) else [one])
    if of_months := [one for one in compared if isinstance(one, Months | Ensemble)]:
        if len(of_months) < max(len(compared), 2):
            raise TraceError("months can be compared with months only: give two ensembles or more.")
        return compare_months(of_months, names)
    named = [one for one in compared if isinstance(one, str) and one in POLICIES]
    if named and not Path(named[0]).exists():
        raise TraceError(f"{named[0]} is a policy, not a trace. Use sweep(work, {named}).")
    with ExitStack() as stack:
        sources = [stack.enter_context(open_trace(cast("TraceLike", t))) for t in compared]
        result = compare_traces(sources, names)
        shown = {finding: [analyze(t, [finding])[finding] for t in sources] for finding in findings}

    def write(result: Result, folder: Path) -> Path:
        names = list(dict.fromkeys(result.table["trace"]))
        chapters = [_measures(result)]
        chapters += [_finding_chapter(results, names, name) for name, results in shown.items()]
        title = f"{', '.join(names[1:])} against {names[0]}"
        return results_page(title, result.caveats[-1], chapters, folder, cards=_cards(result))

    result = replace(result, write_page=write)
    if out is not None:
        write(result, Path(out))
    return result


def compare_months(compared: Sequence[Months | Ensemble], names: Sequence[str] = ()) -> SweepResult:
    """Compare months in pairs of one seed: see :func:`philly_analysis.compare`.

    Parameters
    ----------
    compared
        Results of simulated ensembles, or ensembles, whose months are measured as submitted.
    names
        Names of the ensembles; by default numbers.

    Raises
    ------
    TraceError
        The ensembles have different seeds.
    """
    chosen = list(names) or [f"ensemble {i}" for i in range(1, len(compared) + 1)]
    frames = [one.months if isinstance(one, Months) else months_of(one) for one in compared]
    if any(set(frame["seed"]) != set(frames[0]["seed"]) for frame in frames):
        raise TraceError("the ensembles have different seeds, by which months are paired.")
    rows = [
        frame.reindex(columns=["seed", *MEASURES]).assign(setting="months", load=np.nan, arm=name)
        for name, frame in zip(chosen, frames, strict=True)
    ]
    return result_of(pd.concat(rows, ignore_index=True))


def _cards(result: Result) -> list[Card]:
    """Return the answers at the top: the verdict, who gains and loses, activity over time."""
    answers = (
        ("comparison", result.question, result.sentences, plot_times),
        ("groups", "Which jobs gain, and which lose?", group_sentences(result), plot_groups),
        (
            "activity",
            "How full is the cluster, and how long is the queue?",
            activity_sentences(result),
            plot_activity,
        ),
    )
    cards = []
    for name, question, sentences, draw in answers:
        answer = replace(result, sentences=tuple(sentences), facts=(), caveats=(), draw=draw)
        part = section(name, question, answer)
        if part.svg or answer.sentences:
            cards.append(Card(name, question, part))
    return cards


def _measures(result: Result) -> Chapter:
    """Return the chapter of all measures, and of the users who gain and lose most."""
    numbers = replace(result, sentences=(), caveats=result.caveats[:-1], draw=None)
    tables = {
        "All measures": in_words(result),
        "Users who gain and lose the most hours in all": user_table(result.table),
    }
    part = section("measures", "What each trace measures", numbers, tables=tables)
    return Chapter("In numbers", (part,))


def _finding_chapter(results: Sequence[Result], names: Sequence[str], finding: str) -> Chapter:
    """Return a chapter with one finding on each trace, and its facts side by side."""
    meanings = {f.name: f.meaning for result in results for f in result.facts}
    values = [{f.name: f.text for f in result.facts} for result in results]
    rows = [[text, *(v.get(name, NOT_KNOWN) for v in values)] for name, text in meanings.items()]
    shown = pd.DataFrame(rows, columns=["fact", *names])
    sections = [
        section(f"{finding}-{i + 1}", name, result, shown=None if i else shown)
        for i, (name, result) in enumerate(zip(names, results, strict=True))
    ]
    return Chapter(results[0].question, tuple(sections))
