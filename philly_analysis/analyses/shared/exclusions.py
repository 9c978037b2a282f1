"""Describe rows excluded from run times and waits, and gaps in the samples, as caveats."""

from typing import Literal

from philly_analysis.results import count
from philly_analysis.trace import Trace

_ROWS = {"run time": "job", "wait": "attempt"}


def excluded(trace: Trace, what: Literal["run time", "wait"]) -> tuple[str, ...]:
    """Return one sentence per reason for which rows have no trusted run time or wait."""
    rows = [(n, reason) for of, reason, n in trace.answer("exclusions").fetchall() if of == what]
    rows.sort(key=lambda row: (-row[0], row[1]))
    return tuple(f"{count(n, _ROWS[what])} excluded: {reason}." for n, reason in rows)


def sample_gaps(trace: Trace) -> tuple[str, ...]:
    """Return one sentence per reason for which samples do not cover the GPUs of attempts."""
    rows = trace.answer("gpu_use_gaps").fetchall()
    rows.sort(key=lambda row: (row[0], -row[2], row[1]))
    return tuple(f"{count(n, what)}: {reason}." for what, reason, n in rows)
