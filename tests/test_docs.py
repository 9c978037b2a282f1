"""Check the documentation: descriptions of findings and relations, links, a Sphinx build."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from philly_analysis.report.chapters import ANALYSES
from philly_analysis.trace.relations import relations

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "data" / "traces" / "sample" / "manifest.json"
PAGES = [
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "notebooks/README.md")),
]


@pytest.mark.parametrize("name", ANALYSES)
def test_a_finding_describes_itself_and_its_limits(name: str) -> None:
    summary, limits = (ANALYSES[name].__doc__ or "").strip().split("\n\n")
    assert "\n" not in summary
    assert len(limits) > 80


@pytest.mark.parametrize("name", relations())
def test_a_relation_has_a_question_a_grain_and_described_columns(name: str) -> None:
    relation = relations()[name]
    assert relation.question.endswith("?")
    assert relation.row.startswith("One row")
    assert all(relation.columns.values())
    assert all(column in relation.sql for column in relation.columns)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_resolve(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", page.read_text("utf-8")):
        if not link.startswith(("http", "made/")):
            assert (page.parent / link).exists(), link


@pytest.mark.slow
def test_sphinx_builds_it_without_warnings(tmp_path: Path) -> None:
    if not SAMPLE.is_file():
        pytest.skip("the sample was not ingested here: `make reports` does")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, ROOT / "docs", tmp_path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for name in ANALYSES:
        page = (tmp_path / "made" / "findings" / f"{name}.html").read_text("utf-8")
        assert "What can mislead" in page
        assert "How it is computed" in page or not ANALYSES[name].NEEDS
