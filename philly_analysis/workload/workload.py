"""Workload: the jobs to run and the machines to run them on, read from or written to a trace."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import duckdb
import polars as pl

from philly_analysis.errors import WorkloadError
from philly_analysis.results import save_table
from philly_analysis.study import RunPolicy
from philly_analysis.trace import (
    ATTEMPTS,
    JOBS,
    MACHINES,
    PLACEMENTS,
    VIRTUAL_CLUSTERS,
    Frame,
    Manifest,
    Table,
    Trace,
    TraceLike,
    evaluate,
    write_trace,
)
from philly_analysis.workload.changes import Changeable, Changes
from philly_analysis.workload.demand import demand_of
from philly_analysis.workload.job import JobSpec
from philly_analysis.workload.job_specs import job_specs
from philly_analysis.workload.load import stretch_arrivals, stretch_factor
from philly_analysis.workload.machines import RECORDED, Machine, machine_rows
from philly_analysis.workload.resampling import at_rate
from philly_analysis.workload.target import ASSUMED_CLUSTER, Cluster, target_cluster

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    class _Relation:
        """Tell type checkers that any frame is stored as a relation."""

        def __get__(self, workload: object, kind: object = None) -> duckdb.DuckDBPyRelation: ...
        def __set__(self, workload: object, value: Frame) -> None: ...


CHOSEN_JOBS = "job_id in (select unnest($names::varchar[]))"
"""Condition of a query on the jobs whose identifiers are the value of ``$names``."""

Redraw = Callable[[float, int], "Workload"]
"""Draws a workload again: from an offered load and a number of GPUs."""

_NO_ROWS: Any = None
_TABLES = (JOBS, ATTEMPTS, MACHINES, PLACEMENTS, VIRTUAL_CLUSTERS)


def _empty(table: Table) -> pl.DataFrame:
    frame = pl.from_arrow(table.arrow.empty_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table, not an array, went in
    return frame


def _rows_of(trace: Trace, table: Table, names: Sequence[str] | None) -> pl.DataFrame:
    """Return the rows of a trace's table, of some jobs if names are given."""
    rows = trace.answer(table.name)
    if names is not None and "job_id" in table.column_names:
        chosen = f"select * from {table.name} where {CHOSEN_JOBS}"
        rows = trace.sql(chosen, names=names)
    return pl.DataFrame(rows.pl())


def _completed(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """Return a frame with all columns of its table and their types; missing columns are null."""
    absent = [c.name for c in table.columns if not c.nullable and c.name not in frame.columns]
    if absent:
        raise WorkloadError(f"the {table.name} of a workload lack {', '.join(absent)}.")
    if unknown := set(frame.columns) - set(table.column_names):
        raise WorkloadError(f"{table.name} have no column {', '.join(sorted(unknown))}.")
    return frame.select(
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in _empty(table).schema.items()
    )


@dataclass(frozen=True, slots=True)
class Workload(Changeable):
    """Jobs, their attempts, and machines, with the columns of the schema's tables.

    A sampled workload is the trace of an infinite cluster without waits: each attempt starts when
    its job is submitted or the previous attempt ends.

    Attributes
    ----------
    jobs, attempts, machines, placements, virtual_clusters
        Table of each name, a :class:`duckdb.DuckDBPyRelation` as in a trace, from a frame of
        pandas, polars, Arrow or DuckDB. By default a table is empty. Missing nullable columns are
        added as nulls.
    synthetic
        True unless every row was recorded on a real cluster.
    notes
        Assumptions, seeds and sources.
    trace
        Folder of the trace that the workload was read from, for its samples.
    changes
        Changes of the jobs that a simulation applies.

    Raises
    ------
    WorkloadError
        There are no jobs, or a frame lacks a required column of its table, or has an unknown one.
    """

    name: str
    jobs: "_Relation" = _NO_ROWS
    attempts: "_Relation" = _NO_ROWS
    machines: "_Relation" = _NO_ROWS
    placements: "_Relation" = _NO_ROWS
    virtual_clusters: "_Relation" = _NO_ROWS
    synthetic: bool = True
    notes: tuple[str, ...] = ()
    trace: Path | None = None
    changes: Changes = field(default_factory=Changes)
    frames: dict[str, pl.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Each table as a polars frame, by name."""
    _answers: dict[tuple[str, str], pl.DataFrame] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    redraw: "Redraw | None" = field(default=None, init=False, repr=False, compare=False)
    """Draws the jobs at an offered load on so many GPUs; None: not as a model drew them."""

    def __post_init__(self) -> None:
        if self.jobs is _NO_ROWS:
            raise WorkloadError("there are no jobs. Use Workload.from_trace(jobs), of a frame.")
        for table in _TABLES:
            frame = getattr(self, table.name)
            if isinstance(frame, duckdb.DuckDBPyRelation):
                frame = frame.pl()
            rows = _completed(_empty(table) if frame is None else pl.DataFrame(frame), table)
            self.frames[table.name] = rows
            object.__setattr__(self, table.name, duckdb.from_arrow(rows))

    def __reduce__(self) -> tuple[Any, ...]:
        others = {name: getattr(self, name) for name in ("synthetic", "notes", "trace", "changes")}
        return _unpickled, (self.name, self.frames, others, self._answers, self.redraw)

    @classmethod
    def from_trace(cls, trace: TraceLike, names: Sequence[str] | None = None) -> Self:
        """Read the workload of a trace: all its small tables, as recorded.

        Parameters
        ----------
        names
            Identifiers of the jobs to read; None: all jobs.
        """
        if not isinstance(trace, Trace):
            with Trace(trace) as opened:
                return cls.from_trace(opened, names)
        frames: dict[str, Any] = {
            t.name: _rows_of(trace, t, names) if t.name in trace.tables else _empty(t)
            for t in _TABLES
        }
        return cls(
            name=trace.manifest.name,
            synthetic=trace.manifest.synthetic,
            notes=trace.manifest.notes,
            trace=trace.path,
            **frames,
        )

    def to_trace(self, out: str | Path, *, source: str = "sample", force: bool = False) -> Path:
        """Write the workload as a trace, without its empty optional tables.

        Raises
        ------
        TraceError
            A row violates a rule of its table, or the folder cannot be written.
        WorkloadError
            The jobs have changes that only a simulation applies.
        """
        self.require_unchanged("a trace")
        manifest = Manifest(
            name=self.name, source=source, synthetic=self.synthetic, notes=self.notes
        )
        return write_trace(out, self.frames_with_rows, manifest, force=force)

    def require_unchanged(self, output: str) -> None:
        """Raise WorkloadError if the jobs have changes that only a simulation applies."""
        if names := self.changes.names():
            raise WorkloadError(
                f"{output} cannot hold the changes by {', '.join(names)}, which only a simulation "
                "applies. Give the workload without them."
            )

    def with_load(
        self,
        load: float,
        cluster: int | str | Sequence[Machine] | None = None,
        *,
        seed: int = 0,
    ) -> "Workload":
        """Return the workload at an offered load: the rate of submissions changes, days stay days.

        Jobs drawn from a model are drawn again at the other rate, as
        ``model.sample(…, offered=load)`` draws them. Recorded jobs are thinned, or copied whole
        weeks later: each job has the same expected number of copies. Recorded placements and
        samples no longer match, and are dropped. A workload without machines gets the machines of
        the assumed cluster. :meth:`stretched` keeps the jobs and changes the length of the day.

        Parameters
        ----------
        load
            Offered load (see :func:`~philly_analysis.workload.load.offered_load`).
        cluster
            Cluster that the load refers to: a number of GPUs in servers of 8, a text like
            ``240x8,288x2``, or machines. By default the workload's own machines.
        seed
            Seed that selects recorded jobs. Jobs drawn from a model keep their own seed.

        Raises
        ------
        WorkloadError
            The load is not above 0, the jobs offer none, or the cluster has no GPUs.
        """
        demand = demand_of(self)
        target = target_cluster(self, demand, cluster)
        if self.redraw is not None and load > 0:
            redrawn: Workload = self.redraw(load, target.gpus)
            return self._on(target, redrawn.with_changes(self.changes))
        runnable = demand.within(target.gpus)
        return self._on(target, at_rate(self, runnable, load, target.gpus, seed))

    def stretched(
        self, load: float, cluster: int | str | Sequence[Machine] | None = None
    ) -> "Workload":
        """Return the same jobs with submissions stretched in time to an offered load.

        The rhythm is stretched as well: with a factor of 2 a day lasts 48 hours. A note of the
        workload states the factor. :meth:`with_load` keeps days and changes the rate instead.

        Parameters
        ----------
        load, cluster
            Load and cluster, as in :meth:`with_load`.

        Raises
        ------
        WorkloadError
            The load is not above 0, the jobs offer none, or the cluster has no GPUs.
        """
        demand = demand_of(self)
        target = target_cluster(self, demand, cluster)
        runnable = demand.within(target.gpus)
        factor = stretch_factor(load, runnable.gpu_s, runnable.span_s, target.gpus)
        sentence = (
            f"Submissions are stretched in time by {factor:.3g}, to an offered load of {load:g} on "
            f"{target.gpus:,} GPUs: a day of the rhythm lasts {24 * factor:.3g} hours."
        )
        return self._on(target, stretch_arrivals(self, factor, sentence))

    def _on(self, target: Cluster, changed: "Workload") -> "Workload":
        """Return a changed workload, with the machines of an assumed cluster."""
        if not target.assumed:
            return changed
        notes = (*changed.notes, ASSUMED_CLUSTER)
        return replace(changed, machines=machine_rows(target.machines), notes=notes)

    def redrawn_by(self, redraw: "Redraw") -> "Workload":
        """Return the workload, which then remembers how its model draws it at another load."""
        object.__setattr__(self, "redraw", redraw)
        return self

    def with_changes(self, changes: Changes) -> "Workload":
        """Return the workload with these changes in place of its own."""
        changed = replace(self, changes=changes)
        return changed if self.redraw is None else changed.redrawn_by(self.redraw)

    def df(self) -> "pd.DataFrame":
        """Return one row per job, as :meth:`philly_analysis.Trace.df` does."""
        return self.answer("job_records").to_pandas()

    def head(self, n: int = 5) -> "pd.DataFrame":
        """Return the first `n` rows of :meth:`df`."""
        return self.df().head(n)

    def to_csv(self, path: str | Path) -> Path:
        """Write :meth:`df` as CSV.

        Raises
        ------
        OutputError
            The file cannot be written.
        """
        save_table(self.df(), Path(path))
        return Path(path)

    def plot(self) -> "Figure":
        """Plot an overview: submissions, and the GPUs that they would use without waiting."""
        from philly_analysis.results import figures

        with Trace(self.frames_with_rows) as trace:
            figure = trace.plot()
        figure.suptitle(self.name, fontsize=10)
        return figures.mark_synthetic(figure, synthetic=self.synthetic)

    @property
    def gpus(self) -> int:
        """Number of GPUs of the machines; 0 without machines."""
        return int(self.frames["machines"]["gpus"].sum())

    def __iter__(self) -> Iterator[JobSpec]:
        """Iterate over the jobs that can run, by submission (:meth:`specs`)."""
        return self.specs()

    def __len__(self) -> int:
        return self.frames["jobs"].height

    def __repr__(self) -> str:
        cluster = f"{self.gpus:,} GPUs" if self.gpus else "no machines"
        submitted = self.frames["jobs"]["submitted_at"]
        changes = "".join(f", {name}" for name in self.changes.names())
        return (
            f"Workload({self.name!r}: {len(self):,} jobs submitted from {submitted.min()!s} to "
            f"{submitted.max()!s}, "
            f"{cluster}{', synthetic' if self.synthetic else ''}{changes})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.df().to_html(max_rows=10, border=0, index=False)}"

    @property
    def frames_with_rows(self) -> dict[str, pl.DataFrame]:
        """The frames of jobs and attempts, and other frames that are not empty, by name."""
        return {n: f for n, f in self.frames.items() if n in ("jobs", "attempts") or f.height}

    def answer(self, name: str, *, run_policy: RunPolicy | str = RunPolicy.SUM) -> pl.DataFrame:
        """Return one relation of the package, computed on this workload."""
        return self.answers([name], run_policy=run_policy)[name]

    def answers(
        self, names: Sequence[str], *, run_policy: RunPolicy | str = RunPolicy.SUM
    ) -> dict[str, pl.DataFrame]:
        """Return relations of the package by name, each computed once on this workload."""
        missing = [name for name in names if (name, str(run_policy)) not in self._answers]
        if missing:
            frames = evaluate(self.frames, missing, run_policy=run_policy)
            self._answers.update({(n, str(run_policy)): frame for n, frame in frames.items()})
        return {name: self._answers[name, str(run_policy)] for name in names}

    @property
    def origin_at(self) -> datetime | None:
        """First submission of a job that is not excluded; ``JobSpec.submit_s`` counts from it.

        None: there is no such job.
        """
        jobs = self.answer("workload_jobs")
        first = jobs.filter(pl.col("left_out").is_null())["submitted_at"].min()
        return first if isinstance(first, datetime) else None

    def specs(self, *, stays: bool = False) -> Iterator[JobSpec]:
        """Yield the jobs that are not excluded (see ``workload_jobs``), by submission.

        Parameters
        ----------
        stays
            Whether attempts include where and when they ran.
        """
        return job_specs(self, stays=stays)

    def servers(self) -> list[Machine]:
        """Return the machines, by identifier."""
        ordered = self.frames["machines"].select(RECORDED).sort("machine_id")
        return [Machine(**row) for row in ordered.iter_rows(named=True)]


def _unpickled(
    name: str,
    frames: dict[str, Any],
    others: dict[str, Any],
    answers: dict[tuple[str, str], pl.DataFrame],
    redraw: "Redraw | None",
) -> Workload:
    """Return the workload that another process pickled: relations cannot be pickled."""
    workload = Workload(name, **frames, **others)
    workload._answers.update(answers)
    return workload if redraw is None else workload.redrawn_by(redraw)
