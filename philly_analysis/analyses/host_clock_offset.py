"""Whether the host samples keep the job log's time, told by CPU use where attempts end.

CPUs serve the system and other jobs as well, so that the step at the end of an attempt is smaller
than that of GPUs and needs more attempts to be seen.
"""

from philly_analysis.analyses.clock_offset import answer, plot
from philly_analysis.results import Result
from philly_analysis.trace import Trace

__all__ = ["NEEDS", "QUESTION", "compute", "plot"]

QUESTION = "Do the host samples and the job log keep the same time?"
NEEDS = ("jobs", "attempts", "placements", "host_samples")


def compute(trace: Trace) -> Result:
    """Find, by period, the offset at which servers' CPUs fall idle where attempts end."""
    return answer(trace, "host", "CPU")
