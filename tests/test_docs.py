"""Check the documentation: descriptions of findings and relations, links, a Sphinx build."""

import importlib
import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import philly_analysis
from docs import architecture, pictures
from philly_analysis.report import ANALYSES
from philly_analysis.trace.relations import relations
from tests.support.command_line import output_of
from tests.support.repository import DOCS, PAGES, ROOT

SAMPLE = ROOT / "data" / "traces" / "sample" / "manifest.json"
EXECUTED = {"tutorial", "own-analysis"}
"""Pages whose code draws pictures."""
TEXT_ONLY = {
    *(
        "causes",
        "cluster",
        "cluster-cost",
        "extend",
        "faq",
        "glossary",
        "grid-engine",
        "kubernetes",
        "lsf",
        "own-policy",
        "paper",
        "pbs",
        "summary",
        "share",
        "shell",
        "simulators",
        "trust",
    )
}
"""Pages that describe nothing that one can see."""


def test_a_finding_describes_itself_and_its_limits() -> None:
    for name, analysis in ANALYSES.items():
        summary, limits = analysis.description.split("\n\n")
        assert "\n" not in summary and len(limits) > 60, name


def test_a_relation_has_described_columns() -> None:
    for name, relation in relations().items():
        assert all(relation.columns.values()), name
        assert all(column in relation.sql for column in relation.columns), name


@pytest.mark.parametrize(
    "page",
    [*PAGES, *(ROOT / n for n in ("README.md", "CONTRIBUTING.md", "notebooks/README.md"))],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_links_resolve(page: Path) -> None:
    text = page.read_text("utf-8")
    pictures = re.findall(r'src(?:set)?="(docs/[^"]+)"', text)
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", text) + pictures:
        if not link.startswith(("http", "made/", "../made/")):
            assert (page.parent / link).exists(), link


def test_a_page_of_something_visible_has_a_picture() -> None:
    without = {
        page.stem
        for page in PAGES
        if not re.search(r"!\[|\{image\}", page.read_text("utf-8")) and page.stem not in EXECUTED
    }
    assert without == TEXT_ONLY


def test_pictures_are_those_that_pages_show() -> None:
    shown = {
        name
        for page in PAGES
        for name in re.findall(r"made/pictures/(\w+)\.svg", page.read_text("utf-8"))
    }
    assert shown == pictures.CAPTIONS.keys()
    for name, (caption, page) in pictures.CAPTIONS.items():
        assert caption
        assert f"made/pictures/{name}.svg" in (DOCS / f"{page}.md").read_text("utf-8")


def test_the_picture_shows_each_package_and_its_noun() -> None:
    listed = {name for layer in architecture.layers() for name in layer}
    texts = {text.text for text in ET.fromstring(architecture.svg()).iter() if text.text}  # noqa: S314 - our own
    assert listed | architecture.NOUNS.keys() <= texts
    assert {by for _, by, _ in architecture.FLOWS} | set(architecture.NOUNS.values()) <= listed
    for noun, package in architecture.NOUNS.items():
        module = importlib.import_module(f"philly_analysis.{package}")
        classes = {name for name in dir(module) if isinstance(getattr(module, name), type)}
        assert any(name.endswith(noun) for name in classes)


def test_the_tree_of_the_documentation_is_that_of_the_package() -> None:
    page = (ROOT / "docs" / "built.md").read_text("utf-8")
    tree = page.split("philly_analysis/\n")[1].split("```")[0]
    described = {line.split()[0].removesuffix("/") for line in tree.splitlines()}
    folder = Path(philly_analysis.__file__).parent
    names = {path.name for path in folder.iterdir() if path.suffix in ("", ".py")}
    assert described == names - {"__main__.py", "__pycache__"}


@pytest.mark.slow
def test_sphinx_builds_it_without_warnings(tmp_path: Path) -> None:
    if not SAMPLE.is_file():
        pytest.skip("the sample was not ingested here: `make reports` does")
    command = (sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html")
    output_of(*command, ROOT / "docs", tmp_path)
    formulas = (tmp_path / "models.html").read_text("utf-8")
    assert "<math" in formulas and "mathjax.js" not in formulas.lower()
    for name in ANALYSES:
        page = (tmp_path / "made" / "findings" / f"{name}.html").read_text("utf-8")
        assert "What can mislead" in page
        assert "How it is computed" in page or not ANALYSES[name].needs
