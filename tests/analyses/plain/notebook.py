"""References of relations with the definitions of the archive's notebook."""

from collections import defaultdict
from datetime import datetime, timedelta
from math import ceil

from tests.analyses import plain as py
from tests.analyses.plain import HOUR, MINUTE, Out, Rows
from tests.analyses.plain.utilisation import unread_without_sum


def notebook_runs(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for job, mine in py.attempts_of(t).items():
        gpus = py.first(mine[0].gpus, jobs[job].gpus)
        run_s = py.seconds(mine[0].started_at, mine[-1].ended_at)
        if gpus and run_s is not None:
            yield job, gpus, py.bucket(gpus), run_s


def notebook_waits(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for job, mine in py.attempts_of(t).items():
        j, since, wait = jobs[job], jobs[job].submitted_at, None
        gpus = py.first(mine[0].gpus, j.gpus)
        for a in mine:
            minute = py.seconds(since, a.started_at)
            wait, since = py.first(minute, wait), a.ended_at
            if gpus and wait:
                yield job, a.attempt, j.vc, gpus, py.bucket(gpus), wait, minute is None


def notebook_locality(t: Rows) -> Out:
    jobs, held = {j.job_id: j for j in t.jobs}, py.by(t.placements, "job_id attempt")
    for job, (a, *_) in py.attempts_of(t).items():
        rows = held.get((job, a.attempt), [])
        gpus = sum(p.gpus or 1 for p in rows)
        if gpus >= 5:
            entries = {(p.machine_id, p.container) for p in rows}
            wait = py.seconds(jobs[job].submitted_at, a.started_at)
            yield job, gpus, len(entries), len({p.machine_id for p in rows}), wait


def notebook_gpu_util_bins(t: Rows) -> Out:
    """Match wall-clock times: the second time that an hour comes hides the first."""
    back = datetime(2017, 11, 5, 9)
    samples = defaultdict(list)
    there = {(s.machine_id, s.sampled_at) for s in t.gpu_samples}
    for s in t.gpu_samples:
        early = back - HOUR <= s.sampled_at < back
        if not (early and (s.machine_id, s.sampled_at + HOUR) in there):
            samples[s.machine_id].append(
                (s.sampled_at - (7 if s.sampled_at < back else 8) * HOUR, s)
            )
    jobs, held = {j.job_id: j for j in t.jobs}, py.by(t.placements, "job_id attempt")
    readings = []
    for job, mine in py.attempts_of(t).items():
        gpus = len(held.get((job, mine[0].attempt), []))
        for a in mine if gpus in (1, 4, 8, 16) else []:
            rows = held.get((job, a.attempt), [])
            dedicated = len({(p.machine_id, p.container) for p in rows}) <= gpus / 8
            for p in rows if a.started_at and a.ended_at else []:
                begin, end = (
                    py.minute(a.started_at),
                    py.minute(a.ended_at + MINUTE - timedelta(seconds=1)),
                )
                for local, s in samples[p.machine_id] if p.gpu is not None else []:
                    inside = min(end, local + timedelta(seconds=s.seconds or 60)) - max(
                        begin, local
                    )
                    if inside > timedelta(0) and p.gpu < len(s.util_pct):
                        pct = s.util_pct[p.gpu]
                        bin_ = None if pct is None else ceil(pct)
                        key = (gpus, jobs[job].status, dedicated, py.monday(s.sampled_at), bin_)
                        readings.append((*key, inside / MINUTE, inside / MINUTE * (pct or 0)))
    return unread_without_sum(py.tally(readings, 2))
