"""Scenarios to replay: jobs, machines, a policy, and the recorded facts of each job."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Self, cast

import numpy as np
import polars as pl

from philly_analysis.distributions import Floats
from philly_analysis.errors import PhillyError
from philly_analysis.parallel import map_ordered
from philly_analysis.simulator import (
    Outage,
    Pool,
    Schedule,
    divide_quotas,
    merge_schedules,
    run,
)
from philly_analysis.simulator.policies import Fifo, Limit, Policy
from philly_analysis.trace import Trace, load_table, store_table, text_digest
from philly_analysis.workload import (
    Estimates,
    JobSpec,
    Machine,
)

Jobs = Sequence[JobSpec]

HALVES = 2
"""Parts of a log, by submission, on which policies are compared apart."""

MOST_JOBS = 40_000
"""Jobs of a log on which policies are compared and levers are priced (convention)."""
_EARLIEST = 0.01
"""Share of the jobs that may be submitted before the period, because they survived from earlier."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """What is known of jobs beyond their requests; jobs without an entry are not affected.

    Attributes
    ----------
    idle
        Idle periods of each job that was idle for an hour or more. A period has the seconds of
        service until the first reading at 0 %, its length (s), and whether the job computed again.
    spread
        Jobs that ran on more servers than they need.
    broken
        Runs of each job that failed on a server with significantly many failures.
    worst_servers
        Servers with significantly many failures, the server with the most first.
    binding
        Names of the limits that keep jobs waiting.
    """

    idle: Mapping[str, tuple[tuple[float, float, bool], ...]] = field(default_factory=dict)
    spread: frozenset[str] = frozenset()
    broken: Mapping[str, frozenset[int]] = field(default_factory=dict)
    worst_servers: tuple[str, ...] = ()
    binding: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Scenario:
    """Jobs, machines and a policy, of which a lever changes one.

    Attributes
    ----------
    pools
        Machines with the jobs that are assigned to them.
    quotas
        GPUs of each virtual cluster, for policies that use quotas.
    estimates
        Run time estimates of policies that plan by them.
    outages
        Times at which servers are drained.
    limits
        Limits of accounts, users, QOS and partitions, for policies that have them.
    carried
        Jobs that ran or waited before the scenario's period, and do not count.
    """

    pools: tuple[Pool, ...]
    policy: Policy = field(default_factory=Fifo)
    quotas: Mapping[str, int] = field(default_factory=dict)
    estimates: Estimates = field(default_factory=Estimates)
    outages: tuple[Outage, ...] = ()
    limits: tuple[Limit, ...] = ()
    carried: frozenset[str] = frozenset()

    @property
    def jobs(self) -> list[JobSpec]:
        """All jobs, by submission."""
        every = (spec for pool in self.pools for spec in pool.jobs)
        return sorted(every, key=lambda s: (s.submit_s, s.job_id))

    @property
    def rules(self) -> str:
        """The scenario's policy with knobs, estimates and limits, as text."""
        return f"{self.policy} {self.estimates} {self.limits if self.policy.limits else ''}"

    @property
    def gpus(self) -> int:
        """GPUs in all."""
        return sum(pool.gpus for pool in self.pools)

    def only(self, names: Collection[str]) -> Self:
        """Return the scenario with the jobs of some identifiers."""
        pools = (
            replace(pool, jobs=tuple(spec for spec in pool.jobs if spec.job_id in names))
            for pool in self.pools
        )
        return replace(self, pools=tuple(pool for pool in pools if pool.jobs))

    def latest(self, most: int) -> Self:
        """Return the scenario with so many jobs, the last in the order of submission."""
        jobs = self.jobs
        return self if len(jobs) <= most else self.only({spec.job_id for spec in jobs[-most:]})

    def with_jobs(self, change: Callable[[JobSpec], JobSpec]) -> Self:
        """Return the scenario with each job changed."""
        changed = (replace(pool, jobs=tuple(map(change, pool.jobs))) for pool in self.pools)
        return replace(self, pools=tuple(changed))

    @property
    def _busiest(self) -> Pool:
        """The pool with the most GPU time per GPU."""
        return max(self.pools, key=lambda p: sum(s.gpu_s for s in p.jobs) / p.gpus)

    def server_types(self) -> list[Machine]:
        """Return the types of servers of the most loaded pool, the most frequent first."""
        shapes = Counter(replace(m, machine_id="", rack=None) for m in self._busiest.machines)
        return sorted(shapes, key=lambda m: (shapes[m], m.gpus), reverse=True)

    def with_servers(self, servers: int, nth: int = 0) -> Self:
        """Return the scenario with more servers of the nth type of the most loaded pool."""
        busiest, shape = self._busiest, self.server_types()[nth]
        more = [replace(shape, machine_id=f"added {i + 1}") for i in range(servers)]
        larger = replace(busiest, machines=(*busiest.machines, *more))
        return replace(self, pools=tuple(larger if p is busiest else p for p in self.pools))

    def replay(self) -> Schedule:
        """Simulate each pool, and return the schedule of all jobs."""
        quotas = divide_quotas(self.quotas, self.pools)
        return merge_schedules(list(map(self._replay_pool, self.pools, quotas)))

    def _replay_pool(self, pool: Pool, quotas: Mapping[str, int]) -> Schedule:
        jobs: Jobs = pool.jobs
        if not self.estimates.exact:
            jobs = self.estimates.apply(jobs, np.random.default_rng(0))
        servers = {machine.machine_id for machine in pool.machines}
        outages = [outage for outage in self.outages if outage.machine_id in servers]
        policy = self.policy.within(self.limits)
        return run(jobs, pool.machines, policy, quotas=quotas, outages=outages)


def outcome(scenario: Scenario) -> pl.DataFrame:
    """Replay a scenario.

    Returns
    -------
    polars.DataFrame
        One row per job: job_id, first_wait_s (submission to first start) and wait_s (all waits:
        completion time minus run time).
    """
    schedule = scenario.replay()
    first = schedule.attempts.filter(pl.col("attempt") == 1).select("job_id", "start_s")
    return schedule.jobs.join(first, on="job_id", how="left", maintain_order="left").select(
        "job_id",
        first_wait_s=pl.col("start_s") - pl.col("submit_s"),
        # to the millisecond: the difference of a job that never waits is not exactly 0
        wait_s=(pl.col("end_s") - pl.col("submit_s") - pl.col("run_s")).clip(0).round(3),
    )


def _attempted(scenario: Scenario) -> pl.DataFrame | PhillyError:
    """Return the outcome of a scenario, or why the scenario cannot be replayed."""
    try:
        return outcome(scenario)
    except PhillyError as error:
        return error


def of_jobs(outcomes: pl.DataFrame, column: str, jobs: Jobs) -> Floats:
    """Return a column of outcomes in the order of some jobs."""
    ids = pl.DataFrame({"job_id": [spec.job_id for spec in jobs]})
    return ids.join(outcomes, on="job_id", how="left", maintain_order="left")[column].to_numpy()


def replay_all(
    scenarios: Mapping[str, Scenario], executor: Executor, cache: Trace | None = None
) -> list[pl.DataFrame]:
    """Return the outcomes of scenarios, in their order: see :func:`attempt_all`."""
    outcomes = attempt_all(scenarios, executor, cache)
    for replay in outcomes:
        if isinstance(replay, PhillyError):
            raise replay
    return cast("list[pl.DataFrame]", outcomes)


def attempt_all(
    scenarios: Mapping[str, Scenario], executor: Executor, cache: Trace | None = None
) -> list[pl.DataFrame | PhillyError]:
    """Return the outcome of each scenario in order, or why the scenario cannot be replayed.

    Parameters
    ----------
    scenarios
        Scenarios by a text that determines the scenario for a trace.
    cache
        Trace in whose cache each outcome is stored as soon as known, so that interrupted advice
        continues; None: nowhere.
    """
    names = {text: f"replay-{text_digest(text)}" for text in scenarios}
    replays: dict[str, pl.DataFrame | PhillyError] = {}
    for text, name in names.items():
        if cache is not None and (table := load_table(cache, name)) is not None:
            replays[text] = cast("pl.DataFrame", pl.from_arrow(table))
    missing = [text for text in names if text not in replays]
    outcomes = map_ordered(executor, _attempted, map(scenarios.__getitem__, missing), ahead=64)
    for text, replay in zip(missing, outcomes, strict=True):
        replays[text] = replay
        if cache is not None and isinstance(replay, pl.DataFrame):
            store_table(cache, names[text], replay.to_arrow())
    return [replays[text] for text in names]


def period_between(submit_s: Sequence[float] | Floats) -> tuple[float, float]:
    """Return when the period begins and ends (s), given the submissions of its jobs (s)."""
    begin_s = float(np.quantile(submit_s, _EARLIEST, method="higher"))
    return begin_s, float(np.max(submit_s))


def period_of(jobs: Jobs) -> tuple[float, float]:
    """Return when the log's period begins and ends (s), without jobs that survived from earlier."""
    return period_between([spec.submit_s for spec in jobs])


def jobs_in_period(scenario: Scenario) -> list[JobSpec]:
    """Return the jobs that are submitted in the log's period."""
    jobs = scenario.jobs
    begin_s, _ = period_of(jobs) if jobs else (0.0, 0.0)
    counted = (spec for spec in jobs if spec.job_id not in scenario.carried)
    return [spec for spec in counted if spec.submit_s >= begin_s]
