"""References of relations of samples and summaries."""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any

from tests.analyses import plain as py
from tests.analyses.plain import EPOCH, MINUTE, Out, Row, Rows


def summarised_attempts(t: Rows) -> Out:
    jobs, made, runs = {j.job_id: j for j in t.jobs}, py.keyed(t.attempts), py.keyed(t.attempt_runs)
    measured = [s for s in t.summaries if s.util_pct is not None]
    for key, rows in py.by(measured, "job_id attempt").items():
        j, r = jobs[key[0]], runs.get(key)
        gpus = py.first(made[key].gpus, j.gpus)
        if gpus:
            mean = sum(s.util_pct * (s.gpus or 1) for s in rows) / sum(s.gpus or 1 for s in rows)
            longest = max(py.column(rows, "seconds"), default=None)
            run_s = py.first(longest, r.run_s if r and not r.running else None)
            gpu_h = None if run_s is None else gpus * run_s / 3600
            yield (*key, j.user, j.status or "unknown", gpus, mean, gpu_h)


def job_use_by_summary(t: Rows) -> Out:
    for (job,), rows in py.by(t.summaries, "job_id").items():
        measured = [s for s in rows if s.util_pct is not None]
        mem = [min(1, s.gpu_mem_used_gb / s.gpu_mem_gb) for s in rows
               if None not in (s.gpu_mem_used_gb, s.gpu_mem_gb)]  # fmt: skip
        if measured or mem:
            util = py.total(s.util_pct * (s.gpus or 1) for s in measured)
            yield (
                job,
                py.ratio(util, 100 * sum(s.gpus or 1 for s in measured)),
                max(mem, default=None),
            )


def binned(samples: list[Row], intervals: Iterable[tuple[Any, ...]]) -> Out:
    """Minutes and sums of the readings inside intervals (…, machine, place, from, until)."""
    seen = {
        machine: sorted(
            ((s.sampled_at, timedelta(seconds=py.first(s.seconds, 60)), readings(s)) for s in some),
            key=lambda reading: reading[:1],
        )
        for (machine,), some in py.by(samples, "machine_id").items()
    }  # fmt: skip
    longest = max((long for some in seen.values() for _, long, _ in some), default=MINUTE)
    rows = []
    for *key, machine, place, since, until in intervals:
        some = seen.get(machine, [])
        for at, long, values in some[bisect_left(some, (max(since, EPOCH) - longest,)) :]:
            if at >= until:
                break
            inside = (min(until, at + long) - max(since, at)) / MINUTE
            if inside > 0 and place < len(values):
                pct = values[place]
                bin_ = None if pct is None else ceil(pct)
                rows.append((*key, py.monday(at), bin_, inside, inside * (pct or 0)))
    return unread_without_sum(py.tally(rows, 2))


def unread_without_sum(rows: Iterable[tuple[Any, ...]]) -> Out:
    """Rows (…, bin, minutes, sum); the sum is None where the bin is None."""
    return ((*key, bin_, n, None if bin_ is None else pct) for *key, bin_, n, pct in rows)


def readings(s: Row) -> list[float | None]:
    """Return the utilisation of each GPU, and of CPU and memory in a host sample."""
    if hasattr(s, "util_pct"):
        return list(s.util_pct)
    return [s.cpu_pct, None if s.mem_used_gb is None else 100 * s.mem_used_gb / s.mem_gb]


def gpu_use_bins(t: Rows) -> Out:
    held = ((p.placement, p.machine_id, p.gpu, p.from_at, p.until_at) for p in t.placed_gpus)
    return binned(t.gpu_samples, held)


def host_util_bins(t: Rows) -> Out:
    tenants, intervals = py.by(t.server_tenants, "machine_id"), []
    for (machine,) in py.by(t.host_samples, "machine_id"):
        held = tenants.get((machine,), [])
        cuts = {m for s in held for m in (s.from_at, s.until_at)}
        number = {s.from_at: min(s.attempts, 2) for s in held}
        for since, until in pairwise(sorted(cuts | {EPOCH, datetime(2200, 1, 1)})):
            for place, resource in enumerate(("cpu", "mem")):
                intervals.append((number.get(since, 0), resource, machine, place, since, until))
    return binned(t.host_samples, intervals)


def around_events(samples: list[Row], events: Iterable[tuple[int, datetime, str, int]]) -> Out:
    """Known readings from 740 minutes before each event (number, moment, machine, place)."""
    seen = py.by(samples, "machine_id")
    for number, at, machine, place in events:
        for s in seen.get((machine,), []):
            if -740 * MINUTE <= s.sampled_at - at < 740 * MINUTE and place < len(readings(s)):
                pct = readings(s)[place]
                if pct is not None:
                    minutes = py.first(s.seconds, 60) / 60
                    yield number, at, py.monday(s.sampled_at), s.sampled_at, minutes, pct


def gpu_clock_readings(t: Rows) -> Out:
    events = ((e.number, e.event_at, e.machine_id, e.gpu) for e in t.clock_events)
    return around_events(t.gpu_samples, events)


def host_clock_readings(t: Rows) -> Out:
    events = ((e.number, e.event_at, e.machine_id, 0) for e in t.clock_events)
    return around_events(t.host_samples, events)


def clock_events(t: Rows) -> Out:
    gpus = {
        k: min((g.machine_id, g.gpu) for g in rows)
        for k, rows in py.by(t.indexed_gpus, "job_id attempt").items()
    }
    events = [
        (a.job_id, a.attempt, event, py.minute(at), *gpus[a.job_id, a.attempt])
        for a in t.attempts
        for event, at in (("end", a.ended_at), ("start", a.started_at))
        if a.started_at and a.ended_at and a.ended_at - a.started_at >= 10 * MINUTE
        and (a.job_id, a.attempt) in gpus
    ]  # fmt: skip
    for number, (_, _, event, at, machine, gpu) in enumerate(sorted(events), 1):
        yield number, py.monday(at), event, at, machine, gpu


def gpu_sample_hours(t: Rows) -> Out:
    return by_hour(t.gpu_samples)


def host_sample_hours(t: Rows) -> Out:
    return by_hour(t.host_samples)


def by_hour(samples: list[Row]) -> Out:
    for (hour,), some in py.by(samples, lambda s: (s.sampled_at.replace(minute=0),)).items():
        yield hour, sum(s.seconds or 60 for s in some) / 60


def gpu_use(t: Rows) -> Out:
    seen = py.by(t.gpu_use_bins, "placement")
    for p in t.placed_gpus:
        bins = seen.get((p.placement,), [])
        minutes = sum(b.minutes for b in bins if b.bin is not None)
        pct = sum(py.column(bins, "sum_pct"))
        yield (p.job_id, p.attempt, p.machine_id, p.gpu, p.attribution, p.expected_min, minutes,
               sum(b.minutes for b in bins if b.bin is None),
               sum(b.minutes for b in bins if b.bin == 0), pct, py.ratio(pct, minutes),
               py.ratio(minutes, p.expected_min))  # fmt: skip


def attempt_use(t: Rows) -> Out:
    jobs, made, servers = (
        {j.job_id: j for j in t.jobs},
        py.keyed(t.attempts),
        py.keyed(t.attempt_servers),
    )
    for key, rows in py.by(t.gpu_use, "job_id attempt").items():
        j, a, s = jobs[key[0]], made[key], servers[key]
        alone = [r for r in rows if r.attribution == "gpu_exact"]
        due, *rest = (
            sum(getattr(r, c) for r in alone)
            for c in ("expected_min", "minutes", "offline_min", "idle_min", "sum_pct")
        )
        yield (*key, j.vc, j.user, j.status or "unknown", s.gpus, s.servers, s.fewest_servers,
               s.spread, s.whole, s.co_tenants, len(rows) - len(alone), due, *rest,
               py.ratio(rest[3], rest[0]), py.ratio(rest[0], due),
               py.first(a.flag, j.flag))  # fmt: skip


def sampled_attempts(t: Rows) -> Out:
    for u in t.attempt_use:
        if u.minutes > 0:
            yield (u.job_id, u.attempt, u.user, u.status, u.gpus, u.servers, u.spread,
                   u.whole and not u.spread, u.co_tenants, u.minutes, u.idle_min, u.sum_pct,
                   u.mean_pct)  # fmt: skip


def job_use(t: Rows) -> Out:
    for (job,), rows in py.by(t.sampled_attempts, "job_id").items():
        yield job, (m := sum(u.minutes for u in rows)), sum(u.sum_pct for u in rows) / m / 100


def gpu_util_bins(t: Rows) -> Out:
    placed = {p.placement: p for p in t.placed_gpus if p.attribution == "gpu_exact"}
    sampled = py.keyed(t.sampled_attempts)
    rows = []
    for b in t.gpu_use_bins:
        if b.bin is not None and (p := placed.get(b.placement)):
            a = sampled[p.job_id, p.attempt]
            rows.append((a.gpus, a.status, a.servers, a.dedicated, b.bin, b.minutes, b.sum_pct))
    return py.tally(rows, 2)


def gpu_use_gaps(t: Rows) -> Out:
    made = py.keyed(t.attempts)
    placed = {(p.job_id, p.attempt) for p in t.placements}
    indexed = {(g.job_id, g.attempt, g.machine_id) for g in t.indexed_gpus}
    used, seen = ({r.machine_id for r in rows} for rows in (t.placements, t.gpu_samples))
    lost = sum(u.expected_min - u.minutes - u.offline_min for u in t.attempt_use)
    untimed = sum(made[k].started_at is None or made[k].ended_at is None for k in placed)
    unindexed = {
        (p.job_id, p.attempt) for p in t.placements
        if (p.job_id, p.attempt, p.machine_id) not in indexed
    }  # fmt: skip
    unsampled = sum(u.minutes == 0 and u.shared_gpus == 0 for u in t.attempt_use)
    ambiguous = sum(p.attribution == "gpu_shared" for p in t.placed_gpus)
    offline = round(sum(u.offline_min for u in t.attempt_use))
    for what, reason, n in (
        ("attempt", "start or end not known", untimed),
        ("attempt", "not known which GPUs of a shared server it held", len(unindexed)),
        ("attempt", "no GPU sampled during the run", unsampled),
        ("placement", "ambiguous, as another attempt held the same GPU", ambiguous),
        ("GPU-minute", "offline (the server reported, the GPU did not)", offline),
        ("GPU-minute", "never sampled", round(lost)),
        ("server", "sampled, but its GPUs were never allocated", len(seen - used)),
        ("server", "allocated, but never sampled", len(used - seen)),
    ):
        if n:
            yield what, reason, n
