"""Compare computed causes with what Slurm states, on the shipped recording of a real Slurm."""

import csv
from pathlib import Path

import pytest

from philly_analysis import analyze
from philly_analysis.analyses.why_waits import CAUSES
from philly_analysis.results import Result
from tests.slurm_lab import computed
from tests.slurm_lab.recording import SHIPPED, unpack
from tests.slurm_lab.stated import stated_causes
from tests.slurm_lab.table import CAUSES_TABLE
from tests.support.facts import number


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("slurm-lab")
    unpack(SHIPPED, folder)
    return folder


@pytest.fixture(scope="module", params=computed.SNAPSHOTS)
def trace(
    request: pytest.FixtureRequest, recording: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("ingest")
    return computed.ingest_recording(recording, folder, computed.SNAPSHOTS[request.param])


@pytest.fixture(scope="module")
def why_waits(trace: Path) -> Result:
    return analyze(trace, ["why_waits"])["why_waits"]


@pytest.mark.parametrize("by_gpus", [False, True])
def test_computed_causes_are_near_those_that_slurm_states(
    why_waits: Result, recording: Path, by_gpus: bool
) -> None:
    stated = stated_causes(recording, by_gpus=by_gpus)
    pct = {cause: 100 * s / sum(stated.values()) for cause, s in stated.items()}
    suffix = "gpu_pct" if by_gpus else "pct"
    names = {fact.name for fact in why_waits.facts}
    shares = {c: number(why_waits, f"{c}_{suffix}") for c in CAUSES if f"{c}_{suffix}" in names}
    assert sum(shares.values()) == pytest.approx(100)
    assert shares["limit"] == pytest.approx(pct["limit"], abs=10)
    assert shares["held"] == pytest.approx(pct["held"], abs=5)
    assert shares["unknown"] < 10
    assert shares["quota"] == 0


def test_the_documented_causes_are_those_of_the_shipped_recording(
    recording: Path, tmp_path: Path
) -> None:
    trace = computed.ingest_recording(recording, tmp_path, computed.SNAPSHOTS["scontrol"])
    with CAUSES_TABLE.open() as file:
        documented = [tuple(row) for row in csv.reader(file)]
    assert documented == [computed.HEADER, *computed.compared(trace)]
