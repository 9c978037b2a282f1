"""List the findings of the report by chapter, with what each needs of a trace."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol, SupportsIndex, TypeAlias, cast, overload

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.analyses.shared.published import has_philly_layout
from philly_analysis.errors import SuggestsNames, UnknownNameError
from philly_analysis.models.validation import calibration, other_months, philly_like
from philly_analysis.results import Result
from philly_analysis.trace import Trace, is_selected


class Analysis(Protocol):
    """Interface of an analysis module."""

    __name__: str

    @property
    def QUESTION(self) -> str:  # noqa: N802 - a module's constant
        """Question that it answers, as a heading."""

    @property
    def NEEDS(self) -> tuple[str, ...]:  # noqa: N802
        """Tables and columns that it needs.

        A table (``jobs``), a column with some value (``jobs.time_limit_s``), or alternatives
        (``attempts.end_reason or failures``). Empty: it does not depend on the trace.
        """

    def compute(self, trace: Trace) -> Result:
        """Compute the finding on one trace."""

    def plot(self, result: Result) -> Figure:
        """Draw the finding, from the Result only."""


Own: TypeAlias = Callable[[Trace], Result]
"""A user-defined analysis: its name is the function's, its question the docstring."""

FRONT = "In short"
"""Title of the first chapter."""

_NAMES = {
    FRONT: "why_waits how_used why_failures worst_offenders",
    "The trace": "overview workload_account gpus_in_use clock_offset host_clock_offset",
    "Workload": "run_time run_time_by_group job_status retries arrivals concentration",
    "Queueing": (
        "queueing_delay delay_causes cause_accuracy stated_causes out_of_order "
        "queueing_delay_by_group "
        "waits_by_day"
    ),
    "Locality and utilisation": (
        "locality_relaxation occupancy gpu_util gpu_util_by_servers locality_effect "
        "gpu_util_dedicated gpu_util_summaries host_util"
    ),
    "Failures": "failure_reasons failure_repetition time_to_failure failure_costs failure_statuses",
    "Operation": "usage wait_states time_asked wide_gangs node_failures gang_failures",
    "Definitions": "run_policy notebook_definitions",
}
"""Modules of `philly_analysis.analyses` by chapter."""


def _analysis(name: str) -> Analysis:
    return cast("Analysis", import_module(f"philly_analysis.analyses.{name}"))


CHAPTERS: dict[str, dict[str, Analysis]] = {
    **{title: {name: _analysis(name) for name in names.split()} for title, names in _NAMES.items()},
    "Workload model": {
        "calibration": calibration,
        "other_months": other_months,
        "philly_like": philly_like,
    },
}
"""Every analysis by name, in the chapters and the order of the page."""

ANALYSES: dict[str, Analysis] = {
    name: analysis for chapter in CHAPTERS.values() for name, analysis in chapter.items()
}
"""Every analysis by name."""

PHILLY_ONLY = frozenset({"notebook_definitions", "philly_like"})
"""Analyses of the study's own cluster, which the page of another cluster omits."""

FROM_SAMPLES = frozenset(
    {
        *("clock_offset", "gpu_util", "gpu_util_by_servers", "gpu_util_dedicated", "how_used"),
        *("host_clock_offset", "host_util", "locality_effect", "notebook_definitions", "usage"),
        "worst_offenders",
    }
)
"""Analyses that read relations of the samples; others can be computed while samples are read."""

SAMPLE_RELATIONS = {
    "gpu_use_bins": "how_used",
    "notebook_gpu_util_bins": "notebook_definitions",
    "gpu_clock_readings": "clock_offset",
    "host_clock_readings": "host_clock_offset",
    "host_util_bins": "host_util",
}
"""Relations that take a pass over the samples, with the first analysis that reads each."""

OF_ALL_JOBS = frozenset(
    {
        *("cause_accuracy", "delay_causes", "gpu_util_dedicated", "host_util", "locality_effect"),
        *("occupancy", "out_of_order", "stated_causes", "wait_states", "why_waits"),
    }
)
"""Analyses that need all jobs of the cluster, and so do not run on a subset of a trace."""


class Finding(str):
    """Name of a finding, with its question."""

    @property
    def name(self) -> str:
        """The name as plain text."""
        return str(self)

    @property
    def question(self) -> str:
        """The question that the finding answers."""
        return ANALYSES[self].QUESTION


class Findings(list[Finding], SuggestsNames):
    """Names of findings; ``.df()`` has their questions, chapters and needs."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        super().__init__(map(Finding, names))

    @overload
    def __getitem__(self, at: SupportsIndex | str) -> Finding: ...
    @overload
    def __getitem__(self, at: slice) -> "Findings": ...
    def __getitem__(self, at: SupportsIndex | str | slice) -> "Finding | Findings":
        """Return a finding by its number or name, or those of a slice."""
        if isinstance(at, slice):
            return Findings(list(self)[at])
        if isinstance(at, str):
            if at not in self:
                raise UnknownNameError("finding", at, self)
            return Finding(at)
        return super().__getitem__(at)

    def df(self) -> pd.DataFrame:
        """Return one row per finding: analysis, question, chapter, needs (tables and columns)."""
        rows = [
            (name, analysis.QUESTION, chapter, ", ".join(analysis.NEEDS))
            for chapter, analyses in CHAPTERS.items()
            for name, analysis in analyses.items()
            if name in self
        ]
        return pd.DataFrame(rows, columns=["analysis", "question", "chapter", "needs"])

    def __repr__(self) -> str:
        return self.df()[["analysis", "question"]].to_string(index=False)

    def _repr_html_(self) -> str:
        return str(self.df().to_html(index=False, border=0))


def list_findings(words: str = "") -> Findings:
    """List the findings whose name, question or chapter has these words.

    Raises
    ------
    UnknownNameError
        No finding matches.
    """
    table = Findings(ANALYSES).df()
    texts = table["analysis"] + " " + table["question"] + " " + table["chapter"]
    found = table["analysis"][texts.str.contains(words, case=False, regex=False)]
    if found.empty:
        raise UnknownNameError("finding", words, ANALYSES)
    return Findings(found)


def relevant(trace: Trace) -> list[str]:
    """Return the analyses that concern a trace's cluster."""
    return [name for name in ANALYSES if name not in PHILLY_ONLY or has_philly_layout(trace)]


def lacking(trace: Trace, name: str) -> tuple[str, ...]:
    """Return what an analysis needs and a trace lacks: tables, columns, jobs."""
    absent = tuple(
        need
        for need in ANALYSES[name].NEEDS
        if not any(trace.has_values(one) for one in need.split(" or "))
    )
    subset = name in OF_ALL_JOBS and is_selected(trace.manifest)
    return (*absent, "the jobs that were not chosen") if subset else absent
