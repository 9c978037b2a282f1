"""Check that numpy-style docstrings have known sections and name existing parameters.

Types are in annotations, so that an entry is a line with one or more names, followed by their
meaning. Ruff checks the rest.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.support.repository import ROOT

FILES = sorted(p for folder in ("philly_analysis", "data") for p in (ROOT / folder).rglob("*.py"))
SECTIONS = {"Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "Examples"}
ENTRY = re.compile(r"\*{0,2}\w+(, \*{0,2}\w+)*")


def sections(doc: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each section's title and its unindented lines."""
    lines = doc.split("\n")
    starts = [i for i, line in enumerate(lines) if i and line and set(line) == {"-"}]
    for start, end in pairwise([*starts, len(lines) + 1]):
        inside = lines[start + 1 : end - 1]
        yield lines[start - 1], [line for line in inside if line and not line.startswith(" ")]


def names_of(node: ast.ClassDef | ast.FunctionDef) -> set[str]:
    """Return the arguments of a function, or the fields, methods and attributes of a class."""
    if isinstance(node, ast.FunctionDef):
        return {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    names = {f.name for f in node.body if isinstance(f, ast.FunctionDef)}
    for part in ast.walk(node):
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
            names.add(part.target.id)
        elif isinstance(part, ast.Attribute):
            names.add(part.attr)
        elif isinstance(part, ast.FunctionDef) and part.name == "__init__":
            names |= names_of(part)
    return names


def test_sections_are_known_and_their_entries_exist() -> None:
    nodes = ((f, node) for f in FILES for node in ast.walk(ast.parse(f.read_text("utf-8"))))
    for file, node in nodes:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        for title, entries in sections(ast.get_docstring(node) or ""):
            assert title in SECTIONS, f"{file}: {node.name}: {title}"
            if title in ("Parameters", "Attributes"):
                assert entries and all(map(ENTRY.fullmatch, entries)), (file, node.name, entries)
                listed = {name.lstrip("*") for entry in entries for name in entry.split(", ")}
                assert listed <= names_of(node), (file, node.name, listed - names_of(node))
