"""Compare causes of waits with the truth of schedulers that are written apart from the package."""

from pathlib import Path
from typing import Any

import pytest

from philly_analysis import ingest
from philly_analysis.analyses import why_waits
from philly_analysis.analyses.shared.wait_cause import CAUSES
from philly_analysis.trace.trace import Trace
from tests.support.facts import number
from tests.truth.scenarios import Scenario
from tests.truth.schedulers import simulate

LOADS = (0.7, 0.85, 0.95)

WIDE = ((1, 50), (2, 20), (4, 15), (8, 10), (16, 4), (32, 1))
"""Gang sizes with their weights."""

SCENARIOS: dict[str, dict[str, Any]] = {
    "FIFO": {"policy": "first_fit"},
    "EASY": {"policy": "easy"},
    "strict FIFO": {"policy": "strict"},
    "EASY, caps by account": {"caps": (("a0", 48), ("a1", 40))},
    "strict FIFO, caps by account": {"policy": "strict", "caps": (("a0", 48), ("a1", 40))},
    "EASY, four partitions": {"partitions": 4},
    "strict FIFO, two partitions": {"policy": "strict", "partitions": 2},
    "EASY, idle jobs": {"idle": 0.03},
    "EASY, failures": {"failures": 40},
    "EASY, held jobs": {"held": 0.2},
    "EASY, CPU-bound servers": {"cpu_heavy": 0.3},
    "FIFO, CPU-bound servers": {"policy": "first_fit", "cpu_heavy": 0.3},
    "EASY, spreadable": {"spreadable": 1.0},
    "strict FIFO, spreadable": {"policy": "strict", "spreadable": 1.0},
    "EASY, half of them spreadable": {"spreadable": 0.5},
    "strict FIFO, start-up": {"policy": "strict", "start_up_s": 40},
    "EASY, start-up": {"policy": "easy", "start_up_s": 40},
    "EASY, 1 to 32 GPUs": {"gangs": WIDE},
    "strict FIFO, 1 to 32 GPUs": {"policy": "strict", "gangs": WIDE},
    "EASY, three partitions on the same servers": {"partitions": 3, "shared": True},
    "EASY, caps by QOS": {"cap_of": "qos", "caps": (("normal", 48),)},
    "EASY, caps by user": {"cap_of": "user", "caps": (("each", 8),)},
    "EASY, caps by user, without reasons": {
        "cap_of": "user",
        "caps": (("each", 8),),
        "reasons": False,
        "limits": True,
    },
    "strict FIFO, caps by account, without reasons": {
        "policy": "strict",
        "caps": (("a0", 48), ("a1", 40)),
        "reasons": False,
        "limits": True,
    },
    "strict FIFO, short jobs": {"policy": "strict", "mean_run_s": 120.0},
}
QUICK = "strict FIFO, everything"
"""Scenario of quick tests."""

SCENARIOS[QUICK] = {
    "policy": "strict",
    "partitions": 2,
    "caps": (("a0", 40),),
    "cpu_heavy": 0.3,
    "held": 0.05,
    "failures": 10,
}


def computed_shares(folder: Path) -> dict[str, float]:
    """Ingest a log, and return the percentages of waiting time that the card is made of."""
    ingest("slurm", folder, folder.parent / "trace")
    with Trace(folder.parent / "trace") as trace:
        result = why_waits.compute(trace)
    names = {f.name for f in result.facts}
    shares = {c: number(result, f"{c}_pct") for c in CAUSES if f"{c}_pct" in names}
    assert sum(shares.values()) == pytest.approx(100)
    assert result.fact("quota_method") == "none" or not shares["quota"]
    return shares


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "load", "jobs"),
    [
        (QUICK, 0.85, 500),
        *((name, load, 1_500) for name in SCENARIOS for load in LOADS),
    ],
)
def test_causes_are_those_of_the_scheduler(
    name: str, load: float, jobs: int, tmp_path: Path
) -> None:
    truth = simulate(Scenario(load=load, jobs=jobs, **SCENARIOS[name]), tmp_path / "log")
    computed = computed_shares(tmp_path / "log")
    assert len(truth) > 1
    for cause in {*truth, *computed}:
        share = computed.get(cause, 0)
        assert share == pytest.approx(truth.get(cause, 0), abs=5), (truth, computed)
