"""Open a trace, or use a trace that is open already."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from philly_analysis.errors import TraceError
from philly_analysis.parallel import ExecutorLike
from philly_analysis.study import RunPolicy
from philly_analysis.trace.in_memory import Frames
from philly_analysis.trace.trace import Trace

TraceLike: TypeAlias = Trace | str | Path | Frames
"""An open trace, the folder or address of a trace, or tables in memory."""


@contextmanager
def open_trace(
    trace: TraceLike,
    run_policy: RunPolicy | str | None = None,
    *,
    otherwise: RunPolicy = RunPolicy.SPAN,
    executor: ExecutorLike = None,
) -> Iterator[Trace]:
    """Return an open trace as it is, or open a trace while the block runs.

    Parameters
    ----------
    run_policy
        How attempts become a job's run time; None: as the trace was opened, `otherwise` for a
        folder.
    executor
        Where the samples of a folder are counted: see :class:`Trace`.

    Raises
    ------
    TraceError
        The folder is no trace, or the trace is open with another run policy.
    """
    if not isinstance(trace, Trace):
        with Trace(trace, run_policy=run_policy or otherwise, executor=executor) as opened:
            yield opened
        return
    if run_policy not in (None, trace.run_policy):
        raise TraceError(
            f"{trace.path.name} is open with a run time that is the {trace.run_policy.meaning}; "
            f"to use {run_policy}, give its folder, or open it so."
        )
    yield trace
