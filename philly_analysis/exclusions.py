"""Says which jobs and attempts the run times and waits leave out, and why."""

from typing import Literal

from philly_analysis.prose import count
from philly_analysis.trace import Trace

_ROWS = {"run time": "job", "wait": "attempt"}


def left_out(trace: Trace, what: Literal["run time", "wait"]) -> tuple[str, ...]:
    """Return one sentence per reason for which rows have no trusted run time or wait."""
    rows = trace.sql(
        "select reason, n from exclusions where what = $what order by n desc, reason", what=what
    ).fetchall()
    return tuple(f"{count(n, _ROWS[what])} left out: {reason}." for reason, n in rows)


def unsampled(trace: Trace) -> tuple[str, ...]:
    """Return one sentence per way in which samples do not cover what attempts held."""
    rows = trace.sql("select what, reason, n from gpu_use_gaps order by what, n desc").fetchall()
    return tuple(f"{count(n, what)}: {reason}." for what, reason, n in rows)
