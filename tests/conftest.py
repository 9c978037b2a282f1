"""How hard laws are tried; where the tests find real data, and why they skip without it.

`pytest --hypothesis-profile=thorough` chooses another profile.
"""

import gc
import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.report_pages import Pages

_ROOT = Path(__file__).parent.parent

# A try that takes a minute hangs, however busy the machine; nothing shorter is timed.
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


@pytest.fixture(scope="session")
def traces() -> Path:
    """Folder of the real traces."""
    folder = Path(os.environ.get("PHILLY_TRACES", _ROOT.parent / "shared" / "traces"))
    if not folder.is_dir():
        pytest.skip(f"no real traces at {folder}: set PHILLY_TRACES to their folder")
    return folder


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """A page of every kind."""
    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def failure_logs() -> Path:
    """Folder of the labelled failure logs."""
    folder = Path(os.environ.get("PHILLY_FAILURE_LOGS", _ROOT.parent / "shared" / "failure-logs"))
    if not folder.is_dir():
        pytest.skip(f"no failure logs at {folder}: set PHILLY_FAILURE_LOGS to their folder")
    return folder


def pytest_unconfigure() -> None:
    """Let go of what Hypothesis asks of the garbage collector.

    Its callback stays until Python ends, and with it, by its globals, all that is imported: the
    engine then says at exit that its types leaked. (Whether it does hangs on which tests ran.)
    """
    gc.callbacks.clear()
