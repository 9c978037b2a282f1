"""A Trace is a folder of tables, opened read-only for questions in SQL."""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from concurrent.futures import Executor
from contextlib import contextmanager
from datetime import datetime
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias

import duckdb

from philly_analysis.atomic import FolderHandle, recover, remove_stale_within, scratch_folder
from philly_analysis.errors import (
    AskedElsewhereError,
    MissingTableError,
    QueryError,
    TraceError,
    UnknownNameError,
)
from philly_analysis.progress import silence
from philly_analysis.study import RunPolicy
from philly_analysis.trace.in_memory import (
    Frames,
    folder_of,
    folders_of,
    quoted,
    selected,
    with_quotas,
)
from philly_analysis.trace.integrity import check, check_sizes
from philly_analysis.trace.manifest import DERIVED, Manifest
from philly_analysis.trace.materialized import Storage, digest_of
from philly_analysis.trace.object_storage import fetch_trace
from philly_analysis.trace.quotas import Quotas, read_quotas
from philly_analysis.trace.relations import (
    MACROS,
    Relation,
    escape_glob,
    relations,
    required_relations,
    tables_read,
)
from philly_analysis.trace.schema import JOBS, MACHINES, REJECTS, TABLES, VERSION, VIRTUAL_CLUSTERS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MEMORY_LIMIT = "1200MB"
"""What the engine may hold before it spills to disk."""

_SETTINGS = "settings"
_VERBS = {
    "analyze": 'analyze(trace, "queueing_delay")',
    "report": "report(trace)",
    "fit": "fit(trace)",
    "compare": "compare(trace, other)",
    "simulate": 'simulate(trace, "fifo", "what-if")',
    "export": 'export(trace, "swf", "jobs.swf")',
    "query": 'trace.sql("select …")',
    "head": "trace.jobs.limit(5).df()",
    "columns": "trace.jobs.columns",
    "plot": 'analyze(trace, "queueing_delay").plot()',
}
"""What people look for on a trace, and where it is."""
_GIVEN = {"given_quotas": VIRTUAL_CLUSTERS, "given_machines": MACHINES}
"""Tables that relations read whether the trace has them or not, by the name for that."""


class Trace:
    """A folder of tables, opened read-only for questions in SQL.

    Use as a context manager, or call :meth:`close`; what is left open ends with the
    process. Relations of the package are created when
    a question first reads them, and the ones marked ``stored`` are written into the trace once.

    Parameters
    ----------
    path
        Folder that `ingest`, `sample` or `simulate` wrote, or its address on object storage (see
        :mod:`philly_analysis.trace.object_storage`); or tables in memory (see
        :func:`philly_analysis.trace.in_memory.folder_of`): frames of pandas, polars or Arrow by the
        name of the table, or one frame of jobs.
    run_policy
        How attempts become a job's run time, in every analysis of this trace.
    quotas
        GPUs that each virtual cluster is entitled to, or a file of them (see
        :func:`philly_analysis.trace.quotas.quotas_given`), instead of the trace's own or of
        estimates; for this session. To record them in the trace, ingest it with them.
    executor
        Where samples are counted, slice by slice: processes of this machine or workers of a
        cluster that see the folder under the same path; None: threads of this process.

    Raises
    ------
    TraceError
        The folder is missing or holds no manifest; or frames lack what a table needs.
    """

    def __init__(
        self,
        path: str | Path | Frames,
        *,
        run_policy: RunPolicy | str = RunPolicy.SPAN,
        quotas: Quotas | None = None,
        executor: Executor | None = None,
    ) -> None:
        if run_policy not in list(RunPolicy):
            raise UnknownNameError("run policy", run_policy, list(RunPolicy))
        path = fetch_trace(path) if isinstance(path, str | Path) else folder_of(path)
        if quotas is not None:
            path = with_quotas(path.resolve(), Manifest.read(path), read_quotas(quotas))
        self.path = recover(path).resolve()
        self._held = FolderHandle(folders_of(self.path))
        self.manifest = Manifest.read(path)
        if self.manifest.schema > VERSION:
            raise TraceError(
                f"{path} has schema {self.manifest.schema}; this package knows schemas up to "
                f"{VERSION}. Install a newer philly-analysis to open it."
            )
        self.run_policy = RunPolicy(run_policy)
        check_sizes(self.path, self.manifest)
        remove_stale_within(self.path / DERIVED)
        self._checked: set[str] = set()
        self._scratch = scratch_folder()
        self._con = _connect(folders_of(self.path), self._scratch)
        self._storage = Storage(
            self._con, self.path, self._held.path, self._scratch, self.manifest, executor
        )
        self._created = _settings(self._con, self.run_policy)
        self._asked: dict[str, None] = {}
        self.tables = frozenset(TABLES.keys() & self.manifest.files.keys())
        try:
            for name in (*self.tables, REJECTS.name):
                if name in self.manifest.files:
                    self._storage.table(name).create_view(name)
                    self._created.add(name)
            self._created |= _given(self._con, self.tables)
        except (duckdb.Error, TraceError) as error:
            self.close()
            check(self.path, self.manifest, self.manifest.files)  # which says of what file it is
            raise TraceError(f"{path}: {_first_line(error)}. Ingest the trace again.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            by_name = error is None and self._held.path == self.path
            if by_name or isinstance(error, duckdb.Error | OSError):
                self._check_place()
            if isinstance(error, duckdb.IOException | duckdb.OutOfMemoryException):
                raise TraceError(
                    f"{self.path}: {_first_line(error)} Free some memory or disk space, or say "
                    "where there is some with TMPDIR."
                ) from error
        finally:
            self.close()

    def __repr__(self) -> str:
        rows = ", ".join(f"{t} {self.manifest.rows.get(t, 0):,}" for t in sorted(self.tables))
        return f"Trace({self.path.name!r}: {rows})"

    def __getattr__(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table or relation by its name: ``trace.waits`` is ``trace.answer("waits")``."""
        if name.startswith("_") or name not in TABLES.keys() | relations().keys():
            near = get_close_matches(name, dir(self), 3)
            meant = (
                f"Did you mean {' or '.join(near)}?" if near else "`trace.relations` lists them."
            )
            meant = f"It is {_VERBS[name]}." if name in _VERBS else meant
            raise AskedElsewhereError(
                f"a trace has no attribute, table or relation {name!r}. {meant}"
            )
        return self.answer(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables, *relations()})

    @property
    def relations(self) -> "pd.DataFrame":
        """What one can ask of it by name: ``trace.waits``, or in SQL.

        A row per table and relation: name, here (whether this trace can answer), row (what one
        row of it is), question, reads.
        """
        import pandas as pd

        rows = [(n, n in self.tables, t.row, "", "") for n, t in TABLES.items()]
        rows += [
            (n, self.has(n), r.row, r.question, ", ".join(sorted(r.reads)))
            for n, r in sorted(relations().items())
        ]
        return pd.DataFrame(rows, columns=["name", "here", "row", "question", "reads"])

    def between(self, start: str | datetime, end: str | datetime) -> "Trace":
        """Return a trace of the jobs submitted from one moment on, and before another.

        They keep all their attempts, also later ones, and samples are those from `start` until the
        last of them ends. What the other jobs held is not in it.

        Parameters
        ----------
        start, end
            Moments in UTC: ``"2017-11-01"``, ``"2017-11-01 08:00"``, or datetimes.

        Raises
        ------
        QueryError
            One is no moment.
        TraceError
            No job was submitted then.
        """
        moments = {"start": str(start), "end": str(end)}
        condition = "submitted_at >= $start::timestamp and submitted_at < $end::timestamp"
        how = f"submitted from {start} to before {end} (UTC)"
        return self._chosen(condition, moments, how, since=str(start))

    def where(self, condition: str = "", /, **values: object) -> "Trace":
        """Return a trace of the jobs that are as asked.

        What the other jobs held is not in it, so that questions about free GPUs are not answered.

        Parameters
        ----------
        condition
            An SQL condition on the columns of ``jobs``: ``"gpus > 8"``.
        **values
            The value that a column of ``jobs`` has, or a list of them: ``vc="vision"``,
            ``status=["Failed", "Killed"]``, ``user=None`` (not known).

        Raises
        ------
        UnknownNameError
            ``jobs`` has no such column.
        QueryError
            The condition is none.
        TraceError
            No job is so.
        """
        asked = [f"({condition})"] * bool(condition)
        how = [condition] * bool(condition)
        for column, value in values.items():
            if column not in JOBS.column_names:
                raise UnknownNameError("column of jobs", column, JOBS.column_names)
            many = value if isinstance(value, list | tuple | set | frozenset) else [value]
            values[column] = sorted(map(str, (one for one in many if one is not None)))
            known = f'"{column}"::varchar in (select unnest(${column}))'
            asked.append(f'({known} or "{column}" is null)' if None in many else f"({known})")
            how.append(f"{column} {quoted(many)}")
        return self._chosen(
            " and ".join(asked) or "true", values, f"with {', '.join(how)}" if how else "all"
        )

    def _chosen(
        self, condition: str, values: Mapping[str, object], how: str, since: str | None = None
    ) -> "Trace":
        jobs = self.sql(f"select job_id from jobs where {condition}", **values)
        try:
            names = [name for (name,) in jobs.fetchall()]
        except duckdb.Error as error:
            raise QueryError(f"jobs {how}: {_first_line(error)}") from None
        if not names:
            raise TraceError(f"{self.path.name} has no job {how}: choose otherwise.")
        rows = {JOBS.name: self.sql("select * from jobs where job_id in $names", names=names)}
        for name in self.tables - {JOBS.name}:
            columns = TABLES[name].column_names
            rows[name] = self.answer(name)
            if "job_id" in columns:
                rows[name] = self.sql(
                    f"select * from {name} where job_id in (select unnest($names))", names=names
                )
            elif "sampled_at" in columns and since is not None:
                rows[name] = self.sql(
                    f"select * from {name} where sampled_at >= $since::timestamp and "
                    "sampled_at <= coalesce((select max(ended_at) from attempts "
                    "where job_id in (select unnest($names))), sampled_at)",
                    since=since,
                    names=names,
                )
        said = (
            f"Only the {len(names):,} of {self.manifest.rows.get(JOBS.name, 0):,} jobs {how}; what "
            "the others held is not in this trace."
        )
        made = selected(rows, self.manifest, said, f"{self.manifest.name}: {how}")
        return Trace(made, run_policy=self.run_policy)

    def close(self) -> None:
        """Close the connection and remove what it had spilled to disk."""
        self._con.close()
        self._held.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def has(self, name: str) -> bool:
        """Tell whether a table is here, or a relation can be computed from the tables here."""
        _, others = required_relations([name])
        return others <= self._created

    def has_values(self, what: str) -> bool:
        """Tell whether it has a table (``jobs``); or a column (``jobs.time_limit_s``) with values.

        Without a value in any row a column counts as absent.
        """
        table, _, column = what.partition(".")
        if table not in self.tables or not column:
            return table in self.tables
        self._check({table})
        known = self._con.table(table).filter(duckdb.ColumnExpression(column).isnotnull())
        return bool(known.limit(1).fetchall())

    def sql(self, query: str, /, **values: object) -> duckdb.DuckDBPyRelation:
        """Answer one SELECT over the tables and relations of the trace.

        Parameters
        ----------
        query
            One SELECT; values go in as ``$name``.
        **values
            The values of ``$name``.

        Returns
        -------
        duckdb.DuckDBPyRelation
            Call ``.df()`` for pandas, ``.pl()`` for polars, ``.to_arrow_table()`` for Arrow.

        Raises
        ------
        QueryError
            The text is not one SELECT, or does not run.
        MissingTableError
            It needs a table that this trace does not have.
        UnknownNameError
            It reads a name that is neither a table nor a relation.
        """
        self.create(tables_read(query))
        try:
            return self._con.sql(query, params=values or None)
        except duckdb.Error as error:
            raise QueryError(_first_line(error)) from None

    def answer(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return one relation of the package, whole: ``select * from name``."""
        self.create([name])
        return self._con.table(name)

    @contextmanager
    def record_reads(self) -> Iterator[dict[str, None]]:
        """Collect the names of the tables and relations that are asked for while a block runs.

        Yields
        ------
        dict
            The names as keys, in the order in which they were first asked for.
        """
        outer, self._asked = self._asked, {}
        try:
            yield self._asked
        finally:
            outer |= self._asked
            self._asked = outer

    def folders(self, kind: str, *texts: str) -> list[Path]:
        """Return where to keep what is made of this trace, as it was opened, and of `texts`.

        The trace's own folder, and this session's, for what the former cannot take; neither may
        be there.
        """
        name = f"{kind}-{digest_of(self._made_of, *texts)}"
        return [self.path / DERIVED / name, self._scratch / name]

    @cached_property
    def _made_of(self) -> str:
        sizes = [(self.path / file).stat().st_size for file in self.manifest.every_file]
        return digest_of(self._storage.said, *map(str, sizes))

    def create(self, names: Iterable[str]) -> None:
        """Create the views that `names` need, and write the stored ones where they are due."""
        names = sorted(names)
        self._asked |= dict.fromkeys(names)
        order, others = required_relations(names)
        for name in sorted(others - self._created):
            if name in TABLES:
                wanted = ", ".join(sorted(set(names) - {name})) or "this"
                raise MissingTableError(
                    f"{wanted} needs the table {name}, which this trace does not have. "
                    f"It has: {', '.join(sorted(self.tables)) or 'no tables'}."
                )
            raise UnknownNameError("table or relation", name, [*TABLES, *relations()])
        self._check(others & self.tables)
        sampled = [r for r in order if r.samples and r.name not in self._created]
        # what these read first, so that one pass over the samples serves them all
        before, _ = required_relations(name for relation in sampled for name in relation.reads)
        for one in before:
            self._create(one)
        self._create(*sampled)
        for one in order:
            self._create(one)

    def _check(self, tables: Set[str]) -> None:
        """Refuse tables whose files are not as they were written; look once in a session.

        Raises
        ------
        TraceError
            One is damaged, or another trace stands in the place of this one.
        """
        self._check_place()
        check(self.path, self.manifest, sorted(tables - self._checked))
        self._checked |= tables

    def _check_place(self) -> None:
        if not self._held.in_place:
            raise replaced_error(self.path)

    def _create(self, *found: Relation) -> None:
        due = [relation for relation in found if relation.name not in self._created]
        try:
            self._storage.create(due)
        except duckdb.Error as error:
            names = ", ".join(relation.name for relation in due)
            raise QueryError(f"{names}: {_first_line(error)}") from None
        self._check_place()  # others may have counted the files by their names
        self._created.update(relation.name for relation in due)


TraceLike: TypeAlias = Trace | str | Path | Frames
"""What verbs take for a trace: an open one, its folder, or tables in memory."""


@contextmanager
def open_trace(
    trace: TraceLike,
    run_policy: RunPolicy | str | None = None,
    *,
    otherwise: RunPolicy = RunPolicy.SPAN,
    executor: Executor | None = None,
) -> Iterator[Trace]:
    """Give a trace that is open already, or open one for as long as the block runs.

    Parameters
    ----------
    run_policy
        How attempts become a job's run time; None: as the trace was opened, `otherwise` for a
        folder.
    executor
        Where samples of a folder are counted: see :class:`Trace`.

    Raises
    ------
    TraceError
        The folder is no trace, or the trace is open with another run policy.
    """
    if not isinstance(trace, Trace):
        with Trace(trace, run_policy=run_policy or otherwise, executor=executor) as made:
            yield made
        return
    if run_policy not in (None, trace.run_policy):
        raise TraceError(
            f"{trace.path.name} is open with a run time that is the {trace.run_policy.meaning}; "
            f"to ask with {run_policy}, give its folder, or open it so."
        )
    yield trace


def replaced_error(path: Path) -> TraceError:
    """Say of a trace that is open that another stands in its place now."""
    return TraceError(f"{path} was replaced since it was opened. Open it again.")


def evaluate(
    tables: "Mapping[str, pl.DataFrame]", name: str, *, run_policy: RunPolicy | str = RunPolicy.SUM
) -> "pl.DataFrame":
    """Answer one relation of the package on tables in memory, as a trace of them would.

    Parameters
    ----------
    tables
        Tables of the schema by name, with all their columns.
    name
        A relation that these tables suffice for.
    run_policy
        How attempts become a job's run time.
    """
    order, _ = required_relations([name])
    with duckdb.connect() as con:
        silence(con)
        con.execute(MACROS)
        _settings(con, run_policy)
        for table, frame in tables.items():
            con.register(table, frame.to_arrow())
        _given(con, tables)
        for relation in order:
            con.sql(relation.sql).create_view(relation.name)
        answer: pl.DataFrame = con.table(name).pl()
        return answer


def _settings(con: duckdb.DuckDBPyConnection, run_policy: RunPolicy | str) -> set[str]:
    """Create the relation that holds what a trace was opened with, and return its name."""
    if run_policy not in list(RunPolicy):
        raise UnknownNameError("run policy", run_policy, list(RunPolicy))
    con.execute(f"create table {_SETTINGS} as select $p as run_policy", {"p": str(run_policy)})
    return {_SETTINGS}


def _given(con: duckdb.DuckDBPyConnection, present: Collection[str]) -> set[str]:
    """Create the views of _GIVEN, empty where a table is absent, and return their names."""
    for name, table in _GIVEN.items():
        columns = ", ".join(f'null::{c.type} as "{c.name}"' for c in table.columns)
        con.execute(
            f"create view {name} as from {table.name}"
            if table.name in present
            else f"create view {name} as select {columns} where false"
        )
    return set(_GIVEN)


def _connect(paths: Iterable[Path], scratch: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("set memory_limit = $limit", {"limit": MEMORY_LIMIT})
    con.execute("set temp_directory = $folder", {"folder": str(scratch)})
    con.execute("set preserve_insertion_order = false")
    silence(con)
    allowed = [text for path in paths for text in (str(path), escape_glob(path))] + [str(scratch)]
    con.execute("set allowed_directories = $folders", {"folders": allowed})
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    con.execute(MACROS)
    return con


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
