"""Make each change of ``docs/extend.md`` in a copy of the package, and check that it works."""

import fnmatch
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.support.command_line import output_of
from tests.support.repository import ROOT

SECTIONS = re.split(r"^## ", (ROOT / "docs" / "extend.md").read_text("utf-8"), flags=re.MULTILINE)
FILES = {
    heading.lower().replace(" ", "_"): re.findall(r"`([^`]+)`", files)
    for section in SECTIONS
    for heading, files in re.findall(r"\A(.*)\n\nFiles:(.*?)\n\n", section, re.DOTALL)
}
DIFFS = {path.stem: path for path in sorted(Path(__file__).parent.glob("*.diff"))}
"""Examples of changes, by heading in ``docs/extend.md``."""


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Return the traceback of each check that failed, by task, in a package with all changes."""
    copy = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "philly_analysis", copy / "philly_analysis")
    output_of("git", "apply", *DIFFS.values(), cwd=copy, GIT_CEILING_DIRECTORIES=str(copy.parent))
    checks = (sys.executable, "-m", "tests.successor_tasks.checks")
    printed = output_of(*checks, cwd=copy, PYTHONPATH=f"{copy}{os.pathsep}{ROOT}")
    answers: dict[str, str | None] = json.loads(printed.splitlines()[-1])
    return answers


def test_each_example_is_documented() -> None:
    assert DIFFS.keys() <= FILES.keys()
    assert len(FILES) == 12


@pytest.mark.slow
@pytest.mark.parametrize("task", DIFFS)
def test_an_example_works(task: str, failures: dict[str, str | None]) -> None:
    assert failures[task] is None, failures[task]


@pytest.mark.parametrize("task", DIFFS)
def test_an_example_touches_only_the_files_named(task: str) -> None:
    patterns = [re.sub(r"<\w+>", "*", name) for name in FILES[task]]
    touched = re.findall(r"^\+\+\+ b/(.*)", DIFFS[task].read_text("utf-8"), re.MULTILINE)
    for path in touched:
        assert any(fnmatch.fnmatch(path, pattern) for pattern in patterns), path
    for pattern in patterns:
        assert any(fnmatch.fnmatch(path, pattern) for path in touched), pattern
