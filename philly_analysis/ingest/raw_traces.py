"""Ingest raw logs into a temporary trace, where a trace is needed."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from philly_analysis.atomic import scratch_folder
from philly_analysis.ingest.ingestion import IngestOptions, ingest
from philly_analysis.trace import MANIFEST, TraceLike, is_address


@contextmanager
def raw_as_trace(trace: TraceLike) -> Iterator[TraceLike]:
    """Yield a given trace, or for raw logs a temporary trace that the block may use.

    Parameters
    ----------
    trace
        A trace, or a folder or archive of raw logs of a source that can be detected.
    """
    if not isinstance(trace, str | Path) or is_address(trace):
        yield trace
        return
    raw = Path(trace)
    if not raw.exists() or (raw / MANIFEST).is_file():
        yield trace
        return
    with tempfile.TemporaryDirectory(dir=scratch_folder()) as folder:
        ingest(IngestOptions("auto", raw, Path(folder) / raw.name))
        yield Path(folder) / raw.name
