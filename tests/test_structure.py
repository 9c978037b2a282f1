"""The house: whatever imports what, nobody comes back to where they started."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "philly_analysis"
MODULES = {
    ".".join(("philly_analysis", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in PACKAGE.rglob("*.py")
}


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


def test_no_module_imports_itself_by_any_way_round() -> None:
    graph = {name: set(imported(path)) for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 300
    list(TopologicalSorter(graph).static_order())  # CycleError names the circle
