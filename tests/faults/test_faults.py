"""Check that a fault leaves the old or the new output only; see :mod:`tests.faults`."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.commands import COMMANDS, digest_of, prepare
from tests.faults.faults import rounds
from tests.support.repository import ROOT


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    prepare(folder / "once")
    return folder


def test_digests_ignore_rounding_errors() -> None:
    digests = [
        digest_of(f"hours,{hours}\n") for hours in ("144.0", "144.00000000000003", "144.0001")
    ]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", ["kill -9", "file size"])
def test_a_disturbed_command_leaves_the_old_or_the_new_output(
    fault: str, command: str, at: Path
) -> None:
    rounds(fault, command, 1, at, random.Random(f"{fault} {command}"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["kill -9", "full disk", "read-only", "cgroup"])
def test_the_campaign_counts_faults_without_losses(fault: str) -> None:
    words = ["--rounds", "1", "--fault", fault, "--on", "ingest --force"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", *words],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert " 0 losses" in done.stdout
