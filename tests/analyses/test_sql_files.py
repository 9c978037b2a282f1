"""Check that numbers are computed in SQL files, which the page lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import philly_analysis
from philly_analysis.trace.relations import MACROS, relations

_PACKAGE = Path(philly_analysis.__file__).parent
_ANSWERING = sorted(
    [
        *(_PACKAGE / "analyses").glob("*.py"),
        *(_PACKAGE / "models" / "validation").glob("*.py"),
        *(_PACKAGE / "atlas").glob("*.py"),
        *(_PACKAGE / "report").glob("*.py"),
    ]
)
_QUERY = re.compile(
    r"\s*(select\s|with\s+\w+\s+as\s*\(|from\s+\w+\s*(select|where|join|order|group|limit|;|$))",
    re.IGNORECASE,
)
_ASKING = {"sql", "execute"}  # DataFrame.query is no SQL


def _faults(source: str) -> Iterator[str]:
    """Lines on which Python holds a query, or asks for one."""
    tree = ast.parse(source)
    texts = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in texts and _QUERY.match(node.value):
                yield f"line {node.lineno}: a query: {node.value.strip()[:40]}"
        elif isinstance(node, ast.Attribute) and node.attr in _ASKING:
            yield f"line {node.lineno}: .{node.attr}"


@pytest.mark.parametrize("path", _ANSWERING, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_no_query_is_in_python(path: Path) -> None:
    assert not list(_faults(path.read_text("utf-8"))), "give it a .sql file, which the page shows"


@pytest.mark.parametrize(
    ("source", "n"),
    [
        ('rows = trace.sql("select 1")', 2),
        ('QUERY = """\n  with a as (select 1) from a\n"""', 1),
        ('con.execute("FROM jobs")', 2),
        ('f"select {column}"', 1),
        ('"""Select what matters."""\nx = "with a job", "from Monday on", "selected"', 0),
        ('rows = trace.answer("jobs").df()', 0),
    ],
)
def test_the_lint_separates_queries_from_text(source: str, n: int) -> None:
    assert len(list(_faults(source))) == n


def test_a_macro_that_gives_a_table_reads_only_what_its_caller_names() -> None:
    """Else the graph of relations would not see what stands behind an answer."""
    macros = re.findall(r"macro (\w+)\(\w+\) as table\n", MACROS)
    assert macros
    called = 0
    for relation in relations().values():
        arguments = re.findall(rf"\b(?:{'|'.join(macros)})\(\s*(\w+)", relation.sql)
        assert set(arguments) <= set(re.findall(r"\b(\w+) as \($", relation.sql, re.MULTILINE))
        called += len(arguments)
    assert called >= len(macros)
