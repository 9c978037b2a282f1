"""References of relations of waits, their causes and overtakings."""

from bisect import bisect_right
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise, product
from math import exp, log
from statistics import quantiles
from typing import Any

from tests.analyses import plain as py
from tests.analyses.plain import Out, Row, Rows


def waits(t: Rows) -> Out:
    made = py.attempts_of(t)
    for j in t.gpu_jobs:
        since = j.submitted_at
        for a in made.get(j.job_id, []):
            if a.started_at is not None and since is not None:
                ready = py.first(a.eligible_at, j.eligible_at)
                held = 0.0
                if ready is not None and ready > since:
                    held = (min(ready, a.started_at) - since).total_seconds()
                late = "negative_wait" if a.started_at < since else None
                yield (j.job_id, a.attempt, j.vc, j.user, j.gpus, a is made[j.job_id][0], since,
                       a.started_at, py.seconds(since, a.started_at), held,
                       py.first(a.flag, j.flag, late))  # fmt: skip
            since = a.ended_at


def trusted_waits(t: Rows) -> Out:
    for w in t.waits:
        if w.flag is None and w.gpus:
            yield (w.job_id, w.attempt, w.vc, w.user, w.gpus, py.bucket(w.gpus), w.first,
                   w.since_at, w.started_at, w.wait_s, w.held_s)  # fmt: skip


def wait_spans(t: Rows) -> Out:
    jobs, made, reasons = {j.job_id: j for j in t.gpu_jobs}, py.attempts_of(t), {
        "Dependency": "held", "QOSGrpGRES": "throttled", "JobArrayTaskLimit": "throttled",
        "QOSNotAllowed": "refused"}  # fmt: skip
    trusted = py.keyed(t.trusted_waits)
    for job, mine in made.items():
        if not (j := jobs.get(job)):
            continue
        since = j.submitted_at
        for a in mine:
            w, outcome, wait, held = trusted.get((job, a.attempt)), "started", None, 0.0
            until = py.first(a.ended_at, t.snapshot[0].ended_at)
            if w:
                wait, held = w.wait_s, w.held_s
            elif (
                a.started_at is None and a.run_s is None and since is not None and until >= since
                and py.first(a.flag, j.flag) is None and j.gpus
            ):  # fmt: skip
                outcome = "waiting" if a.ended_at is None else "given up"
                wait, ready = (
                    (until - since).total_seconds(),
                    py.first(a.eligible_at, j.eligible_at),
                )
                if ready is not None and ready > since:
                    held = (min(ready, until) - since).total_seconds()
            since = a.ended_at
            if wait is None:
                continue
            state = reasons.get(a.wait_reason, "pending")
            if a.wait_reason == "JobArrayTaskLimit":
                held = 0.0
            elif state == "held" and outcome != "started":
                held = wait
            parts = dict.fromkeys(("throttled", "refused", "pending"), 0.0)
            parts["pending" if state == "held" else state] = wait - held
            yield (job, a.attempt, j.account, j.vc, j.user, j.gpus, outcome, wait, held,
                   *parts.values(), a.wait_reason)  # fmt: skip


def level_at(rows: list[Row], name: str) -> Callable[[int], Any]:
    """The last value of a column at or before a moment; None before the first."""
    order = sorted(rows, key=lambda r: r.moment)
    moments = [r.moment for r in order]
    return lambda at: getattr(order[i - 1], name) if (i := bisect_right(moments, at)) else None


def wait_parts(t: Rows) -> Out:
    """Add up the time between any two changes of free GPUs or of the virtual cluster's use."""
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    quotas = {(q.method, q.vc): q.gpus for q in t.vc_quotas}
    needs = {(g.pool, g.gpus): g for g in t.gang_needs}
    free = {
        k: level_at(rows, "free_gpus")
        for k, rows in py.by(t.free_capacity, "pool machines").items()
    }
    used = {vc: level_at(rows, "gpus_after") for (vc,), rows in py.by(t.vc_use, "vc").items()}
    every = sorted({u.moment for u in t.free_capacity} | {u.moment for u in t.vc_use})
    for method, w in product({q.method for q in t.vc_quotas} or {"none"}, t.trusted_waits):
        begin, end = (
            2 * py.us(w.since_at + timedelta(seconds=w.held_s)) + 1,
            2 * py.us(w.started_at) + 1,
        )
        parts, need = [0.0, 0.0, 0.0], needs[pool_of[w.job_id], w.gpus]
        quota = quotas.get((method, w.vc))
        inside = every[bisect_right(every, begin) : bisect_right(every, end - 1)]
        for since, until in pairwise([begin, *inside, end] if end > begin else []):
            spent = (until // 2 - since // 2) / 1e6
            busy = used[w.vc](since) or 0 if quota is not None and w.vc in used else 0
            if quota is not None and busy + w.gpus > quota:
                parts[0] += spent
            elif (need.pool, need.machines) in free and free[need.pool, need.machines](
                since
            ) < w.gpus:
                parts[1] += spent
                parts[2] += spent * (free[need.pool, need.servers](since) < w.gpus)
        fair, apart, full = parts
        yield (method, w.job_id, w.attempt, w.vc, w.gpus, w.first, w.wait_s, w.held_s, fair, apart,
               full, w.wait_s - w.held_s - fair - apart)  # fmt: skip


def with_room(w: Row) -> bool:
    """Whether there was room within the quota during all of a wait that nothing else explains."""
    return bool(w.unexplained_s > 0 and not w.fair_share_s and not w.fragmentation_s)


def start_up_limits(t: Rows) -> Out:
    for (method,), waits in py.by(filter(with_room, t.wait_parts), "method").items():
        if len(waits) > 9:
            q1, _, q3 = quantiles([w.unexplained_s for w in waits], method="inclusive")
            yield method, len(waits), min(exp(2.5 * log(q3) - 1.5 * log(q1)), 3600)


def wait_causes(t: Rows) -> Out:
    longest = {limit.method: limit.longest_s for limit in t.start_up_limits}
    for w in t.wait_parts:
        short = with_room(w) and w.unexplained_s <= longest.get(w.method, 0)
        known = {
            "held": w.held_s,
            "start_up": w.unexplained_s if short else 0,
            "fair_share": w.fair_share_s,
            "fragmentation": w.fragmentation_s,
        }
        unknown = 0 if short else w.unexplained_s
        cause = "unknown" if unknown > w.wait_s / 2 else max(known, key=lambda c: known[c])
        *parts, _ = vars(w).values()
        yield (*parts, known["start_up"], unknown, cause if w.wait_s else "none")


def overtakings(t: Rows) -> Out:
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    queues = py.by(t.trusted_waits, lambda w: (w.vc or "(none)", pool_of[w.job_id]))
    for (vc, pool), queue in queues.items():
        for w in queue:
            waiting = [o for o in queue if o.since_at < w.since_at and o.started_at > w.started_at]
            head = min(waiting, key=lambda o: (o.since_at, o.job_id, o.attempt), default=None)
            yield (w.job_id, w.attempt, vc, pool, w.gpus, w.started_at, head is not None,
                   head and head.job_id, head and head.gpus)  # fmt: skip


def overtaken_attempts(t: Rows) -> Out:
    needs = {(g.pool, g.gpus): g.machines for g in t.gang_needs}
    free = {
        k: level_at(rows, "free_gpus")
        for k, rows in py.by(t.free_capacity, "pool machines").items()
    }
    for o in t.overtakings:
        if o.overtook:
            there = free.get((o.pool, needs[o.pool, o.waiter_gpus]))
            no_room = there is not None and there(2 * py.us(o.started_at)) < o.waiter_gpus
            yield o.job_id, o.attempt, o.started_at, o.waiter_gpus, no_room


def overtaken_gangs(t: Rows) -> Out:
    for (gpus,), rows in py.by(t.overtaken_attempts, "waiter_gpus").items():
        yield gpus, len(rows), sum(py.column(rows, "harmless"))
