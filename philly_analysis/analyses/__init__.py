"""One finding per module: a question, the SQL of the same name that answers it, and a figure."""

from collections.abc import Iterable
from typing import Protocol

from matplotlib.figure import Figure

from philly_analysis.analyses import (
    delay_causes,
    job_status,
    overview,
    queueing_delay,
    retries,
    run_time,
)
from philly_analysis.errors import UnknownNameError
from philly_analysis.result import Result
from philly_analysis.trace import Trace


class Analysis(Protocol):
    """What each module of this package offers."""

    @property
    def QUESTION(self) -> str:  # noqa: N802 - a module's constant
        """The question, as the page's heading asks it."""

    @property
    def NEEDS(self) -> tuple[str, ...]:  # noqa: N802
        """Tables without which it cannot be asked."""

    def compute(self, trace: Trace) -> Result:
        """Answer the question on one trace."""

    def plot(self, result: Result) -> Figure:
        """Draw the answer, from the Result only."""


CHAPTERS: dict[str, dict[str, Analysis]] = {
    "The trace": {
        "overview": overview,
    },
    "Workload": {
        "run_time": run_time,
        "job_status": job_status,
        "retries": retries,
    },
    "Queueing": {
        "queueing_delay": queueing_delay,
        "delay_causes": delay_causes,
    },
    "Locality and utilisation": {},
    "Failures": {},
    "Definitions": {},
}
"""Every finding by name, in the chapters and the order of the page."""

ANALYSES: dict[str, Analysis] = {
    name: analysis for chapter in CHAPTERS.values() for name, analysis in chapter.items()
}
"""Every finding by name."""


def analyze(trace: Trace, names: Iterable[str] = ()) -> dict[str, Result]:
    """Answer the named questions on a trace; all that it has the tables for, when none is named.

    Parameters
    ----------
    trace
        An open trace.
    names
        Keys of :data:`ANALYSES`.

    Returns
    -------
    dict
        Result by name, in the order of the page.

    Raises
    ------
    UnknownNameError
        A name is not an analysis.
    MissingTableError
        A named analysis needs a table that the trace does not have.
    """
    wanted = list(names)
    for name in wanted:
        if name not in ANALYSES:
            raise UnknownNameError("analysis", name, ANALYSES)
    chosen = wanted or [n for n, a in ANALYSES.items() if trace.tables.issuperset(a.NEEDS)]
    return {
        name: ANALYSES[name].compute(trace).labelled(synthetic=trace.manifest.synthetic)
        for name in chosen
    }
