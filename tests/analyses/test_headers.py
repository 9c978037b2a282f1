"""Check that the header of each SQL file describes its columns."""

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import philly_analysis
from philly_analysis.trace.relations import SQL_FOLDERS, relations, required_relations
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import random_tables, write_tables

_PACKAGE = Path(philly_analysis.__file__).parent
_KEPT = re.compile("-- (materialized|binned|listed)")
_FILES = {
    path.stem: path
    for folder in SQL_FOLDERS
    for path in sorted((_PACKAGE / folder).glob("*.sql"))
    if path.stem != "macros"
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    """A trace with every table; those that the random cluster lacks are there without rows."""
    tables = random_tables(1)
    for name, table in TABLES.items():
        tables.setdefault(name, pl.DataFrame(table.arrow.empty_table()))
    path = write_tables(tmp_path_factory.mktemp("headers") / "t", tables)
    with Trace(path) as opened:
        yield opened


def test_the_header_lists_the_columns_in_order(trace: Trace) -> None:
    for name, file in _FILES.items():
        lines = file.read_text("utf-8").splitlines()
        header = [line for line in lines[: _first_code(lines)] if not _KEPT.match(line)]
        listed = [m[1] for line in header if (m := re.match(r"--   (\w+)  +\S", line))]
        assert header[0].endswith("?"), f"the first line of {name} asks the question"
        assert any(line.startswith("-- One row") for line in header), f"{name} states its grain"
        assert listed == trace.answer(name).columns, name


def test_answers_come_in_a_fixed_order() -> None:
    for file in (_PACKAGE / "analyses").glob("*.sql"):
        assert file.read_text("utf-8").rstrip().endswith("order by all"), file


def test_no_relation_reads_what_does_not_exist() -> None:
    for name in relations():
        _, others = required_relations([name])
        assert others <= {*TABLES, "rejects", "settings", "given_quotas", "given_machines"}, name


def _first_code(lines: list[str]) -> int:
    return next(i for i, line in enumerate(lines) if not line.startswith("--"))
