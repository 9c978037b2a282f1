"""An analysis: a question about a trace, the data that it needs, its answer and its figure."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from philly_analysis.results import Result

if TYPE_CHECKING:  # few traces are opened to be drawn
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Analysis:
    """A question about a trace, and the functions that answer it and draw the answer.

    Attributes
    ----------
    name
        Name of the analysis, of its module, of its results and of its section of the report.
    question
        The question, as a heading.
    needs
        Tables and columns that the trace must have: a table (``jobs``), a column with some value
        (``jobs.time_limit_s``), or alternatives (``attempts.end_reason or failures``). Empty: the
        answer does not depend on the trace.
    compute
        Function of a trace that returns the answer.
    plot
        Function of the answer that draws its figure. The figure depends on the answer only.
    sample_counts
        Relation that counts the samples for the analysis; None: the analysis reads no samples.
    all_jobs
        True if the answer needs all jobs of the cluster, so that a subset of a trace has none.
    study_only
        True if the question concerns only the study's own cluster.
    absent
        Sentence of an answer without a conclusion: what the log lacks.
    """

    name: str
    question: str
    needs: tuple[str, ...]
    compute: Callable[..., Result]
    plot: "Callable[[Result], Figure]"
    sample_counts: str | None = None
    all_jobs: bool = False
    study_only: bool = False
    absent: str = "The log has no values that answer this question."

    @property
    def description(self) -> str:
        """Docstring of the module: what is measured, and what can mislead."""
        return (sys.modules[self.compute.__module__].__doc__ or "").strip()
