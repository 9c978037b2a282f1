"""The table of levers: what each changes, what it assumes, and whether it needs a replay."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, inf
from statistics import median

from philly_analysis.experiments.advice.lever import Assumptions, Change, Lever
from philly_analysis.experiments.advice.scenario import Known, Scenario, period_of
from philly_analysis.experiments.job_sources import quotas_by_use
from philly_analysis.results import count, duration
from philly_analysis.simulator import Outage, fails, is_user_error, until_user_error
from philly_analysis.simulator.policies import Conservative, Easy, Fifo, Philly
from philly_analysis.study import PASS
from philly_analysis.workload import AttemptSpec, Estimates, JobSpec

_H = 3600.0

PATIENCE = 6
"""Factor by which gangs ask for few servers more often (convention)."""

MUCH_MORE = 2.0
"""Median requested limit, in multiples of the lever's, from which the lever is offered.

EASY with run times doubled does as well as with exact ones (Mu'alem and Feitelson, TPDS 12, 2001),
so that a limit twice as long costs little.
"""


def _policy(scenario: Scenario, **knobs: object) -> Change:
    return Change(replace(scenario, policy=replace(scenario.policy, **knobs)))  # type: ignore[arg-type]


def _backfill(now: Scenario, _: Known, __: Assumptions) -> Change | None:
    """Let jobs pass that do not delay the first; queues that block, or starve large gangs."""
    if type(now.policy) is not Fifo:
        return None
    requested = any(spec.time_limit_s for spec in now.jobs)
    return Change(replace(now, policy=Easy(), estimates=Estimates(requested=requested)))


def _quotas(now: Scenario, _: Known, __: Assumptions) -> Change | None:
    """Divide quotas by the GPU time that virtual clusters use."""
    if not now.policy.quotas or len(now.quotas) < 2:
        return None
    return Change(replace(now, quotas=quotas_by_use(now.jobs, now.gpus)))


def _locality(now: Scenario, known: Known, assumed: Assumptions) -> Change | None:
    """Let gangs ask for few servers six times as often before they spread, and then run faster."""
    if not isinstance(now.policy, Philly) or not known.spread:
        return None
    speed = 1 - assumed.interference_pct / 100
    faster = now.with_jobs(lambda s: _scaled(s, speed) if s.job_id in known.spread else s)
    return _policy(faster, asks=PATIENCE * now.policy.asks)


def _consolidate(now: Scenario, _: Known, __: Assumptions) -> Change | None:
    """Place each gang on the servers with the least room that fit it."""
    if not isinstance(now.policy, Fifo) or now.policy.consolidate:
        return None
    return _policy(now, consolidate=True)


def _limits(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
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

    return _if_changed(now, now.with_jobs(lowered))


def _migrate(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
    """Move running jobs to make room for a gang that fits in number, but not on few servers."""
    if not isinstance(now.policy, Philly) or now.policy.migrate_after_s != inf:
        return None
    return _policy(now, migrate_after_s=assumed.checkpoint_h * _H)


def _servers(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
    return Change(now.with_servers(assumed.servers))


def _other_servers(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
    """Add servers of the second type of the most loaded machines, if they have two."""
    if len(now.server_types()) < 2:
        return None
    return Change(now.with_servers(assumed.servers, nth=1))


def _end_idle(now: Scenario, known: Known, assumed: Assumptions) -> Change | None:
    """End jobs after their first idle period of so many hours."""
    most_s = assumed.idle_h * _H
    ends: dict[str, float] = {}
    losers = set()
    for job_id, periods in known.idle.items():
        for begun_s, lasted_s, resumed in periods:
            if lasted_s > most_s:
                ends[job_id] = begun_s + most_s
                if resumed:
                    losers.add(job_id)
                break
    if not ends:
        return None
    ended = now.with_jobs(lambda s: _cut(s, ends[s.job_id]) if s.job_id in ends else s)
    return Change(ended, frozenset(losers))


def _retries(now: Scenario, _: Known, __: Assumptions) -> Change | None:
    """Do not retry runs that failed by a user error; where a retry passed, users submit again."""
    passed: set[str] = set()

    def once(spec: JobSpec) -> JobSpec:
        kept = until_user_error(spec)
        if spec.status != PASS:
            return kept
        if len(kept.attempts) < len(spec.attempts):
            passed.add(spec.job_id)
        return spec

    return _if_changed(now, now.with_jobs(once), passed)


def _checkpoints(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
    """Let retries continue from the last checkpoint of the run that failed, unless by its user."""
    every_s = assumed.checkpoint_h * _H

    def resumed(spec: JobSpec) -> JobSpec:
        saved_s, runs = 0.0, list[AttemptSpec]()
        for each in spec.attempts:
            left_s = max(each.run_s - saved_s, 0.0)
            runs.append(replace(each, run_s=left_s))
            if (fails(each) and not is_user_error(each)) or each.end_reason == "node_failure":
                saved_s += left_s // every_s * every_s
        return replace(spec, attempts=tuple(runs))

    return _if_changed(now, now.with_jobs(resumed))


def _repair(now: Scenario, known: Known, assumed: Assumptions) -> Change | None:
    """Repair the servers on which significantly many runs fail: the failed runs do not happen.

    The servers are drained from the log's begin until the repair. Earlier jobs avoid them too, so
    that the drain ends no running job.
    """

    def whole(spec: JobSpec) -> JobSpec:
        broken = known.broken.get(spec.job_id, frozenset())
        kept = tuple(a for i, a in enumerate(spec.attempts) if i not in broken)
        return replace(spec, attempts=kept) if kept else spec

    change = _if_changed(now, now.with_jobs(whole))
    if change is None:
        return None
    jobs = now.jobs
    begin_s, _ = period_of(jobs)
    back_s = begin_s + assumed.repair_days * 24 * _H
    drained = tuple(Outage(jobs[0].submit_s, back_s, name) for name in known.worst_servers)
    return _with(change, outages=drained)


def _share(now: Scenario, _: Known, assumed: Assumptions) -> Change | None:
    """Give jobs that use little of their GPUs half as many, or half of one; they run slower."""
    below, slower = assumed.share_below_pct / 100, 1 / (1 - assumed.interference_pct / 100)
    largest = max(machine.gpus for pool in now.pools for machine in pool.machines)

    def half(spec: JobSpec) -> JobSpec:
        little = spec.util_frac is not None and spec.util_frac < below and spec.gpu_frac == 1
        if not little or spec.gpus > largest or (spec.gpus == 1 and not now.policy.fractional):
            return spec
        smaller = replace(spec, gpus=-(-spec.gpus // 2), gpu_frac=0.5 if spec.gpus == 1 else 1.0)
        return _scaled(smaller, slower)

    return _if_changed(now, now.with_jobs(half))


def _if_changed(before: Scenario, after: Scenario, losers: set[str] | None = None) -> Change | None:
    """Return the change; None if all jobs are as before."""
    return Change(after, frozenset(losers or ())) if after.pools != before.pools else None


def _with(change: Change, **fields: object) -> Change:
    """Return a change whose scenario has some fields replaced."""
    return change._replace(scenario=replace(change.scenario, **fields))  # type: ignore[arg-type]


def _scaled(spec: JobSpec, factor: float) -> JobSpec:
    """Return a job with its run times multiplied."""
    runs = tuple(replace(each, run_s=each.run_s * factor) for each in spec.attempts)
    return replace(spec, attempts=runs)


def _cut(spec: JobSpec, service_s: float) -> JobSpec:
    """Return a job that ends after so much service."""
    runs = []
    for each in spec.attempts:
        runs.append(replace(each, run_s=min(each.run_s, service_s)))
        if (service_s := service_s - each.run_s) <= 0:
            break
    return replace(spec, attempts=tuple(runs))


LEVERS = (
    Lever(
        "end_idle",
        _end_idle,
        lambda a: f"End jobs idle for {duration(a.idle_h * _H)}",
        "A job is idle while none of its GPUs is above 0 %. A job that would have computed again "
        "loses its work.",
        moves="idle_h",
    ),
    Lever(
        "share",
        _share,
        lambda a: f"Halve the GPUs of jobs below {a.share_below_pct:g} % utilisation",
        "Jobs of up to a server run on half their GPUs, two single-GPU jobs on one, with their "
        "memory; each is then slower by the interference.",
        moves="interference_pct",
    ),
    Lever(
        "retries",
        _retries,
        lambda _: "Do not retry user errors",
        "A user error ends its job. Where a retry passed, the user submits the job again, so that "
        "its GPU hours stay.",
    ),
    Lever(
        "checkpoints",
        _checkpoints,
        lambda a: f"Save checkpoints every {duration(a.checkpoint_h * _H)}",
        "Retries repeat the work of runs that failed, unless by a user error; checkpoints are free "
        "and complete.",
        moves="checkpoint_h",
    ),
    Lever(
        "repair",
        _repair,
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
    levers: Sequence[Lever], scenario: Scenario, known: Known, assumed: Assumptions
) -> Change | None:
    """Apply levers, one after another; None: none of them applies."""
    found = None
    for lever in levers:
        before = found or Change(scenario)
        if (change := lever.apply(before.scenario, known, assumed)) is not None:
            found = Change(change.scenario, before.losers | change.losers)
    return found
