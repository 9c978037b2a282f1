"""Open a trace, a folder of tables, for queries in SQL."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import finalize

import duckdb

from philly_analysis import memory
from philly_analysis.atomic import FolderHandle, scratch_folder
from philly_analysis.errors import QueryError, TraceError, UnknownNameError
from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.study import RunPolicy
from philly_analysis.trace.checksums import text_digest
from philly_analysis.trace.connection import connect, first_line, keep_with, parse_run_policy
from philly_analysis.trace.description import describe, dictionary
from philly_analysis.trace.folder import TraceFolder
from philly_analysis.trace.in_memory import FrameOptions, Frames, write_frames
from philly_analysis.trace.manifest import DERIVED, MANIFEST
from philly_analysis.trace.materialized import Materializer
from philly_analysis.trace.quotas import Quotas
from philly_analysis.trace.relations import relations, tables_read
from philly_analysis.trace.schema import TABLES
from philly_analysis.trace.selection import Selection
from philly_analysis.trace.views import Views
from philly_analysis.trace.writer import create_trace

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from philly_analysis.trace.gantt import By


class Trace:
    """A folder of tables, opened read-only for queries in SQL.

    Each table and relation is an attribute, a :class:`duckdb.DuckDBPyRelation` that is read when
    its rows are needed: ``trace.waits.filter("gpus > 8").df()``, ``trace.jobs.pl()``.

    Use a trace as a context manager, or call :meth:`close`. Relations of the package are created
    when a query first reads them. Relations marked ``materialized`` are written into the trace,
    once.

    Parameters
    ----------
    path
        Folder that `ingest`, `sample` or `simulate` wrote, or its address on object storage (see
        :mod:`philly_analysis.trace.object_storage`); or tables in memory (see
        :func:`philly_analysis.trace.in_memory.write_frames`): frames of pandas, polars or Arrow by
        the name of the table, or one frame of jobs.
    run_policy
        How attempts become a job's run time, in every analysis of this trace.
    quotas
        GPUs that each virtual cluster is entitled to, or a file with these numbers (see
        :func:`philly_analysis.trace.quotas.read_quotas`). The given quotas replace the recorded or
        estimated quotas in this session. To record quotas in the trace, ingest the logs with
        quotas.
    executor
        Where samples are counted: an executor, a number of processes, or the address of a Dask
        scheduler whose workers have the folder under the same path. None: threads of this process.
    columns, status
        For one frame of jobs: the schema's column by the frame's column, and the status (Pass,
        Killed, Failed) by the frame's word. Slurm's words need no entry.
    name, synthetic
        For tables in memory: name of the trace, and whether no real cluster recorded the jobs.

    Raises
    ------
    TraceError
        The folder is missing or holds no manifest; or frames lack a required column.
    """

    def __init__(
        self,
        path: str | Path | Frames,
        *,
        run_policy: RunPolicy | str = RunPolicy.SPAN,
        quotas: Quotas | None = None,
        executor: ExecutorLike = None,
        columns: Mapping[str, str] | None = None,
        status: Mapping[str, str] | None = None,
        name: str | None = None,
        synthetic: bool = False,
    ) -> None:
        if columns or status or name or synthetic:
            if isinstance(path, str | Path):
                raise TraceError(
                    "columns, status, name and synthetic describe tables in memory, not a folder."
                )
            options = FrameOptions(columns or {}, status or {}, name or "frames", synthetic)
            path = write_frames(path, options)
        self.run_policy = parse_run_policy(run_policy)
        self._opened = ExitStack()
        workers = self._opened.enter_context(open_executor(executor))
        self._folder = TraceFolder(path, quotas)
        self.path, self.manifest = self._folder.path, self._folder.manifest
        self._scratch = scratch_folder()
        jobs = self.manifest.rows.get("jobs", 0)
        self._con = connect(self._folder.folders, self._scratch, self.run_policy, jobs)
        keep_with(self._con, self._folder.handle)  # relations may outlive the trace
        self._materializer = Materializer(self._con, self._folder, self._scratch, workers)
        self._reads: dict[str, None] = {}
        self._remove: finalize[..., FolderHandle] | None = None
        try:
            self._views = Views(self._materializer)
        except (duckdb.Error, TraceError) as error:
            try:
                self._folder.check(self.manifest.files)  # the error names the damaged file
            finally:
                self.close()
            raise TraceError(f"{self.path}: {first_line(error)}. Ingest the trace again.") from None
        self.tables = self._views.tables

    @classmethod
    def temporary(cls, path: Path) -> Self:
        """Open a trace whose folder is removed when it is closed.

        The folder is also removed once neither the trace nor one of its relations is referenced.
        """
        trace = cls(path)
        trace._remove = finalize(trace._folder.handle, shutil.rmtree, path, ignore_errors=True)
        return trace

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            # without a path that never leads to another folder, the files may be another trace's
            may_be_another = error is None and self._folder.files == self._folder.path
            if may_be_another or isinstance(error, duckdb.Error | OSError):
                self._folder.check_in_place()
            if isinstance(error, duckdb.OutOfMemoryException):
                raise TraceError(f"{self.path}: {memory.lack()}") from error
            if isinstance(error, duckdb.IOException):
                raise TraceError(
                    f"{self.path}: {first_line(error)} Free some disk space, or set TMPDIR to a "
                    "folder with free space."
                ) from error
        finally:
            self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Trace, run_policy=self.run_policy), (self.path,)  # opened by who unpickles

    def __repr__(self) -> str:
        rows = ", ".join(f"{t} {self.manifest.rows.get(t, 0):,}" for t in sorted(self.tables))
        return f"Trace({self.path.name!r}: {rows})"

    def _repr_html_(self) -> str:
        title = f"<p>{escape(repr(self))}<br>{self.start} to {self.end} UTC</p>"
        return title + str(self.describe().to_html(index=False, border=0, na_rep=""))

    def __getattr__(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table or relation by its name: ``trace.waits``.

        Raises
        ------
        AttributeError
            There is no table or relation of this name; the message has the nearest name.
        MissingTableError
            The trace lacks the table, or a table that the relation needs.
        """
        if name.startswith("_"):  # Python's own look-ups
            raise AttributeError(name)
        try:
            return self.answer(name)
        except UnknownNameError as error:
            raise AttributeError(str(error)) from None

    def __getitem__(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table or relation by its name, as :meth:`answer` does."""
        return self.answer(name)

    def df(self) -> "pd.DataFrame":
        """Return one row per job, with its attempts' first start, last end and run time.

        Returns
        -------
        pandas.DataFrame
            The columns of ``jobs``, and started_at, ended_at (UTC), run_s (seconds, the sum of
            the attempts) and attempts (their number), by submission.
        """
        records: pd.DataFrame = self.answer("job_records").df()
        return records

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables, *relations()})

    @property
    def name(self) -> str:
        """Name of the trace."""
        return self.manifest.name

    @property
    def start(self) -> datetime:
        """Moment of the first submission, UTC."""
        return self._log_bounds[0]

    @property
    def end(self) -> datetime:
        """Last moment that the scheduler log records, UTC."""
        return self._log_bounds[1]

    @property
    def duration(self) -> timedelta:
        """Time from the first submission to the last recorded moment."""
        return self.end - self.start

    @cached_property
    def _log_bounds(self) -> tuple[datetime, datetime]:
        [(start, end)] = self.sql("select began_at, ended_at from snapshot").fetchall()
        return start, end

    @property
    def gpus(self) -> int:
        """Number of GPUs of the recorded machines.

        Raises
        ------
        MissingTableError
            The trace has no machines.
        """
        [(gpus,)] = self.sql("select gpus from cluster_size").fetchall()
        return int(gpus)

    @property
    def users(self) -> list[str]:
        """Names of the users, in order."""
        return self._names("user")

    @property
    def vcs(self) -> list[str]:
        """Names of the virtual clusters, in order."""
        return self._names("vc")

    def _names(self, column: str) -> list[str]:
        names = self.sql(f'select distinct "{column}" from jobs where "{column}" is not null')
        return sorted(name for (name,) in names.fetchall())

    def describe(self) -> "pd.DataFrame":
        """Describe the tables: their rows, the time that they span, and the account of raw rows.

        Returns
        -------
        pandas.DataFrame
            One row per table of the trace: table, rows, start and end (UTC; null: no times), read
            and rejected (raw rows; null: the source has none for this table), why (reasons of
            rejection with counts), one row is.
        """
        return describe(self.manifest, self.tables, self.sql)

    @property
    def schema(self) -> "pd.DataFrame":
        """The columns of the tables: table, column, type, unit, null, meaning."""
        return dictionary(name for name in TABLES if name in self.tables)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Plot an overview: submissions, GPUs in use, and queueing delay by gang size.

        Parameters
        ----------
        ax
            Axes of a figure of your own, whose space the panels divide.
        """
        from philly_analysis.results.figures import drawing_into
        from philly_analysis.trace.overview import overview

        gpus = self.gpus if self.has("cluster_size") else None
        with drawing_into(ax):
            return overview(self.name, self.answer, gpus, synthetic=self.manifest.synthetic)

    def gantt(self, day: str | date | None = None, *, by: "By" = "gang") -> "Figure":
        """Plot which servers jobs held during a day: servers by time, an image of bounded size.

        Parameters
        ----------
        day
            Day in UTC: ``"2017-11-07"``, or a date. None: the day with the most GPU hours
            allocated.
        by
            Meaning of the colours: ``"gang"`` (size) or ``"vc"`` (virtual cluster).

        Raises
        ------
        QueryError
            There is no such day, or no such colouring.
        TraceError
            No job held GPUs of a known server on that day.
        MissingTableError
            The trace has no placements or no machines.
        """
        from philly_analysis.trace.gantt import gantt

        return gantt(day, by, self.answer, name=self.name, synthetic=self.manifest.synthetic)

    @property
    def relations(self) -> "pd.DataFrame":
        """The tables and relations that can be queried: ``trace.waits``, or in SQL.

        A row per table and relation: name, here (whether this trace has it), row (the meaning of
        a row), question, reads.
        """
        import pandas as pd

        rows = [(n, n in self.tables, t.row, "", "") for n, t in TABLES.items()]
        rows += [
            (n, self.has(n), r.row, r.question, ", ".join(sorted(r.reads)))
            for n, r in sorted(relations().items())
        ]
        return pd.DataFrame(rows, columns=["name", "here", "row", "question", "reads"])

    def between(
        self, start: str | datetime | None = None, end: str | datetime | None = None
    ) -> "Trace":
        """Return a trace of the jobs submitted from `start` on, and before `end`.

        The trace has all attempts of the selected jobs, also attempts after `end`, and the samples
        from `start` to the end of the last attempt. The GPUs of other jobs are missing.

        Parameters
        ----------
        start, end
            Moments in UTC: ``"2017-11-01"``, ``"2017-11-01 08:00"``, or datetimes. By default
            the first submission, and the end of the trace.

        Raises
        ------
        QueryError
            `start` or `end` is no moment.
        TraceError
            No job was submitted between these moments.
        """
        bounds = (moment if moment is None else str(moment) for moment in (start, end))
        return self._select(Selection.between(*bounds))

    def where(self, condition: str = "", /, **values: object) -> "Trace":
        """Return a trace of the jobs that meet a condition.

        The trace lacks the GPUs of other jobs, so that questions about free GPUs are not answered.

        Parameters
        ----------
        condition
            An SQL condition on the columns of ``jobs``: ``"gpus > 8"``.
        **values
            Value of a column of ``jobs``, or a list of values: ``vc="vision"``,
            ``status=["Failed", "Killed"]``, ``user=None`` (unknown).

        Raises
        ------
        UnknownNameError
            ``jobs`` has no such column.
        QueryError
            The condition is not valid.
        TraceError
            No job meets the condition.
        """
        return self._select(Selection.where(condition, values))

    def save(self, folder: str | Path, *, force: bool = False) -> Path:
        """Copy the trace to a folder, so that a temporary trace is kept.

        Parameters
        ----------
        force
            Replace an existing trace.

        Raises
        ------
        TraceError
            The folder exists or cannot be written.
        """
        self._folder.check(self.manifest.files)
        with create_trace(folder, force=force) as out:
            for file in (*self.manifest.every_file, MANIFEST):
                (out / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.path / file, out / file)
        return Path(folder)

    def _select(self, selection: Selection) -> "Trace":
        return Trace(
            selection.write(self.sql, self.tables, self.manifest), run_policy=self.run_policy
        )

    def close(self) -> None:
        """Close the connection, and remove temporary files."""
        self._opened.close()
        self._materializer.close()
        self._con.close()
        self._folder.handle.close()
        if self._remove:
            self._remove()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def has(self, name: str) -> bool:
        """Return whether a table is here, or a relation can be computed from the tables here."""
        return self._views.can_create(name)

    def has_values(self, name: str) -> bool:
        """Return whether the trace has a table (``jobs``), or values in a column (``jobs.cpus``).

        A column without a value in any row counts as absent.
        """
        table, _, column = name.partition(".")
        if table not in self.tables or not column:
            return table in self.tables
        self._folder.check({table})
        values = self._con.table(table).filter(duckdb.ColumnExpression(column).isnotnull())
        return bool(values.limit(1).fetchall())

    def sql(self, query: str, /, **values: object) -> duckdb.DuckDBPyRelation:
        """Run one SELECT over the tables and relations of the trace.

        Parameters
        ----------
        query
            One SELECT; ``$name`` stands for a value.
        **values
            Value of each ``$name``.

        Returns
        -------
        duckdb.DuckDBPyRelation
            ``.df()`` returns a pandas frame, ``.pl()`` a polars frame, ``.to_arrow_table()`` an
            Arrow table.

        Raises
        ------
        QueryError
            The text is not one SELECT, or does not run.
        MissingTableError
            The text needs a table that this trace does not have.
        UnknownNameError
            The text reads a name that is neither a table nor a relation.
        """
        self.create(tables_read(query))
        try:
            return self._con.sql(query, params=values or None)
        except duckdb.Error as error:
            raise QueryError(first_line(error)) from None

    def answer(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table or relation by its name: ``select * from name``.

        Raises
        ------
        UnknownNameError
            There is no table or relation of this name.
        MissingTableError
            The trace lacks the table, or a table that the relation needs.
        """
        self.create([name])
        return self._con.table(name)

    @contextmanager
    def record_reads(self) -> Iterator[dict[str, None]]:
        """Record the names of the tables and relations that are read while the block runs.

        Yields
        ------
        dict
            The names as keys, in the order in which they were first read.
        """
        outer, self._reads = self._reads, {}
        try:
            yield self._reads
        finally:
            outer |= self._reads
            self._reads = outer

    def folders(self, kind: str, *texts: str) -> list[Path]:
        """Return folders for what is computed from this trace and `texts`.

        The first folder is in the trace. The second folder is in this session, in case the first
        folder cannot be written. Neither folder need exist.
        """
        name = f"{kind}-{text_digest(self._content, *texts)}"
        return [self.path / DERIVED / name, self._scratch / name]

    @cached_property
    def _content(self) -> str:
        sizes = [(self.path / file).stat().st_size for file in self.manifest.every_file]
        return text_digest(self._materializer.manifest_text, *map(str, sizes))

    def create(self, names: Iterable[str]) -> None:
        """Create the views that `names` need, and materialize relations where they are due."""
        names = sorted(names)
        self._reads |= dict.fromkeys(names)
        self._views.create(names)
