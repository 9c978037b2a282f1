"""Raw archives and the traces ingested from them: the sample, and two with real data."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from philly_analysis import ingest
from tests.support import archives

SAMPLE = Path(__file__).parents[2] / "data" / "sample"


@dataclass(frozen=True, slots=True)
class Case:
    """A raw archive and the trace made of it."""

    raw: Path
    trace: Path


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The bundled synthetic sample."""
    trace = tmp_path_factory.mktemp("truth") / "sample"
    ingest("philly", SAMPLE, trace)
    return Case(SAMPLE, trace)


@pytest.fixture(scope="session")
def multigpu(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Real jobs with placements and real minutes."""
    folder = tmp_path_factory.mktemp("truth")
    raw = archives.multigpu_archive(traces, folder / "raw")
    ingest("philly", raw, folder / "trace")
    return Case(raw, folder / "trace")


@pytest.fixture(scope="session")
def large_jobs(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Real jobs with all their attempts."""
    folder = tmp_path_factory.mktemp("truth")
    raw = archives.large_job_archive(traces, folder / "raw")
    ingest("philly", raw, folder / "trace")
    return Case(raw, folder / "trace")


@pytest.fixture(scope="session")
def attempts(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Real lengths and gangs of 151,816 attempts."""
    folder = tmp_path_factory.mktemp("truth")
    raw = archives.attempts_archive(traces, folder / "raw")
    ingest("philly", raw, folder / "trace")
    return Case(raw, folder / "trace")
