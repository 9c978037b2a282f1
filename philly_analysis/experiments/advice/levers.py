"""List the levers: changes, assumptions, and whether a replay is needed."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, inf
from statistics import median

from philly_analysis.experiments.advice.job_levers import (
    checkpoints,
    end_idle,
    if_changed,
    no_retries,
    repair,
    scaled,
    share,
)
from philly_analysis.experiments.advice.lever import Assumptions, Change, Lever
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario
from philly_analysis.experiments.job_sources import quotas_by_use
from philly_analysis.results import count, duration
from philly_analysis.simulator.policies import Conservative, Easy, Fifo, Philly
from philly_analysis.workload import Estimates, JobSpec

_H = 3600.0

PATIENCE = 6
"""Factor by which gangs ask for few servers more often (convention)."""

MUCH_MORE = 2.0
"""Median requested limit, in multiples of the lever's, from which the lever is offered.

With estimates some times too long EASY waits less, not more (Tsafrir and Feitelson, IISWC 2006), so
that a limit twice as long costs little.
"""


def _policy(scenario: Scenario, **knobs: object) -> Change:
    return Change(replace(scenario, policy=replace(scenario.policy, **knobs)))  # type: ignore[arg-type]


def _backfill(now: Scenario, _: LogFacts, __: Assumptions) -> Change | None:
    """Let jobs pass that do not delay the first; queues that block, or starve large gangs."""
    if type(now.policy) is not Fifo:
        return None
    requested = any(spec.time_limit_s for spec in now.jobs)
    return Change(replace(now, policy=Easy(), estimates=Estimates(requested=requested)))


def _quotas(now: Scenario, _: LogFacts, __: Assumptions) -> Change | None:
    """Divide quotas by the GPU time that virtual clusters use."""
    if not now.policy.quotas or len(now.quotas) < 2:
        return None
    return Change(replace(now, quotas=quotas_by_use(now.jobs, now.gpus)))


def _locality(now: Scenario, log_facts: LogFacts, assumed: Assumptions) -> Change | None:
    """Let gangs ask for few servers six times as often before they spread, and then run faster."""
    if not isinstance(now.policy, Philly) or not log_facts.spread:
        return None
    speed = 1 - assumed.interference_pct / 100
    faster = now.with_jobs(lambda s: scaled(s, speed) if s.job_id in log_facts.spread else s)
    return _policy(faster, asks=PATIENCE * now.policy.asks)


def _consolidate(now: Scenario, _: LogFacts, __: Assumptions) -> Change | None:
    """Place each gang on the servers with the least room that fit it."""
    if not isinstance(now.policy, Fifo) or now.policy.consolidate:
        return None
    return _policy(now, consolidate=True)


def _limits(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    """Lower time limits towards the run times where users ask for much more than they use."""
    if not now.estimates.requested or not isinstance(now.policy, Easy | Conservative):
        return None
    asked = [s.time_limit_s / s.run_s for s in now.jobs if s.time_limit_s and s.run_s > 0]
    if not asked or median(asked) < MUCH_MORE * assumed.limit_factor:
        return None

    def lowered(spec: JobSpec) -> JobSpec:
        if not spec.time_limit_s:
            return spec
        longest_s = max(run.run_s for run in spec.attempts)
        enough_s = 60.0 * max(ceil(assumed.limit_factor * longest_s / 60), 1)
        return replace(spec, time_limit_s=min(spec.time_limit_s, enough_s))

    return if_changed(now, now.with_jobs(lowered))


def _migrate(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    """Move running jobs to make room for a gang that fits in number, but not on few servers."""
    if not isinstance(now.policy, Philly) or now.policy.migrate_after_s != inf:
        return None
    return _policy(now, migrate_after_s=assumed.checkpoint_h * _H)


def _raise_limits(now: Scenario, log_facts: LogFacts, assumed: Assumptions) -> Change | None:
    """Raise the limits that keep jobs waiting; the policy must have the limits."""
    raised = tuple(
        limit._replace(amount=assumed.raise_factor * limit.amount)
        if limit.name in log_facts.binding
        else limit
        for limit in now.limits
    )
    if raised == now.limits or not now.policy.limits:
        return None
    return Change(replace(now, limits=raised))


def _cpus(now: Scenario, _: LogFacts, __: Assumptions) -> Change | None:
    """Let jobs that ask for more CPUs per GPU than servers have ask for the servers' share."""
    shares = [
        machine.cpus / machine.gpus
        for pool in now.pools
        for machine in pool.machines
        if machine.cpus and machine.gpus
    ]
    if not shares:
        return None
    most = min(shares)

    def fewer(spec: JobSpec) -> JobSpec:
        if not spec.cpus or not spec.gpus_by_server:
            return spec
        return replace(spec, cpus=min(spec.cpus, most * spec.gpus))

    return if_changed(now, now.with_jobs(fewer))


def _servers(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    return Change(now.with_servers(assumed.servers))


def _other_servers(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    """Add servers of the second type of the most loaded machines, if they have two."""
    if len(now.server_types()) < 2:
        return None
    return Change(now.with_servers(assumed.servers, nth=1))


LEVERS = (
    Lever(
        "end_idle",
        end_idle,
        lambda a: f"End jobs idle for {duration(a.idle_h * _H)}",
        "A job is idle while none of its GPUs is above 0 %. A job that would have computed again "
        "loses its work.",
        moves="idle_h",
    ),
    Lever(
        "share",
        share,
        lambda a: f"Halve the GPUs of jobs below {a.share_below_pct:g} % utilisation",
        "Jobs of up to a server run on half their GPUs, two single-GPU jobs on one, with their "
        "memory; each is then slower by the interference.",
        moves="interference_pct",
    ),
    Lever(
        "retries",
        no_retries,
        lambda _: "Do not retry user errors",
        "A user error ends its job. Where a retry passed, the user submits the job again, so that "
        "its GPU hours stay.",
    ),
    Lever(
        "checkpoints",
        checkpoints,
        lambda a: f"Save checkpoints every {duration(a.checkpoint_h * _H)}",
        "Retries repeat the work of runs that failed, unless by a user error; checkpoints are free "
        "and complete.",
        moves="checkpoint_h",
    ),
    Lever(
        "repair",
        repair,
        lambda _: "Repair the servers with most failures",
        "On repaired servers none of the failed runs would have failed. The servers run no jobs "
        "until they are repaired, once in the log; without a replay, these GPU hours are a cost.",
        moves="repair_days",
    ),
    Lever(
        "backfill",
        _backfill,
        lambda _: "Switch on backfilling",
        "Jobs are planned by the time limits that their users requested; by their run times if the "
        "log has no limits.",
        changes="policy",
    ),
    Lever(
        "quotas",
        _quotas,
        lambda _: "Divide quotas by use",
        "Virtual clusters keep their demand, and borrow idle GPUs as before.",
        changes="quotas",
    ),
    Lever(
        "locality",
        _locality,
        lambda _: "Let gangs wait longer for few servers",
        "Gangs that ran on more servers than they need would be faster by the interference.",
        moves="interference_pct",
        changes="policy",
    ),
    Lever(
        "migrate",
        _migrate,
        lambda _: "Migrate jobs to make room for gangs",
        "A job that ran since a checkpoint's time may move, and loses no work by it.",
        moves="checkpoint_h",
        changes="policy",
    ),
    Lever(
        "consolidate",
        _consolidate,
        lambda _: "Consolidate small gangs on few servers",
        "The placement does not change how fast jobs run.",
        changes="policy",
    ),
    Lever(
        "limits",
        _limits,
        lambda a: f"Request time limits of at most {a.limit_factor:g} times the run time",
        "Users can estimate run times this accurately. Lower limits that they request stay.",
        moves="limit_factor",
        changes="limits",
    ),
    Lever(
        "raise_limits",
        _raise_limits,
        lambda a: f"Raise the limits that bind to {a.raise_factor:g} times",
        "The other limits stay the same, and users submit the same jobs.",
        moves="raise_factor",
        changes="caps",
    ),
    Lever(
        "cpus",
        _cpus,
        lambda _: "Request no more CPUs per GPU than servers have, unless jobs need more",
        "The log does not record how many CPUs a job needs. Jobs with fewer CPUs are assumed to "
        "run as fast as before, so that the gain is an upper bound. Compare the CPU time of some "
        "jobs (sacct, TotalCPU) with their CPUs first.",
        changes="requests",
    ),
    Lever(
        "servers",
        _servers,
        lambda a: f"Add {count(a.servers, 'server')} of the most frequent type",
        "The jobs stay the same. The GPU hours of the added servers count as a cost.",
        moves="servers",
        changes="machines",
    ),
    Lever(
        "other_servers",
        _other_servers,
        lambda a: f"Add {count(a.servers, 'server')} of the second type",
        "The jobs stay the same. The GPU hours of the added servers count as a cost.",
        moves="servers",
        changes="machines",
    ),
)
"""All levers. Those that change jobs free GPU hours, which needs no replay; waits always do."""


def combined(
    levers: Sequence[Lever], scenario: Scenario, log_facts: LogFacts, assumed: Assumptions
) -> Change | None:
    """Apply levers, one after another; None: none of them applies."""
    combination = None
    for lever in levers:
        before = combination or Change(scenario)
        if (change := lever.apply(before.scenario, log_facts, assumed)) is not None:
            combination = Change(change.scenario, before.losers | change.losers)
    return combination
