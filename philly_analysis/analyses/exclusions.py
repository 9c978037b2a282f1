"""Says which jobs and attempts the run times and waits leave out, and why."""

from typing import Literal

from philly_analysis.results import count
from philly_analysis.trace import Trace

_ROWS = {"run time": "job", "wait": "attempt"}


def left_out(trace: Trace, what: Literal["run time", "wait"]) -> tuple[str, ...]:
    """Return one sentence per reason for which rows have no trusted run time or wait."""
    rows = [(n, reason) for of, reason, n in trace.answer("exclusions").fetchall() if of == what]
    rows.sort(key=lambda row: (-row[0], row[1]))
    return tuple(f"{count(n, _ROWS[what])} left out: {reason}." for n, reason in rows)


def unsampled(trace: Trace) -> tuple[str, ...]:
    """Return one sentence per way in which samples do not cover what attempts held."""
    rows = trace.answer("gpu_use_gaps").fetchall()
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    return tuple(f"{count(n, what)}: {reason}." for what, reason, n in rows)
