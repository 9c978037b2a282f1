"""The documentation: every page is there, its links lead somewhere, and it builds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from philly_analysis.report.chapters import ANALYSES
from philly_analysis.trace.relations import relations

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "data" / "traces" / "sample" / "manifest.json"
WRITTEN = [
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "notebooks/README.md")),
]


@pytest.mark.parametrize("name", ANALYSES)
def test_a_finding_says_what_it_is_and_what_can_mislead(name: str) -> None:
    what, misleads = (ANALYSES[name].__doc__ or "").strip().split("\n\n")
    assert "\n" not in what
    assert len(misleads) > 80


@pytest.mark.parametrize("name", relations())
def test_a_relation_says_what_it_answers_and_what_each_column_holds(name: str) -> None:
    relation = relations()[name]
    assert relation.question.endswith("?")
    assert relation.row.startswith("One row")
    assert all(relation.columns.values())
    assert all(column in relation.sql for column in relation.columns)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text("utf-8")):
        if not link.startswith(("http", "made/")):
            assert (page.parent / link).exists(), link


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    if not SAMPLE.is_file():
        pytest.skip("the sample was not ingested here: `make reports` does")
    asked = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*asked, ROOT / "docs", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for name in ANALYSES:
        page = (tmp_path / "made" / "findings" / f"{name}.html").read_text("utf-8")
        assert "What can mislead" in page
        assert "How it is computed" in page or not ANALYSES[name].NEEDS
