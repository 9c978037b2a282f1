"""Raw archives and the traces ingested from them: the sample, and two with real data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from tests.support import archives
from tests.support.repository import SAMPLE


@dataclass(frozen=True, slots=True)
class Case:
    """A raw archive and the trace made of it."""

    raw: Path
    trace: Path


@pytest.fixture(scope="session")
def sample(sample_trace: Path) -> Case:
    """Return the bundled synthetic sample."""
    return Case(SAMPLE, sample_trace)


def _extract(write: Callable[[Path, Path], Path]) -> Any:
    """Return a fixture of an archive that a function writes from the real traces."""

    @pytest.fixture(scope="session")
    def extract(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
        folder = tmp_path_factory.mktemp("truth")
        raw = write(traces, folder / "raw")
        ingest("philly", raw, folder / "trace")
        return Case(raw, folder / "trace")

    return extract


multigpu = _extract(archives.multigpu_archive)
large_jobs = _extract(archives.large_job_archive)
attempts = _extract(archives.attempts_archive)
