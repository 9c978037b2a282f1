"""Make each change of ``docs/extend.md`` in a copy of the package, and check that it works."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.successor_tasks.examples import EXAMPLES

ROOT = Path(__file__).parents[2]
SECTIONS = re.split(r"^## ", (ROOT / "docs" / "extend.md").read_text("utf-8"), flags=re.MULTILINE)
FILES = {
    section.split("\n")[0]: re.findall(r"`([^`]+)`", section.split("Files:")[1].split("\n\n")[0])
    for section in SECTIONS
    if "\nFiles:" in section
}


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the tracebacks of the failed checks, by task, in a package with all changes."""
    copy = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "philly_analysis", copy / "philly_analysis", ignore=ignored)
    for edits in EXAMPLES.values():
        for edit in edits:
            edit.apply(copy)
    done = subprocess.run(
        [sys.executable, "-m", "tests.successor_tasks.checks"],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": f"{copy}{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_each_example_is_documented() -> None:
    assert EXAMPLES.keys() <= FILES.keys()
    assert len(FILES) == 12


@pytest.mark.parametrize("task", EXAMPLES)
def test_an_example_works(task: str, failures: dict[str, str]) -> None:
    assert failures.get(task) is None, failures[task]


@pytest.mark.parametrize("task", EXAMPLES)
def test_an_example_touches_only_the_files_named(task: str) -> None:
    patterns = [re.sub(r"<\w+>", "*", name) for name in FILES[task]]
    touched = {edit.path for edit in EXAMPLES[task]}
    for path in touched:
        assert any(fnmatch.fnmatch(path, pattern) for pattern in patterns), path
    for pattern in patterns:
        assert any(fnmatch.fnmatch(path, pattern) for path in touched), pattern
