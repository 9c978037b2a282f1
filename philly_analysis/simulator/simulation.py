"""Simulate a what-if: a workload under a policy, written as a trace."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.assumptions import drawn_notes, fraction_notes
from philly_analysis.simulator.engine.event_loop import run
from philly_analysis.simulator.engine.outages import Failures, Outage, outages_of
from philly_analysis.simulator.engine.pools import Pool, assign_to_pools, divide_quotas, pool_notes
from philly_analysis.simulator.engine.prerun import Prerun
from philly_analysis.simulator.engine.schedule import Schedule, merge_schedules
from philly_analysis.simulator.ensembles import accept_ensembles
from philly_analysis.simulator.jobs.estimates import Estimates, estimates_of
from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.simulator.jobs.run_failures import reason_notes, with_reasons, without_retries
from philly_analysis.simulator.output.samples import UTILISATION, Utilisation, write_gpu_samples
from philly_analysis.simulator.output.summary import summary_notes
from philly_analysis.simulator.output.tables import tables, with_interval
from philly_analysis.simulator.policies import Policy, policy_named
from philly_analysis.simulator.speed.models import speed_named
from philly_analysis.simulator.speed.recorded import mark_guests, normalise_run_times
from philly_analysis.simulator.speed.speed import Speed
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Manifest, TraceLike, create_trace, write_manifest, write_tables
from philly_analysis.workload import (
    JobSpec,
    Machine,
    Workload,
    as_single_runs,
    demand_of,
    fleet,
    quotas_of,
    rescale_arrivals,
    rescaling_factor,
    target_cluster,
    with_failure_reasons,
    with_gpu_use,
)

OUTAGES = "outages.parquet"
"""File beside the tables: failures and repairs, which ``outages`` accepts."""


_ASSUMED = (
    "The jobs have no cluster: one is assumed that holds the largest gang and is offered a load of "
    "at most 1 as they were submitted."
)


@accept_ensembles
def simulate(
    workload: Workload | TraceLike,
    policy: str | Policy,
    out: str | Path,
    *,
    knobs: Mapping[str, Any] | None = None,
    load: float | None = None,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    run_policy: RunPolicy | str | None = None,
    speed: Speed | str | None = None,
    checkpoint_s: float = 0.0,
    outages: Failures | Sequence[Outage] | str | Path | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: Estimates | str = "exact",
    seed: int = 0,
    samples: bool | Utilisation = False,
    force: bool = False,
    executor: Executor | None = None,
) -> Path:
    """Simulate a workload under a policy, and write the outcome as a trace.

    Parameters
    ----------
    workload
        The jobs, or a trace of them, or an ensemble of months. Jobs that are not part of the
        workload (see the relation ``workload_jobs``) are excluded and counted; jobs still running
        at the end of the log run as long as is known.
    policy
        A key of :data:`POLICIES`, or a policy with its knobs set.
    out
        Folder to write; of an ensemble, that of its traces.
    knobs
        Knobs of the policy by name (see :func:`~philly_analysis.simulator.policies.policies`).
    load
        Offered load, to which the times between submissions are scaled; None: unchanged.
    gpus
        Size of the cluster, in servers of 8, unless `machines` is given.
    machines
        The cluster: machines, or a text that :func:`~philly_analysis.workload.machines.fleet`
        parses (``240x8,288x2``); the workload's own when None. Jobs run in the cluster, pool and
        GPU model that they request; each pool is simulated separately (see
        :mod:`philly_analysis.simulator.engine.pools`).
    run_policy
        None: jobs run attempt after attempt, and wait again between them. Else each is one run,
        with the run time of this policy, as exports to other simulators have it (see
        :class:`~philly_analysis.study.terms.RunPolicy`).
    speed
        Speed of jobs: a key of :data:`~philly_analysis.simulator.speed.models.SPEEDS`, or a model
        with its parameters; that of the policy's publication when None.
    checkpoint_s
        Time between checkpoints, to which preempted jobs fall back (see
        :class:`~philly_analysis.simulator.engine.event_loop.Simulation`).
    outages
        Failures of machines and GPUs: rates, or a list (see
        :func:`~philly_analysis.simulator.engine.outages.outages_of`); None: no failures. Jobs that
        are hit fall back to their last checkpoint, and wait again.
    dedicated
        Whether gangs have their servers to themselves.
    prerun_servers, prerun_s
        Servers on which gangs first run on one GPU, and for how long, so that user errors show
        early; 0: no pre-run (see :class:`~philly_analysis.simulator.engine.prerun.Prerun`).
    retry_by_reason
        Whether user errors are not retried, by recorded or drawn reasons of failures (see
        :mod:`philly_analysis.simulator.jobs.run_failures`).
    estimates
        Run time estimates of policies: ``exact``, ``requested`` (the requested time limits) or
        ``noisy:SIGMA`` (see :class:`~philly_analysis.simulator.jobs.estimates.Estimates`).
    seed
        Seed of all random draws: outages, estimates, samples, and unknown fields of jobs that a
        speed model needs.
    samples
        Whether to write per-minute GPU samples; or the distribution of the utilisation of jobs
        for which the trace has none.
    force
        Whether to replace an existing trace.
    executor
        Where the months of an ensemble are simulated; None: in this process. The traces are the
        same.

    Returns
    -------
    Path or Result
        Of an ensemble, the measures of its months (see
        :func:`~philly_analysis.simulator.ensembles.simulate_ensemble`); else the trace.

        Its table ``known_causes`` has the causes of each wait. Beside its tables is
        ``outages.parquet``, if anything failed.

    Raises
    ------
    UnknownNameError
        There is no such policy or knob.
    SimulationError
        There are no jobs or no GPUs, or a gang is larger than the cluster.
    WorkloadError
        A load was given, but the jobs offer none.
    TraceError
        The folder cannot be written.
    """
    if not isinstance(policy, str | Policy):
        raise SimulationError(
            f"a policy is a name or a Policy, not a {type(policy).__name__}; "
            "sweep(workload, policies) runs several."
        )
    if isinstance(policy, str):
        policy = policy_named(policy, knobs or {})
    elif knobs:
        raise SimulationError("set knobs in the policy itself, unless it is given by name.")
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    estimates = estimates_of(estimates) if isinstance(estimates, str) else estimates
    no_replay = {
        "run_policy": run_policy is not None,
        "dedicated": dedicated,
        "outages": outages,
        "prerun_servers": prerun_servers,
        "retry_by_reason": retry_by_reason,
        "estimates": not estimates.exact,
    }
    for option, given in no_replay.items():
        if policy.replays and given:
            raise SimulationError(
                f"{policy.name} replays attempts as they were recorded, so that {option} has no "
                "effect. Omit it, or give another policy."
            )
    if isinstance(machines, str | int):
        machines = fleet(str(machines))
    assumed_cluster = machines is None and gpus is None and not workload.gpus
    if machines is None:
        demand = demand_of(workload)
        machines = target_cluster(workload, demand, gpus=gpus).machines
    servers = [m for m in machines if m.gpus]
    capacity = sum(m.gpus for m in servers)
    if load is not None:
        demand = demand_of(workload).within(capacity)
        factor = rescaling_factor(load, demand.gpu_s, demand.span_s, capacity)
        workload = rescale_arrivals(workload, factor)
    rng = np.random.default_rng(seed)
    speed = speed_named(speed) if isinstance(speed, str) else speed or policy.speed()
    recorded = list(workload.specs(stays=speed.by_place or policy.replays))
    if run_policy is not None:
        recorded = as_single_runs(recorded, demand_of(workload, run_policy))
    if speed.by_use or samples:
        recorded = with_gpu_use(workload, recorded)
    placement_notes: tuple[str, ...] = ()
    if policy.replays:
        recorded = mark_guests(recorded)
    if speed.by_place:
        recorded, placement_notes = normalise_run_times(workload, recorded, speed)
    specs = speed.complete(recorded, rng)
    guideline_notes = ["Gangs have their servers to themselves."] if dedicated else []
    prerun = Prerun(prerun_servers, prerun_s) if prerun_servers else None
    if prerun or retry_by_reason:
        with_known = with_failure_reasons(workload, specs)
        specs = with_reasons(with_known, rng)
        guideline_notes += reason_notes(with_known, specs)
    if retry_by_reason:
        specs, retry_notes = without_retries(specs)
        guideline_notes += retry_notes
    if prerun:
        guideline_notes.append(prerun.note)
    if not estimates.exact:
        specs = estimates.apply(specs, np.random.default_rng([seed, *b"estimates"]))
    # estimating quotas reads the whole log, so it is done only if they are used
    need_quotas = policy.quotas or len(workload.virtual_clusters)
    quotas, quota_note = quotas_of(workload, capacity) if need_quotas else ({}, "")
    pools, excluded = assign_to_pools(workload, specs, servers)
    if excluded and not pools:
        raise SimulationError(
            f"None of {len(excluded):,} jobs fits in an eligible pool of machines, e.g. "
            f"{excluded[0].job_id} for {excluded[0].gpus:,} GPUs. Give machines of the cluster, "
            "pool or GPU model that the jobs request, or machines without these."
        )
    origin_at = workload.origin_at
    seeds = np.random.SeedSequence([seed, *b"outages"]).spawn(len(pools))

    start = partial(run, speed=speed, checkpoint_s=checkpoint_s, dedicated=dedicated)

    def simulate_pool(pool: Pool, own: Mapping[str, int], own_seed: Any) -> Schedule:
        def cluster(jobs: Sequence[JobSpec], there: Sequence[Machine]) -> Schedule:
            drawn = outages_of(outages or (), there, origin_at, np.random.default_rng(own_seed))
            return start(jobs, there, policy, quotas=own, outages=drawn)

        simulated = partial(prerun.run, cluster=cluster) if prerun else cluster
        return simulated(pool.jobs, pool.machines)

    schedule = merge_schedules(list(map(simulate_pool, pools, divide_quotas(quotas, pools), seeds)))
    assert origin_at is not None  # noqa: S101 - the engine refuses a workload without jobs
    demand = demand_of(workload)
    knobs_set = ", ".join(f"{f.name}={getattr(policy, f.name)!r}" for f in fields(policy))
    notes = (
        *workload.notes,
        f"Simulated under {policy.name} ({knobs_set}) on {len(servers):,} machines with "
        f"{capacity:,} GPUs. Speed of jobs: {speed.note}",
        *([_ASSUMED] if assumed_cluster else []),
        *placement_notes,
        *_checkpoint_notes(checkpoint_s),
        *([f"Jobs are one run each: {RunPolicy(run_policy).meaning}."] if run_policy else []),
        *guideline_notes,
        *estimates.notes(specs),
        *drawn_notes(recorded, specs),
        *fraction_notes(pools, fractional=policy.fractional),
        *pool_notes(pools, excluded),
        *([quota_note] if quota_note and policy.quotas else []),
        *summary_notes(demand.jobs, schedule),
        *demand.account(),
    )
    manifest = Manifest(
        name=f"{workload.name}-{policy.name}", source="simulate", synthetic=True, notes=notes
    )
    with create_trace(out, force=force) as folder:
        made = tables(workload, specs, servers, schedule, origin_at, quotas, policy)
        rows = write_tables(folder, made)
        if schedule.outages.height:
            lasting = schedule.outages.with_columns(pl.col("end_s").replace(FOREVER, None))
            failed = with_interval(lasting, origin_at).to_arrow()
            pq.write_table(failed, folder / OUTAGES, compression="zstd")
        if samples:
            model = UTILISATION if samples is True else samples
            rows["gpu_samples"] = write_gpu_samples(
                folder, schedule, specs, servers, origin_at, model, rng
            )
        write_manifest(folder, manifest, rows)
    return Path(out)


def _checkpoint_notes(checkpoint_s: float) -> tuple[str, ...]:
    if not checkpoint_s:
        return ()
    often = f"every {checkpoint_s:g} s of it" if checkpoint_s < FOREVER else "never"
    return (f"Jobs save their work {often}; preempted, they lose the work since then.",)
