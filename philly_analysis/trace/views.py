"""Create views of a trace's tables and relations when a query first reads them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import duckdb

from philly_analysis.errors import MissingTableError, QueryError, UnknownNameError
from philly_analysis.study import RunPolicy
from philly_analysis.trace.connection import (
    OPTIONAL,
    SETTINGS,
    create_optional,
    create_settings,
    first_line,
    parse_run_policy,
)
from philly_analysis.trace.materialized import Materializer
from philly_analysis.trace.relations import (
    Relation,
    macro_connection,
    relations,
    required_relations,
)
from philly_analysis.trace.schema import REJECTS, TABLES

if TYPE_CHECKING:
    import polars as pl

_HINTS = {"attempts": " A table in memory has them if it has columns started_at and ended_at."}
"""What to do about a table that is not there."""


class TableNames(frozenset[str]):
    """Names of tables; a call returns the names as a list in order, as in other libraries."""

    def __call__(self) -> list[str]:
        """Return the names in order."""
        return sorted(self)


class Views:
    """The views of an open trace.

    Attributes
    ----------
    tables
        Names of the tables that the trace has.
    """

    def __init__(self, materializer: Materializer) -> None:
        """Create the views of all tables.

        Raises
        ------
        duckdb.Error, TraceError
            A file is damaged, or lacks a required column.
        """
        self._folder, self._materializer = materializer.folder, materializer
        files = self._folder.manifest.files
        self.tables: frozenset[str] = TableNames(TABLES.keys() & files.keys())
        present = {name for name in (*self.tables, REJECTS.name) if name in files}
        for name in present:
            materializer.table(name).create_view(name)
        create_optional(materializer.con, self.tables)
        self._created = present | {SETTINGS, *OPTIONAL}

    def can_create(self, name: str) -> bool:
        """Return whether a table is here, or a relation can be computed from the tables here."""
        _, others = required_relations([name])
        return others <= self._created

    def create(self, names: Sequence[str]) -> None:
        """Create the views that `names` need, and materialize relations where they are due.

        Raises
        ------
        MissingTableError, UnknownNameError
            A table is not here, or a name is neither a table nor a relation.
        QueryError
            A relation does not run.
        TraceError
            A file is damaged, or another trace is at the path.
        """
        order, others = required_relations(names)
        for name in sorted(others - self._created):
            if name in TABLES:
                wanted = ", ".join(sorted(set(names) - {name})) or "the query"
                present = ", ".join(sorted(self.tables)) or "no tables"
                raise MissingTableError(
                    f"{wanted} needs the table {name}, which this trace does not have. "
                    f"It has: {present}.{_HINTS.get(name, '')}"
                )
            raise UnknownNameError("table or relation", name, [*TABLES, *relations()])
        self._folder.check(others & self.tables)
        sampled = [r for r in order if r.samples and r.name not in self._created]
        # what these read comes first, so that one pass over the samples serves them all
        before, _ = required_relations(name for relation in sampled for name in relation.reads)
        for relation in before:
            self._create([relation])
        self._create(sampled)
        for relation in order:
            self._create([relation])

    def _create(self, wanted: Iterable[Relation]) -> None:
        due = [relation for relation in wanted if relation.name not in self._created]
        try:
            self._materializer.create(due)
        except duckdb.Error as error:
            names = ", ".join(relation.name for relation in due)
            raise QueryError(f"{names}: {first_line(error)}") from None
        self._folder.check_in_place()  # workers of an executor read the files by their path
        self._created.update(relation.name for relation in due)


def evaluate(
    tables: Mapping[str, "pl.DataFrame"],
    names: Sequence[str],
    *,
    run_policy: RunPolicy | str = RunPolicy.SUM,
) -> dict[str, "pl.DataFrame"]:
    """Compute relations of the package, by name, from tables in memory.

    Parameters
    ----------
    tables
        Tables of the schema by name, with all their columns.
    names
        Relations that need no other tables.
    run_policy
        How attempts become a job's run time.
    """
    with macro_connection().cursor() as con:
        create_settings(con, parse_run_policy(run_policy))
        for table, frame in tables.items():
            con.register(table, frame.to_arrow())
        create_optional(con, tables)
        order, _ = required_relations(names)
        for relation in order:
            con.execute(f"create temp view {relation.name} as {relation.sql}")
        return {name: con.table(name).pl() for name in names}
