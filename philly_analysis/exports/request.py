"""What a writer has to work with: a workload walked once, and the cluster it is meant for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.estimates import estimated_s
from philly_analysis.exports.gangs import PART, fitted
from philly_analysis.exports.sanitize import safe
from philly_analysis.study import Estimates, Gangs, RunPolicy
from philly_analysis.workload import (
    Cluster,
    Demand,
    Machine,
    Workload,
    cluster,
    demand_of,
    factor_to,
    offered_load,
    quotas_of,
    some,
    stretched,
)


@dataclass(frozen=True, slots=True)
class Request:
    """A workload, prepared for any format.

    Attributes
    ----------
    workload
        As it is to be written: its submissions are stretched where a load was asked for.
    whole
        All jobs of the workload that can be run.
    demand
        Those of them that the dialect takes.
    jobs
        The same, with what most formats write, made once. Beside the columns of
        :class:`~philly_analysis.workload.demand.Demand`: ``id``, ``user_id`` and ``vc_id`` (names
        that no text format breaks), ``duration_s`` (run time in whole seconds, at least 1),
        ``cpus_due`` and ``mem_gb_due`` (as asked for, else a server's share by GPU), ``part`` (of
        a gang that was split, else null).
    cluster
        The cluster that the jobs are meant for.
    estimates
        What a scheduler is told of run times; None: the format has no place for it.
    made
        Sentences: what was done to gangs so that the reader takes them.
    stretch
        Factor on the time between submissions; 1: as in the workload.
    throughputs
        The consumer's own file (or folder) of measured speeds.
    """

    workload: Workload
    whole: Demand
    demand: Demand
    jobs: pl.DataFrame
    cluster: Cluster
    rng: np.random.Generator
    run_policy: RunPolicy
    estimates: Estimates | None = None
    made: tuple[str, ...] = ()
    stretch: float = 1.0
    throughputs: Path | None = None

    @property
    def nodes(self) -> int:
        """Servers of the cluster's usual size that have its GPUs, for readers that know one."""
        return -(-self.cluster.gpus // self.cluster.server.gpus)

    @property
    def measured(self) -> Path:
        """The consumer's own file of speeds, where the dialect cannot do without."""
        if self.throughputs is None:
            raise ExportError("the consumer's own file of measured speeds is missing.")
        return self.throughputs

    @property
    def offered_load(self) -> float | None:
        """Load that the jobs offer the cluster; None where it is not defined."""
        return offered_load(self.demand.gpu_s, self.demand.span_s, self.cluster.gpus)

    def estimated_s(self) -> pl.Series:
        """Return what a scheduler is told of each job's run time, in s."""
        return estimated_s(self.estimates or Estimates.EXACT, self.jobs, self.rng)

    def quotas(self) -> tuple[dict[str, int], str]:
        """Return GPUs by virtual cluster, given or estimated as everywhere, and which of these."""
        return quotas_of(self.workload, self.cluster.gpus)


def prepare(
    workload: Workload,
    *,
    run_policy: RunPolicy,
    seed: int,
    sizes: Sequence[int] | None = None,
    gangs: Gangs = Gangs.DROP,
    estimates: Estimates | None = None,
    load: float | None = None,
    gpus: int | None = None,
    machines: Sequence[Machine] | None = None,
    throughputs: Path | None = None,
    timed: bool = True,
) -> Request:
    """Walk a workload once, for whatever format it is to be written in.

    Parameters
    ----------
    sizes
        Gang sizes that the reader takes; None: all.
    gangs
        What becomes of other gangs.
    estimates
        What a scheduler is told of run times.
    load
        Offered load wanted on the cluster; None: submissions stay as they are.
    gpus, machines
        The cluster; neither: the workload's own, else one that is assumed.
    timed
        False where the reader needs no run times, so that there may be no job with one.

    Raises
    ------
    WorkloadError
        No job can be run, a cluster without GPUs was asked for, or a load and the jobs offer none.
    """
    whole = demand_of(workload, run_policy)
    if timed:
        whole = some(whole)
    target = cluster(workload, whole, gpus=gpus, machines=machines)
    needs = whole
    made: tuple[str, ...] = ()
    if timed:
        needs = needs.within(target.gpus)
    if sizes is not None:
        needs, made = fitted(needs, sizes, gangs)
    if timed:
        needs = some(needs)
    factor = 1.0
    if load is not None:
        factor = factor_to(load, needs.gpu_s, needs.span_s, target.gpus)
    if factor != 1:
        workload, needs = stretched(workload, factor), needs.stretched(factor)
    server, asked = target.server, needs.jobs
    if PART not in asked.columns:
        asked = asked.with_columns(pl.lit(None, pl.Int64).alias(PART))
    name = safe(asked["job_id"])
    return Request(
        workload=workload,
        whole=whole,
        demand=needs,
        jobs=asked.with_columns(
            pl.when(pl.col(PART).is_not_null())
            .then(pl.format("{}:{}", name, PART))
            .otherwise(name)
            .alias("id"),
            safe(asked["user"]).alias("user_id"),
            safe(asked["vc"]).alias("vc_id"),
            duration_s=pl.col("run_s").round().cast(pl.Int64).clip(1),
            cpus_due=pl.coalesce("cpus", pl.col("gpus") * ((server.cpus or 0) / server.gpus)),
            mem_gb_due=pl.coalesce("mem_gb", pl.col("gpus") * ((server.mem_gb or 0) / server.gpus)),
        ),
        cluster=target,
        rng=np.random.default_rng(seed),
        run_policy=run_policy,
        estimates=estimates,
        made=made,
        stretch=factor,
        throughputs=throughputs,
    )
