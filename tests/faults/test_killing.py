"""A killed command leaves the old or the new, and nothing else; see :mod:`tests.faults.killing`."""

import random
from pathlib import Path

import pytest

from tests.faults.killing import CASES, prepare, rounds


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killing")
    prepare(folder / "once")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_killed_command_leaves_the_old_or_the_new(name: str, at: Path) -> None:
    assert rounds(name, 2, at, random.Random(name)).total() == 4
