"""A Workload is the jobs to run and the machines to run them on, from a trace or to one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Self

import polars as pl

from philly_analysis.manifest import Manifest
from philly_analysis.schema import ATTEMPTS, JOBS, MACHINES, PLACEMENTS, VIRTUAL_CLUSTERS, Table
from philly_analysis.trace import Trace
from philly_analysis.writer import write

_TABLES = (JOBS, ATTEMPTS, MACHINES, PLACEMENTS, VIRTUAL_CLUSTERS)


@dataclass(frozen=True, slots=True)
class AttemptSpec:
    """One attempt of a job: how long it runs, and how it then ends (see schema.END_REASONS)."""

    run_s: float
    end_reason: str | None = None


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job to run.

    Attributes
    ----------
    submit_s
        Seconds after the workload's origin.
    attempts
        What happens to it, attempt after attempt; the last one decides the status.
    """

    job_id: str
    vc: str
    user: str
    gpus: int
    submit_s: float
    attempts: tuple[AttemptSpec, ...]
    status: str | None = None
    cpus: float | None = None
    mem_gb: float | None = None
    job_type: str | None = None
    time_limit_s: float | None = None

    @property
    def run_s(self) -> float:
        """Seconds of service that it needs in all."""
        return sum(a.run_s for a in self.attempts)


@dataclass(frozen=True, slots=True)
class Machine:
    """A server to run jobs on."""

    machine_id: str
    gpus: int
    cpus: float | None = None
    mem_gb: float | None = None
    gpu_model: str | None = None
    rack: str | None = None


def _none(table: Table) -> pl.DataFrame:
    frame = pl.from_arrow(table.arrow.empty_table())
    assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table, not an array, went in
    return frame


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs, their attempts, and machines, as frames with the columns of the schema's tables.

    A workload that was sampled is the trace of an infinite cluster where nobody waits: each
    attempt starts when its job is submitted or the attempt before has ended.

    Attributes
    ----------
    jobs, attempts, machines, placements, virtual_clusters
        Frames with the columns of the tables of these names; the last three may be empty.
    synthetic
        True unless every row was recorded on a real cluster.
    notes
        What a reader should know: assumptions, seeds, sources.
    trace
        Folder of the trace that it came from, for readers that also want its samples.
    """

    name: str
    jobs: pl.DataFrame
    attempts: pl.DataFrame
    machines: pl.DataFrame = field(default_factory=lambda: _none(MACHINES))
    placements: pl.DataFrame = field(default_factory=lambda: _none(PLACEMENTS))
    virtual_clusters: pl.DataFrame = field(default_factory=lambda: _none(VIRTUAL_CLUSTERS))
    synthetic: bool = True
    notes: tuple[str, ...] = ()
    trace: Path | None = None

    @classmethod
    def from_trace(cls, trace: Trace | str | Path) -> Self:
        """Read the workload of a trace: all its small tables, as recorded."""
        if not isinstance(trace, Trace):
            with Trace(trace) as opened:
                return cls.from_trace(opened)
        frames = {
            t.name: trace.answer(t.name).pl() if t.name in trace.tables else _none(t)
            for t in _TABLES
        }
        return cls(
            name=trace.manifest.name,
            synthetic=trace.manifest.synthetic,
            notes=trace.manifest.notes,
            trace=trace.path,
            **frames,
        )

    def to_trace(self, out: str | Path, *, source: str, force: bool = False) -> Path:
        """Write the workload as a trace; empty optional tables are left out.

        Raises
        ------
        TraceError
            A row breaks the contract of its table, or the folder cannot be written.
        """
        frames = {t.name: getattr(self, t.name) for t in _TABLES}
        present = {n: f for n, f in frames.items() if n in ("jobs", "attempts") or f.height}
        manifest = Manifest(
            name=self.name, source=source, synthetic=self.synthetic, notes=self.notes
        )
        return write(out, present, manifest, force=force)

    @property
    def origin_at(self) -> datetime | None:
        """First submission, from which ``JobSpec.submit_s`` counts; None without jobs."""
        first = self.jobs["submitted_at"].min()
        return first if isinstance(first, datetime) else None

    def specs(self) -> Iterator[JobSpec]:
        """Yield the jobs whose gang and whose attempts' times are known, by submission.

        Jobs without GPUs, and jobs none of whose attempts has both times, are left out.
        """
        runs = (
            self.attempts.filter(
                pl.col("started_at").is_not_null() & pl.col("ended_at").is_not_null()
            )
            .sort("job_id", "attempt")
            .with_columns(
                run_s=(pl.col("ended_at") - pl.col("started_at")).dt.total_microseconds() / 1e6
            )
            .group_by("job_id", maintain_order=True)
            .agg("run_s", "end_reason")
        )
        jobs = (
            self.jobs.filter(pl.col("gpus") > 0)
            .with_columns(
                submit_s=(pl.col("submitted_at") - pl.lit(self.origin_at)).dt.total_microseconds()
                / 1e6
            )
            .join(runs, on="job_id")
            .sort("submit_s", "job_id")
        )
        for row in jobs.iter_rows(named=True):
            yield JobSpec(
                job_id=row["job_id"],
                vc=row["vc"] or "",
                user=row["user"] or "",
                gpus=row["gpus"],
                submit_s=row["submit_s"],
                attempts=tuple(map(AttemptSpec, row["run_s"], row["end_reason"])),
                status=row["status"],
                cpus=row["cpus"],
                mem_gb=row["mem_gb"],
                job_type=row["job_type"],
                time_limit_s=row["time_limit_s"],
            )

    def servers(self) -> list[Machine]:
        """Return the machines, by identifier."""
        columns = ("machine_id", "gpus", "cpus", "mem_gb", "gpu_model", "rack")
        return [
            Machine(*row) for row in self.machines.select(columns).sort("machine_id").iter_rows()
        ]
