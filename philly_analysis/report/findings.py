"""List the findings of the report by chapter, and the findings that a trace can answer."""

from collections.abc import Callable
from typing import TypeAlias

import pandas as pd

from philly_analysis.analyses import CHAPTERS as TRACE_CHAPTERS
from philly_analysis.analyses import TRUST
from philly_analysis.analyses.shared.published import has_philly_layout
from philly_analysis.errors import UnknownNameError
from philly_analysis.models import VALIDATIONS
from philly_analysis.results import Result
from philly_analysis.trace import Analysis, Trace, is_selected

Own: TypeAlias = Callable[[Trace], Result]
"""A user-defined analysis: its name is the function's, its question the docstring."""

CHAPTERS: dict[str, tuple[Analysis, ...]] = {
    **{title: chapter for title, chapter in TRACE_CHAPTERS.items() if title != TRUST},
    "Workload model": VALIDATIONS,
    TRUST: TRACE_CHAPTERS[TRUST],
}
"""Findings by chapter, in the order of the page."""

ANALYSES: dict[str, Analysis] = {a.name: a for chapter in CHAPTERS.values() for a in chapter}
"""Findings by name, in the order of the page."""


def list_findings(words: str = "") -> pd.DataFrame:
    """List the findings whose name, question or chapter contains a text.

    Returns
    -------
    pandas.DataFrame
        One row per finding: analysis, question, chapter, needs (tables and columns).

    Raises
    ------
    UnknownNameError
        No finding matches.
    """
    rows = [
        (analysis.name, analysis.question, chapter, ", ".join(analysis.needs))
        for chapter, findings in CHAPTERS.items()
        for analysis in findings
    ]
    table = pd.DataFrame(rows, columns=["analysis", "question", "chapter", "needs"])
    texts = table["analysis"] + " " + table["question"] + " " + table["chapter"]
    matches = texts.str.contains(words, case=False, regex=False)
    if not matches.any():
        raise UnknownNameError("finding", words, ANALYSES)
    return table[matches].reset_index(drop=True)


def relevant(trace: Trace) -> list[str]:
    """Return the names of the findings that concern a trace's cluster."""
    study = has_philly_layout(trace)
    return [name for name, analysis in ANALYSES.items() if study or not analysis.study_only]


def answerable(trace: Trace) -> list[str]:
    """Return the names of the relevant findings whose tables and columns a trace has."""
    return [name for name in relevant(trace) if not lacking(trace, name)]


def lacking(trace: Trace, name: str) -> tuple[str, ...]:
    """Return what a finding needs and a trace lacks: tables, columns, jobs."""
    analysis = ANALYSES[name]
    absent = tuple(
        need
        for need in analysis.needs
        if not any(trace.has_values(alternative) for alternative in need.split(" or "))
    )
    subset = analysis.all_jobs and is_selected(trace.manifest)
    return (*absent, "the jobs that were not chosen") if subset else absent
