"""Estimate the clock offset between host samples and the job log from CPU use at attempt ends.

CPUs also serve the system and other jobs. The step of CPU use at the end of an attempt is therefore
smaller than the step of GPU use, and needs more attempts.
"""

from philly_analysis.analyses.clock_offset import estimate_offset, plot
from philly_analysis.results import Result
from philly_analysis.trace import Analysis, Trace


def compute(trace: Trace) -> Result:
    """Estimate the offset per period at which CPUs become idle when attempts end."""
    return estimate_offset(trace, "host", "CPU")


ANALYSIS = Analysis(
    name="host_clock_offset",
    question="Do the clocks of the host samples and the job log agree?",
    needs=("jobs", "attempts", "placements", "host_samples"),
    compute=compute,
    plot=plot,
    sample_counts="host_clock_readings",
)
