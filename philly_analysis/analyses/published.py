"""Facts of a trace of the study's cluster, compared with the numbers that the study printed."""

from collections.abc import Iterable

from philly_analysis.results import Comparison, Fact
from philly_analysis.study import archive, numbers
from philly_analysis.trace import Trace


def is_philly(trace: Trace) -> bool:
    """Tell whether a trace was recorded on the study's cluster."""
    return trace.manifest.source == "philly" and not trace.manifest.synthetic


def of_philly(trace: Trace) -> bool:
    """Tell whether a trace is about the study's cluster.

    It is if it was read from the archive's own layout, as the bundled sample is, which was made in
    the archive's image; or by one of the maps that ship for extracts of the archive.
    """
    told = trace.manifest
    return told.source == "philly" or (
        told.source == "table"
        and any(i.file.startswith("philly-") and i.file.endswith(".toml") for i in told.inputs)
    )


def beside(trace: Trace, analysis: str, facts: Iterable[Fact]) -> tuple[Comparison, ...]:
    """Set the printed numbers beside the facts that measure the same thing.

    Returns
    -------
    tuple of Comparison
        Empty unless the trace is the study's cluster. A trace that holds only a part of the
        archive's jobs says so in each reason.
    """
    if not is_philly(trace):
        return ()
    measured = {fact.name: fact.value for fact in facts}
    return tuple(
        Comparison(
            what=number.what,
            published=number.published,
            measured=_float(measured[fact]),
            unit=number.unit,
            source=number.source,
            reason=_part(trace) + number.reason,
        )
        for (name, fact), number in numbers().items()
        if name == analysis and fact in measured
    )


def _part(trace: Trace) -> str:
    jobs = trace.manifest.rows.get("jobs", 0)
    whole = archive()["jobs"]
    return "" if jobs == whole else f"this trace holds {jobs:,} of the archive's {whole:,} jobs; "


def _float(value: float | int | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
