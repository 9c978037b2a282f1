"""References of relations of GPUs in use and free over time."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.analyses.plain import DAY, EPOCH, HOUR, Out, Row, Rows, by, keyed, lasts, monday, us


def steps(changes: Iterable[tuple[int, float]]) -> list[tuple[int, float, float]]:
    """Sum changes in the order of their moments: moment, level before, level after."""
    at: dict[int, float] = defaultdict(float)
    for moment, change in changes:
        at[moment] += change
    levels, level = [], 0.0
    for moment in sorted(at):
        levels.append((moment, level, level + at[moment]))
        level += at[moment]
    return levels


def starts_and_ends(since: datetime, until: datetime, gpus: float) -> list[tuple[int, float]]:
    """Changes of GPUs in use; at one moment ends come before starts."""
    return [(2 * us(since) + 1, gpus), (2 * us(until), -gpus)]


def allocated_at(t: Rows, run: Row) -> datetime:
    """When an attempt got its GPUs: its launch before its start."""
    launches = (
        x.launch_us for x in t.launches if (x.job_id, x.attempt) == (run.job_id, run.attempt)
    )
    started_at: datetime = run.started_at
    return started_at - timedelta(microseconds=next(launches, 0))


def busy_gpus(t: Rows) -> Out:
    runs, held = keyed(t.attempt_runs), defaultdict(list)
    for p in t.placements:
        r: Row = runs.get((p.job_id, p.attempt))
        if p.gpu is not None and lasts(r):
            held[p.machine_id, p.gpu].append((r.started_at, r.until_at, allocated_at(t, r)))
    for key, spans in held.items():
        joined: list[list[Any]] = []
        for since, until, allocated in sorted(spans):
            if joined and since < joined[-1][2]:
                first, since, end, n = joined[-1]
                joined[-1] = [min(first, allocated), since, max(until, end), n + 1]
            else:
                joined.append([allocated, since, until, 1])
        yield from ((*key, *span) for span in joined)


def machine_holdings(t: Rows) -> Out:
    runs = keyed(t.attempt_runs)
    servers = Counter((p.job_id, p.attempt) for p in t.placements)
    for key, some in by(t.busy_gpus, "machine_id gpu").items():
        until = EPOCH
        for b in sorted(some, key=lambda b: b.started_at):
            yield key[0], max(b.allocated_at, until), b.started_at, b.until_at, 1
            until = b.until_at
    for p in t.placements:
        key = p.job_id, p.attempt
        r: Row = runs.get(key)
        if p.gpu is None and lasts(r):
            gpus = p.gpus if p.gpus or r.gpus is None else r.gpus / servers[key]
            yield p.machine_id, allocated_at(t, r), r.started_at, r.until_at, gpus


def used_machines(t: Rows) -> Out:
    yield from ((machine,) for machine in {p.machine_id for p in t.placements})


def machine_use(t: Rows) -> Out:
    caps = {m.machine_id: m.gpus for m in t.machines}
    use: dict[str, list[tuple[int, float]]] = defaultdict(list)
    taken: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for h in t.machine_holdings:
        if h.gpus is not None:
            starts = 2 * us(h.started_at) + 1
            use[h.machine_id] += starts_and_ends(h.started_at, h.until_at, h.gpus)
            taken[h.machine_id] += starts_and_ends(h.allocated_at, h.until_at, h.gpus)
            use[h.machine_id].append((2 * us(h.allocated_at) + 1, 0))
            taken[h.machine_id].append((starts, 0))
    for machine, some in use.items():
        for (moment, *in_use), (_, *held) in zip(steps(some), steps(taken[machine]), strict=True):
            free = (max(0, round(caps[machine] - n)) for n in (*in_use, *held))
            yield machine, moment, caps[machine], *free


def server_outages(t: Rows) -> Out:
    """After a failure that leaves a server empty, up to its next start, or for a day."""
    failed = {(p.machine_id, 2 * us(a.ended_at)) for p in t.placements for a in t.attempts
              if (a.job_id, a.attempt) == (p.job_id, p.attempt)
              and a.end_reason == "node_failure" and a.ended_at}  # fmt: skip
    for (machine,), some in by(t.machine_use, "machine_id").items():
        order = sorted(some, key=lambda u: u.moment)
        for one, two in zip(order, [*order[1:], None], strict=True):
            if (machine, one.moment) in failed and one.open_after == one.gpus:
                day = one.moment + 2 * 86_400_000_000
                yield machine, one.gpus, one.moment, min(two.moment if two else day, day)


def server_openings(t: Rows) -> Out:
    gpus = {m.machine_id: m.gpus for m in t.machines}
    use, outages = by(t.machine_use, "machine_id"), by(t.server_outages, "machine_id")
    for (machine,) in {*use, *outages}:
        spans = [(o.from_us, o.until_us) for o in outages.get((machine,), [])]
        rooms = {u.moment: u.open_after for u in use.get((machine,), [])}
        room, before = gpus[machine], (gpus[machine], 0)
        for moment in sorted({*rooms, *(m for span in spans for m in span)}):
            room = rooms.get(moment, room)
            closed = any(since <= moment < until for since, until in spans)
            after = (0, room) if closed else (room, 0)
            yield machine, moment, before[0], after[0], before[1], after[1]
            before = after


def free_capacity(t: Rows) -> Out:
    wanted = {(g.pool, g.machines, g.servers) for g in (*t.gang_needs, *t.requests) if g.machines}
    used = {p.machine_id for p in t.placements}
    outages = defaultdict(list)
    for o in t.server_outages:
        outages[o.machine_id].append((o.from_us, o.until_us))
    use = by(t.machine_use, "machine_id")
    for pool, servers in {(pool, servers) for pool, _, servers in wanted}:
        there = {m.machine_id: m.gpus for m in t.pool_machines if m.pool == pool}
        there = {m: n for m, n in there.items() if m in used}
        if not there:
            continue
        changes: dict[int, list[tuple[str, int]]] = defaultdict(list)
        totals: dict[int, float] = defaultdict(float, {0: sum(there.values())})
        for machine, gpus in there.items():
            for u in use.get((machine,), []):
                down = any(u.moment == a for a, _ in outages[machine])
                changes[u.moment].append((machine, 0 if down else u.open_after))
            for since, until in outages[machine]:
                totals[since] -= gpus
                totals[until] += gpus
                if until not in {u.moment for u in use[machine,]}:
                    changes[until].append((machine, gpus))
        for h in t.machine_holdings:
            if h.machine_id in there and h.gpus is not None:
                for moment, change in starts_and_ends(h.allocated_at, h.until_at, h.gpus):
                    totals[moment] -= change
        free, gpus_by_server = dict(there), {}
        for machines in {n for p, n, _ in wanted if p == pool and n < servers}:
            gpus_by_server[machines] = sum(sorted(free.values())[-machines:])
            yield pool, machines, 0, gpus_by_server[machines]
        for moment in sorted(changes):
            free |= dict(changes[moment])
            for machines, before in gpus_by_server.items():
                if (most := sum(sorted(free.values())[-machines:])) != before:
                    gpus_by_server[machines] = most
                    yield pool, machines, moment, most
        level, before = 0.0, None
        for moment in sorted(totals):
            level += totals[moment]
            if (whole := max(0, round(level))) != before:
                yield pool, servers, moment, whole
                before = whole


def vc_use(t: Rows) -> Out:
    changes: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for r in t.attempt_runs:
        if r.vc and r.gpus and not r.guest and lasts(r):
            changes[r.vc] += starts_and_ends(r.started_at, r.until_at, r.gpus)
    for vc, some in changes.items():
        yield from ((vc, *step) for step in steps(some))


def vc_quotas(t: Rows) -> Out:
    yield from (("given", q.vc, q.gpus) for q in t.given_quotas)
    several = len({u.vc for u in t.vc_use}) > 1
    estimated = t.vc_use if several and not t.given_quotas else []
    for (vc,), levels in by(estimated, "vc").items():
        largest = max(r.gpus or 0 for r in t.attempt_runs if r.vc == vc)
        since, held = us(t.snapshot[0].complete_from), Counter[int]()
        for one, two in pairwise(sorted(levels, key=lambda u: u.moment)):
            held[one.gpus_after] += max(0, two.moment // 2 - max(one.moment // 2, since))
        for method, frac in (("p95", 0.95), ("p99", 0.99), ("peak", 1)):
            below = (n for n in sorted(n for n in held if held[n])
                     if sum(held[m] for m in held if m <= n) >= frac * held.total())  # fmt: skip
            yield method, vc, max(next(below), largest)


def quota_methods(t: Rows) -> Out:
    methods = {q.method for q in t.vc_quotas} or {"none"}
    best = "given" if "given" in methods else min(methods)
    yield from ((method, method == best) for method in methods)


def gpu_levels(t: Rows) -> Out:
    held = [
        (2 * us(r.started_at) + 1, 2 * us(r.until_at), r.gpus)
        for r in t.attempt_runs
        if r.gpus and lasts(r)
    ]
    for moment in {at for start, end, _ in held for at in (start, end)}:
        yield moment, sum(gpus for start, end, gpus in held if start <= moment < end)


def pool_use(t: Rows) -> Out:
    for (pool,), machines in by(t.machine_pools, "pool").items():
        caps = {m.machine_id: m.gpus for m in machines}
        free = dict(caps)
        states: dict[int, tuple[int, ...]] = {}
        for u in sorted(t.machine_use, key=lambda u: u.moment):
            if u.machine_id in caps:
                free[u.machine_id] = u.free_after
                states[2 * (u.moment // 2)] = (
                    sum(caps.values()) - sum(free.values()),
                    sum(n for m, n in free.items() if n < caps[m]),
                    sum(free[m] == n for m, n in caps.items()),
                    sum(n == 0 for n in free.values()),
                )
        yield from ((pool, moment, *state) for moment, state in states.items())


def idle_gpus(t: Rows) -> Out:
    """Hold each machine's free GPUs between its changes, from the complete log to the last."""
    caps = {m.machine_id: m.gpus for m in t.machines if m.gpus}
    changes = sorted((u.moment, u.machine_id, u.free_after) for u in t.machine_use)
    free = dict(caps)
    levels: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    at = max(t.snapshot[0].complete_from, EPOCH + timedelta(microseconds=changes[0][0] // 2))
    for moment, machine, after in changes:
        until = EPOCH + timedelta(microseconds=moment // 2)
        while at < until:
            end = min(until, monday(at) + 7 * DAY)
            hours, week = (end - at) / HOUR, levels[monday(at).date()]
            week[0] += hours * sum(caps.values())
            week[1] += hours * (sum(caps.values()) - sum(free.values()))
            week[2] += hours * sum(n for m, n in free.items() if n < caps[m])
            at = end
        free[machine] = after
    return ((w, there, held, there - held, partly) for w, (there, held, partly) in levels.items())
