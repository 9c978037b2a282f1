"""Compare a trace of the study's cluster with the numbers and curves that were published."""

from collections.abc import Iterable

from numpy.typing import ArrayLike

from philly_analysis.results import Comparison, Fact
from philly_analysis.study import NOTEBOOK, archive, curve, largest_gap_pct, numbers
from philly_analysis.trace import Trace


def is_philly(trace: Trace) -> bool:
    """Return whether a trace was recorded on the study's cluster."""
    return trace.manifest.source == "philly" and not trace.manifest.synthetic


def has_philly_layout(trace: Trace) -> bool:
    """Return whether a trace concerns the study's cluster.

    True for the archive's own layout, which the synthetic sample has too, and for the supplied
    maps of extracts of the archive.
    """
    manifest = trace.manifest
    return manifest.source == "philly" or (
        manifest.source == "table"
        and any(i.file.startswith("philly-") and i.file.endswith(".toml") for i in manifest.inputs)
    )


def compare_published(trace: Trace, name: str, facts: Iterable[Fact]) -> tuple[Comparison, ...]:
    """Compare the facts of an analysis with the printed numbers of the same name.

    Returns
    -------
    tuple of Comparison
        Empty unless the trace is the study's cluster. The reasons name how many of the archive's
        jobs the trace holds, unless it holds all.
    """
    if not is_philly(trace):
        return ()
    measured = {fact.name: fact.value for fact in facts}
    jobs, all_jobs = trace.manifest.rows.get("jobs", 0), archive()["jobs"]
    part = f"this trace holds {jobs:,} of the archive's {all_jobs:,} jobs; "
    return tuple(
        Comparison(
            what=number.what,
            published=number.published,
            measured=None if value is None or isinstance(value, str) else float(value),
            unit=number.unit,
            source=number.source,
            reason=("" if jobs == all_jobs else part) + number.reason,
        )
        for (analysis, fact), number in numbers().items()
        if analysis == name and fact in measured
        for value in [measured[fact]]
    )


def notebook_gap(
    analysis: str, group: str, values: ArrayLike, what: str, reason: str
) -> Comparison:
    """Compare values with a curve of the archive's notebook."""
    gap = largest_gap_pct(curve(analysis, group), values)
    return Comparison(what, 0.0, gap, "points", NOTEBOOK, reason)
