"""Compare computed causes with what Slurm states, on the shipped recording of a real Slurm."""

import csv
from pathlib import Path

import pytest

from philly_analysis import analyze
from philly_analysis.analyses.shared.wait_cause import CAUSES
from philly_analysis.results import Result
from tests.slurm_lab import computed
from tests.slurm_lab.conftest import Lab
from tests.slurm_lab.stated import stated_causes
from tests.slurm_lab.table import CAUSES_TABLE
from tests.support.facts import number


@pytest.fixture(scope="module")
def recording(lab: Lab) -> Path:
    return lab.recording("shipped")


@pytest.fixture(
    scope="module",
    params=["scontrol", "squeue and scontrol"],
)
def why_waits(request: pytest.FixtureRequest, recording: Path, lab: Lab) -> Result:
    return analyze(lab.trace(recording, request.param), ["why_waits"])["why_waits"]


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_documented_causes_are_those_of_the_shipped_recording(
    recording: Path, lab: Lab
) -> None:
    with CAUSES_TABLE.open() as file:
        documented = [tuple(row) for row in csv.reader(file)]
    assert documented == [computed.HEADER, *computed.compared(lab.trace(recording))]
