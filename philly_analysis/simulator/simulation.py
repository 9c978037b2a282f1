"""Writes a what-if: a workload under a policy, as a trace like any other."""

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
from philly_analysis.simulator import assumptions
from philly_analysis.simulator.engine.engine import run
from philly_analysis.simulator.engine.outages import Failures, Outage, outages_of
from philly_analysis.simulator.engine.pools import divided, joined, pools_of, says
from philly_analysis.simulator.engine.prerun import Prerun
from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.simulator.ensembles import also_over_months
from philly_analysis.simulator.jobs.estimates import Estimates, estimates_of
from philly_analysis.simulator.jobs.job import FOREVER
from philly_analysis.simulator.jobs.restarts import Restarts
from philly_analysis.simulator.jobs.run_failures import says_reasons, with_reasons, without_retries
from philly_analysis.simulator.output import summary
from philly_analysis.simulator.output.samples import UTILISATION, Utilisation, write_gpu_samples
from philly_analysis.simulator.output.tables import between, tables, timed
from philly_analysis.simulator.policies import Policy, policy_named
from philly_analysis.simulator.speed.recorded import at_full_speed, beside_holders
from philly_analysis.simulator.speed.speed import Speed, speed_named
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Manifest, TraceLike, create_trace, write_manifest, write_tables
from philly_analysis.workload import (
    JobSpec,
    Machine,
    Workload,
    as_single_runs,
    default_servers,
    demand_of,
    fleet,
    quotas_of,
    rescale_arrivals,
    rescaling_factor,
    with_failure_reasons,
    with_gpu_use,
)

WAIT_CAUSES = "wait_causes.parquet"
"""File beside the tables: what the engine knows of each wait."""

OUTAGES = "outages.parquet"
"""File beside the tables: what failed, and when it was repaired, as ``outages`` takes it."""


@also_over_months
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
    """Run a workload under a policy, and write what happens.

    Parameters
    ----------
    workload
        The jobs, or a trace of them, or an ensemble of months; those that are no part of the
        workload (see the relation ``workload_jobs``) are left out and counted, and those that still
        ran as the log ended run as long as is known.
    policy
        A key of :data:`POLICIES`, or a policy with its knobs set.
    out
        Folder to write; of an ensemble, that of its traces.
    knobs
        Knobs of the policy by name (see :func:`~philly_analysis.simulator.policies.policies`).
    load
        Offered load wanted: submissions are stretched to it; None: they stay as they are.
    gpus
        Run it on so many GPUs, in servers of 8, unless `machines` says where.
    machines
        Where to run it: machine by machine, or a text that
        :func:`~philly_analysis.workload.machines.fleet` reads (``240x8,288x2``); the workload's
        own when None. Jobs run where cluster, pool and GPU model are as they ask; each pool of
        machines is simulated by itself (see :mod:`philly_analysis.simulator.engine.pools`).
    run_policy
        None: jobs run attempt after attempt, and come to wait again between them. Else each is
        one run, as long as its attempts are under this policy, as exports to other simulators
        have it (see :class:`~philly_analysis.study.terms.RunPolicy`).
    speed
        How fast jobs run: a key of :data:`~philly_analysis.simulator.speed.speed.SPEEDS`, or a law
        with its parameters set; as the policy's own publication has it when None.
    checkpoint_s
        How often jobs save their work, which those that are preempted fall back to (see
        :class:`~philly_analysis.simulator.jobs.restarts.Restarts`).
    outages
        Machines and GPUs that fail and are repaired: how often, or which when (see
        :func:`~philly_analysis.simulator.engine.outages.outages_of`); None: nothing fails. Jobs
        that one hits fall back to what they saved last, and wait anew.
    dedicated
        Give gangs their servers to themselves: nobody runs beside a gang.
    prerun_servers, prerun_s
        Let gangs run on one GPU of so many of the servers first, for so long, so that what is
        plainly wrong fails there; 0: none do (see
        :class:`~philly_analysis.simulator.engine.prerun.Prerun`).
    retry_by_reason
        Do not retry what failed by its user's error, by the reasons that the trace has, or that
        are drawn (see :mod:`philly_analysis.simulator.jobs.run_failures`).
    estimates
        What policies that go by run times believe of them: ``exact``, ``requested`` (the time
        limits asked for) or ``noisy:SIGMA`` (see
        :class:`~philly_analysis.simulator.jobs.estimates.Estimates`).
    seed
        Of everything drawn: the outages, the estimates, the samples, and what a speed must know
        that jobs do not say.
    samples
        Whether to write per-minute GPU samples; or the law that they follow where the trace does
        not say how busy a job kept its GPUs.
    force
        Replace a trace that is there already.
    executor
        Where the months of an ensemble are run; None: here. What comes out is the same.

    Returns
    -------
    Path or Result
        Of an ensemble, where the measures of its months lie (see
        :func:`~philly_analysis.simulator.ensembles.over_months`); else the trace.

        Beside its tables lies ``wait_causes.parquet``, the engine's own account of
        each wait (see :meth:`philly_analysis.simulator.engine.wait_causes.Causes.frame`); and
        ``outages.parquet``, if anything failed.

    Raises
    ------
    UnknownNameError
        There is no such policy or knob.
    SimulationError
        There is nothing to run, or nothing to run it on, or a gang larger than the cluster.
    WorkloadError
        A load was asked for and the jobs offer none.
    TraceError
        The folder cannot be written.
    """
    if isinstance(policy, str):
        policy = policy_named(policy, knobs or {})
    elif knobs:
        raise SimulationError("knobs are set where the policy is made, when it is not a name.")
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    if isinstance(machines, str):
        machines = fleet(machines)
    if machines is None:
        machines = workload.servers() if gpus is None else default_servers(gpus)
    servers = [m for m in machines if m.gpus]
    capacity = sum(m.gpus for m in servers)
    if load is not None:
        needs = demand_of(workload).within(capacity)
        workload = rescale_arrivals(
            workload, rescaling_factor(load, needs.gpu_s, needs.span_s, capacity)
        )
    rng = np.random.default_rng(seed)
    speed = speed_named(speed) if isinstance(speed, str) else speed or policy.speed()
    recorded = list(workload.specs(stays=speed.by_place or policy.replays))
    if run_policy is not None:
        if policy.replays:
            raise SimulationError(
                f"{policy.name} runs attempts as they were recorded, so it cannot take jobs as one "
                "run each: leave out the run policy."
            )
        recorded = as_single_runs(recorded, demand_of(workload, run_policy))
    if speed.by_use or samples:
        recorded = with_gpu_use(workload, recorded)
    as_placed: tuple[str, ...] = ()
    if policy.replays:
        recorded = beside_holders(recorded)
    if speed.by_place:
        recorded, as_placed = at_full_speed(workload, recorded, speed)
    specs = speed.completed(recorded, rng)
    guided: tuple[str, ...] = ()
    if policy.replays and (dedicated or prerun_servers or retry_by_reason):
        raise SimulationError(
            f"{policy.name} runs jobs where and as they were recorded, so that there is nothing to "
            "dedicate, to run first or to leave out. Give another policy."
        )
    if dedicated:
        guided += ("Gangs have their servers to themselves.",)
    prerun = Prerun(prerun_servers, prerun_s) if prerun_servers else None
    if prerun or retry_by_reason:
        told = with_failure_reasons(workload, specs)
        specs = with_reasons(told, rng)
        guided += says_reasons(told, specs)
    if retry_by_reason:
        specs, said = without_retries(specs)
        guided += said
    if prerun:
        guided += (prerun.says,)
    estimates = estimates_of(estimates) if isinstance(estimates, str) else estimates
    if not estimates.exact:
        if policy.replays:
            raise SimulationError(
                f"{policy.name} runs attempts when they were recorded, whatever is believed of "
                "them: leave out the estimates."
            )
        specs = estimates.told(specs, np.random.default_rng([seed, *b"estimates"]))
    costs = Restarts(checkpoint_s=checkpoint_s)
    # an estimate takes a sweep over the whole log, so it is made for those only who look at it
    asked = policy.quotas or workload.virtual_clusters.height
    quotas, quota_note = quotas_of(workload, capacity) if asked else ({}, "")
    pools, left_out = pools_of(workload, specs, servers)
    if left_out and not pools:
        raise SimulationError(
            f"None of {len(left_out):,} jobs fits in a pool of machines that may serve it, e.g. "
            f"{left_out[0].job_id} for {left_out[0].gpus:,} GPUs. Give machines of the cluster, "
            "pool or GPU model that the jobs name, or machines that name none."
        )
    origin_at = workload.origin_at
    if policy.replays and outages:
        raise SimulationError(
            f"{policy.name} runs each attempt as it was recorded, so none can be hit by an outage. "
            "Give another policy, or no outages."
        )
    failing = np.random.SeedSequence([seed, *b"outages"]).spawn(len(pools))

    def cluster(
        jobs: Sequence[JobSpec], there: Sequence[Machine], own: Mapping[str, int], drawn: Any
    ) -> Schedule:
        broken = outages_of(outages or (), there, origin_at, np.random.default_rng(drawn))
        return run(
            *(jobs, there, policy),
            speed=speed,
            quotas=own,
            restarts=costs,
            outages=broken,
            dedicated=dedicated,
        )

    parts = []
    for pool, own, drawn in zip(pools, divided(quotas, pools), failing, strict=True):
        of_pool = partial(cluster, own=own, drawn=drawn)
        through = partial(prerun.through, cluster=of_pool) if prerun else of_pool
        parts.append(through(pool.jobs, pool.machines))
    schedule = joined(parts)
    assert origin_at is not None  # noqa: S101 - the engine refuses a workload without jobs
    needs = demand_of(workload)
    notes = (
        *workload.notes,
        f"Simulated under {_described(policy)} on {len(servers):,} machines with {capacity:,} "
        f"GPUs. Speed of jobs: {speed.says}",
        *as_placed,
        *costs.says,
        *([f"Jobs are one run each: {RunPolicy(run_policy).meaning}."] if run_policy else []),
        *guided,
        *estimates.says(specs),
        *assumptions.says(recorded, specs),
        *assumptions.shares(pools, parts=policy.parts),
        *says(pools, left_out),
        *([quota_note] if quota_note and policy.quotas else []),
        *summary.says(needs.jobs, schedule),
        *needs.account(),
    )
    manifest = Manifest(
        name=f"{workload.name}-{policy.name}", source="simulate", synthetic=True, notes=notes
    )
    with create_trace(out, force=force) as folder:
        rows = write_tables(
            folder, tables(workload, specs, servers, schedule, origin_at, quotas, policy)
        )
        waits = timed(schedule.waits, origin_at, since_s="since_at", until_s="until_at")
        pq.write_table(waits.to_arrow(), folder / WAIT_CAUSES, compression="zstd")
        if schedule.outages.height:
            lasting = schedule.outages.with_columns(pl.col("end_s").replace(FOREVER, None))
            failed = between(lasting, origin_at).to_arrow()
            pq.write_table(failed, folder / OUTAGES, compression="zstd")
        if samples:
            law = UTILISATION if samples is True else samples
            rows["gpu_samples"] = write_gpu_samples(
                folder, schedule, specs, servers, origin_at, law, rng
            )
        write_manifest(folder, manifest, rows)
    return Path(out)


def _described(policy: Policy) -> str:
    knobs = (f"{f.name}={getattr(policy, f.name)!r}" for f in fields(policy))
    return f"{policy.name} ({', '.join(knobs)})"
