"""Read the scenario of a log from its trace: jobs, machines, limits, and facts of each job."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import polars as pl

from philly_analysis.experiments.advice.large_log import Span, earlier_jobs, spans_of
from philly_analysis.experiments.advice.scenario import Jobs, LogFacts, Scenario, period_between
from philly_analysis.simulator import assign_to_pools, is_user_error
from philly_analysis.simulator.policies import Limit, recorded_limits
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace
from philly_analysis.workload import (
    CHOSEN_JOBS,
    JobSpec,
    Machine,
    Workload,
    preferred_quotas,
    runs_of,
    with_failure_reasons,
    with_gpu_use,
)

_JOBS = """
with included as (
  select
    jobs.job_id,
    epoch_us(jobs.submitted_at) as submit_us,
    epoch_us(jobs.first_started_at) as start_us,
    epoch_us(job_times.last_ended_at) as end_us
  from workload_jobs as jobs
  inner join job_times using (job_id)
  where jobs.left_out is null
),

origin as (
  select min(submit_us) as origin_us from included
)

select
  job_id,
  (submit_us - origin_us) / 1e6 as submit_s,
  (start_us - submit_us) / 1e6 as wait_s,
  (end_us - origin_us) / 1e6 as end_s
from included
cross join origin
order by submit_us, job_id
"""
"""Times of the jobs of the workload, in the order of submission: see :func:`spans_of`."""

_SPREAD = f"""
select distinct job_id
from attempt_servers
where spread and {CHOSEN_JOBS}
"""

_IDLE = f"""
with runs as (
  select
    job_id,
    attempt,
    coalesce(sum(run_s) over (
      partition by job_id
      order by attempt rows between unbounded preceding and 1 preceding
    ), 0) as before_s
  from workload_attempts
  where {CHOSEN_JOBS}
)

select job_id, before_s + idle_s, until_s - idle_s, resumed
from idle_streaks
inner join runs using (job_id, attempt)
order by job_id, attempt, idle_s
"""


class Recorded(NamedTuple):
    """What a log has of its jobs and machines.

    Attributes
    ----------
    scenario
        Jobs and machines on which levers are priced: of a large log the last jobs.
    log_facts
        Facts of the jobs.
    waits_s
        Seconds from submission to first start of each job with a known start.
    period_s
        Seconds of the whole log's period; 0: there are no jobs.
    quotas
        Whether the log has the quotas of its virtual clusters.
    halves
        Of a large log a span of each half, on which policies are compared; empty: `scenario`.
    waits_known
        Number of jobs of a large log's period with a known wait.
    """

    scenario: Scenario
    log_facts: LogFacts
    waits_s: Mapping[str, float]
    period_s: float = 0.0
    quotas: bool = False
    halves: tuple[Scenario, ...] = ()
    waits_known: int = 0


def recorded_scenario(trace: Trace, most: float = inf) -> Recorded:
    """Return a trace's jobs and machines, and the records of the jobs.

    Jobs that no pool of the machines can run are excluded.

    Parameters
    ----------
    most
        Number of jobs above which a log is large. Of a large log only the jobs of the spans are
        built; other jobs are rows of tables.
    """
    with Trace(trace.path, run_policy=RunPolicy.SUM) as summed:
        jobs = summed.sql(_JOBS).pl()
    begin_s, end_s = period_between(jobs["submit_s"].to_numpy()) if jobs.height else (0.0, 0.0)
    spans = spans_of(jobs, int(most)) if jobs.height > most else None
    if spans:
        jobs = jobs.filter(pl.col("job_id").is_in(spans.jobs))
    workload = Workload.from_trace(trace, jobs["job_id"].to_list() if spans else None)
    servers: list[Machine] = [m for m in workload.servers() if m.gpus]
    quotas, given = dict[str, int](), False
    if trace.has("vc_quotas"):
        quotas, given = preferred_quotas(trace.answer("vc_quotas").pl())
    specs = with_gpu_use(workload, with_failure_reasons(workload, workload.specs()))
    pools, _ = assign_to_pools(workload, specs, servers)
    fitting = (
        replace(pool, jobs=tuple(s for s in pool.jobs if s.gpus <= pool.gpus)) for pool in pools
    )
    chosen = tuple(p for p in fitting if p.jobs and p.gpus)
    limits = _limits(trace) if len(chosen) == 1 else ()  # a limit counts the jobs of all pools
    scenario = Scenario(chosen, quotas=quotas, limits=limits)
    starts_s = _starts(workload) if spans else {}
    return Recorded(
        _of_span(scenario, spans and spans.last, starts_s),
        _facts_of(trace, workload, specs),
        dict(jobs.filter(pl.col("wait_s") >= 0).select("job_id", "wait_s").iter_rows()),
        end_s - begin_s,
        given,
        tuple(_of_span(scenario, half, starts_s) for half in spans.halves) if spans else (),
        spans.waits_known if spans else 0,
    )


def _of_span(
    scenario: Scenario, span: Span | None, starts_s: Mapping[str, list[float | None]]
) -> Scenario:
    """Return a scenario of a span's jobs, with runs as replays have them; None: all jobs."""
    if span is None:
        return scenario.with_jobs(_as_runs)
    names, before = frozenset(span.jobs), frozenset(span.earlier)
    submit_s = [spec.submit_s for spec in scenario.jobs if spec.job_id in names]
    if not submit_s:  # no pool runs them
        return replace(scenario, pools=())
    begin_s = min(submit_s)
    pools, carried = [], set[str]()
    for pool in scenario.pools:
        rests = earlier_jobs((s for s in pool.jobs if s.job_id in before), starts_s, begin_s)
        carried.update(spec.job_id for spec in rests)
        submitted = (_as_runs(spec) for spec in pool.jobs if spec.job_id in names)
        pools.append(replace(pool, jobs=(*rests, *submitted)))
    part = tuple(pool for pool in pools if pool.jobs)
    return replace(scenario, pools=part, carried=frozenset(carried))


def _as_runs(spec: JobSpec) -> JobSpec:
    return replace(spec, attempts=runs_of(spec))


def _starts(workload: Workload) -> dict[str, list[float | None]]:
    """Return when each attempt of a job started, on the clock of the jobs."""
    start_s = pl.col("started_at") - pl.lit(workload.origin_at, pl.Datetime("us"))
    rows = (
        workload.answer("workload_attempts")
        .select("job_id", "attempt")
        .join(workload.frames["attempts"], on=["job_id", "attempt"])
        .sort("job_id", "attempt")
        .group_by("job_id", maintain_order=True)
        .agg(start_s.dt.total_microseconds() / 1e6)
    )
    return dict(rows.iter_rows())


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
    names = [spec.job_id for spec in specs]
    idle: dict[str, tuple[tuple[float, float, bool], ...]] = {}
    for job_id, *period in _rows(trace, "idle_streaks", _IDLE, names=names):
        idle[job_id] = (*idle.get(job_id, ()), tuple(period))
    spread = _rows(trace, "attempt_servers", _SPREAD, names=names)
    spread_jobs = frozenset(job_id for (job_id,) in spread)
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


def _rows(trace: Trace, relation: str, sql: str, **values: object) -> list[tuple[Any, ...]]:
    """Return rows of a query; none if the trace lacks the relation's tables."""
    return trace.sql(sql, **values).fetchall() if trace.has(relation) else []
