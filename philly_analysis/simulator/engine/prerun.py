"""Run gangs on one GPU of a pre-run pool first, so that user errors show early."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import polars as pl

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.engine.event_loop import run
from philly_analysis.simulator.engine.schedule import ORDER, Schedule, job_rows, merge_schedules
from philly_analysis.simulator.jobs.run_failures import is_user_error
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.workload import AttemptSpec, JobSpec, Machine, Prerun, runs_of


@dataclass(frozen=True, slots=True)
class FirstRuns:
    """The outcome of first runs on one GPU, and the jobs that are left for the cluster.

    Attributes
    ----------
    specs
        All jobs, as submitted.
    schedule
        Schedule of the first runs; None: there are no gangs.
    remaining
        Jobs to run on the cluster, without the runs that failed in the pool.
    machines
        Machines of the cluster.
    """

    specs: Sequence[JobSpec]
    schedule: Schedule | None
    remaining: Sequence[JobSpec]
    machines: Sequence[Machine]

    def joined(self, cluster: Schedule) -> Schedule:
        """Return the schedules of the first runs and of the cluster as one."""
        return cluster if self.schedule is None else _joined(self.specs, self.schedule, cluster)


def run_first(prerun: Prerun, specs: Sequence[JobSpec], machines: Sequence[Machine]) -> FirstRuns:
    """Simulate the first run of every gang, first come, first served.

    Parameters
    ----------
    specs
        Jobs whose failing runs have reasons
        (see :func:`~philly_analysis.simulator.jobs.run_failures.with_reasons`).
    machines
        All machines. The pre-run has the machines at the end.

    Raises
    ------
    SimulationError
        The pre-run would have all machines.
    """
    if prerun.servers >= len(machines):
        raise SimulationError(
            f"a pre-run needs {prerun.servers} of {len(machines)} servers. Give fewer, or more "
            "machines."
        )
    cluster, pool = machines[: -prerun.servers], machines[-prerun.servers :]
    pool_runs = {spec.job_id: _pool_runs(spec, prerun.limit_s) for spec in specs if spec.gpus > 1}
    if not pool_runs:
        return FirstRuns(specs, None, specs, cluster)
    first = [
        replace(
            spec,
            gpus=1,
            gpus_by_server=(),
            attempts=pool_runs[spec.job_id],
            time_limit_s=None,
            status=None,
        )
        for spec in specs
        if spec.job_id in pool_runs
    ]
    schedule = run(first, pool, Fifo())
    end_s = dict(schedule.jobs.select("job_id", "end_s").iter_rows())
    remaining = []
    for spec in specs:
        done = sum(a.end_reason != "preempted" for a in pool_runs.get(spec.job_id, ()))
        if runs := runs_of(spec)[done:]:
            submit_s = end_s.get(spec.job_id, spec.submit_s)
            remaining.append(replace(spec, submit_s=submit_s, attempts=runs))
    return FirstRuns(specs, schedule, remaining, cluster)


def _pool_runs(spec: JobSpec, limit_s: float) -> tuple[AttemptSpec, ...]:
    """Return a gang's runs in the pool: early user errors, then a trial run."""
    runs = runs_of(spec)
    early = tuple(takewhile(lambda run: is_user_error(run) and run.run_s <= limit_s, runs))
    if len(early) == len(runs):
        return early
    trial_s = min(limit_s, runs[len(early)].run_s)
    return (*early, AttemptSpec(trial_s, "preempted"))


def _joined(specs: Sequence[JobSpec], pool: Schedule, cluster: Schedule) -> Schedule:
    """Return both schedules as one: attempts in the pool precede attempts in the cluster."""
    in_pool = pool.attempts.group_by("job_id").agg(in_pool=pl.len().cast(pl.Int32))
    ends = pl.concat([pool.jobs.join(cluster.jobs, on="job_id", how="anti"), cluster.jobs])
    jobs = (
        job_rows(specs).join(ends.select("job_id", "end_s"), on="job_id").sort("submit_s", "job_id")
    )

    def later(rows: pl.DataFrame) -> pl.DataFrame:
        return (
            rows.join(in_pool, on="job_id", how="left", maintain_order="left")
            .with_columns(attempt=pl.col("attempt") + pl.col("in_pool").fill_null(0))
            .drop("in_pool")
        )

    # the work of a trial run is repeated
    trial = pl.col("end_reason") == "preempted"
    attempts = pool.attempts.with_columns(
        lost_s=pl.when(trial).then("work_s").otherwise("lost_s"),
        work_s=pl.when(trial).then(0.0).otherwise("work_s"),
    )
    frames: dict[str, Any] = {name: later(getattr(cluster, name)) for name in ORDER}
    then = replace(cluster, **frames)
    return merge_schedules([replace(pool, attempts=attempts), then], jobs)
