"""Measure the rate at which a trace's servers fail, for what-ifs at that rate."""

from dataclasses import replace

from philly_analysis.analyses import node_failures
from philly_analysis.errors import InputError
from philly_analysis.simulator import Failures
from philly_analysis.trace import TraceLike, open_trace


def recorded_outages(trace: TraceLike, repair_s: float | None = None) -> Failures:
    """Return the rate of server failures that a trace records.

    Parameters
    ----------
    trace
        An open trace, or the folder of one.
    repair_s
        Mean seconds to repair, which traces do not record; None: assumed.

    Raises
    ------
    InputError
        The trace records no server failure.
    """
    with open_trace(trace) as source:
        between_s = node_failures.compute(source).fact("mttf_s")
    if not isinstance(between_s, float):
        raise InputError(
            "The trace records no server failure, so that it has no rate of failures. Give rates, "
            "e.g. machine:2.6e6:14400 (seconds from repair to failure, seconds to repair)."
        )
    measured = Failures(machine_s=between_s)
    return measured if repair_s is None else replace(measured, machine_repair_s=repair_s)
