"""Levers that change jobs: end idle jobs, retry less, save checkpoints, repair servers, share."""

from dataclasses import replace

from philly_analysis.experiments.advice.lever import Assumptions, Change
from philly_analysis.experiments.advice.scenario import LogFacts, Scenario, period_of
from philly_analysis.simulator import Outage, fails, is_user_error, until_user_error
from philly_analysis.study import PASS
from philly_analysis.workload import AttemptSpec, JobSpec

_H = 3600.0


def end_idle(now: Scenario, log_facts: LogFacts, assumed: Assumptions) -> Change | None:
    """End jobs after their first idle period of so many hours."""
    most_s = assumed.idle_h * _H
    ends: dict[str, float] = {}
    losers = set()
    for job_id, periods in log_facts.idle.items():
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


def no_retries(now: Scenario, _: LogFacts, __: Assumptions) -> Change | None:
    """Do not retry runs that failed by a user error; where a retry passed, users submit again."""
    passed: set[str] = set()

    def once(spec: JobSpec) -> JobSpec:
        kept = until_user_error(spec)
        if spec.status != PASS:
            return kept
        if len(kept.attempts) < len(spec.attempts):
            passed.add(spec.job_id)
        return spec

    return if_changed(now, now.with_jobs(once), passed)


def checkpoints(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    """Let retries continue from the failed run's last checkpoint, except after user errors."""
    every_s = assumed.checkpoint_h * _H

    def resumed(spec: JobSpec) -> JobSpec:
        saved_s, runs = 0.0, list[AttemptSpec]()
        for run in spec.attempts:
            rest_s = max(run.run_s - saved_s, 0.0)
            runs.append(replace(run, run_s=rest_s))
            if (fails(run) and not is_user_error(run)) or run.end_reason == "node_failure":
                saved_s += rest_s // every_s * every_s
        return replace(spec, attempts=tuple(runs))

    return if_changed(now, now.with_jobs(resumed))


def repair(now: Scenario, log_facts: LogFacts, assumed: Assumptions) -> Change | None:
    """Repair the servers on which significantly many runs fail: the failed runs do not happen.

    The servers are drained from the log's begin until the repair. Earlier jobs avoid them too, so
    that the drain ends no running job.
    """

    def whole(spec: JobSpec) -> JobSpec:
        broken = log_facts.broken.get(spec.job_id, frozenset())
        kept = tuple(a for i, a in enumerate(spec.attempts) if i not in broken)
        return replace(spec, attempts=kept) if kept else spec

    change = if_changed(now, now.with_jobs(whole))
    if change is None:
        return None
    jobs = now.jobs
    begin_s, _ = period_of(jobs)
    back_s = begin_s + assumed.repair_days * 24 * _H
    drained = tuple(Outage(jobs[0].submit_s, back_s, name) for name in log_facts.worst_servers)
    return _with(change, outages=drained)


def share(now: Scenario, _: LogFacts, assumed: Assumptions) -> Change | None:
    """Give jobs that use little of their GPUs half as many, or half of one; they run slower."""
    below, slower = assumed.share_below_pct / 100, 1 / (1 - assumed.interference_pct / 100)
    largest = max(machine.gpus for pool in now.pools for machine in pool.machines)

    def half(spec: JobSpec) -> JobSpec:
        little = spec.util_frac is not None and spec.util_frac < below and spec.gpu_frac == 1
        if not little or spec.gpus > largest or (spec.gpus == 1 and not now.policy.fractional):
            return spec
        smaller = replace(spec, gpus=-(-spec.gpus // 2), gpu_frac=0.5 if spec.gpus == 1 else 1.0)
        return scaled(smaller, slower)

    return if_changed(now, now.with_jobs(half))


def if_changed(before: Scenario, after: Scenario, losers: set[str] | None = None) -> Change | None:
    """Return the change; None if all jobs are as before."""
    return Change(after, frozenset(losers or ())) if after.pools != before.pools else None


def _with(change: Change, **fields: object) -> Change:
    """Return a change whose scenario has some fields replaced."""
    return change._replace(scenario=replace(change.scenario, **fields))  # type: ignore[arg-type]


def scaled(spec: JobSpec, factor: float) -> JobSpec:
    """Return a job whose run times are multiplied."""
    runs = tuple(replace(run, run_s=run.run_s * factor) for run in spec.attempts)
    return replace(spec, attempts=runs)


def _cut(spec: JobSpec, service_s: float) -> JobSpec:
    """Return a job that ends after so much service."""
    runs = []
    for run in spec.attempts:
        runs.append(replace(run, run_s=min(run.run_s, service_s)))
        if (service_s := service_s - run.run_s) <= 0:
            break
    return replace(spec, attempts=tuple(runs))
