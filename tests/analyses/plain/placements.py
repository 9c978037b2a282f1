"""References of relations of placements: GPUs and servers of attempts."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from tests.analyses import plain as py
from tests.analyses.plain import MINUTE, Out, Row, Rows


def indexed_gpus(t: Rows) -> Out:
    machines = {m.machine_id: m for m in t.machines}
    for p in t.placements:
        m = machines[p.machine_id]
        if p.gpu is not None:
            yield p.job_id, p.attempt, p.machine_id, p.gpu
        elif p.gpus == m.gpus == m.gpus_listed:
            yield from ((p.job_id, p.attempt, p.machine_id, g) for g in range(m.gpus))


def attempt_servers(t: Rows) -> Out:
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    caps = {m.machine_id: m.gpus for m in t.machines}
    made = py.keyed(t.attempts)
    for key, held in py.by(t.placed_servers, "job_id attempt").items():
        its = [s.gpus for s in held]
        gpus = made[key].gpus if None in its else sum(its)
        sizes = sorted((m.gpus for m in t.pool_machines if m.pool == pool_of[key[0]]), reverse=True)
        fewest = next(
            (n for n in range(1, len(sizes) + 1) if gpus is not None and sum(sizes[:n]) >= gpus),
            len(held),
        )
        whole = all(s.gpus is not None and s.gpus >= caps[s.machine_id] for s in held)
        met = [s.attribution for s in held if s.attribution]
        yield (*key, gpus, len(held), fewest, len(held) > fewest, whole,
               "node_shared" in met if met else None)  # fmt: skip


def wide_attempts(t: Rows) -> Out:
    jobs, runs = {j.job_id: j for j in t.gpu_jobs}, py.keyed(t.attempt_runs)
    for s in t.attempt_servers:
        if (s.gpus or 0) > 1 and (j := jobs.get(s.job_id)):
            run_s, _ = py.trusted_run(runs.get((s.job_id, s.attempt)))
            yield (s.job_id, s.attempt, j.vc or "(none)", j.account or "(none)", j.user, s.gpus,
                   py.bucket(s.gpus), s.servers, s.fewest_servers, s.spread,
                   None if run_s is None else run_s * s.gpus * j.gpu_frac / 3600)  # fmt: skip


def large_waits(t: Rows) -> Out:
    placed = py.keyed(t.attempt_servers)
    for w in t.trusted_waits:
        if w.first and w.gpus >= 5:
            s = placed.get((w.job_id, w.attempt))
            yield (w.user, w.gpus, w.gang, w.wait_s, s and s.servers,
                   s and s.servers / s.fewest_servers, s and s.spread)  # fmt: skip


def held_servers(t: Rows) -> Out:
    runs = py.keyed(t.attempt_runs)
    counts = Counter((s.job_id, s.attempt) for s in t.placed_servers)
    held = [
        (r.started_at, r.until_at, s.job_id, s.attempt, s.machine_id)
        for s in t.placed_servers
        if (r := runs.get((s.job_id, s.attempt)))
        and r.flag is None and r.started_at and r.until_at and r.until_at >= r.started_at
    ]  # fmt: skip
    for one in held:
        start, until, job, attempt, machine = one
        before = [o for o in held if o < one and o[4] == machine]
        alike = [o for o in before if counts[o[2:4]] == counts[job, attempt]]
        first_s, alike_s = (
            max(0.0, (until - max([start, *(o[1] for o in others)])).total_seconds())
            for others in (before, alike)
        )
        gpus = runs[job, attempt].gpus
        yield (job, attempt, machine, counts[job, attempt], gpus, start, until, first_s,
               alike_s)  # fmt: skip


def server_runs(t: Rows) -> Out:
    runs = py.keyed(t.attempt_runs)
    for (job, attempt, machine), its in py.by(t.placements, "job_id attempt machine_id").items():
        r = runs.get((job, attempt))
        if r and r.started_at and r.until_at and r.until_at > r.started_at:
            counted = all(p.gpu is not None or p.gpus is not None for p in its)
            held = sum(py.first(p.gpus, 1) for p in its) if counted else None
            yield job, attempt, machine, r.vc, r.gpus, held, r.started_at, r.until_at


def own_minutes(a: Row) -> tuple[Any, Any]:
    """Start of the first minute and end of the last that an attempt holds; None: unknown."""
    end = a.ended_at and py.minute(a.ended_at + MINUTE - timedelta(microseconds=1))
    return a.started_at and py.minute(a.started_at), end


def shared(held: list[tuple[Any, Row]]) -> Iterator[bool]:
    """Whether another attempt had the same GPU or server at any time, every pair compared."""
    holders = defaultdict(list)
    for thing, a in held:
        if a.started_at and a.ended_at and a.started_at < a.ended_at:
            holders[thing].append(a)
    for thing, a in held:
        yield a in holders[thing] and any(
            o is not a and a.started_at < o.ended_at and o.started_at < a.ended_at
            for o in holders[thing]
        )


def whole_minutes(t: Rows) -> Out:
    yield (not t.telemetry_devices,)


def placed_gpus(t: Rows) -> Out:
    made, held = py.keyed(t.attempts), []
    for g in t.indexed_gpus:
        a = made[g.job_id, g.attempt]
        if a.started_at and a.ended_at:
            held.append((a.started_at, g.job_id, g.attempt, g.machine_id, g.gpu, a))
    held.sort(key=lambda h: h[:-1])
    met = shared([((machine, gpu), a) for *_, machine, gpu, a in held])
    for n, ((*_, machine, gpu, a), both) in enumerate(zip(held, met, strict=True), 1):
        since, until = (a.started_at, a.ended_at) if t.telemetry_devices else own_minutes(a)
        yield (n, a.job_id, a.attempt, machine, gpu, since, until, (until - since) / MINUTE,
               "gpu_shared" if both else "gpu_exact")  # fmt: skip


def placed_servers(t: Rows) -> Out:
    made = py.keyed(t.attempts)
    groups = py.by(t.placements, "job_id attempt machine_id")
    held = [(key[2], made[key[:2]], some) for key, some in groups.items()]
    held.sort(key=lambda h: (h[1].started_at or datetime.max, h[1].job_id, h[1].attempt, h[0]))
    met = shared([(machine, a) for machine, a, _ in held])
    for (machine, a, some), both in zip(held, met, strict=True):
        since, until = own_minutes(a)
        counted = all(p.gpu is not None or p.gpus is not None for p in some)
        gpus = sum(py.first(p.gpus, 1) for p in some) if counted else None
        due = py.seconds(since, until)
        met_by = None if due is None else "node_shared" if both else "node_exclusive"
        yield (a.job_id, a.attempt, machine, gpus, since, until, py.ratio(due, 60), met_by)


def server_tenants(t: Rows) -> Out:
    timed = [s for s in t.placed_servers if s.from_at and s.until_at and s.from_at < s.until_at]
    for (machine,), held in py.by(timed, "machine_id").items():
        for since, until in pairwise(sorted({m for s in held for m in (s.from_at, s.until_at)})):
            if n := sum(s.from_at <= since and s.until_at >= until for s in held):
                yield machine, since, until, n


def placement_gaps(t: Rows) -> Out:
    several = [b.attempts for b in t.busy_gpus if b.attempts > 1]
    used = {p.machine_id for p in t.placements}
    yield (
        len(several),
        sum(several),
        sum(m.gpus > 0 and m.machine_id not in used for m in t.machines),
    )
