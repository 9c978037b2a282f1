"""Where jobs ran as recorded: what their places did to their speed, and whom they ran beside."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.cluster.topology import Topology
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.speed import Speed
from philly_analysis.workload import AttemptSpec, JobSpec, Stay, Workload

_ROUNDING_S = 1e-6
"""Times are recorded to the microsecond."""


def grant_of(stay: Stay, at: Mapping[str, int]) -> Grant | None:
    """Return the grant that a recorded stay was; None where its place is not known.

    GPUs whose indices are not known are taken to be a server's first.

    Parameters
    ----------
    at
        Index of each machine by its identifier.
    """
    if not stay.shares or any(machine not in at for machine, *_ in stay.shares):
        return None
    shares = tuple(
        (at[machine], sum(1 << gpu for gpu in gpus) if gpus else (1 << count) - 1)
        for machine, count, gpus in stay.shares
    )
    return Grant(shares, stay.gpus, guest=stay.guest)


def beside_holders(specs: Sequence[JobSpec]) -> list[JobSpec]:
    """Return the jobs with attempts that began on GPUs held by another marked as its guests."""
    stays = sorted(
        (
            (attempt.stay.start_s, spec.submit_s, i, k)
            for i, spec in enumerate(specs)
            for k, attempt in enumerate(spec.attempts)
            if attempt.stay and attempt.stay.shares
        ),
    )
    held_until_s: dict[tuple[str, int], float] = {}
    guests: dict[int, set[int]] = {}
    for start_s, _, i, k in stays:
        stay = specs[i].attempts[k].stay
        assert stay is not None  # noqa: S101 - chosen so
        gpus = [(machine, gpu) for machine, _, known in stay.shares for gpu in known]
        if any(held_until_s.get(gpu, start_s) > start_s + _ROUNDING_S for gpu in gpus):
            guests.setdefault(i, set()).add(k)
        elif not stay.guest:
            held_until_s |= dict.fromkeys(gpus, stay.end_s)

    def marked(attempts: Sequence[AttemptSpec], those: set[int]) -> Iterator[AttemptSpec]:
        for k, attempt in enumerate(attempts):
            guest = attempt.stay is not None and k in those
            stay = replace(attempt.stay, guest=True) if guest and attempt.stay else attempt.stay
            yield replace(attempt, stay=stay)

    return [
        replace(spec, attempts=tuple(marked(spec.attempts, guests[i]))) if i in guests else spec
        for i, spec in enumerate(specs)
    ]


def at_full_speed(
    workload: Workload, specs: Sequence[JobSpec], speed: Speed
) -> tuple[list[JobSpec], tuple[str, ...]]:
    """Divide out of run times what the places where they were recorded did to them.

    A run that took 100 s on two servers, where a second does 0.85 s of work, is a run of 85 s: on
    the same two servers, beside the same neighbours, it takes 100 s again.

    Returns
    -------
    tuple
        The jobs, and what was done, in sentences. The jobs of a what-if are as they are: it says
        itself what work they got done.
    """
    if workload.attempts["work_s"].count():
        return list(specs), ()
    mean = _mean_speeds(workload, specs, speed)
    attempts = sum(len(spec.attempts) for spec in specs)
    slower = [v for v in mean.values() if v < 1]
    said = (
        f"Of {attempts:,} recorded attempts the place of {len(mean):,} is known; {len(slower):,} "
        f"ran slower there than they could have ({np.mean(slower) if slower else 1:.2f} of full "
        "speed on average), which is divided out of their run times. The others are taken to have "
        "run at full speed.",
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
    return done, said


def _mean_speeds(
    workload: Workload, specs: Sequence[JobSpec], speed: Speed
) -> dict[tuple[int, int], float]:
    """Return the mean speed of each attempt whose place is known, by job and attempt from 0."""
    servers = workload.servers()
    at, speed = {m.machine_id: i for i, m in enumerate(servers)}, speed.on(Topology(servers))
    ran: dict[Job, tuple[int, int]] = {}
    moments: list[tuple[float, bool, int, Job]] = []
    for i, spec in enumerate(specs):
        for k, attempt in enumerate(spec.attempts):
            stay = attempt.stay
            grant = grant_of(stay, at) if stay and stay.end_s > stay.start_s else None
            if stay is not None and grant is not None:
                job = Job(replace(spec, attempts=(attempt,)), len(ran))
                job.grant = grant
                ran[job] = i, k
                moments += [
                    (stay.start_s, True, job.index, job),
                    (stay.end_s, False, job.index, job),
                ]
    moments.sort(key=lambda moment: moment[:3])
    there: list[dict[Job, None]] = [{} for _ in at]
    done_s = dict.fromkeys(ran, 0.0)
    since_s = dict.fromkeys(ran, 0.0)
    for now_s, begins, _, job in moments:
        near: dict[Job, None] = {}
        for machine, _ in job.held.shares:
            near |= there[machine]
        if not begins:
            near[job] = None
        for other in near:
            done_s[other] += (now_s - since_s[other]) * other.speed
            since_s[other] = now_s
        for machine, _ in job.held.shares:
            if begins:
                there[machine][job] = None
            else:
                there[machine].pop(job, None)
        if begins:
            since_s[job] = now_s
            near[job] = None
        else:
            del near[job]
        for other in near:
            beside: dict[Job, None] = {}
            for machine, _ in other.held.shares:
                beside |= there[machine]
            beside.pop(other, None)
            other.speed = speed.of(other, other.held, tuple(beside))
    return {
        where: done_s[job] / (stay.end_s - stay.start_s)
        for job, where in ran.items()
        if (stay := job.spec.attempts[0].stay)
    }
