"""Check a scheduling policy on small workloads: keys, idle GPUs, starvation, allocations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isclose
from typing import Any

import numpy as np
import pandas as pd

from philly_analysis.errors import SimulationError
from philly_analysis.results import Fact, Result, count
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.engine.event_loop import Simulation
from philly_analysis.simulator.policies import Policy, policy_named
from philly_analysis.simulator.policies.policy import is_steady
from philly_analysis.workload import AttemptSpec, JobSpec, default_servers

GPUS = 16
"""GPUs of the check's cluster, in servers of 8."""
JOBS = 150
"""Jobs of each workload of the check."""
QUESTION = "Does the policy do what a policy must do?"

RESERVED = "reserved"
"""Name of the note on GPUs that are idle for the first job of the queue."""

Problems = dict[str, str]
"""First problem by name of the check, and the first note."""


@dataclass(frozen=True, slots=True)
class _Observed:
    """What one run of a policy shows.

    Attributes
    ----------
    problems
        First problem of each check.
    starts_s
        Time of each job's first start.
    attempts
        Jobs, starts and ends of all attempts, for comparison with another run.
    """

    problems: Problems
    starts_s: dict[str, float] = field(default_factory=dict)
    attempts: tuple[Any, ...] = ()


def check_policy(policy: str | Policy | type[Policy]) -> Result:
    """Check a policy on small workloads, before the policy's results are believed.

    Parameters
    ----------
    policy
        A policy, the class of a policy, or the name of a policy.

    Returns
    -------
    Result
        A row per check: check, passed, and detail (the first problem, or a note). ``keys``: the
        order of jobs follows the keys at the time of each decision. ``idle GPUs``: the first job of
        the queue, and a job that the policy withholds, do not wait while they fit on free GPUs;
        a note has a later job that fits, as in a queue with reservations. ``starvation``: a large
        gang and a long job start while smaller and shorter jobs keep arriving. ``allocation``: no
        GPU is allocated twice, no gang is incomplete, and every job starts. ``repetition``: two
        runs have equal schedules. A failed check need not be an error: shortest-job-first starves
        long jobs on purpose.

    Raises
    ------
    UnknownNameError
        No policy has this name.
    """
    chosen = policy() if isinstance(policy, type) else policy_named(policy, {})
    problems: Problems = {}
    for jobs, large in ((_mixed(), None), (_small(), "gang"), (_short(), "long")):
        first, second = (_observe(chosen, jobs) for _ in range(2))
        jobs_problems = dict(first.problems)
        if first.attempts != second.attempts:
            jobs_problems["repetition"] = "two runs on the same jobs have different schedules"
        last_s = jobs[-1].submit_s
        if (
            large
            and not jobs_problems.get("allocation")
            and first.starts_s.get(large, inf) >= last_s
        ):
            spec = next(s for s in jobs if s.job_id == large)
            jobs_problems["starvation"] = (
                f"a job of {count(spec.gpus, 'GPU')} for {spec.run_s / 3600:.1f} h waits until no "
                f"{'smaller' if large == 'gang' else 'shorter'} jobs arrive"
            )
        problems = jobs_problems | problems
    names = ("keys", "idle GPUs", "starvation", "allocation", "repetition")
    notes = {"idle GPUs": problems.get(RESERVED, "")}
    rows = [(name, name not in problems, problems.get(name, notes.get(name, ""))) for name in names]
    failed = [f"{name}: {detail}." for name, passed, detail in rows if not passed]
    return Result(
        name="check_policy",
        table=pd.DataFrame(rows, columns=["check", "passed", "detail"]),
        facts=(Fact("failed", len(failed), "failed checks"),),
        sentences=tuple(failed) or (f"{chosen.name} passes {count(len(rows), 'check')}.",),
        synthetic=True,
        question=QUESTION,
    )


def _observe(policy: Policy, jobs: Sequence[JobSpec]) -> _Observed:
    """Simulate a workload, and look at the queue at each decision."""
    problems: Problems = {}
    starts_s: dict[str, float] = {}
    try:
        simulation = Simulation(jobs, default_servers(GPUS), policy)
        view = simulation.view
        while simulation.advance():
            if is_steady(policy) and (drifted := _drifted(simulation)):
                problems.setdefault("keys", f"{drifted}; the class says steady = True")
            simulation.apply(simulation.policy.decide(view))
            starts_s |= {j.spec.job_id: view.now_s for j in view.running if j.started == 1}
            for check, idle in _fitting(simulation):
                problems.setdefault(check, idle)
        rows = simulation.schedule().attempts.select("job_id", "start_s", "end_s").rows()
        return _Observed(problems, _first_starts(rows), tuple(rows))
    except SimulationError as error:
        return _Observed(problems | {"allocation": str(error).rstrip(".")}, starts_s)


def _first_starts(rows: Sequence[tuple[Any, ...]]) -> dict[str, float]:
    starts_s: dict[str, float] = {}
    for job_id, start_s, _ in rows:
        starts_s[job_id] = min(start_s, starts_s.get(job_id, inf))
    return starts_s


def _drifted(simulation: Simulation) -> str:
    """Return a phrase on a job whose place in the order no longer follows the job's key."""
    view, policy, now_s = simulation.view, simulation.policy, simulation.view.now_s
    if not simulation.stale():
        return ""
    waiting = [(*view.queue.place_of(job), job) for job in view.queue]
    if any(policy.group(job, now_s) != group for group, _, job in waiting):
        return "a job's group changes while the job waits"
    queued = [(key, policy.key(job, now_s), job) for _, key, job in waiting]
    running = [(view.running.key_of(j), policy.running_key(j, now_s), j) for j in view.running]
    for name, rows in (("key", queued), ("running_key", running)):
        before = sorted(rows, key=lambda row: (row[0], row[2].index))
        after = sorted(rows, key=lambda row: (row[1], row[2].index))
        for old, new in zip(before, after, strict=True):
            if old is not new and not _alike(old[1], new[1]):
                return (
                    f"{name} of {new[2].spec.job_id} is {_shown(new[1])} at {now_s:,.0f} s, but "
                    f"the job is sorted by {_shown(new[0])}"
                )
    return ""


def _alike(before: Any, after: Any) -> bool:
    """Return whether two keys are equal up to rounding errors."""
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        return all(map(_alike, before, after))
    if isinstance(before, int | float) and isinstance(after, int | float):
        return before == after or isclose(before, after, rel_tol=1e-9, abs_tol=1e-6)
    return bool(before == after)


def _shown(key: Any) -> str:
    return f"{key:.4g}" if isinstance(key, float) else repr(key)


def _fitting(simulation: Simulation) -> Iterator[tuple[str, str]]:
    """Yield the check, or the note, that waiting jobs concern that fit on free GPUs."""
    view = simulation.view
    if view.cluster.full or view.holding:
        return
    first = min(view.queue.heads()).job if len(view.queue) else None
    for job in (*view.queue, *view.queue.withheld):
        if allocate(view.cluster, job.request) is None:
            continue
        where = (
            f"at {view.now_s:,.0f} s {job.spec.job_id} waits for {count(job.gpus, 'GPU')} and "
            f"fits on the {view.cluster.free:,} free ones"
        )
        if first is None or job is first or job in view.queue.withheld:
            yield "idle GPUs", where
        else:
            yield RESERVED, f"{where}, which stay free for {first.spec.job_id}"


def _spec(name: str, gpus: int, submit_s: float, run_s: float) -> JobSpec:
    return JobSpec(
        job_id=name,
        vc="vc",
        user="user",
        gpus=gpus,
        submit_s=submit_s,
        attempts=(AttemptSpec(run_s, "completed"),),
        status="Pass",
    )


def _stream(load: float, gangs: Sequence[int], mean_s: float, seed: int) -> list[JobSpec]:
    """Return jobs with exponential times between submissions, and log-normal run times."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice(gangs, JOBS)
    run_s = np.maximum(rng.lognormal(-0.5, 1.0, JOBS) * mean_s, 1.0).round()
    gap_s = float((gpus * run_s).sum()) / (load * GPUS * JOBS)
    at_s = np.cumsum(rng.exponential(gap_s, JOBS)).round()
    rows = zip(range(JOBS), gpus, at_s, run_s, strict=True)
    return [_spec(f"job-{i:03}", int(g), float(at), float(run)) for i, g, at, run in rows]


def _with(jobs: list[JobSpec], name: str, gpus: int, run_s: float, after: float) -> list[JobSpec]:
    """Return the jobs with one more, submitted after a share of them."""
    last = jobs[int(after * len(jobs))]
    return sorted([*jobs, _spec(name, gpus, last.submit_s, run_s)], key=lambda s: s.submit_s)


def _mixed() -> list[JobSpec]:
    return _stream(1.0, (1, 1, 1, 2, 4, 8, 16), 3600.0, seed=1)


def _small() -> list[JobSpec]:
    return _with(_stream(0.95, (1, 2), 3600.0, seed=2), "gang", GPUS, 7200.0, 0.1)


def _short() -> list[JobSpec]:
    jobs = _stream(2.5, (1,), 6000.0, seed=3)
    short = [replace(s, attempts=(AttemptSpec(min(s.run_s, 30_000.0), "completed"),)) for s in jobs]
    return _with(short, "long", 1, 100_000.0, 0.3)
