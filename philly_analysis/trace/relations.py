"""Parse the package's SQL files into a graph of relations."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import duckdb

from philly_analysis.errors import QueryError
from philly_analysis.study import TERM_MACROS
from philly_analysis.trace.schema import TABLES

SQL_FOLDERS = ("sql", "analyses", "models", "atlas")
"""Folders of the package whose ``.sql`` files are relations, named by the file."""

_PACKAGE = Path(__file__).parents[1]
MACROS = TERM_MACROS + (_PACKAGE / "sql" / "macros.sql").read_text("utf-8")
"""Functions that every relation may call."""
_MARK = re.compile(
    r"-- (?:(?P<counted>binned|listed) by week of (?P<samples>\w+)"
    r"|(?P<stored>materialized)?(?: ?by (?P<key>job_id|moment|clock))?)\n"
)


@cache
def macro_connection() -> duckdb.DuckDBPyConnection:
    """Return this process's connection with MACROS, which is opened once because it takes long."""
    con = duckdb.connect()
    con.execute(MACROS)
    return con


@dataclass(frozen=True, slots=True)
class Relation:
    """One ``.sql`` file.

    Attributes
    ----------
    materialized
        Whether the relation is written to Parquet once per trace: the first comment line has
        ``materialized``, ``binned`` or ``listed``.
    key
        ``job_id``, ``moment`` or ``clock`` if an append changes only what concerns appended jobs
        and jobs of the same time: the first comment line has ``by job_id``, ``by moment`` or
        ``by clock`` (see :mod:`philly_analysis.trace.appended`). None: all jobs determine each row.
    samples
        Table of samples that are counted in the intervals of the SELECT (see
        :data:`philly_analysis.trace.histograms.INTERVAL`), week by week. The first comment line
        has ``binned by week of`` the table. The relation then has the minutes of readings
        (``minutes``, ``sum_pct``) by ``week``, ``bin`` and the columns of the SELECT. None: the
        relation has the rows of the SELECT.
    listed
        True if the first comment line has ``listed by week of`` the table. The relation then has
        one row per reading that starts in an interval, with the columns of the SELECT, ``week``,
        ``since``, ``minutes`` and ``pct``.
    """

    name: str
    sql: str
    materialized: bool
    key: str | None = None
    samples: str | None = None
    listed: bool = False

    @property
    def merges(self) -> bool:
        """Whether the stored rows are merged after an append."""
        return self.materialized and self.key in ("job_id", "moment")

    @property
    def reads(self) -> frozenset[str]:
        """Names of the tables and relations that its SELECT reads, and its samples."""
        return tables_read(self.sql) | ({self.samples} if self.samples else set())

    @property
    def question(self) -> str:
        """The question that it answers: the first line of its header."""
        return next(line for line in self._header() if line.endswith("?"))

    @property
    def row(self) -> str:
        """The meaning of a row, from its header."""
        lines = self._header()
        first = next(i for i, line in enumerate(lines) if line.startswith("One row"))
        after = (i for i, line in enumerate(lines) if i > first and line.startswith("  "))
        return " ".join(lines[first : next(after, len(lines))])

    @property
    def columns(self) -> dict[str, str]:
        """The meaning of each column, from its header."""
        meanings: dict[str, str] = {}
        name = ""
        for line in self._header():
            if name and line.startswith("    "):  # the line continues the line before
                meanings[name] += f" {line.strip()}"
            elif line.startswith("  "):
                name, _, meaning = line.strip().partition(" ")
                meanings[name] = meaning.strip()
        return meanings

    def _header(self) -> list[str]:
        lines = self.sql.splitlines()
        code = (i for i, line in enumerate(lines) if not line.startswith("--"))
        return [line.removeprefix("-- ") for line in lines[: next(code, len(lines))]]


@cache
def _parser() -> duckdb.DuckDBPyConnection:
    """Return this process's connection to parse with; opening one takes ten times as long."""
    return duckdb.connect(config={"threads": 1})


@lru_cache(1000)
def tables_read(sql: str) -> frozenset[str]:
    """Return the names of the tables that a SELECT reads, without binding them.

    Raises
    ------
    QueryError
        The text is not exactly one SELECT, or does not parse.
    """
    with _parser().cursor() as con:
        row = con.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchone()
    assert row is not None  # noqa: S101 - a scalar SELECT returns one row
    tree: dict[str, Any] = json.loads(row[0])
    if tree["error"]:
        raise QueryError(f"not a query: {tree['error_message']} Give one SELECT statement.")
    if len(tree["statements"]) != 1:
        raise QueryError(f"{len(tree['statements'])} statements given; give one SELECT statement.")
    return frozenset(_names(tree["statements"][0]["node"], frozenset()))


def _names(node: Any, ctes: frozenset[str]) -> Iterator[str]:
    """Yield the base tables in a syntax tree that no enclosing CTE defines."""
    if isinstance(node, list):
        for child in node:
            yield from _names(child, ctes)
    elif isinstance(node, dict):
        if "cte_map" in node:
            ctes = ctes | {entry["key"].lower() for entry in node["cte_map"]["map"]}
        if node.get("type") == "BASE_TABLE" and not node.get("schema_name"):
            name = node["table_name"].lower()
            if name not in ctes:
                yield name
        for child in node.values():
            yield from _names(child, ctes)


@cache
def relations() -> dict[str, Relation]:
    """Return every relation of the package by name."""
    by_name: dict[str, Relation] = {}
    for folder in SQL_FOLDERS:
        for path in sorted((_PACKAGE / folder).glob("*.sql")):
            if path.stem == "macros":
                continue
            if path.stem in by_name or path.stem in TABLES:
                raise QueryError(f"{folder}/{path.name}: the name {path.stem} is used twice")
            sql = path.read_text("utf-8")
            mark = _MARK.match(sql)
            by_name[path.stem] = Relation(
                name=path.stem,
                sql=sql,
                materialized=bool(mark and (mark["stored"] or mark["counted"])),
                key=mark["key"] if mark else None,
                samples=mark["samples"] if mark else None,
                listed=bool(mark and mark["counted"] == "listed"),
            )
    return by_name


def with_dependencies(names: Iterable[str]) -> list[Relation]:
    """Return the named relations, then the relations that they read, level by level."""
    by_name = relations()
    order = [name for name in dict.fromkeys(names) if name in by_name]
    for name in order:  # the list grows in the loop
        order += sorted(by_name[name].reads & by_name.keys() - set(order))
    return [by_name[name] for name in order]


def required_relations(names: Iterable[str]) -> tuple[list[Relation], frozenset[str]]:
    """Return the relations that `names` need, in order of creation, and all other names read.

    The other names are tables, or unknown.
    """
    wanted = [name.lower() for name in names]
    graph = {relation.name: relation.reads for relation in with_dependencies(wanted)}
    others = frozenset(wanted).union(*graph.values()) - graph.keys()
    try:
        order = TopologicalSorter(graph).static_order()
        return [relations()[name] for name in order if name in graph], others
    except CycleError as error:
        raise QueryError(f"relations read each other in a cycle: {error.args[1]}") from error
