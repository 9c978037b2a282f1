"""Read the scenario of a log from its trace: jobs, machines, limits, and facts of each job."""

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

from philly_analysis.experiments.advice.scenario import Jobs, LogFacts, Scenario
from philly_analysis.simulator import assign_to_pools, is_user_error
from philly_analysis.simulator.policies import Limit, recorded_limits
from philly_analysis.trace import Trace
from philly_analysis.workload import (
    Machine,
    Workload,
    quotas_of,
    runs_of,
    with_failure_reasons,
    with_gpu_use,
)


def recorded_scenario(trace: Trace) -> tuple[Scenario, LogFacts]:
    """Return a trace's jobs and machines, and the records of the jobs.

    Jobs that no pool of the machines can run are excluded.
    """
    workload = Workload.from_trace(trace)
    specs = with_gpu_use(workload, with_failure_reasons(workload, workload.specs()))
    log_facts = _facts_of(trace, specs)
    specs = [replace(spec, attempts=runs_of(spec)) for spec in specs]
    servers: list[Machine] = [m for m in workload.servers() if m.gpus]
    capacity = sum(m.gpus for m in servers)
    quotas, _ = quotas_of(workload, capacity)
    pools, _ = assign_to_pools(workload, specs, servers)
    fitting = (
        replace(pool, jobs=tuple(s for s in pool.jobs if s.gpus <= pool.gpus)) for pool in pools
    )
    chosen = tuple(p for p in fitting if p.jobs and p.gpus)
    limits = _limits(trace) if len(chosen) == 1 else ()  # a limit counts the jobs of all pools
    return Scenario(chosen, quotas=quotas, limits=limits), log_facts


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


def _facts_of(trace: Trace, specs: Jobs) -> LogFacts:
    """Return the idle periods, the spread jobs and the broken runs of a trace."""
    answers = partial(_rows, trace)
    before_s: dict[tuple[str, int], float] = {}
    for job_id, attempt, so_far_s in trace.sql(
        "select job_id, attempt, sum(run_s) over (partition by job_id order by attempt "
        "rows between unbounded preceding and 1 preceding) from workload_attempts"
    ).fetchall():
        before_s[job_id, attempt] = so_far_s or 0.0
    idle: dict[str, tuple[tuple[float, float, bool], ...]] = {}
    for job_id, attempt, idle_s, until_s, resumed in answers(
        "idle_streaks",
        "select job_id, attempt, idle_s, until_s, resumed from idle_streaks "
        "order by job_id, attempt, idle_s",
    ):
        if (begun_s := before_s.get((job_id, attempt))) is not None:
            row = (begun_s + idle_s, until_s - idle_s, resumed)
            idle[job_id] = (*idle.get(job_id, ()), row)
    spread = answers("attempt_servers", "select distinct job_id from attempt_servers where spread")
    return LogFacts(idle, frozenset(job_id for (job_id,) in spread), *_broken(trace, specs))


def _broken(trace: Trace, specs: Jobs) -> tuple[dict[str, frozenset[int]], tuple[str, ...]]:
    """Return failed runs on servers with many failures, and these servers, the worst first.

    User errors do not count as failures. A server has many failures if a one-sided binomial test
    against the rate of all servers has p < 0.05 after Bonferroni's correction.
    """
    from scipy.stats import binomtest

    placed: dict[str, list[frozenset[str]]] = {}
    for job_id, servers in _rows(
        trace,
        "placements",
        "select job_id, list(distinct machine_id) from workload_attempts "
        "inner join placements using (job_id, attempt) group by job_id, attempt "
        "order by job_id, attempt",
    ):
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
