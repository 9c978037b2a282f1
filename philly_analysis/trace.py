"""A Trace is a folder of tables, opened read-only for questions in SQL."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from philly_analysis.errors import MissingTableError, QueryError, TraceError, UnknownNameError
from philly_analysis.manifest import MANIFEST, Manifest
from philly_analysis.progress import silence, step
from philly_analysis.relations import MACROS, Relation, needed, relations, tables_read
from philly_analysis.schema import REJECTS, TABLES, VIRTUAL_CLUSTERS
from philly_analysis.study import RunPolicy

MEMORY_LIMIT = "1200MB"
"""What the engine may hold before it spills to disk."""

_SETTINGS = "settings"
_QUOTAS = "given_quotas"
_DERIVED = "derived"


class Trace:
    """A folder of tables, opened read-only for questions in SQL.

    Use as a context manager, or call :meth:`close`. Relations of the package are created when
    a question first reads them, and the ones marked ``stored`` are written into the trace once.

    Parameters
    ----------
    path
        Folder that `ingest`, `sample` or `simulate` wrote.
    run_policy
        How attempts become a job's run time, in every analysis of this trace.

    Raises
    ------
    TraceError
        The folder is missing or holds no manifest.
    """

    def __init__(self, path: str | Path, *, run_policy: RunPolicy | str = RunPolicy.SPAN) -> None:
        self.path = Path(path).resolve()
        manifest = self.path / MANIFEST
        if not manifest.is_file():
            raise TraceError(
                f"{path} is not a trace: it has no {MANIFEST}. Make one with "
                "`philly ingest SOURCE RAW OUT`."
            )
        if run_policy not in list(RunPolicy):
            raise UnknownNameError("run policy", run_policy, list(RunPolicy))
        try:
            self._manifest_text = manifest.read_text("utf-8")
            self.manifest = Manifest.from_json(self._manifest_text)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise TraceError(
                f"{manifest} cannot be read: {error}. Ingest the trace again."
            ) from None
        self.run_policy = RunPolicy(run_policy)
        self._scratch = tempfile.TemporaryDirectory(prefix="philly-", ignore_cleanup_errors=True)
        self._con = _connect(self.path, Path(self._scratch.name))
        self._con.execute(
            f"create table {_SETTINGS} as select $p as run_policy", {"p": self.run_policy.value}
        )
        self._created = {_SETTINGS}
        self.tables = frozenset(t for t in TABLES if _files(self.path, t))
        try:
            for name in (*self.tables, REJECTS.name):
                if files := _files(self.path, name):
                    self._con.read_parquet(files).create_view(name)
                    self._created.add(name)
            # relations must be able to ask for quotas where there are none
            self._con.execute(
                f"create view {_QUOTAS} as select vc, gpus from {VIRTUAL_CLUSTERS.name}"
                if VIRTUAL_CLUSTERS.name in self.tables
                else f"create table {_QUOTAS} (vc varchar, gpus integer)"
            )
            self._created.add(_QUOTAS)
        except duckdb.Error as error:
            self.close()
            raise TraceError(f"{path}: {_first_line(error)}. Ingest the trace again.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        rows = ", ".join(f"{t} {self.manifest.rows.get(t, 0):,}" for t in sorted(self.tables))
        return f"Trace({self.path.name!r}: {rows})"

    def close(self) -> None:
        """Close the connection and remove what it had spilled to disk."""
        self._con.close()
        self._scratch.cleanup()

    def has(self, name: str) -> bool:
        """Tell whether a table is here, or a relation can be computed from the tables here."""
        _, others = needed([name])
        return others <= self._created

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

    def create(self, names: frozenset[str] | list[str]) -> None:
        """Create the views that `names` need, and write the stored ones where they are due."""
        order, others = needed(names)
        for name in sorted(others - self._created):
            if name in TABLES:
                wanted = ", ".join(sorted(set(names) - {name})) or "this"
                raise MissingTableError(
                    f"{wanted} needs the table {name}, which this trace does not have. "
                    f"It has: {', '.join(sorted(self.tables)) or 'no tables'}."
                )
            raise UnknownNameError("table or relation", name, [*TABLES, *relations()])
        for relation in order:
            if relation.name not in self._created:
                self._create(relation)
                self._created.add(relation.name)

    def _create(self, relation: Relation) -> None:
        try:
            if relation.stored:
                self._con.read_parquet(self._store(relation)).create_view(relation.name)
            else:
                self._con.sql(relation.sql).create_view(relation.name)
        except duckdb.Error as error:
            raise QueryError(f"{relation.name}: {_first_line(error)}") from None

    def _store(self, relation: Relation) -> list[str]:
        """Return the Parquet files of a stored relation, computed now if they are not there yet."""
        order, _ = needed([relation.name])
        # sorted: relations of equal rank come in an order that differs from process to process
        texts = [self._manifest_text, MACROS, *sorted(r.sql for r in order)]
        key = hashlib.sha256("\n".join(texts).encode())
        folder = self.path / _DERIVED / f"{relation.name}-{key.hexdigest()[:12]}.parquet"
        if not folder.is_dir():
            partial = folder.with_suffix(f".partial-{os.getpid()}")
            try:
                partial.mkdir(parents=True)
                for stale in folder.parent.glob(f"{relation.name}-*.parquet/"):
                    shutil.rmtree(stale)
            except OSError:  # a trace on a read-only disk: keep it for this session only
                folder = Path(self._scratch.name) / folder.name
                partial = folder.with_suffix(".partial")
                partial.mkdir()
            try:
                with step(f"computing {relation.name}", self._con):
                    for part, _ in enumerate(self._slices(relation.sliced)):
                        file = partial / f"{part:05}.parquet"
                        self._con.sql(relation.sql).write_parquet(str(file), compression="zstd")
                if not folder.is_dir():  # somebody else was quicker
                    partial.rename(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return [_glob_safe(f) for f in sorted(folder.iterdir())]

    def _slices(self, table: str | None) -> Iterator[None]:
        """Show one week of a table of samples at a time while the loop runs; None: all, once.

        The groups of a week are then finished before the next week's begin, so that memory holds
        a week; over all samples at once the engine would spill most of what it reads.
        """
        if table is None:
            yield
            return
        files = self._con.read_parquet(_files(self.path, table))
        weeks = self._con.sql(
            f"select distinct date_trunc('week', sampled_at)::timestamp from {table} order by all"
        ).fetchall()
        sampled_at = duckdb.ColumnExpression("sampled_at")
        try:
            for (week,) in weeks or [(datetime.min,)]:
                begins, ends = (
                    duckdb.ConstantExpression(t) for t in (week, week + timedelta(weeks=1))
                )
                files.filter((sampled_at >= begins) & (sampled_at < ends)).create_view(
                    table, replace=True
                )
                yield
        finally:
            files.create_view(table, replace=True)


def _connect(path: Path, scratch: Path) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("set memory_limit = $limit", {"limit": MEMORY_LIMIT})
    con.execute("set temp_directory = $folder", {"folder": str(scratch)})
    con.execute("set preserve_insertion_order = false")
    silence(con)
    allowed = [str(path), _glob_safe(path), str(scratch)]
    con.execute("set allowed_directories = $folders", {"folders": allowed})
    con.execute("set enable_external_access = false")
    con.execute("set lock_configuration = true")
    con.execute(MACROS)
    return con


def _first_line(error: duckdb.Error) -> str:
    return str(error).split("\n", 1)[0]


def _glob_safe(path: Path) -> str:
    """Return a path in which the engine finds no wildcard."""
    return "".join(f"[{c}]" if c in "[*?" else c for c in str(path))


def _files(path: Path, table: str) -> list[str]:
    """Return the Parquet files of a table: ``jobs.parquet``, or all in ``gpu_samples/``."""
    file = path / f"{table}.parquet"
    return [
        _glob_safe(f)
        for f in ([file] if file.is_file() else sorted(path.glob(f"{table}/*.parquet")))
    ]
