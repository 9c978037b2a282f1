"""Hypothesis profiles, and fixtures for small traces, real data and report pages.

`pytest --hypothesis-profile=thorough` selects another profile. The fixtures import the package
themselves: the process that distributes tests to xdist's workers does not need it.
"""

import gc
import os
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.repository import ROOT, SAMPLE

if TYPE_CHECKING:
    from philly_analysis.trace.trace import Trace
    from tests.support.clusters import MakeTrace
    from tests.support.report_pages import Pages

# An example that takes a minute hangs, however busy the machine is.
settings.register_profile(
    "dev",
    max_examples=8,
    deadline=timedelta(minutes=1),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "ci", settings.get_profile("dev"), derandomize=True, database=None, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=250)
settings.load_profile("ci" if "CI" in os.environ else "dev")


def shared_folder(name: str, variable: str) -> Path:
    """Return a folder of real data; skip the test without it."""
    folder = Path(os.environ.get(variable, ROOT.parent / "shared" / name))
    if not folder.is_dir():
        pytest.skip(f"no real {name} at {folder}: set {variable} to their folder")
    return folder


@pytest.fixture(scope="session")
def traces() -> Path:
    """Return the folder of the real traces; skip the test without it."""
    return shared_folder("traces", "PHILLY_TRACES")


@pytest.fixture(scope="session")
def sample_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the trace of the bundled sample, ingested once for all of xdist's workers."""
    from filelock import FileLock

    from philly_analysis import ingest

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with FileLock(folder / "sample.lock"):
        if not (folder / "sample").is_dir():
            ingest("philly", SAMPLE, folder / "sample", quotas=SAMPLE / "quotas.csv")
    return folder / "sample"


@pytest.fixture
def make_trace(tmp_path: Path) -> "Iterator[MakeTrace]":
    """Return a function that writes a trace as `trace_of` does; it is open during the test."""
    from philly_analysis.trace.trace import Trace
    from tests.support.clusters import trace_of

    with ExitStack() as opened:
        numbers = count()

        def make(*tables: Any, **others: Any) -> "Trace":
            path = trace_of(tmp_path / f"trace{next(numbers)}", *tables, **others)
            return opened.enter_context(Trace(path))

        yield make


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> "Pages":
    """Return the pages of all kinds, generated on first use."""
    from tests.support.report_pages import Pages

    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def failure_logs() -> Path:
    """Return the folder of the labelled failure logs; skip the test without it."""
    return shared_folder("failure-logs", "PHILLY_FAILURE_LOGS")


def pytest_collection_finish() -> None:
    """Collect garbage seldom, and not in what collection allocated: it took 3 % of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    """Remove the garbage-collector callback of Hypothesis.

    It would keep all imported modules alive until Python exits, where DuckDB would then report
    leaked types.
    """
    gc.callbacks.clear()
