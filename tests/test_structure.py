"""Check the structure: tree, import cycles, summaries, standard names, complete lists."""

import ast
import importlib
import inspect
import pkgutil
import re
import tokenize
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from philly_analysis.simulator import policies
from philly_analysis.simulator.policies import POLICIES
from tests.support.repository import PAGES, ROOT

PACKAGE = ROOT / "philly_analysis"
FILES = sorted(
    p for top in ("philly_analysis", "tests", "data", "docs") for p in (ROOT / top).rglob("*.py")
)
MODULES = {
    ".".join(("philly_analysis", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in PACKAGE.rglob("*.py")
}
SHOWN_PAGES = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]

_TABLES = tomllib.loads((ROOT / "tests" / "retired_names.toml").read_text("utf-8"))
RETIRED: dict[str, set[str]] = {kind: set(names) for kind, names in _TABLES.items()}
"""Names of modules, words of identifiers and classes for which standard terms are in use."""

MODEL_KEYS = {"crowding", "law", "settled"}
"""Keys in the JSON of models, which stay as they are."""

SHOWN_WORDS = re.compile(
    r"\b(asks?|judge[ds]?|harmless|intact|knows?|laws?|says?|stands|tells?|told|whoever|"
    r"as (it was|they were) written|whole or not)\b",
    re.IGNORECASE,
)
"""Words that no summary of a module and no page of documentation uses."""


def name_of(path: Path) -> str:
    """Return a file's path from the repository's root."""
    return path.relative_to(ROOT).as_posix()


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names in a Python file: identifiers and keywords."""
    with path.open("rb") as file:
        return frozenset(
            t.string for t in tokenize.tokenize(file.readline) if t.type == tokenize.NAME
        )


def words_of(name: str) -> set[str]:
    """Split an identifier into its words, in lower case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


@cache
def summary(path: Path) -> list[str]:
    """Return the lines of the first paragraph of a module's docstring."""
    opening = re.match(
        r"""(?:#.*\n)*(?:\"{3}|'{3})(.*?)(?:\"{3}|'{3})""", path.read_text("utf-8"), re.DOTALL
    )
    return (opening[1] if opening else "").strip().split("\n\n")[0].split("\n")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports anywhere in it, for type checking included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inside & MODULES.keys()
            if inside - MODULES.keys():
                yield node.module
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & MODULES.keys()


def test_imports_have_no_cycle() -> None:
    graph = {name: set(imported(path)) for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 300
    list(TopologicalSorter(graph).static_order())  # CycleError names the circle


def test_the_top_has_at_most_six_modules_and_fifteen_packages() -> None:
    top = [p for p in PACKAGE.iterdir() if not p.name.startswith("_")]
    assert len([p for p in top if p.suffix == ".py"]) <= 6
    assert len([p for p in top if (p / "__init__.py").is_file()]) <= 15


def test_a_module_opens_with_a_summary_of_one_line() -> None:
    for path in FILES:
        [line, *more] = summary(path)
        assert not more and len(line) <= 100, path
        assert line.endswith(".") or not path.stat().st_size, path


def test_modules_have_standard_names() -> None:
    retired = RETIRED["modules"]
    parts = {(path, part) for path in FILES for part in (path.stem, path.parent.name)}
    assert {name_of(p): part for p, part in parts if part.removeprefix("test_") in retired} == {}


def test_identifiers_have_standard_names() -> None:
    found = {
        f"{name_of(path)}: {name}"
        for path in FILES
        for name in names_in(path) - MODEL_KEYS
        if words_of(name) & RETIRED["words"] or name in RETIRED["classes"]
    }
    assert found == set()


def test_summaries_use_standard_words() -> None:
    found = {name_of(p): line for p in FILES for line in summary(p) if SHOWN_WORDS.search(line)}
    assert found == {}


@pytest.mark.parametrize("page", SHOWN_PAGES, ids=name_of)
def test_pages_use_standard_words(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    assert [line for line in text.splitlines() if SHOWN_WORDS.search(line)] == []


def test_each_policy_of_the_folder_is_listed() -> None:
    found = {
        value
        for module in pkgutil.iter_modules(policies.__path__, f"{policies.__name__}.")
        for value in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(value) and value.__module__ == module.name and "name" in vars(value)
    }
    assert found == set(POLICIES.values())


def test_names_of_the_report_are_imported_from_where_they_are_declared() -> None:
    report = importlib.import_module("philly_analysis.report")
    tree = ast.parse(Path(inspect.getfile(report)).read_text("utf-8"))
    declared = {
        (name.name, node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(report.__name__)
        for name in node.names
    }
    offered = {(name, f"{report.__name__}.{module}") for name, module in report._MODULES.items()}
    assert declared == offered
    for name, _ in declared:
        assert getattr(report, name) is not None
