"""Check the structure: tree, import cycles, summaries, complete lists."""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from philly_analysis.simulator import policies
from philly_analysis.simulator.policies import POLICIES
from tests.support.repository import ROOT

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


def test_the_top_has_at_most_six_modules_and_eighteen_packages() -> None:
    top = [p for p in PACKAGE.iterdir() if not p.name.startswith("_")]
    assert len([p for p in top if p.suffix == ".py"]) <= 6
    assert len([p for p in top if (p / "__init__.py").is_file()]) <= 18


def test_a_module_opens_with_a_summary_of_one_line() -> None:
    for path in FILES:
        [line, *more] = summary(path)
        assert not more and len(line) <= 100, path
        assert line.endswith(".") or not path.stat().st_size, path


def test_each_policy_of_the_folder_is_listed() -> None:
    cycles = {
        value
        for module in pkgutil.walk_packages(policies.__path__, f"{policies.__name__}.")
        for value in vars(importlib.import_module(module.name)).values()
        if inspect.isclass(value)
        and issubclass(value, policies.Policy)
        and value.__module__ == module.name
        and "name" in vars(value)
    }
    assert cycles == set(POLICIES.values())


@pytest.mark.parametrize("package", ["analyses", "atlas", "ingest", "models", "report"])
def test_names_of_a_lazy_package_are_imported_from_where_they_are_declared(package: str) -> None:
    module = importlib.import_module(f"philly_analysis.{package}")
    tree = ast.parse(Path(inspect.getfile(module)).read_text("utf-8"))
    declared = {
        name.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(module.__name__)
        for name in node.names
    }
    assert set(dir(module)) - vars(module).keys() == declared.keys()
    for name, where in declared.items():
        assert getattr(module, name) is getattr(importlib.import_module(str(where)), name)
