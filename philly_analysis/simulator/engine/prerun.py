"""Run gangs on one GPU of a pre-run pool first, so that user errors show early."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import polars as pl

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.simulator.engine.event_loop import run
from philly_analysis.simulator.engine.schedule import ORDER, Schedule, job_rows, merge_schedules
from philly_analysis.simulator.jobs.job import runs_of
from philly_analysis.simulator.jobs.run_failures import is_user_error
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.workload import AttemptSpec, JobSpec, Machine


@dataclass(frozen=True, slots=True)
class Prerun:
    """A pool of servers on which every gang runs first, on one GPU, first come, first served.

    A run with a user error within ``limit_s`` fails there, and its retry runs there, too. Any other
    run is stopped after ``limit_s``, at its own end at the latest, and starts anew on the other
    servers.

    Attributes
    ----------
    servers
        The pool: the last so many of the machines; the others are the cluster.
    limit_s
        Length of a pre-run (s).
    """

    servers: int
    limit_s: float = 600.0

    def __post_init__(self) -> None:
        if self.servers < 1 or not 0 < self.limit_s < float("inf"):
            raise SimulationError(
                f"a pre-run of {self.limit_s:g} s on {self.servers} servers is impossible; give at "
                "least one server and one second."
            )

    @property
    def note(self) -> str:
        """A sentence on the pre-run."""
        return (
            f"Gangs run on one GPU of {count(self.servers, 'server')} first: a user error within "
            f"{self.limit_s:g} s fails there; other runs then start anew on the other servers."
        )

    def run(
        self,
        specs: Sequence[JobSpec],
        machines: Sequence[Machine],
        cluster: Callable[[Sequence[JobSpec], Sequence[Machine]], Schedule],
    ) -> Schedule:
        """Simulate the pool, and then the cluster with the remaining runs.

        Parameters
        ----------
        specs
            Jobs whose failing runs have reasons
            (see :func:`~philly_analysis.simulator.jobs.run_failures.with_reasons`).
        cluster
            Simulates jobs on the other servers.

        Raises
        ------
        SimulationError
            The pool would be the whole cluster.
        """
        if self.servers >= len(machines):
            raise SimulationError(
                f"a pre-run needs {self.servers} of {len(machines)} servers. Give fewer, or more "
                "machines."
            )
        pool_runs = {spec.job_id: self._pool_runs(spec) for spec in specs if spec.gpus > 1}
        if not pool_runs:
            return cluster(specs, machines[: -self.servers])
        first = [
            replace(spec, gpus=1, attempts=pool_runs[spec.job_id], time_limit_s=None, status=None)
            for spec in specs
            if spec.job_id in pool_runs
        ]
        pool = run(first, machines[-self.servers :], Fifo())
        left_s = dict(pool.jobs.select("job_id", "end_s").iter_rows())
        then = []
        for spec in specs:
            done = sum(a.end_reason != "preempted" for a in pool_runs.get(spec.job_id, ()))
            if runs := runs_of(spec)[done:]:
                submit_s = left_s.get(spec.job_id, spec.submit_s)
                then.append(replace(spec, submit_s=submit_s, attempts=runs))
        return _joined(specs, pool, cluster(then, machines[: -self.servers]))

    def _pool_runs(self, spec: JobSpec) -> tuple[AttemptSpec, ...]:
        """Return a gang's runs in the pool: its early user errors, then a trial run."""
        runs = runs_of(spec)
        early = tuple(
            takewhile(lambda each: is_user_error(each) and each.run_s <= self.limit_s, runs)
        )
        if len(early) == len(runs):
            return early
        trial_s = min(self.limit_s, runs[len(early)].run_s)
        return (*early, AttemptSpec(trial_s, "preempted"))


def _joined(specs: Sequence[JobSpec], pool: Schedule, cluster: Schedule) -> Schedule:
    """Return both schedules as one: attempts in the pool precede those in the cluster."""
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
