"""References of the relations that several findings share, in plain Python."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby, pairwise, product
from math import ceil
from typing import Any

from tests.analyses.plain import (
    Row,
    Rows,
    bucket,
    by,
    column,
    minute,
    monday,
    quantile,
    ratio,
    seconds,
    tally,
    total,
)

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
EPOCH = datetime(1970, 1, 1)
Out = Iterator[tuple[Any, ...]]


def attempts_of(t: Rows) -> dict[str, list[Row]]:
    return {
        j: sorted(some, key=lambda a: a.attempt) for (j,), some in by(t.attempts, "job_id").items()
    }


def keyed(rows: list[Row]) -> dict[tuple[str, int], Row]:
    return {(r.job_id, r.attempt): r for r in rows}


def first(*values: Any) -> Any:
    """The first value that is known."""
    return next((v for v in values if v is not None), None)


def gpu_jobs(t: Rows) -> Out:
    for j in t.jobs:
        if j.gpus != 0:
            yield (j.job_id, j.vc, j.account, j.user, j.gpus, j.gpu_frac or 1, j.submitted_at,
                   j.eligible_at, j.time_limit_s, j.status, j.flag)  # fmt: skip


def snapshot(t: Rows) -> Out:
    moments = column(t.jobs, "submitted_at")
    ends = column(t.attempts, "started_at") + column(t.attempts, "ended_at")
    complete = min(j.submitted_at for j in t.jobs if j.flag is None)
    yield min(moments), complete, max(moments + ends)


def attempt_runs(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, attempts_of(t)
    for a in t.attempts:
        if not (j := jobs.get(a.job_id)) or (a.started_at is None and a.run_s is None):
            continue
        last = a is made[a.job_id][-1]
        running = last and a.started_at is not None and a.ended_at is None
        until = t.snapshot[0].ended_at if running else a.ended_at
        if until is None and a.started_at is not None and a.run_s is not None:
            until = a.started_at + timedelta(seconds=a.run_s)
        run_s = first(a.run_s, seconds(a.started_at, until))
        yield (a.job_id, a.attempt, j.vc, j.user, first(a.gpus, j.gpus), a.started_at, a.ended_at,
               running, until, run_s, bool(a.guest), first(a.flag, j.flag))  # fmt: skip


def waits(t: Rows) -> Out:
    made = attempts_of(t)
    for j in t.gpu_jobs:
        since = j.submitted_at
        for a in made.get(j.job_id, []):
            if a.started_at is not None and since is not None:
                ready = first(a.eligible_at, j.eligible_at)
                held = 0.0
                if ready is not None and ready > since:
                    held = (min(ready, a.started_at) - since).total_seconds()
                late = "negative_wait" if a.started_at < since else None
                yield (j.job_id, a.attempt, j.vc, j.user, j.gpus, a is made[j.job_id][0], since,
                       a.started_at, seconds(since, a.started_at), held,
                       first(a.flag, j.flag, late))  # fmt: skip
            since = a.ended_at


def trusted_waits(t: Rows) -> Out:
    for w in t.waits:
        if w.flag is None and w.gpus:
            yield (w.job_id, w.attempt, w.vc, w.user, w.gpus, bucket(w.gpus), w.first, w.since_at,
                   w.started_at, w.wait_s, w.held_s)  # fmt: skip


def job_times(t: Rows) -> Out:
    made, runs = attempts_of(t), by(t.attempt_runs, "job_id")
    for j in t.gpu_jobs:
        mine = made.get(j.job_id, [])
        ran = sorted(runs[j.job_id,], key=lambda r: r.attempt)
        unknown = bool(ran) and ran[-1].run_s is None
        censored = any(r.running for r in ran)
        starts, ends = column(ran, "started_at"), column(ran, "until_at")
        sum_s = None if unknown else total(r.run_s for r in ran)
        span = None
        if not unknown:
            span = seconds(min(starts), max(ends, default=None)) if starts else None
            if not starts and len(ran) == 1:
                span = sum_s
        gpu_s = total(r.run_s * r.gpus for r in ran if r.run_s is not None and r.gpus is not None)
        flags = [a.flag for a in mine if a.flag]
        end = max(ends, default=None) if not (censored or unknown) else None
        yield (j.job_id, j.vc, j.user, j.gpus, j.status, j.submitted_at,
               min(starts, default=None), end, len(mine), span, sum_s,
               ran[-1].run_s if ran else None, censored,
               None if gpu_s is None else gpu_s * j.gpu_frac / 3600,
               first(j.flag, min(flags, default=None), "end_unknown" if unknown else None),
               )  # fmt: skip


def job_runs(t: Rows) -> Out:
    for r in t.job_times:
        values = list(vars(r).values())
        yield (*values[:12], r.span_s, *values[12:])


def completions(t: Rows) -> Out:
    for r in t.job_runs:
        if r.censored or r.sum_s is None or not r.last_ended_at or r.last_ended_at < r.submitted_at:
            continue
        jct = (r.last_ended_at - r.submitted_at).total_seconds()
        yield (r.job_id, r.vc, r.gpus, r.submitted_at, jct, r.sum_s, jct - r.sum_s,
               max(1, jct / max(r.sum_s, 60)))  # fmt: skip


def workload_jobs(t: Rows) -> Out:
    runs = {r.job_id: r for r in t.job_runs}
    for j in t.jobs:
        r = runs.get(j.job_id)
        frac = first(j.gpu_frac, 1)
        if r is None:
            yield (j.job_id, j.vc, j.user, j.gpus, j.status, j.submitted_at, None, None, None,
                   False, frac, None, "no GPUs asked for")  # fmt: skip
            continue
        out = r.flag.replace("_", " ") if r.flag else None
        lacks = {
            "no attempt": not r.attempts,
            "no attempt has a start": r.sum_s is None,
            "gang size not known": j.gpus is None,
            "run time not known": r.run_s is None,
        }
        out = out or next((why for why, holds in lacks.items() if holds), None)
        known = None not in (r.run_s, j.gpus)
        yield (j.job_id, j.vc, j.user, j.gpus, j.status, j.submitted_at, r.first_started_at,
               r.run_s, r.sum_s, r.censored, frac,
               r.run_s * j.gpus * frac / 3600 if known else None, out)  # fmt: skip


def trusted_runs(t: Rows) -> Out:
    for j in t.workload_jobs:
        if j.left_out is None:
            yield (j.job_id, j.vc, j.user, j.gpus, bucket(j.gpus), j.submitted_at, j.run_s,
                   j.censored)  # fmt: skip


def workload_attempts(t: Rows) -> Out:
    inside, made = {j.job_id for j in t.trusted_runs}, keyed(t.attempts)
    for r in t.attempt_runs:
        if r.job_id in inside and r.run_s is not None:
            a = made[r.job_id, r.attempt]
            yield r.job_id, r.attempt, first(a.work_s, r.run_s), a.end_reason


def started_jobs(t: Rows) -> Out:
    for r in t.job_runs:
        if r.attempts and r.gpus:
            failed = None if r.status is None else r.status == "Failed"
            yield r.job_id, r.user, r.gpus, bucket(r.gpus), r.attempts, failed


def exclusions(t: Rows) -> Out:
    found = Counter(("run time", j.left_out) for j in t.workload_jobs)
    for w in t.waits:
        lacks = "gang size not known" if w.gpus is None else None
        found["wait", (w.flag or "").replace("_", " ") or lacks] += 1
    known, jobs = keyed(t.waits), {j.job_id: j for j in t.jobs}
    for a in t.attempts:
        if (a.job_id, a.attempt) not in known:
            why = (
                "start not known" if a.started_at is None else "end of the attempt before not known"
            )
            found["wait", "no GPUs asked for" if jobs[a.job_id].gpus == 0 else why] += 1
    return ((*key, n) for key, n in found.items() if key[1])


def flags(t: Rows) -> Out:
    for what in ("jobs", "attempts"):
        for (flag,), rows in by(getattr(t, what), "flag").items():
            if flag:
                yield what, flag, len(rows)


def end_reasons(t: Rows) -> Out:
    jobs = {j.job_id for j in t.gpu_jobs}
    found = Counter(a.end_reason for a in t.attempts if a.job_id in jobs)
    yield from found.items()


def log_totals(t: Rows) -> Out:
    runs, some = t.job_runs, [r for r in t.attempt_runs if r.gpus]
    yield (len(runs), sum(j.gpus == 0 for j in t.jobs), len(set(column(runs, "user"))),
           len(set(column(runs, "vc"))), sum(r.attempts for r in runs), sum(column(runs, "gpu_h")),
           sum(r.attempts == 0 for r in runs), sum(r.censored for r in runs),
           sum(r.flag is not None for r in runs),
           sum(r.user is None or r.vc is None for r in runs),
           sum(r.run_s is None for r in some), sum(r.until_at is None for r in some))  # fmt: skip


def trusted_run(r: Row) -> tuple[float | None, float | None]:
    """Seconds and GPU hours of a run, if there is one; None: unknown or not trusted."""
    if r is None or r.flag is not None or r.run_s is None:
        return None, None
    return r.run_s, None if r.gpus is None else r.run_s * r.gpus / 3600


def failed_attempts(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, attempts_of(t)
    rows, runs = keyed(t.attempts), keyed(t.attempt_runs)
    for f in t.failures:
        if not (j := jobs.get(f.job_id)):
            continue
        key = f.job_id, f.attempt
        gpus = first(rows[key].gpus, j.gpus)
        run_s, gpu_h = trusted_run(runs.get(key))
        numbers = [a.attempt for a in made[f.job_id]]
        yield (*key, j.user, j.vc, j.status, f.reason, f.tier or "", f.fine, gpus,
               bucket(gpus, 1, 4), run_s, gpu_h, f.attempt < max(numbers),
               f.attempt == min(numbers))  # fmt: skip


def timed_failures(t: Rows) -> Out:
    for f in t.failed_attempts:
        if f.run_s is not None and f.gpus:
            yield f.user, f.reason, f.gpus, f.demand, f.run_s, f.gpu_h


def retry_help(t: Rows) -> Out:
    again = [f for f in t.failed_attempts if f.followed and f.status]
    for (reason,), rows in by(again, "reason").items():
        jobs = {f.job_id: f.status for f in rows}
        yield reason, len(jobs), sum(s == "Pass" for s in jobs.values())


NOT_FAILED = {"completed", "killed", "migrated", "resized", "preempted", "requeued", "node_failure"}


def status_failures(t: Rows) -> Out:
    jobs, made, runs = {j.job_id: j for j in t.gpu_jobs}, attempts_of(t), keyed(t.attempt_runs)
    after = {"Pass": "passed", "Killed": "killed", "Failed": "unsuccessful"}
    for a in t.attempts:
        if not (j := jobs.get(a.job_id)) or a.end_reason in NOT_FAILED:
            continue
        last = a is made[a.job_id][-1]
        if last and j.status != "Failed":
            continue
        end = f"then {after[j.status]}" if j.status else "end unknown"
        yield (a.job_id, a.attempt, j.user,
               "last attempt, unsuccessful" if last else f"retried, {end}", a.exit_code,
               *trusted_run(runs.get((a.job_id, a.attempt))))  # fmt: skip


def limited_runs(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, keyed(t.attempts)
    for r in t.attempt_runs:
        j, reason = jobs[r.job_id], made[r.job_id, r.attempt].end_reason
        limit = j.time_limit_s
        if limit is None or not r.gpus or r.run_s is None or r.running or r.flag is not None:
            continue
        held = r.gpus * j.gpu_frac / 3600
        yield (r.job_id, r.attempt, r.user, r.gpus, bucket(r.gpus), limit, r.run_s, r.run_s / limit,
               reason == "time_limit" if reason else r.run_s >= limit, r.run_s * held,
               max(0, limit - r.run_s) * held)  # fmt: skip


def lost_attempts(t: Rows) -> Out:
    made = keyed(t.attempts)
    for r in t.attempt_runs:
        if made[r.job_id, r.attempt].end_reason == "node_failure":
            yield from _lost(r)


def _lost(r: Row) -> Out:
    if r.gpus and r.until_at is not None and r.flag is None:
        yield r.job_id, r.attempt, r.gpus, r.until_at, r.run_s * r.gpus / 3600


def lost_attempts_by_output(t: Rows) -> Out:
    told = {
        (f.job_id, f.attempt)
        for f in t.failures
        if f.reason == "GPU ECC error"
        or f.fine in ("gpu_fell_off_bus", "nvlink_error", "node_failure")
    }
    told |= {(r.job_id, r.attempt) for r in t.lost_attempts}
    for r in t.attempt_runs:
        if (r.job_id, r.attempt) in told:
            yield from _lost(r)


def summarised_attempts(t: Rows) -> Out:
    jobs, made, runs = {j.job_id: j for j in t.jobs}, keyed(t.attempts), keyed(t.attempt_runs)
    known = [s for s in t.summaries if s.util_pct is not None]
    for key, rows in by(known, "job_id attempt").items():
        j, r = jobs[key[0]], runs.get(key)
        gpus = first(made[key].gpus, j.gpus)
        if gpus:
            mean = sum(s.util_pct * (s.gpus or 1) for s in rows) / sum(s.gpus or 1 for s in rows)
            longest = max(column(rows, "seconds"), default=None)
            run_s = first(longest, r.run_s if r and not r.running else None)
            gpu_h = None if run_s is None else gpus * run_s / 3600
            yield (*key, j.user, j.status or "unknown", gpus, mean, gpu_h)


def job_use_by_summary(t: Rows) -> Out:
    for (job,), rows in by(t.summaries, "job_id").items():
        known = [s for s in rows if s.util_pct is not None]
        mem = [min(1, s.gpu_mem_used_gb / s.gpu_mem_gb) for s in rows
               if None not in (s.gpu_mem_used_gb, s.gpu_mem_gb)]  # fmt: skip
        if known or mem:
            util = total(s.util_pct * (s.gpus or 1) for s in known)
            yield job, ratio(util, 100 * sum(s.gpus or 1 for s in known)), max(mem, default=None)


def attempt_weeks(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.gpu_jobs}
    for r in t.attempt_runs:
        if r.run_s is None:
            continue
        j = jobs[r.job_id]
        begin = first(r.started_at, j.submitted_at)
        end = begin + timedelta(seconds=r.run_s) if r.started_at is None else r.until_at
        week = monday(begin)
        while week < end or begin == end:
            inside = (
                (min(end, week + 7 * DAY) - max(begin, week)) / (end - begin) if end > begin else 1
            )
            gpu_h = None if r.gpus is None else r.run_s * r.gpus * j.gpu_frac / 3600 * inside
            yield (r.job_id, r.attempt, j.account or "(none)", j.user or "(none)", j.vc or "(none)",
                   week.date(), inside, gpu_h)  # fmt: skip
            week += 7 * DAY
            if begin == end:
                break


def vc_days(t: Rows) -> Out:
    days = []
    for r in t.attempt_runs:
        at = r.started_at if r.gpus and lasts(r) else None
        while at and at < r.until_at:
            until = min(datetime(at.year, at.month, at.day) + DAY, r.until_at)
            days.append((at.date(), r.vc, r.gpus * ((until - at) / HOUR)))
            at = until
    return tally(days)


def arrival_hours(t: Rows) -> Out:
    found = Counter(
        j.submitted_at.replace(minute=0, second=0) for j in t.gpu_jobs if j.flag is None
    )
    hour = min(found)
    while hour <= max(found):
        yield hour, found[hour]
        hour += HOUR


def spreads_by_group(t: Rows) -> Out:
    found: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    times = [("run time", r, r.submitted_at, (r.run_s, r.censored)) for r in t.trusted_runs]
    times += [("wait", w, w.since_at, (w.wait_s, False)) for w in t.trusted_waits]
    for what, row, began, value in times:
        found[what, "user", row.user or "(none)"].append(value)
        found[what, "vc", row.vc or "(none)"].append(value)
        found[what, "week", f"{monday(began):%Y-%m-%d}"].append(value)
    for key, values in found.items():
        grid = [quantile([s for s, _ in values], q) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)]
        yield (*key, len(values), sum(c for _, c in values), *grid)


def queueing_delay_by_group(t: Rows) -> Out:
    for what, *key, waits, _, p5, p25, p50, p75, p95, p99 in spreads_by_group(t):
        if what == "wait":
            yield *key, waits, p5, p25, p50, p75, p95, p99


def run_time_by_group(t: Rows) -> Out:
    return (row[1:] for row in spreads_by_group(t) if row[0] == "run time")


def run_survival(t: Rows) -> Out:
    for kind in ("1", "2-4", "5-8", ">8", "all"):
        jobs = [r for r in t.trusted_runs if kind in ("all", r.gang)]
        alive = 1.0
        for length in sorted({r.run_s for r in jobs}):
            ended = sum(r.run_s == length and not r.censored for r in jobs)
            alive *= 1 - ended / sum(r.run_s >= length for r in jobs)
            yield kind, length, ended, 1 - alive


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
    made = keyed(t.attempts)
    for key, held in by(t.placed_servers, "job_id attempt").items():
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
    jobs, runs = {j.job_id: j for j in t.gpu_jobs}, keyed(t.attempt_runs)
    for s in t.attempt_servers:
        if (s.gpus or 0) > 1 and (j := jobs.get(s.job_id)):
            run_s, _ = trusted_run(runs.get((s.job_id, s.attempt)))
            yield (s.job_id, s.attempt, j.vc or "(none)", j.account or "(none)", j.user, s.gpus,
                   bucket(s.gpus), s.servers, s.fewest_servers, s.spread,
                   None if run_s is None else run_s * s.gpus * j.gpu_frac / 3600)  # fmt: skip


def large_waits(t: Rows) -> Out:
    placed = keyed(t.attempt_servers)
    for w in t.trusted_waits:
        if w.first and w.gpus >= 5:
            s = placed.get((w.job_id, w.attempt))
            yield (w.user, w.gpus, w.gang, w.wait_s, s and s.servers,
                   s and s.servers / s.fewest_servers, s and s.spread)  # fmt: skip


def held_servers(t: Rows) -> Out:
    runs, servers = keyed(t.attempt_runs), Counter((s.job_id, s.attempt) for s in t.placed_servers)
    for s in t.placed_servers:
        r = runs.get((s.job_id, s.attempt))
        if r and r.flag is None and r.started_at and r.until_at:
            yield (s.job_id, s.attempt, s.machine_id, servers[s.job_id, s.attempt], r.gpus,
                   r.started_at, r.until_at)  # fmt: skip


def own_minutes(a: Row) -> tuple[Any, Any]:
    """Start of the first minute and end of the last that an attempt holds; None: unknown."""
    end = a.ended_at and minute(a.ended_at + MINUTE - timedelta(microseconds=1))
    return a.started_at and minute(a.started_at), end


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


def placed_gpus(t: Rows) -> Out:
    made, held = keyed(t.attempts), []
    for g in t.indexed_gpus:
        a = made[g.job_id, g.attempt]
        if a.started_at and a.ended_at:
            held.append((a.started_at, g.job_id, g.attempt, g.machine_id, g.gpu, a))
    held.sort(key=lambda h: h[:-1])
    met = shared([((machine, gpu), a) for *_, machine, gpu, a in held])
    for n, ((*_, machine, gpu, a), both) in enumerate(zip(held, met, strict=True), 1):
        since, until = own_minutes(a)
        yield (n, a.job_id, a.attempt, machine, gpu, since, until, (until - since) / MINUTE,
               "gpu_shared" if both else "gpu_exact")  # fmt: skip


def placed_servers(t: Rows) -> Out:
    made = keyed(t.attempts)
    groups = by(t.placements, "job_id attempt machine_id")
    held = [(key[2], made[key[:2]], some) for key, some in groups.items()]
    held.sort(key=lambda h: (h[1].started_at or datetime.max, h[1].job_id, h[1].attempt, h[0]))
    met = shared([(machine, a) for machine, a, _ in held])
    for n, ((machine, a, some), both) in enumerate(zip(held, met, strict=True), 1):
        since, until = own_minutes(a)
        known = all(p.gpu is not None or p.gpus is not None for p in some)
        gpus = sum(first(p.gpus, 1) for p in some) if known else None
        due = seconds(since, until)
        met_by = None if due is None else "node_shared" if both else "node_exclusive"
        yield (n, a.job_id, a.attempt, machine, gpus, since, until, ratio(due, 60), met_by)


def server_tenants(t: Rows) -> Out:
    timed = [s for s in t.placed_servers if s.from_at and s.until_at and s.from_at < s.until_at]
    for (machine,), held in by(timed, "machine_id").items():
        for since, until in pairwise(sorted({m for s in held for m in (s.from_at, s.until_at)})):
            if n := sum(s.from_at <= since and s.until_at >= until for s in held):
                yield machine, since, until, n


def binned(samples: list[Row], intervals: Iterable[tuple[Any, ...]]) -> Out:
    """Minutes and sums of the readings inside intervals (…, machine, place, from, until)."""
    seen = by(samples, "machine_id")
    found = []
    for *key, machine, place, since, until in intervals:
        for s in seen.get((machine,), []):
            end = s.sampled_at + timedelta(seconds=first(s.seconds, 60))
            inside = (min(until, end) - max(since, s.sampled_at)) / MINUTE
            if inside > 0 and place < len(values := readings(s)):
                pct = values[place]
                bin_ = None if pct is None else ceil(pct)
                found.append((*key, monday(s.sampled_at), bin_, inside, inside * (pct or 0)))
    return unread_without_sum(tally(found, 2))


def unread_without_sum(rows: Iterable[tuple[Any, ...]]) -> Out:
    """Rows (…, bin, minutes, sum); the sum is None where the bin is None."""
    return ((*key, bin_, n, None if bin_ is None else pct) for *key, bin_, n, pct in rows)


def readings(s: Row) -> list[float | None]:
    """Utilisation of each GPU; of a host sample that of CPU and memory."""
    if hasattr(s, "util_pct"):
        return list(s.util_pct)
    return [s.cpu_pct, None if s.mem_used_gb is None else 100 * s.mem_used_gb / s.mem_gb]


def gpu_use_bins(t: Rows) -> Out:
    held = ((p.placement, p.machine_id, p.gpu, p.from_at, p.until_at) for p in t.placed_gpus)
    return binned(t.gpu_samples, held)


def host_use_bins(t: Rows) -> Out:
    held = ((s.holding, resource, s.machine_id, place, s.from_at, s.until_at)
            for s in t.placed_servers if s.from_at and s.until_at
            for place, resource in enumerate(("cpu", "mem")))  # fmt: skip
    return binned(t.host_samples, held)


def host_util_bins(t: Rows) -> Out:
    tenants, intervals = by(t.server_tenants, "machine_id"), []
    for (machine,) in by(t.host_samples, "machine_id"):
        held = tenants.get((machine,), [])
        cuts = {m for s in held for m in (s.from_at, s.until_at)}
        number = {s.from_at: min(s.attempts, 2) for s in held}
        for since, until in pairwise(sorted(cuts | {EPOCH, datetime(2200, 1, 1)})):
            for place, resource in enumerate(("cpu", "mem")):
                intervals.append((number.get(since, 0), resource, machine, place, since, until))
    return binned(t.host_samples, intervals)


def around_events(samples: list[Row], events: Iterable[tuple[int, datetime, str, int]]) -> Out:
    """Known readings from 740 minutes before each event (number, moment, machine, place)."""
    seen = by(samples, "machine_id")
    for number, at, machine, place in events:
        for s in seen.get((machine,), []):
            if -740 * MINUTE <= s.sampled_at - at < 740 * MINUTE and place < len(readings(s)):
                pct = readings(s)[place]
                if pct is not None:
                    minutes = first(s.seconds, 60) / 60
                    yield number, at, monday(s.sampled_at), s.sampled_at, minutes, pct


def gpu_clock_readings(t: Rows) -> Out:
    events = ((e.number, e.event_at, e.machine_id, e.gpu) for e in t.clock_events)
    return around_events(t.gpu_samples, events)


def host_clock_readings(t: Rows) -> Out:
    events = ((e.number, e.event_at, e.machine_id, 0) for e in t.clock_events)
    return around_events(t.host_samples, events)


def serves(m: Row, cluster: str | None, pool: str | None, model: str | None) -> bool:
    """Whether a machine has GPUs and is of a cluster, a pool or one inside it, and a model."""
    inside = pool in (None, m.pool) or (m.pool or "").startswith(f"{pool}/")
    return bool(m.gpus) and inside and cluster in (None, m.cluster) and model in (None, m.gpu_model)


def pools(t: Rows) -> Out:
    def machines(asked: tuple[Any, ...]) -> frozenset[str]:
        return frozenset(m.machine_id for m in t.machines if serves(m, *asked))

    def name(asked: tuple[Any, ...]) -> tuple[int, str]:
        cluster, pool, model = asked
        parts = [cluster and f"cluster {cluster}", pool and f"pool {pool}",
                 model and f"{model} GPUs"]  # fmt: skip
        text = ", ".join(filter(None, parts)) or "any machine"
        return len(text), text

    every = {(j.cluster, j.pool, j.gpu_model) for j in t.jobs}
    for asked in every:
        its = machines(asked)
        alike = [o for o in every if machines(o) == its] if its else [asked]
        yield *asked, min(map(name, alike))[1], len(its)


def job_pools(t: Rows) -> Out:
    names = {(p.cluster, p.named, p.gpu_model): p.pool for p in t.pools}
    for j in t.jobs:
        yield j.job_id, names[j.cluster, j.pool, j.gpu_model]


def largest_machines(t: Rows) -> Out:
    for (pool,), machines in by(t.pool_machines, "pool").items():
        held = 0
        for n, gpus in enumerate(sorted((m.gpus for m in machines), reverse=True), 1):
            held += gpus
            yield pool, n, held


def gang_needs(t: Rows) -> Out:
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    for pool, gpus in {(pool_of[j.job_id], j.gpus) for j in t.jobs if j.gpus}:
        sizes = [m for m in t.largest_machines if m.pool == pool]
        enough = [m.machines for m in sizes if m.gpus >= gpus]
        yield pool, gpus, min(enough) if enough else len(sizes) or None, len(sizes), not enough


def pool_machines(t: Rows) -> Out:
    for p in {p.pool: p for p in t.pools}.values():
        for m in t.machines:
            if serves(m, p.cluster, p.named, p.gpu_model):
                yield p.pool, m.machine_id, m.gpus


def machine_pools(t: Rows) -> Out:
    sizes = {p.pool: p.servers for p in t.pools}
    every = {
        m: sorted(r.pool for r in rows) for (m,), rows in by(t.pool_machines, "machine_id").items()
    }
    smallest = {m: min(names, key=lambda n: (sizes[n], n)) for m, names in every.items()}
    for m in t.machines:
        if not m.gpus:
            continue
        name = smallest.get(m.machine_id, "unused")
        alike = {tuple(every[o]) for o in every if smallest[o] == name}
        yield m.machine_id, m.gpus, " and ".join(every[m.machine_id]) if len(alike) > 1 else name


def placement_gaps(t: Rows) -> Out:
    several = [b.attempts for b in t.busy_gpus if b.attempts > 1]
    used = {p.machine_id for p in t.placements}
    yield (
        len(several),
        sum(several),
        sum(m.gpus > 0 and m.machine_id not in used for m in t.machines),
    )


def cluster_size(t: Rows) -> Out:
    gpus = [m.gpus for m in t.machines]
    yield len(gpus), sum(n > 0 for n in gpus), sum(gpus)


def gpu_sample_hours(t: Rows) -> Out:
    return by_hour(t.gpu_samples)


def host_sample_hours(t: Rows) -> Out:
    return by_hour(t.host_samples)


def by_hour(samples: list[Row]) -> Out:
    for (hour,), some in by(samples, lambda s: (s.sampled_at.replace(minute=0),)).items():
        yield hour, sum(s.seconds or 60 for s in some) / 60


def gpu_use(t: Rows) -> Out:
    seen = by(t.gpu_use_bins, "placement")
    for p in t.placed_gpus:
        bins = seen.get((p.placement,), [])
        minutes = sum(b.minutes for b in bins if b.bin is not None)
        pct = sum(column(bins, "sum_pct"))
        yield (p.job_id, p.attempt, p.machine_id, p.gpu, p.attribution, p.expected_min, minutes,
               sum(b.minutes for b in bins if b.bin is None),
               sum(b.minutes for b in bins if b.bin == 0), pct, ratio(pct, minutes),
               ratio(minutes, p.expected_min))  # fmt: skip


def attempt_use(t: Rows) -> Out:
    jobs, made, servers = {j.job_id: j for j in t.jobs}, keyed(t.attempts), keyed(t.attempt_servers)
    for key, rows in by(t.gpu_use, "job_id attempt").items():
        j, a, s = jobs[key[0]], made[key], servers[key]
        alone = [r for r in rows if r.attribution == "gpu_exact"]
        due, *rest = (
            sum(getattr(r, c) for r in alone)
            for c in ("expected_min", "minutes", "offline_min", "idle_min", "sum_pct")
        )
        yield (*key, j.vc, j.user, j.status or "unknown", s.gpus, s.servers, s.fewest_servers,
               s.spread, s.whole, s.co_tenants, len(rows) - len(alone), due, *rest,
               ratio(rest[3], rest[0]), ratio(rest[0], due), first(a.flag, j.flag))  # fmt: skip


def sampled_attempts(t: Rows) -> Out:
    for u in t.attempt_use:
        if u.minutes > 0:
            yield (u.job_id, u.attempt, u.user, u.status, u.gpus, u.servers, u.spread,
                   u.whole and not u.spread, u.co_tenants, u.minutes, u.idle_min, u.sum_pct,
                   u.mean_pct)  # fmt: skip


def job_use(t: Rows) -> Out:
    for (job,), rows in by(t.sampled_attempts, "job_id").items():
        yield job, (m := sum(u.minutes for u in rows)), sum(u.sum_pct for u in rows) / m / 100


def gpu_util_bins(t: Rows) -> Out:
    placed = {p.placement: p for p in t.placed_gpus if p.attribution == "gpu_exact"}
    sampled = keyed(t.sampled_attempts)
    rows = []
    for b in t.gpu_use_bins:
        if b.bin is not None and (p := placed.get(b.placement)):
            a = sampled[p.job_id, p.attempt]
            rows.append((a.gpus, a.status, a.servers, a.dedicated, b.bin, b.minutes, b.sum_pct))
    return tally(rows, 2)


def gpu_use_gaps(t: Rows) -> Out:
    made = keyed(t.attempts)
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
        ("attempt", "its start or end is not known", untimed),
        ("attempt", "it is not known which GPUs of a shared server it held", len(unindexed)),
        ("attempt", "no GPU of it was sampled while it ran", unsampled),
        ("placement", "another attempt held the same GPU meanwhile: ambiguous", ambiguous),
        ("GPU-minute", "offline: the server reported and the GPU did not", offline),
        ("GPU-minute", "never sampled", round(lost)),
        ("server", "sampled, and no attempt ever held its GPUs", len(seen - used)),
        ("server", "held by attempts, and never sampled", len(used - seen)),
    ):
        if n:
            yield what, reason, n


def idle_gpus(t: Rows) -> Out:
    """Hold each machine's free GPUs between its changes, from the complete log to the last."""
    caps = {m.machine_id: m.gpus for m in t.machines if m.gpus}
    changes = sorted((u.moment, u.machine_id, u.free_after) for u in t.machine_use)
    free = dict(caps)
    found: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    at = max(t.snapshot[0].complete_from, EPOCH + timedelta(microseconds=changes[0][0] // 2))
    for moment, machine, after in changes:
        until = EPOCH + timedelta(microseconds=moment // 2)
        while at < until:
            end = min(until, monday(at) + 7 * DAY)
            hours, week = (end - at) / HOUR, found[monday(at).date()]
            week[0] += hours * sum(caps.values())
            week[1] += hours * (sum(caps.values()) - sum(free.values()))
            week[2] += hours * sum(n for m, n in free.items() if n < caps[m])
            at = end
        free[machine] = after
    return ((w, there, held, there - held, partly) for w, (there, held, partly) in found.items())


def wait_spans(t: Rows) -> Out:
    jobs, made, reasons = {j.job_id: j for j in t.gpu_jobs}, attempts_of(t), {
        "Dependency": "held", "QOSGrpGRES": "throttled", "JobArrayTaskLimit": "throttled",
        "QOSNotAllowed": "refused"}  # fmt: skip
    trusted = keyed(t.trusted_waits)
    for job, mine in made.items():
        if not (j := jobs.get(job)):
            continue
        since = j.submitted_at
        for a in mine:
            w, outcome, wait, held = trusted.get((job, a.attempt)), "started", None, 0.0
            until = first(a.ended_at, t.snapshot[0].ended_at)
            if w:
                wait, held = w.wait_s, w.held_s
            elif (
                a.started_at is None and a.run_s is None and since is not None and until >= since
                and first(a.flag, j.flag) is None and j.gpus
            ):  # fmt: skip
                outcome = "waiting" if a.ended_at is None else "given up"
                wait, ready = (until - since).total_seconds(), first(a.eligible_at, j.eligible_at)
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


def overtaken_gangs(t: Rows) -> Out:
    for (gpus,), rows in by(t.overtaken_attempts, "waiter_gpus").items():
        yield gpus, len(rows), sum(column(rows, "harmless"))


def notebook_runs(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for job, mine in attempts_of(t).items():
        gpus = first(mine[0].gpus, jobs[job].gpus)
        run_s = seconds(mine[0].started_at, mine[-1].ended_at)
        if gpus and run_s is not None:
            yield job, gpus, bucket(gpus), run_s


def notebook_waits(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for job, mine in attempts_of(t).items():
        j, since, wait = jobs[job], jobs[job].submitted_at, None
        gpus = first(mine[0].gpus, j.gpus)
        for a in mine:
            own = seconds(since, a.started_at)
            wait, since = first(own, wait), a.ended_at
            if gpus and wait:
                yield job, a.attempt, j.vc, gpus, bucket(gpus), wait, own is None


def notebook_locality(t: Rows) -> Out:
    jobs, held = {j.job_id: j for j in t.jobs}, by(t.placements, "job_id attempt")
    for job, (a, *_) in attempts_of(t).items():
        rows = held.get((job, a.attempt), [])
        gpus = sum(p.gpus or 1 for p in rows)
        if gpus >= 5:
            entries = {(p.machine_id, p.container) for p in rows}
            wait = seconds(jobs[job].submitted_at, a.started_at)
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
    jobs, held = {j.job_id: j for j in t.jobs}, by(t.placements, "job_id attempt")
    found = []
    for job, mine in attempts_of(t).items():
        gpus = len(held.get((job, mine[0].attempt), []))
        for a in mine if gpus in (1, 4, 8, 16) else []:
            rows = held.get((job, a.attempt), [])
            dedicated = len({(p.machine_id, p.container) for p in rows}) <= gpus / 8
            for p in rows if a.started_at and a.ended_at else []:
                begin, end = (
                    minute(a.started_at),
                    minute(a.ended_at + MINUTE - timedelta(seconds=1)),
                )
                for local, s in samples[p.machine_id] if p.gpu is not None else []:
                    inside = min(end, local + timedelta(seconds=s.seconds or 60)) - max(
                        begin, local
                    )
                    if inside > timedelta(0) and p.gpu < len(s.util_pct):
                        pct = s.util_pct[p.gpu]
                        bin_ = None if pct is None else ceil(pct)
                        key = (gpus, jobs[job].status, dedicated, monday(s.sampled_at), bin_)
                        found.append((*key, inside / MINUTE, inside / MINUTE * (pct or 0)))
    return unread_without_sum(tally(found, 2))


def us(moment: datetime) -> int:
    """Microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def steps(changes: Iterable[tuple[int, float]]) -> list[tuple[int, float, float]]:
    """Sum changes in the order of their moments: moment, level before, level after."""
    at: dict[int, float] = defaultdict(float)
    for moment, change in changes:
        at[moment] += change
    found, level = [], 0.0
    for moment in sorted(at):
        found.append((moment, level, level + at[moment]))
        level += at[moment]
    return found


def starts_and_ends(since: datetime, until: datetime, gpus: float) -> list[tuple[int, float]]:
    """Changes of GPUs in use; at one moment ends come before starts."""
    return [(2 * us(since) + 1, gpus), (2 * us(until), -gpus)]


def lasts(run: Row) -> bool:
    """Whether a run, if there is one, has known times and a length above zero."""
    return bool(run and run.started_at and run.until_at and run.until_at > run.started_at)


def busy_gpus(t: Rows) -> Out:
    runs, held = keyed(t.attempt_runs), defaultdict(list)
    for p in t.placements:
        r: Row = runs.get((p.job_id, p.attempt))
        if p.gpu is not None and lasts(r):
            held[p.machine_id, p.gpu].append((r.started_at, r.until_at))
    for key, spans in held.items():
        joined: list[list[Any]] = []
        for since, until in sorted(spans):
            if joined and since < joined[-1][1]:
                joined[-1][1:] = [max(until, joined[-1][1]), joined[-1][2] + 1]
            else:
                joined.append([since, until, 1])
        yield from ((*key, *span) for span in joined)


def machine_use(t: Rows) -> Out:
    caps, runs = {m.machine_id: m.gpus for m in t.machines}, keyed(t.attempt_runs)
    servers = Counter((p.job_id, p.attempt) for p in t.placements)
    changes: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for b in t.busy_gpus:
        changes[b.machine_id] += starts_and_ends(b.started_at, b.until_at, 1)
    for p in t.placements:
        key = p.job_id, p.attempt
        r: Row = runs.get(key)
        if p.gpu is None and lasts(r):
            gpus = p.gpus if p.gpus or r.gpus is None else r.gpus / servers[key]
            if gpus is not None:
                changes[p.machine_id] += starts_and_ends(r.started_at, r.until_at, gpus)
    for machine, some in changes.items():
        for moment, before, after in steps(some):
            free = (max(0, round(caps[machine] - n)) for n in (before, after))
            yield machine, moment, caps[machine], *free


def free_capacity(t: Rows) -> Out:
    wanted = {(g.pool, n) for g in t.gang_needs for n in (g.machines, g.servers) if n}
    for pool, machines in wanted:
        free = {m.machine_id: m.gpus for m in t.pool_machines if m.pool == pool}
        moments = sorted((u.moment, u.machine_id, u.free_after) for u in t.machine_use)
        known = sum(sorted(free.values())[-machines:])
        yield pool, machines, 0, known
        for moment, same in groupby(moments, key=lambda u: u[0]):
            free |= {machine: after for _, machine, after in same if machine in free}
            if (most := sum(sorted(free.values())[-machines:])) != known:
                yield pool, machines, moment, (known := most)


def vc_use(t: Rows) -> Out:
    changes: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for r in t.attempt_runs:
        if r.vc and r.gpus and not r.guest and lasts(r):
            changes[r.vc] += starts_and_ends(r.started_at, r.until_at, r.gpus)
    for vc, some in changes.items():
        yield from ((vc, *step) for step in steps(some))


def vc_quotas(t: Rows) -> Out:
    yield from (("given", q.vc, q.gpus) for q in t.given_quotas)
    for (vc,), levels in by([] if t.given_quotas else t.vc_use, "vc").items():
        largest = max(r.gpus or 0 for r in t.attempt_runs if r.vc == vc)
        since, held = us(t.snapshot[0].complete_from), Counter[int]()
        for one, two in pairwise(sorted(levels, key=lambda u: u.moment)):
            held[one.gpus_after] += max(0, two.moment // 2 - max(one.moment // 2, since))
        for method, frac in (("p95", 0.95), ("p99", 0.99), ("peak", 1)):
            below = (n for n in sorted(n for n in held if held[n])
                     if sum(held[m] for m in held if m <= n) >= frac * held.total())  # fmt: skip
            yield method, vc, max(next(below), largest)


def level_at(rows: list[Row], name: str) -> Callable[[int], Any]:
    """The last value of a column at or before a moment; None before the first."""
    order = sorted(rows, key=lambda r: r.moment)
    moments = [r.moment for r in order]
    return lambda at: getattr(order[i - 1], name) if (i := bisect_right(moments, at)) else None


def wait_causes(t: Rows) -> Out:
    """Add up the time between any two changes of free GPUs or of the virtual cluster's use."""
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    quotas = {(q.method, q.vc): q.gpus for q in t.vc_quotas}
    needs = {(g.pool, g.gpus): g for g in t.gang_needs}
    free = {
        k: level_at(rows, "free_gpus") for k, rows in by(t.free_capacity, "pool machines").items()
    }
    used = {vc: level_at(rows, "gpus_after") for (vc,), rows in by(t.vc_use, "vc").items()}
    every = sorted({u.moment for u in t.free_capacity} | {u.moment for u in t.vc_use})
    for method, w in product({q.method for q in t.vc_quotas} or {"none"}, t.trusted_waits):
        begin, end = 2 * us(w.since_at + timedelta(seconds=w.held_s)) + 1, 2 * us(w.started_at) + 1
        parts, need = [0.0, 0.0, 0.0], needs[pool_of[w.job_id], w.gpus]
        quota = quotas.get((method, w.vc))
        inside = every[bisect_right(every, begin) : bisect_right(every, end - 1)]
        for since, until in pairwise([begin, *inside, end] if end > begin else []):
            spent = (until // 2 - since // 2) / 1e6
            busy = used[w.vc](since) or 0 if quota is not None and w.vc in used else 0
            if quota is not None and busy + w.gpus > quota:
                parts[0] += spent
            elif need.machines and free[need.pool, need.machines](since) < w.gpus:
                parts[1] += spent
                parts[2] += spent * (free[need.pool, need.servers](since) < w.gpus)
        fair, apart, full = parts
        unknown = w.wait_s - w.held_s - fair - apart
        known = {"held": w.held_s, "fair_share": fair, "fragmentation": apart}
        cause = max(known, key=lambda c: known[c])
        if unknown > w.wait_s / 2:
            cause = "unknown"
        yield (method, w.job_id, w.attempt, w.vc, w.gpus, w.first, w.wait_s, w.held_s, fair, apart,
               full, unknown, cause if w.wait_s else "none")  # fmt: skip


def overtakings(t: Rows) -> Out:
    pool_of = {j.job_id: j.pool for j in t.job_pools}
    queues = by(t.trusted_waits, lambda w: (w.vc or "(none)", pool_of[w.job_id]))
    for (vc, pool), queue in queues.items():
        for w in queue:
            waiting = [o for o in queue if o.since_at < w.since_at and o.started_at > w.started_at]
            head = min(waiting, key=lambda o: (o.since_at, o.job_id, o.attempt), default=None)
            yield (w.job_id, w.attempt, vc, pool, w.gpus, w.started_at, head is not None,
                   head and head.job_id, head and head.gpus)  # fmt: skip


def overtaken_attempts(t: Rows) -> Out:
    needs = {(g.pool, g.gpus): g.machines for g in t.gang_needs}
    free = {
        k: level_at(rows, "free_gpus") for k, rows in by(t.free_capacity, "pool machines").items()
    }
    for o in t.overtakings:
        if o.overtook:
            there = free.get((o.pool, needs[o.pool, o.waiter_gpus]))
            no_room = there is not None and there(2 * us(o.started_at)) < o.waiter_gpus
            yield o.job_id, o.attempt, o.started_at, o.waiter_gpus, no_room


def pool_use(t: Rows) -> Out:
    for (pool,), machines in by(t.machine_pools, "pool").items():
        caps = {m.machine_id: m.gpus for m in machines}
        free = dict(caps)
        found: list[tuple[Any, ...]] = []
        for u in sorted(t.machine_use, key=lambda u: u.moment):
            if u.machine_id in caps:
                free[u.machine_id] = u.free_after
                empty = sum(free[m] == n for m, n in caps.items())
                used, full = (
                    sum(caps.values()) - sum(free.values()),
                    sum(n == 0 for n in free.values()),
                )
                found = [f for f in found if f[1] < u.moment // 2]
                found.append((pool, u.moment // 2, used, empty, full))
        ends = [*(f[1] for f in found[1:]), None]
        for one, until in zip(found, ends[: len(found)], strict=True):
            yield *one[:2], until, *one[2:]


def clock_events(t: Rows) -> Out:
    gpus = {
        k: min((g.machine_id, g.gpu) for g in rows)
        for k, rows in by(t.indexed_gpus, "job_id attempt").items()
    }
    events = [
        (a.job_id, a.attempt, event, minute(at), *gpus[a.job_id, a.attempt])
        for a in t.attempts
        for event, at in (("end", a.ended_at), ("start", a.started_at))
        if a.started_at and a.ended_at and a.ended_at - a.started_at >= 10 * MINUTE
        and (a.job_id, a.attempt) in gpus
    ]  # fmt: skip
    for number, (_, _, event, at, machine, gpu) in enumerate(sorted(events), 1):
        yield number, monday(at), event, at, machine, gpu
