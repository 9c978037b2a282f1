"""Use recorded placements: mark guests, and divide the placements' slowdown out of run times."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.topology import Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.speed import Speed
from philly_analysis.workload import AttemptSpec, JobSpec, Stay, Workload

_ROUNDING_S = 1e-6
"""Times are recorded to the microsecond."""


def recorded_allocation(stay: Stay, index_of: Mapping[str, int]) -> Allocation | None:
    """Return the allocation of a recorded stay; None if the placement is unknown.

    GPUs with unknown indices are taken to be a server's first.

    Parameters
    ----------
    index_of
        Index of each machine by identifier.
    """
    if not stay.shares or any(machine not in index_of for machine, *_ in stay.shares):
        return None
    shares = tuple(
        (index_of[machine], sum(1 << gpu for gpu in gpus) if gpus else (1 << count) - 1)
        for machine, count, gpus in stay.shares
    )
    return Allocation(shares, stay.gpus, guest=stay.guest)


def mark_guests(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs with attempts that started on GPUs held by another job marked as guests."""
    stays = sorted(
        (attempt.stay.start_s, spec.submit_s, i, k)
        for i, spec in enumerate(specs)
        for k, attempt in enumerate(spec.attempts)
        if attempt.stay and attempt.stay.shares
    )
    held_until_s: dict[tuple[str, int], float] = {}
    marked: dict[int, list[AttemptSpec]] = {}
    for start_s, _, i, k in stays:
        attempt = specs[i].attempts[k]
        stay = attempt.stay
        assert stay is not None  # noqa: S101 - selected above
        gpus = [(machine, gpu) for machine, _, indices in stay.shares for gpu in indices]
        if any(held_until_s.get(gpu, start_s) > start_s + _ROUNDING_S for gpu in gpus):
            attempts = marked.setdefault(i, list(specs[i].attempts))
            attempts[k] = replace(attempt, stay=replace(stay, guest=True))
        elif not stay.guest:
            held_until_s |= dict.fromkeys(gpus, stay.end_s)
    return [
        replace(spec, attempts=tuple(marked[i])) if i in marked else spec
        for i, spec in enumerate(specs)
    ]


def normalise_run_times(
    workload: Workload, specs: Sequence[JobSpec], speed: Speed
) -> tuple[list[JobSpec], tuple[str, ...]]:
    """Divide the slowdown of recorded placements out of run times.

    A run that took 100 s on two servers, where a second does 0.85 s of work, is a run of 85 s. On
    the same two servers, beside the same neighbours, the run takes 100 s again.

    Returns
    -------
    tuple
        The jobs, and sentences on the change. The jobs of a what-if are unchanged, because the
        what-if's trace has the work done.
    """
    if workload.attempts.pl()["work_s"].count():
        return list(specs), ()
    mean = _mean_speeds(workload, specs, speed)
    attempts = sum(len(spec.attempts) for spec in specs)
    slower = [v for v in mean.values() if v < 1]
    note = (
        f"The placements of {len(mean):,} of {attempts:,} recorded attempts are known; "
        f"{len(slower):,} ran below full speed there ({np.mean(slower) if slower else 1:.2f} of it "
        "on average), which is divided out of their run times. The others are taken to have run at "
        "full speed."
    )
    done = [
        replace(
            spec,
            attempts=tuple(
                replace(attempt, run_s=attempt.run_s * mean.get((i, k), 1.0))
                for k, attempt in enumerate(spec.attempts)
            ),
        )
        for i, spec in enumerate(specs)
    ]
    return done, (note,)


def _mean_speeds(
    workload: Workload, specs: Sequence[JobSpec], speed: Speed
) -> dict[tuple[int, int], float]:
    """Return the mean speed of each attempt with a known placement, by job and attempt from 0."""
    servers = workload.servers()
    index_of = {m.machine_id: i for i, m in enumerate(servers)}
    speed = speed.on(Topology(servers))
    attempt_of: dict[Job, tuple[int, int]] = {}
    moments: list[tuple[float, bool, int, Job]] = []
    for i, spec in enumerate(specs):
        for k, attempt in enumerate(spec.attempts):
            stay = attempt.stay
            if stay is None or stay.end_s <= stay.start_s:
                continue
            if (allocation := recorded_allocation(stay, index_of)) is not None:
                job = Job(replace(spec, attempts=(attempt,)), len(attempt_of))
                job.allocation = allocation
                attempt_of[job] = i, k
                moments.append((stay.start_s, True, job.index, job))
                moments.append((stay.end_s, False, job.index, job))
    moments.sort(key=lambda moment: moment[:3])
    residents: list[dict[Job, None]] = [{} for _ in servers]
    work_s = dict.fromkeys(attempt_of, 0.0)
    since_s = dict.fromkeys(attempt_of, 0.0)

    def neighbours(job: Job) -> dict[Job, None]:
        near_jobs: dict[Job, None] = {}
        for machine, _ in job.allocated.shares:
            near_jobs |= residents[machine]
        return near_jobs

    for now_s, begins, _, job in moments:
        near = neighbours(job) | {job: None}
        if begins:
            since_s[job] = now_s
        for neighbour in near:
            work_s[neighbour] += (now_s - since_s[neighbour]) * neighbour.speed
            since_s[neighbour] = now_s
        for machine, _ in job.allocated.shares:
            if begins:
                residents[machine][job] = None
            else:
                residents[machine].pop(job, None)
        for other in near:
            beside = neighbours(other)
            beside.pop(other, None)
            other.speed = speed.of(other, other.allocated, tuple(beside))
    return {
        where: work_s[job] / (stay.end_s - stay.start_s)
        for job, where in attempt_of.items()
        if (stay := job.spec.attempts[0].stay)
    }
