"""Prepare a workload for export: its jobs, run times and target cluster, computed once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.dialect import Dialect
from philly_analysis.exports.estimates import estimated_s
from philly_analysis.exports.gangs import PART, adapt_gangs
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.study import Estimates, Gangs, RunPolicy
from philly_analysis.workload import (
    Cluster,
    Demand,
    Machine,
    Workload,
    demand_of,
    offered_load,
    quotas_of,
    require_jobs,
    target_cluster,
)


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """How to export a workload: the options of :func:`philly_analysis.export`."""

    dialect: str | None
    load: float | None
    seed: int
    gpus: int | None
    machines: str | Sequence[Machine] | None
    throughputs: Path | str | None
    run_policy: RunPolicy | str
    gangs: Gangs | str
    estimates: Estimates | str | None
    partial: bool
    force: bool


@dataclass(frozen=True, slots=True)
class Request:
    """A workload, prepared for a dialect.

    Attributes
    ----------
    workload
        The workload to write, at the requested load.
    runnable
        All jobs of the workload that can be run.
    demand
        Runnable jobs that the dialect accepts.
    jobs
        Jobs of `demand`, with further columns that most formats write: ``id``, ``user_id`` and
        ``vc_id`` (names that no text format breaks), ``duration_s`` (run time in whole seconds, at
        least 1), ``cpus_due`` and ``mem_gb_due`` (as requested, else a server's share by GPU),
        ``part`` (of a gang that was split, else null).
    cluster
        The target cluster.
    estimates
        Kind of estimated run times; None: the format holds none.
    gang_notes
        Sentences: changes to gangs, so that the program accepts them.
    throughputs
        The program's own file (or folder) of measured speeds.
    """

    dialect: Dialect
    workload: Workload
    runnable: Demand
    demand: Demand
    jobs: pl.DataFrame
    cluster: Cluster
    rng: np.random.Generator
    run_policy: str
    estimates: Estimates | None
    gang_notes: tuple[str, ...]
    throughputs: Path | None

    @property
    def nodes(self) -> int:
        """Servers of the cluster's usual size that have its GPUs, for readers that know one."""
        return -(-self.cluster.gpus // self.cluster.server.gpus)

    @property
    def speeds_file(self) -> Path:
        """The program's own file of measured speeds, for dialects that require it.

        Raises
        ------
        ExportError
            The request has none.
        """
        if self.throughputs is None:
            raise ExportError(
                f"{self.dialect} needs {self.dialect.throughputs}, which is not part of this "
                "package: give its path as throughputs=PATH."
            )
        return self.throughputs

    @property
    def offered_load(self) -> float | None:
        """Load that the jobs offer the cluster; None where it is not defined."""
        return offered_load(self.demand.gpu_s, self.demand.span_s, self.cluster.gpus)

    def estimated_s(self) -> pl.Series:
        """Return the estimate of each job's run time, in s."""
        return estimated_s(self.estimates or Estimates.EXACT, self.jobs, self.rng)

    def with_file_name(self, sentences: Sequence[str]) -> list[str]:
        """Return sentences that name the program's own file."""
        name = self.throughputs and self.throughputs.name
        return [Template(sentence).substitute(throughputs=name) for sentence in sentences]

    def quotas(self) -> tuple[dict[str, int], str]:
        """Return GPUs by virtual cluster, and a sentence on where they come from."""
        return quotas_of(self.workload, self.cluster.gpus)


def prepare(workload: Workload, dialect: Dialect, options: ExportOptions) -> Request:
    """Prepare a workload for a dialect.

    Raises
    ------
    ExportError
        The dialect has no field for estimated run times, and some are requested.
    UnknownNameError
        There is no such run policy, treatment of gangs or kind of estimates.
    WorkloadError
        No job can be run, the cluster has no GPUs, or the jobs offer no load to rescale.
    """
    estimates = _estimates(dialect, options.estimates)
    if options.gangs not in list(Gangs):
        raise UnknownNameError("treatment of gangs", options.gangs, list(Gangs))
    workload.require_unchanged("an export")
    cluster = options.gpus if options.machines is None else options.machines
    runnable = demand_of(workload, options.run_policy)
    if dialect.timed:
        runnable = require_jobs(runnable)
    target = target_cluster(workload, runnable, cluster)
    demand, gang_notes = _accepted(runnable, dialect, target, options.gangs)
    if options.load is not None:
        # the load counts jobs that the dialect accepts
        kept = demand.gpu_s / (runnable.within(target.gpus).gpu_s or 1.0)
        load = options.load / (kept or 1.0)
        workload = workload.with_load(load, target.machines, seed=options.seed)
        runnable = demand_of(workload, options.run_policy)
        demand, gang_notes = _accepted(runnable, dialect, target, options.gangs)
    server, jobs = target.server, demand.jobs
    if PART not in jobs.columns:
        jobs = jobs.with_columns(pl.lit(None, pl.Int64).alias(PART))
    name = plain_names(jobs["job_id"])
    is_part = pl.col(PART).is_not_null()
    return Request(
        dialect=dialect,
        workload=workload,
        runnable=runnable,
        demand=demand,
        jobs=jobs.with_columns(
            id=pl.when(is_part).then(pl.format("{}:{}", name, PART)).otherwise(name),
            user_id=plain_names(jobs["user"]),
            vc_id=plain_names(jobs["vc"]),
            duration_s=pl.col("run_s").round().cast(pl.Int64).clip(1),
            cpus_due=pl.coalesce("cpus", pl.col("gpus") * ((server.cpus or 0) / server.gpus)),
            mem_gb_due=pl.coalesce("mem_gb", pl.col("gpus") * ((server.mem_gb or 0) / server.gpus)),
        ),
        cluster=target,
        rng=np.random.default_rng(options.seed),
        run_policy=str(options.run_policy),
        estimates=estimates,
        gang_notes=gang_notes,
        throughputs=None if options.throughputs is None else Path(options.throughputs),
    )


def _accepted(
    runnable: Demand, dialect: Dialect, target: Cluster, gangs: Gangs | str
) -> tuple[Demand, tuple[str, ...]]:
    """Return the jobs that a dialect accepts, and sentences on adapted gangs."""
    demand = runnable.within(target.gpus) if dialect.timed else runnable
    gang_notes: tuple[str, ...] = ()
    if dialect.gangs:
        demand, gang_notes = adapt_gangs(demand, dialect.gangs, Gangs(gangs))
    return (require_jobs(demand) if dialect.timed else demand), gang_notes


def _estimates(dialect: Dialect, wanted: Estimates | str | None) -> Estimates | None:
    """Return the kind of estimates to write; None if the format holds none."""
    if wanted is None:
        return Estimates(dialect.estimates[0]) if dialect.estimates else None
    if wanted not in list(Estimates):
        raise UnknownNameError("kind of estimates", wanted, list(Estimates))
    if wanted not in dialect.estimates:
        raise ExportError(f"{dialect} has no field for estimated run times: omit estimates=.")
    return Estimates(wanted)
