"""References of relations of waits, their causes and overtakings."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise, product
from math import ceil, exp, log
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


STATED = {
    "Dependency": ("held", "dependency", None),
    "QOSGrpGRES": ("limit", "qos", "gpus"),
    "JobArrayTaskLimit": ("limit", "array", None),
    "QOSNotAllowed": ("limit", "request", None),
    "Resources": ("pending", None, None),
}
"""What the reasons of the trace mean: cause, kind, resource."""


def stated_reasons(t: Rows) -> Out:
    for reason in {a.wait_reason for a in t.attempts} - {None}:
        yield reason, *STATED[reason]


def stated_limits(t: Rows) -> Out:
    qos = {j.job_id: j.qos for j in t.jobs}
    others = {"array": "array task limit", "request": "request exceeds a limit"}
    for job, reason in {(a.job_id, a.wait_reason) for a in t.attempts if a.wait_reason}:
        cause, kind, _ = STATED[reason]
        if cause == "limit":
            name = f"QOS {qos[job]}" if qos[job] else "QOS"
            yield job, reason, f"{name}, GPUs" if kind == "qos" else others[str(kind)]


def queued_attempts(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, py.attempts_of(t)
    assert any(j.eligible_at for j in t.jobs)  # else only attempts that started count
    for job, mine in made.items():
        if not (j := jobs.get(job)):
            continue
        since = j.submitted_at
        for a in mine:
            from_at, since = since, a.ended_at
            until = py.first(a.started_at, a.ended_at, t.snapshot[0].ended_at)
            ran = a.started_at is None and a.run_s is not None
            if from_at is None or ran or until < from_at or py.first(a.flag, j.flag) or not j.gpus:
                continue
            outcome = "started" if a.started_at else "given up" if a.ended_at else "waiting"
            cause = STATED[a.wait_reason][0] if a.wait_reason else None
            ready = min(max(py.first(a.eligible_at, j.eligible_at, from_at), from_at), until)
            if cause == "held" and outcome != "started":
                ready = until
            yield (job, a.attempt, j.account, j.vc, j.user, j.gpus, a is mine[0], outcome, from_at,
                   until, (until - from_at).total_seconds(), (ready - from_at).total_seconds(),
                   py.us(ready), py.us(until), a.wait_reason, cause)  # fmt: skip


def unqueued_starts(t: Rows) -> Out:
    pools = {j.job_id: j.pool for j in t.job_pools}
    started = [q for q in t.queued_attempts if q.outcome == "started" and q.job_id in pools]
    for (pool,), queue in py.by(started, lambda q: (pools[q.job_id],)).items():
        busy_us = 0
        for q in sorted(queue, key=lambda q: (q.eligible_us, q.until_us, q.job_id, q.attempt)):
            if busy_us <= q.eligible_us:
                yield q.job_id, q.attempt, pool, q.until_us - q.eligible_us
            busy_us = max(busy_us, q.until_us)


def usual_launches(t: Rows) -> Out:
    for (pool,), starts in py.by(t.unqueued_starts, "pool").items():
        waits = sorted(s.wait_us for s in starts)
        low, usual = (waits[max(0, ceil(len(waits) * p) - 1)] for p in (0.05, 0.25))
        if len(waits) >= 10 and 0 < usual <= 1.5 * low:
            yield pool, usual


def launches(t: Rows) -> Out:
    pools = {j.job_id: j.pool for j in t.job_pools}
    usual = {u.pool: u.launch_us for u in t.usual_launches}
    for q in t.queued_attempts:
        wait_us = q.until_us - q.eligible_us
        if q.outcome == "started" and wait_us > 0 and pools.get(q.job_id) in usual:
            yield q.job_id, q.attempt, min(wait_us, usual[pools[q.job_id]])


def eligible_times(t: Rows) -> Out:
    yield (any(j.eligible_at for j in t.jobs),)


def stated_waits(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    yield (any(jobs[a.job_id].eligible_at or a.eligible_at or a.wait_reason for a in t.attempts),)


def launch_of(t: Rows, job_id: str, attempt: int) -> int:
    """Microseconds of an attempt's launch."""
    return next((x.launch_us for x in t.launches if (x.job_id, x.attempt) == (job_id, attempt)), 0)


def level_at(rows: list[Row], name: str) -> Callable[[int], Any]:
    """The last value of a column at or before a moment; None before the first."""
    order = sorted(rows, key=lambda r: r.moment)
    moments = [r.moment for r in order]
    return lambda at: getattr(order[i - 1], name) if (i := bisect_right(moments, at)) else None


def contending_attempts(t: Rows) -> Out:
    classes = {j.job_id: j.wait_class for j in t.job_classes}
    requests = {c.wait_class: c.request for c in t.wait_classes}
    binding = py.by([c for c in t.class_limits if c.limited], "wait_class")
    for q in t.queued_attempts:
        if (wait_class := classes.get(q.job_id)) is None:
            continue
        launch = launch_of(t, q.job_id, q.attempt)
        until = contended = q.until_us - launch
        if q.cause == "limit":
            begins = [c.moment for c in binding.get((wait_class,), []) if c.moment < 2 * until]
            last = max(begins, default=0) // 2
            contended = last if last > q.eligible_us else None
        yield (q.job_id, q.attempt, requests[wait_class], wait_class, q.eligible_us, until,
               launch, q.outcome, contended)  # fmt: skip


def queue_order(t: Rows) -> Out:
    pools = {r.request: r.pool for r in t.requests}
    for q in t.contending_attempts:
        here = [o for o in t.contending_attempts if pools[o.request] == pools[q.request]]
        key = q.job_id, q.attempt
        older = max((o.contended_us for o in here if o.contended_us is not None and
                     (o.eligible_us, o.until_us, o.job_id, o.attempt)
                     < (q.eligible_us, q.until_us, *key)), default=None)  # fmt: skip
        before = max((o for o in here if (o.until_us, o.eligible_us, o.job_id, o.attempt)
                      < (q.until_us, q.eligible_us, *key)), default=None,
                     key=lambda o: (o.until_us, o.eligible_us, o.job_id, o.attempt))  # fmt: skip
        started = before.until_us if before and before.outcome == "started" else None
        older = older if older and older > q.eligible_us else None
        ahead = max(m for m in (q.eligible_us, older, started) if m is not None)
        yield (*key, pools[q.request], q.request, q.wait_class, q.eligible_us, q.until_us,
               q.outcome, older, ahead)  # fmt: skip


def room_clock(t: Rows) -> Callable[[int, int], tuple[bool, bool, bool]]:
    """Whether the pool has too few GPUs free for a request, no fit, and waits for room."""
    free = {
        k: level_at(rows, "free_gpus")
        for k, rows in py.by(t.free_capacity, "pool machines").items()
    }
    blocked = {k: level_at(rows, "blocked") for k, rows in py.by(t.queue_blockages, "pool").items()}
    requests = {r.request: r for r in t.requests}

    def read(request: int, moment: int) -> tuple[bool, bool, bool]:
        r = requests[request]
        if (r.pool, r.servers) not in free:
            return False, False, False
        too_few = free[r.pool, r.servers](moment) < r.gpus
        no_fit = too_few or free[r.pool, r.machines](moment) < r.gpus
        there = blocked.get((r.pool,))
        return too_few, no_fit, bool(there and there(moment))

    return read


def wait_parts(t: Rows) -> Out:
    """Add up the time between any two changes of the pool, of its queue, or of a cap's use."""
    read = room_clock(t)
    quotas = {(q.method, q.vc): q.gpus for q in t.vc_quotas}
    limits = {a.limit_name: a.amount for a in t.limit_amounts}
    used = {vc: level_at(rows, "gpus_after") for (vc,), rows in py.by(t.vc_use, "vc").items()}
    taken = {n: level_at(r, "used_after") for (n,), r in py.by(t.limit_use, "limit_name").items()}
    weights = py.by(t.limit_members, "job_id")
    jobs = {j.job_id: j for j in t.gpu_jobs}
    changes = (t.free_capacity, t.vc_use, t.queue_blockages, t.limit_use)
    every = sorted({u.moment for rows in changes for u in rows})
    usual = t.start_up_times[0].usual_us
    for method, q in product({q.method for q in t.vc_quotas} or {"none"}, t.queue_order):
        job = jobs[q.job_id]
        begin, end = 2 * q.eligible_us + 1, 2 * q.until_us + 1
        ahead = min(q.ahead_us, q.until_us - usual)
        quota, parts = quotas.get((method, job.vc)), dict[str | None, list[float]]()
        inside = every[bisect_right(every, begin) : bisect_right(every, end - 1)]
        marks = sorted({begin, *inside, end, min(max(2 * ahead + 1, begin), end)})
        for since, until in pairwise(marks if end > begin else []):
            too_few, no_fit, queue = read(q.request, since)
            cap = next(
                (m.limit_name for m in sorted(weights[q.job_id,], key=lambda m: m.limit_name)
                 if (taken[m.limit_name](since) or 0) + m.weight > limits[m.limit_name]),
                None,
            )  # fmt: skip
            busy = used[job.vc](since) or 0 if job.vc in used else 0
            if cap is None and quota is not None and busy + job.gpus > quota:
                cap = "quota"
            behind = queue and until <= 2 * ahead + 1
            state = 0 if too_few else 1 if no_fit else 3 if behind else 4
            parts.setdefault(cap, [0.0] * 5)[state] += (until // 2 - since // 2) / 1e6
        if launch := launch_of(t, q.job_id, q.attempt):
            parts.setdefault(None, [0.0] * 5)[4] += launch / 1e6
        for cap, times in parts.items():
            if sum(times):
                yield method, q.job_id, q.attempt, None, cap, *times


def start_up_limits(t: Rows) -> Out:
    ended = {(c.job_id, c.attempt): c.until_us for c in t.contending_attempts}
    started = [q for q in t.queued_attempts if q.outcome == "started"]
    at_once = [
        q for q in started if q.until_us <= q.eligible_us == ended.get((q.job_id, q.attempt))
    ]
    keys = {(q.job_id, q.attempt) for q in started}
    waits = py.by(t.wait_parts, "method job_id attempt")
    shares = {p.method: [1.0] * len(at_once) for p in t.wait_parts}
    for (method, *key), rows in waits.items():
        if tuple(key) in keys and [r.cap for r in rows] == [None]:
            [r] = rows
            if r.room_s and not (r.too_few_s or r.scattered_s or r.stranded_s or r.behind_s):
                shares[method].append(max(r.room_s, 1))
    for method, times in shares.items():
        if len(times) - len(at_once) > 9:
            q1, _, q3 = quantiles(times, method="inclusive")
            yield method, min(exp(2.5 * log(q3) - 1.5 * log(q1)), 3600)


def held_causes(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for q in t.queued_attempts:
        if q.held_s > 0:
            cause, kind, _ = STATED.get(q.reason, (None, None, None))
            array = kind == "array"
            held = kind if cause == "held" else "not stated" if q.first else "requeue"
            name = "array task limit" if array else held
            yield q.job_id, q.attempt, "limit" if array else "held", name, q.held_s
    assert not any(j.scheduler_id for j in jobs.values())


def label(t: Rows, q: Row) -> str | None:
    """Name of the limit that was the last reason of an attempt."""
    return next(
        (s.name for s in t.stated_limits if (s.job_id, s.reason) == (q.job_id, q.reason)), None
    )


def quota_evidence(t: Rows) -> Out:
    queued = py.keyed(t.queued_attempts)
    over = [(p, queued[p.job_id, p.attempt].vc) for p in t.wait_parts if p.cap == "quota"]
    times = ("too_few_s", "scattered_s", "stranded_s", "behind_s", "room_s")
    for method, vc in {(p.method, vc) for p, vc in over}:
        mine = [p for p, v in over if (p.method, v) == (method, vc)]
        room, every = sum(p.room_s for p in mine), sum(getattr(p, s) for p in mine for s in times)
        yield method, vc, method == "given" or room >= 0.1 * every


def wait_causes(t: Rows) -> Out:
    longest = {limit.method: limit.longest_s for limit in t.start_up_limits}
    queued = py.keyed(t.queued_attempts)
    methods = {q.method for q in t.vc_quotas} or {"none"}
    shown, rows = {(e.method, e.vc) for e in t.quota_evidence if e.shown}, []
    times = ("too_few_s", "scattered_s", "stranded_s", "behind_s", "room_s")
    for (method, job, attempt), parts in py.by(t.wait_parts, "method job_id attempt").items():
        q = queued[job, attempt]
        pool = dict.fromkeys(times, 0.0)
        for p in parts:
            if p.cap and (p.cap != "quota" or (method, q.vc) in shown):
                cause, name = ("quota", None) if p.cap == "quota" else ("limit", p.cap)
                rows.append((method, job, attempt, cause, name, sum(getattr(p, s) for s in times)))
            else:
                for s in times:
                    pool[s] += getattr(p, s)
        room, last = pool.pop("room_s"), label(t, q)
        for s, cause in zip(pool, ("too_few", "fragmented", "stranded", "behind"), strict=True):
            rows.append((method, job, attempt, cause, None, pool[s]))
        short = q.outcome == "started" and room <= longest.get(method, -1)
        cause = "limit" if last else "start_up" if short else "unknown"
        rows.append((method, job, attempt, cause, last, room))
    placed = {j.job_id for j in t.job_requests}
    for method in methods:
        held = {(h.job_id, h.attempt, h.cause) for h in t.held_causes}
        rows += [(method, *h) for h in map(py.values, t.held_causes)]
        for u in t.wait_causes_unplaced:
            if u.job_id not in placed and (u.job_id, u.attempt, u.cause) not in held:
                cause = "unknown" if u.cause == "pending" else u.cause
                rows.append((method, u.job_id, u.attempt, cause, u.name, u.wait_s))
    return (r for r in py.tally(rows) if r[-1] > 0)


def wait_causes_unplaced(t: Rows) -> Out:
    rows = [("none", *h) for h in map(py.values, t.held_causes)]
    for q in t.queued_attempts:
        last = label(t, q)
        rows.append(("none", q.job_id, q.attempt, "limit" if last else "pending", last,
                     q.wait_s - q.held_s))  # fmt: skip
    return (r for r in py.tally(rows) if r[-1] > 0)


def study_causes(t: Rows) -> Out:
    causes = py.by(t.wait_causes, "method job_id attempt")
    groups = {
        "held": ("held",),
        "fair_share": ("limit", "quota"),
        "fragmentation": ("too_few", "fragmented"),
        "full": ("too_few",),
        "start_up": ("start_up",),
        "unknown": ("stranded", "behind", "unknown"),
    }
    for method in {q.method for q in t.vc_quotas} or {"none"}:
        for q in t.queued_attempts:
            if q.outcome != "started":
                continue
            mine = causes.get((method, q.job_id, q.attempt), [])
            s = {g: sum(c.wait_s for c in mine if c.cause in of) for g, of in groups.items()}
            order = ("held", "start_up", "fair_share", "fragmentation")
            cause = "unknown" if s["unknown"] > q.wait_s / 2 else max(order, key=lambda c: s[c])
            yield (method, q.job_id, q.attempt, q.vc, q.gpus, q.first, q.wait_s, *s.values(),
                   cause if q.wait_s else "none")  # fmt: skip


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
            moment = 2 * (py.us(o.started_at) - launch_of(t, o.job_id, o.attempt))
            no_room = there is not None and there(moment) < o.waiter_gpus
            yield o.job_id, o.attempt, o.started_at, o.waiter_gpus, no_room


def overtaken_gangs(t: Rows) -> Out:
    for (gpus,), rows in py.by(t.overtaken_attempts, "waiter_gpus").items():
        yield gpus, len(rows), sum(py.column(rows, "harmless"))
