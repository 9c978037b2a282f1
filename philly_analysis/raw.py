"""Takes raw logs where a trace is meant: ingests them first, for as long as they are needed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from philly_analysis.ingest import ingest
from philly_analysis.manifest import MANIFEST
from philly_analysis.models import WorkloadModel
from philly_analysis.models import fit as fit_trace
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace


@contextmanager
def opened(path: str | Path, *, run_policy: RunPolicy | str = RunPolicy.SPAN) -> Iterator[Trace]:
    """Open a trace, or raw Philly files as a trace that is gone when the block ends.

    Raises
    ------
    TraceError, InputError
        There is neither a trace nor a raw archive at `path`.
    """
    path = Path(path)
    if (path / MANIFEST).is_file() or not path.exists():
        with Trace(path, run_policy=run_policy) as trace:
            yield trace
        return
    with tempfile.TemporaryDirectory(prefix="philly-") as folder:
        made = Path(folder) / path.name
        ingest("philly", path, made)
        with Trace(made, run_policy=run_policy) as trace:
            yield trace


def fit(trace: Trace | str | Path, *, family: str | None = None) -> WorkloadModel:
    """Fit a workload model to a trace, or to raw Philly files as they lie.

    Parameters
    ----------
    trace
        An open trace, whose run policy then says what a run time is; or a folder, of a trace or
        of raw Philly files, where a run time is the sum of the attempts: the service needed.
    family
        Force one family of run times everywhere, e.g. ``lognormal``; chosen when None.

    Raises
    ------
    ModelError
        Too little to fit: the message names what is missing.
    """
    if isinstance(trace, Trace):
        return fit_trace(trace, family=family)
    with opened(trace, run_policy=RunPolicy.SUM) as made:
        return fit_trace(made, family=family)
