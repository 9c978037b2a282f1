"""Read the scenario of a log from its trace: jobs, machines, limits, and facts of each job."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
import polars as pl

from philly_analysis.experiments.advice.scenario import Jobs, LogFacts, Scenario, period_between
from philly_analysis.simulator import assign_to_pools, is_user_error
from philly_analysis.simulator.policies import Limit, recorded_limits
from philly_analysis.trace import Trace
from philly_analysis.workload import (
    Machine,
    Workload,
    demand_of,
    quotas_of,
    runs_of,
    with_failure_reasons,
    with_gpu_use,
)

HALVES = 2
"""Parts of a log, by submission, on which policies are compared apart."""


class Spans(NamedTuple):
    """The jobs of a large log that are replayed, by identifier.

    Attributes
    ----------
    halves
        Jobs in the middle of each half of the log's period, by submission. Policies are compared on
        them.
    last
        The last jobs. Levers are priced on them.
    known
        Number of jobs of the period with a known wait.
    """

    halves: tuple[tuple[str, ...], ...]
    last: frozenset[str]
    known: int


class Recorded(NamedTuple):
    """What a log has of its jobs and machines.

    Attributes
    ----------
    scenario
        Jobs and machines: of a large log the jobs of its spans only.
    log_facts
        Facts of these jobs.
    waits_s
        Seconds from submission to first start of each of these jobs with a known start.
    period_s
        Seconds of the whole log's period; 0: there are no jobs.
    quotas
        Whether the log has the quotas of its virtual clusters.
    spans
        The jobs of a large log that are replayed; None: all jobs are.
    """

    scenario: Scenario
    log_facts: LogFacts
    waits_s: Mapping[str, float]
    period_s: float = 0.0
    quotas: bool = False
    spans: Spans | None = None

    @property
    def priced(self) -> Scenario:
        """The scenario of the jobs on which levers are priced."""
        return self.scenario if self.spans is None else self.scenario.only(self.spans.last)


def recorded_scenario(trace: Trace, most: float = inf) -> Recorded:
    """Return a trace's jobs and machines, and the records of the jobs.

    Jobs that no pool of the machines can run are excluded.

    Parameters
    ----------
    most
        Number of jobs above which a log is large. Memory does not grow with the jobs of a large
        log that are not replayed.
    """
    workload = Workload.from_trace(trace)
    jobs = demand_of(workload).jobs.select("job_id", "submit_s", "wait_s")
    servers: list[Machine] = [m for m in workload.servers() if m.gpus]
    quotas, _ = quotas_of(workload, sum(m.gpus for m in servers))
    begin_s, end_s = period_between(jobs["submit_s"].to_numpy()) if jobs.height else (0.0, 0.0)
    spans = None
    if jobs.height > most:
        spans = spans_of(jobs, int(most))
        names = spans.last.union(*spans.halves)
        jobs = jobs.filter(pl.col("job_id").is_in(names))
        workload = _only(workload, jobs["job_id"])
    specs = with_gpu_use(workload, with_failure_reasons(workload, workload.specs()))
    log_facts = _facts_of(trace, workload, specs)
    specs = [replace(spec, attempts=runs_of(spec)) for spec in specs]
    pools, _ = assign_to_pools(workload, specs, servers)
    fitting = (
        replace(pool, jobs=tuple(s for s in pool.jobs if s.gpus <= pool.gpus)) for pool in pools
    )
    chosen = tuple(p for p in fitting if p.jobs and p.gpus)
    limits = _limits(trace) if len(chosen) == 1 else ()  # a limit counts the jobs of all pools
    return Recorded(
        Scenario(chosen, quotas=quotas, limits=limits),
        log_facts,
        dict(jobs.filter(pl.col("wait_s") >= 0).select("job_id", "wait_s").iter_rows()),
        end_s - begin_s,
        len(workload.virtual_clusters) > 0,
        spans,
    )


def spans_of(jobs: pl.DataFrame, most: int) -> Spans:
    """Return the jobs of a large log to replay.

    Parameters
    ----------
    jobs
        A row per job, by submission: job_id, submit_s, and wait_s, which is null if not known.
    most
        Number of jobs in the spans of all halves together, and of last jobs.
    """
    begin_s, _ = period_between(jobs["submit_s"].to_numpy())
    in_period = jobs.filter(pl.col("submit_s") >= begin_s)
    names, size = in_period["job_id"], most // HALVES
    halves = (
        names.slice(half[0] + (len(half) - size) // 2, size)
        for half in np.array_split(np.arange(len(names)), HALVES)
    )
    return Spans(
        tuple(tuple(half.to_list()) for half in halves),
        frozenset(names.tail(most).to_list()),
        in_period.filter(pl.col("wait_s") >= 0).height,
    )


def _only(workload: Workload, names: pl.Series) -> Workload:
    """Return a workload with some of the jobs."""
    jobs, attempts, placements = (
        workload.frames[table].filter(pl.col("job_id").is_in(names.implode()))
        for table in ("jobs", "attempts", "placements")
    )
    return replace(workload, jobs=jobs, attempts=attempts, placements=placements)


def _limits(trace: Trace) -> tuple[Limit, ...]:
    """Return the recorded limits; else the limits in recorded reasons, at the greatest use."""
    if "limits" in trace.tables:
        return recorded_limits(trace)
    rows = _rows(
        trace,
        "limit_amounts",
        "select limit_name, scope, owner, resource, amount from limit_amounts "
        "where amount > 0 order by limit_name",
    )
    return tuple(
        Limit(
            name,
            owner if scope == "account" else None,
            owner if scope == "user" else None,
            owner if scope == "qos" else None,
            owner if scope == "partition" else None,
            None,
            resource,
            amount,
        )
        for name, scope, owner, resource, amount in rows
    )


def _facts_of(trace: Trace, workload: Workload, specs: Jobs) -> LogFacts:
    """Return the idle periods, the spread jobs and the broken runs of the jobs of a workload."""
    answers = partial(_rows, trace)
    names = {spec.job_id for spec in specs}
    idle: dict[str, tuple[tuple[float, float, bool], ...]] = {}
    for job_id, begun_s, idle_s, resumed in answers(
        "idle_streaks",
        "with runs as (select job_id, attempt, coalesce(sum(run_s) over (partition by job_id "
        "order by attempt rows between unbounded preceding and 1 preceding), 0) as before_s "
        "from workload_attempts) "
        "select job_id, before_s + idle_s, until_s - idle_s, resumed from idle_streaks "
        "inner join runs using (job_id, attempt) order by job_id, attempt, idle_s",
    ):
        if job_id in names:
            idle[job_id] = (*idle.get(job_id, ()), (begun_s, idle_s, resumed))
    spread = answers("attempt_servers", "select distinct job_id from attempt_servers where spread")
    spread_jobs = frozenset(job_id for (job_id,) in spread if job_id in names)
    return LogFacts(idle, spread_jobs, *_broken(workload, specs))


def _broken(workload: Workload, specs: Jobs) -> tuple[dict[str, frozenset[int]], tuple[str, ...]]:
    """Return failed runs on servers with many failures, and these servers, the worst first.

    User errors do not count as failures. A server has many failures if a one-sided binomial test
    against the rate of all servers has p < 0.05 after Bonferroni's correction.
    """
    from scipy.stats import binomtest

    key = ["job_id", "attempt"]
    servers_of = workload.frames["placements"].select(*key, "machine_id").unique()
    on_servers = (
        workload.answer("workload_attempts")
        .join(servers_of, on=key)
        .group_by(key)
        .agg("machine_id")
        .sort(key)
    )
    placed: dict[str, list[frozenset[str]]] = {}
    for job_id, servers in on_servers.select("job_id", "machine_id").iter_rows():
        placed.setdefault(job_id, []).append(frozenset(servers))
    tried = Counter[str]()
    failed = defaultdict[str, list[tuple[str, int]]](list)
    for spec in specs:
        where, runs = placed.get(spec.job_id, []), runs_of(spec)
        if len(where) != len(runs):
            continue
        for nth, (servers, attempt) in enumerate(zip(where, runs, strict=True)):
            ended = attempt.end_reason == "node_failure" or (
                attempt.failure is not None and not is_user_error(attempt)
            )
            tried.update(servers)
            for server in servers if ended else ():
                failed[server].append((spec.job_id, nth))
    total = sum(map(len, failed.values()))
    if not total:
        return {}, ()
    rate = total / sum(tried.values())
    broken: dict[str, frozenset[int]] = {}
    worst: list[str] = []
    for server, runs_there in failed.items():
        test = binomtest(len(runs_there), tried[server], rate, alternative="greater")
        if test.pvalue * len(tried) < 0.05:
            worst.append(server)
            for job_id, nth in runs_there:
                broken[job_id] = broken.get(job_id, frozenset()) | {nth}
    return broken, tuple(sorted(worst, key=lambda server: (-len(failed[server]), server)))


def _rows(trace: Trace, relation: str, sql: str) -> list[tuple]:  # type: ignore[type-arg]
    """Return rows of a query; none if the trace lacks the relation's tables."""
    return trace.sql(sql).fetchall() if trace.has(relation) else []
