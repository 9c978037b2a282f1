"""Where the tests find real data, and why they skip without it."""

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def traces() -> Path:
    """Folder of the real traces."""
    folder = Path(os.environ.get("PHILLY_TRACES", _ROOT.parent / "shared" / "traces"))
    if not folder.is_dir():
        pytest.skip(f"no real traces at {folder}: set PHILLY_TRACES to their folder")
    return folder


@pytest.fixture(scope="session")
def failure_logs() -> Path:
    """Folder of the labelled failure logs."""
    folder = Path(os.environ.get("PHILLY_FAILURE_LOGS", _ROOT.parent / "shared" / "failure-logs"))
    if not folder.is_dir():
        pytest.skip(f"no failure logs at {folder}: set PHILLY_FAILURE_LOGS to their folder")
    return folder
