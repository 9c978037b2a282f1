"""A pre-run pool: gangs run on one GPU first, so that what is plainly wrong shows soon."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import polars as pl

from philly_analysis.errors import SimulationError
from philly_analysis.results import count
from philly_analysis.simulator.engine.engine import run
from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.simulator.jobs.job import runs_of
from philly_analysis.simulator.jobs.run_failures import users_own
from philly_analysis.simulator.policies.priority import Fifo
from philly_analysis.workload import AttemptSpec, JobSpec, Machine


@dataclass(frozen=True, slots=True)
class Prerun:
    """Some servers of the cluster on which every gang runs first, on one GPU.

    A run that fails there by its user's error within ``limit_s`` has failed (its retry goes there,
    too); any other run is stopped after ``limit_s``, at its own end at the latest, and goes to the
    other servers, where it starts anew. First come, first served.

    Attributes
    ----------
    servers
        The pool: the last so many of the machines; the others are the cluster.
    limit_s
        Seconds after which a run is taken to be sound.
    """

    servers: int
    limit_s: float = 600.0

    def __post_init__(self) -> None:
        if self.servers < 1 or not 0 < self.limit_s < float("inf"):
            raise SimulationError(
                f"a pre-run of {self.limit_s:g} s on {self.servers} servers was asked for; give a "
                "server and a second at least."
            )

    @property
    def says(self) -> str:
        """What is done, in a sentence."""
        pool = count(self.servers, "server")
        return (
            f"Gangs run on one GPU of {pool} first: a failure by its user's error within "
            f"{self.limit_s:g} s shows there; what has not failed by then starts anew on the other "
            "servers."
        )

    def through(
        self,
        specs: Sequence[JobSpec],
        machines: Sequence[Machine],
        cluster: Callable[[Sequence[JobSpec], Sequence[Machine]], Schedule],
    ) -> Schedule:
        """Simulate the pool, and then the cluster with what comes out of it.

        Parameters
        ----------
        specs
            Jobs whose failing runs have reasons
            (see :func:`~philly_analysis.simulator.jobs.run_failures.with_reasons`).
        cluster
            Simulates jobs on the servers that are left.

        Raises
        ------
        SimulationError
            The pool would be the whole cluster.
        """
        if self.servers >= len(machines):
            raise SimulationError(
                f"a pre-run on {self.servers} servers was asked for, of {len(machines)} that there "
                "are. Give fewer, or more machines."
            )
        tried = {spec.job_id: self._tried(spec) for spec in specs if spec.gpus > 1}
        if not tried:
            return cluster(specs, machines[: -self.servers])
        first = [
            replace(spec, gpus=1, attempts=tried[spec.job_id], time_limit_s=None, status=None)
            for spec in specs
            if spec.job_id in tried
        ]
        pool = run(first, machines[-self.servers :], Fifo())
        left_s = dict(pool.jobs.select("job_id", "end_s").iter_rows())
        then = []
        for spec in specs:
            done = sum(a.end_reason != "preempted" for a in tried.get(spec.job_id, ()))
            if runs := runs_of(spec)[done:]:
                submit_s = left_s.get(spec.job_id, spec.submit_s)
                then.append(replace(spec, submit_s=submit_s, attempts=runs))
        return _one_after_the_other(specs, pool, cluster(then, machines[: -self.servers]))

    def _tried(self, spec: JobSpec) -> tuple[AttemptSpec, ...]:
        """Return what of a gang happens in the pool: its early failures, then a trial run."""
        runs = runs_of(spec)
        caught = tuple(takewhile(lambda each: users_own(each) and each.run_s <= self.limit_s, runs))
        if len(caught) == len(runs):
            return caught
        sound_s = min(self.limit_s, runs[len(caught)].run_s)
        return (*caught, AttemptSpec(sound_s, "preempted"))


def _one_after_the_other(specs: Sequence[JobSpec], pool: Schedule, cluster: Schedule) -> Schedule:
    """Return two schedules as one: attempts in the pool come before those in the cluster."""
    before = pool.attempts.group_by("job_id").agg(before=pl.len().cast(pl.Int32))
    asked = pl.DataFrame(
        [(s.job_id, s.vc, s.gpus, s.submit_s, s.run_s) for s in specs],
        schema=pool.jobs.drop("end_s").schema,
        orient="row",
    )
    ends = pl.concat([pool.jobs.join(cluster.jobs, on="job_id", how="anti"), cluster.jobs])
    jobs = asked.join(ends.select("job_id", "end_s"), on="job_id").sort("submit_s", "job_id")
    nth = jobs.select("job_id").with_row_index("nth")

    def both(of: str, *then: str) -> pl.DataFrame:
        early: pl.DataFrame = getattr(pool, of)
        late: pl.DataFrame = getattr(cluster, of)
        later = (
            late.join(before, on="job_id", how="left", maintain_order="left")
            .with_columns(attempt=pl.col("attempt") + pl.col("before").fill_null(0))
            .drop("before")
        )
        ordered = pl.concat([early, later]).join(nth, on="job_id", maintain_order="left")
        return ordered.sort("nth", *then, maintain_order=True).drop("nth")

    # what a trial run got done is done again
    trial = pl.col("end_reason") == "preempted"
    thrown = pool.attempts.with_columns(
        lost_s=pl.when(trial).then("work_s").otherwise("lost_s"),
        work_s=pl.when(trial).then(0.0).otherwise("work_s"),
    )
    pool = replace(pool, attempts=thrown)
    return replace(
        cluster,
        jobs=jobs,
        attempts=both("attempts", "attempt"),
        placements=both("placements", "attempt"),
        speeds=both("speeds", "start_s"),
        holds=both("holds", "start_s"),
        waits=both("waits", "since_s"),
        events=pool.events + cluster.events,
    )
