"""Simulate a what-if: a workload under a policy, written as a trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.assumptions import constraint_notes, fraction_notes
from philly_analysis.simulator.engine.event_loop import run
from philly_analysis.simulator.engine.outages import Failures, Outage, outages_of
from philly_analysis.simulator.engine.pools import Pool, assign_to_pools, divide_quotas, pool_notes
from philly_analysis.simulator.engine.prerun import run_first
from philly_analysis.simulator.engine.schedule import Schedule, merge_schedules
from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.simulator.output.samples import UTILISATION, Utilisation, write_gpu_samples
from philly_analysis.simulator.output.summary import summary_notes
from philly_analysis.simulator.output.tables import tables, with_interval
from philly_analysis.simulator.policies import Policy, policy_named, require_policy
from philly_analysis.simulator.preparation import prepare_jobs
from philly_analysis.simulator.speed.models import speed_named
from philly_analysis.simulator.speed.speed import Speed
from philly_analysis.trace import Manifest, TraceLike, create_trace, write_manifest, write_tables
from philly_analysis.workload import (
    ASSUMED_CLUSTER,
    Changes,
    Cluster,
    Machine,
    Workload,
    demand_of,
    largest_job_note,
    machines_of,
    quotas_of,
    target_cluster,
)

OUTAGES = "outages.parquet"
"""File beside the tables: failures and repairs, which ``outages`` accepts."""


def simulate(
    workload: Workload | TraceLike,
    policy: str | Policy,
    out: str | Path,
    *,
    cluster: int | str | Sequence[Machine] | None = None,
    knobs: Mapping[str, Any] | None = None,
    speed: Speed | str | None = None,
    outages: Failures | Sequence[Outage] | str | Path | None = None,
    checkpoint_s: float = 0.0,
    seed: int = 0,
    samples: bool | Utilisation = False,
    force: bool = False,
) -> Path:
    """Simulate a workload under a policy, and write the outcome as a trace.

    The trace's table ``known_causes`` has the causes of each wait. The file ``outages.parquet``
    beside the tables lists failures, if anything failed.

    Parameters
    ----------
    workload
        The jobs, or a trace of them. Jobs that are not part of the workload (relation
        ``workload_jobs``) are excluded and counted. Jobs still running at the end of the log run
        as long as is known.
    policy
        A key of :data:`POLICIES`, or a policy with its knobs set.
    out
        Folder to write.
    cluster
        Cluster as :func:`~philly_analysis.workload.machines.machines_of` reads it; the workload's
        own when None. Jobs run in the cluster, pool and GPU model that they request; each pool is
        simulated separately (see :mod:`philly_analysis.simulator.engine.pools`).
    knobs
        Knobs of a policy that is given by name (see
        :func:`~philly_analysis.simulator.policies.policy_named`).
    speed
        Speed of jobs: a key of :data:`~philly_analysis.simulator.speed.models.SPEEDS`, or a model
        with parameters; None: the speed in the policy's publication.
    outages
        Failures of machines and GPUs: rates, or a list (see
        :func:`~philly_analysis.simulator.engine.outages.outages_of`); None: no failures. Jobs that
        are hit fall back to their last checkpoint, and wait again.
    checkpoint_s
        Time between checkpoints, to which preempted jobs fall back (see
        :class:`~philly_analysis.simulator.engine.event_loop.Simulation`).
    seed
        Seed of all random draws: outages, estimates, reasons of failures, samples, and unknown
        fields of jobs that a speed model needs.
    samples
        Whether to write per-minute GPU samples; or the distribution of the utilisation of jobs
        for which the trace has none.
    force
        Whether to replace an existing trace.

    Returns
    -------
    Path
        Folder of the trace.

    Raises
    ------
    UnknownNameError
        A policy, knob or speed is unknown.
    SimulationError
        There are no jobs or no GPUs, a gang is larger than the cluster, or a replay has changes.
    TraceError
        The folder cannot be written.
    """
    policy = _policy(policy, knobs)
    speed = speed_named(speed) if isinstance(speed, str) else speed or policy.speed()
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    changes = workload.changes
    if policy.replays:
        _require_replayable(policy, changes, outages)
    if cluster is None:
        target = target_cluster(workload, demand_of(workload))
    else:
        target = Cluster(machines_of(cluster), assumed=False)
    servers = [m for m in target.machines if m.gpus]
    capacity = sum(m.gpus for m in servers)
    rng = np.random.default_rng(seed)
    jobs = prepare_jobs(workload, policy, speed, with_use=bool(samples), seed=seed, rng=rng)
    quotas, quota_note = _quotas(policy, workload, capacity)
    origin_at = workload.origin_at
    policy = policy.for_workload(workload, servers)
    engine = _Engine(policy, speed, changes, checkpoint_s, outages or (), origin_at)
    pools, excluded = assign_to_pools(workload, jobs.specs, servers, one=policy.one_pool)
    seeds = np.random.SeedSequence([seed, *b"outages"]).spawn(len(pools))
    schedules = map(engine.run, pools, divide_quotas(quotas, pools), seeds)
    schedule = merge_schedules(list(schedules))
    assert origin_at is not None  # noqa: S101 - the engine refuses a workload without jobs
    demand = demand_of(workload)
    notes = (
        *workload.notes,
        _run_note(policy, speed, servers),
        *([ASSUMED_CLUSTER] if target.assumed else []),
        *([] if policy.replays else constraint_notes(workload, jobs.specs, policy)),
        *policy.notes(),
        *jobs.placement_notes,
        *_checkpoint_notes(checkpoint_s),
        *jobs.change_notes,
        *jobs.drawn_notes,
        *fraction_notes(pools, fractional=policy.fractional),
        *pool_notes(pools, excluded),
        *([quota_note] if quota_note and policy.quotas else []),
        *summary_notes(demand.jobs, schedule),
        *demand.account(),
        *largest_job_note(demand.jobs["gpu_s"]),
    )
    manifest = Manifest(
        name=f"{workload.name}-{policy.name}",
        source="simulate",
        synthetic=workload.synthetic,  # recorded jobs under another policy are real jobs
        notes=notes,
    )
    with create_trace(out, force=force) as folder:
        frames = tables(workload, jobs.specs, servers, schedule, origin_at, quotas, policy)
        rows = write_tables(folder, frames)
        if schedule.outages.height:
            _write_outages(folder / OUTAGES, schedule.outages, origin_at)
        if samples:
            model = UTILISATION if samples is True else samples
            rows["gpu_samples"] = write_gpu_samples(
                folder, schedule, jobs.specs, servers, origin_at, model, rng
            )
        write_manifest(folder, manifest, rows)
    return Path(out)


@dataclass(frozen=True, slots=True)
class _Engine:
    """What all pools of a simulation share."""

    policy: Policy
    speed: Speed
    changes: Changes
    checkpoint_s: float
    outages: Failures | Sequence[Outage] | str | Path
    origin_at: datetime | None

    def run(self, pool: Pool, quotas: Mapping[str, int], seed: np.random.SeedSequence) -> Schedule:
        """Simulate a pool: first runs, if any, then the cluster."""
        prerun = self.changes.prerun
        first = run_first(prerun, pool.jobs, pool.machines) if prerun else None
        specs, machines = (first.remaining, first.machines) if first else (pool.jobs, pool.machines)
        rng = np.random.default_rng(seed)
        schedule = run(
            specs,
            machines,
            self.policy,
            speed=self.speed,
            quotas=quotas,
            checkpoint_s=self.checkpoint_s,
            outages=outages_of(self.outages, machines, self.origin_at, rng),
            dedicated=self.changes.dedicated,
        )
        return first.joined(schedule) if first else schedule


def _policy(policy: str | Policy, knobs: Mapping[str, Any] | None) -> Policy:
    """Return the policy with knobs set."""
    require_policy(policy)
    return policy_named(policy, knobs or {})


def _require_replayable(policy: Policy, changes: Changes, outages: object) -> None:
    """Raise SimulationError if a replay has changes of jobs, or outages."""
    if names := [*changes.names(), *(["outages"] if outages else [])]:
        raise SimulationError(
            f"{policy.name} replays attempts as they were recorded, so that {', '.join(names)} has "
            "no effect. Omit it, or give another policy."
        )


def _quotas(policy: Policy, workload: Workload, capacity: int) -> tuple[Mapping[str, int], str]:
    """Return quotas and their source; estimates, which read the whole log, only if used."""
    if policy.quotas or len(workload.virtual_clusters):
        return quotas_of(workload, capacity)
    return {}, ""


def _run_note(policy: Policy, speed: Speed, servers: Sequence[Machine]) -> str:
    """Return a sentence on the policy, its knobs, the cluster and the speed of jobs."""
    knobs = ", ".join(f"{f.name}={getattr(policy, f.name)!r}" for f in fields(policy))
    return (
        f"Simulated under {policy.name} ({knobs}) on {len(servers):,} machines with "
        f"{sum(m.gpus for m in servers):,} GPUs. Speed of jobs: {speed.note}"
    )


def _write_outages(file: Path, outages: pl.DataFrame, origin_at: datetime) -> None:
    """Write failures and repairs; a permanent outage has no end."""
    lasting = outages.with_columns(pl.col("end_s").replace(FOREVER, None))
    pq.write_table(with_interval(lasting, origin_at).to_arrow(), file, compression="zstd")


def _checkpoint_notes(checkpoint_s: float) -> tuple[str, ...]:
    if not checkpoint_s:
        return ()
    often = f"every {checkpoint_s:g} s of it" if checkpoint_s < FOREVER else "never"
    return (f"Jobs save their work {often}; preempted, they lose the work since then.",)
