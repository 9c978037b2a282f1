"""References of relations of jobs, their run times and their exclusions."""

from collections import Counter, defaultdict
from datetime import datetime, timedelta

from tests.analyses import plain as py
from tests.analyses.plain import DAY, HOUR, Out, Rows


def gpu_jobs(t: Rows) -> Out:
    for j in t.jobs:
        if j.gpus != 0:
            yield (j.job_id, j.vc, j.account, j.user, j.gpus, j.gpu_frac or 1, j.submitted_at,
                   j.eligible_at, j.time_limit_s, j.status, j.flag)  # fmt: skip


def cpu_only_jobs(t: Rows) -> Out:
    return ((j.job_id,) for j in t.jobs if j.gpus == 0)


def snapshot(t: Rows) -> Out:
    moments = py.column(t.jobs, "submitted_at")
    ends = py.column(t.attempts, "started_at") + py.column(t.attempts, "ended_at")
    complete = min(j.submitted_at for j in t.jobs if j.flag is None)
    yield min(moments), complete, max(moments + ends)


def attempt_runs(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, py.attempts_of(t)
    for a in t.attempts:
        if not (j := jobs.get(a.job_id)) or (a.started_at is None and a.run_s is None):
            continue
        last = a is made[a.job_id][-1]
        running = last and a.started_at is not None and a.ended_at is None
        until = t.snapshot[0].ended_at if running else a.ended_at
        if until is None and a.started_at is not None and a.run_s is not None:
            until = a.started_at + timedelta(seconds=a.run_s)
        run_s = py.first(a.run_s, py.seconds(a.started_at, until))
        yield (a.job_id, a.attempt, j.vc, j.user, py.first(a.gpus, j.gpus), a.started_at,
               a.ended_at, running, until, run_s, bool(a.guest),
               py.first(a.flag, j.flag))  # fmt: skip


def job_times(t: Rows) -> Out:
    made, runs = py.attempts_of(t), py.by(t.attempt_runs, "job_id")
    for j in t.gpu_jobs:
        mine = made.get(j.job_id, [])
        ran = sorted(runs[j.job_id,], key=lambda r: r.attempt)
        unknown = bool(ran) and ran[-1].run_s is None
        censored = any(r.running for r in ran)
        starts, ends = py.column(ran, "started_at"), py.column(ran, "until_at")
        sum_s = None if unknown else py.total(r.run_s for r in ran)
        span = None
        if not unknown:
            span = py.seconds(min(starts), max(ends, default=None)) if starts else None
            if not starts and len(ran) == 1:
                span = sum_s
        gpu_s = py.total(
            r.run_s * r.gpus for r in ran if r.run_s is not None and r.gpus is not None
        )
        flags = [a.flag for a in mine if a.flag]
        end = max(ends, default=None) if not (censored or unknown) else None
        yield (j.job_id, j.vc, j.user, j.gpus, j.status, j.submitted_at,
               min(starts, default=None), end, len(mine), span, sum_s,
               ran[-1].run_s if ran else None, censored,
               None if gpu_s is None else gpu_s * j.gpu_frac / 3600,
               py.first(j.flag, min(flags, default=None), "end_unknown" if unknown else None),
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
        yield (r.job_id, r.vc, r.user, r.gpus, r.submitted_at, jct, r.sum_s, jct - r.sum_s,
               max(1, jct / max(r.sum_s, 60)))  # fmt: skip


def workload_jobs(t: Rows) -> Out:
    runs = {r.job_id: r for r in t.job_runs}
    for j in t.jobs:
        r = runs.get(j.job_id)
        frac = py.first(j.gpu_frac, 1)
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
        complete = None not in (r.run_s, j.gpus)
        yield (j.job_id, j.vc, j.user, j.gpus, j.status, j.submitted_at, r.first_started_at,
               r.run_s, r.sum_s, r.censored, frac,
               r.run_s * j.gpus * frac / 3600 if complete else None, out)  # fmt: skip


def job_records(t: Rows) -> Out:
    made = py.by(t.attempts, "job_id")
    for j in t.jobs:
        attempts = made.get((j.job_id,), [])
        starts = [a.started_at for a in attempts if a.started_at]
        ends = [a.ended_at for a in attempts if a.ended_at]
        runs = [
            py.first(a.run_s, (a.ended_at - a.started_at).total_seconds()
                     if a.started_at and a.ended_at else None)
            for a in attempts
        ]  # fmt: skip
        runs_s = [run for run in runs if run is not None]
        yield (*vars(j).values(), min(starts, default=None), max(ends, default=None),
               sum(runs_s) if runs_s else None, len(attempts))  # fmt: skip


def trusted_runs(t: Rows) -> Out:
    for j in t.workload_jobs:
        if j.left_out is None:
            yield (j.job_id, j.vc, j.user, j.gpus, py.bucket(j.gpus), j.submitted_at, j.run_s,
                   j.censored)  # fmt: skip


def workload_attempts(t: Rows) -> Out:
    inside, made = {j.job_id for j in t.trusted_runs}, py.keyed(t.attempts)
    for r in t.attempt_runs:
        if r.job_id in inside and r.run_s is not None:
            a = made[r.job_id, r.attempt]
            yield r.job_id, r.attempt, py.first(a.work_s, r.run_s), a.end_reason


def started_jobs(t: Rows) -> Out:
    for r in t.job_runs:
        if r.attempts and r.gpus:
            failed = None if r.status is None else r.status == "Failed"
            ended_on = r.last_ended_at and r.last_ended_at.date()
            yield r.job_id, r.user, r.gpus, py.bucket(r.gpus), r.attempts, failed, ended_on


def exclusions(t: Rows) -> Out:
    counts = Counter(("run time", j.left_out) for j in t.workload_jobs)
    for w in t.waits:
        lacks = "gang size not known" if w.gpus is None else None
        counts["wait", (w.flag or "").replace("_", " ") or lacks] += 1
    waits, jobs = py.keyed(t.waits), {j.job_id: j for j in t.jobs}
    for a in t.attempts:
        if (a.job_id, a.attempt) not in waits:
            why = (
                "start not known" if a.started_at is None else "end of the attempt before not known"
            )
            counts["wait", "no GPUs asked for" if jobs[a.job_id].gpus == 0 else why] += 1
    return ((*key, n) for key, n in counts.items() if key[1])


def flags(t: Rows) -> Out:
    for what in ("jobs", "attempts"):
        for (flag,), rows in py.by(getattr(t, what), "flag").items():
            if flag:
                yield what, flag, len(rows)


def end_reasons(t: Rows) -> Out:
    jobs = {j.job_id for j in t.gpu_jobs}
    reasons = Counter(a.end_reason for a in t.attempts if a.job_id in jobs)
    yield from reasons.items()


def log_totals(t: Rows) -> Out:
    runs, some = t.job_runs, [r for r in t.attempt_runs if r.gpus]
    yield (len(runs), sum(j.gpus == 0 for j in t.jobs), len(set(py.column(runs, "user"))),
           len(set(py.column(runs, "vc"))), sum(r.attempts for r in runs),
           sum(py.column(runs, "gpu_h")), sum(r.attempts == 0 for r in runs),
           sum(r.censored for r in runs), sum(r.flag is not None for r in runs),
           sum(r.user is None or r.vc is None for r in runs),
           sum(r.run_s is None for r in some), sum(r.until_at is None for r in some))  # fmt: skip


def limited_runs(t: Rows) -> Out:
    jobs, made = {j.job_id: j for j in t.gpu_jobs}, py.keyed(t.attempts)
    for r in t.attempt_runs:
        j, reason = jobs[r.job_id], made[r.job_id, r.attempt].end_reason
        limit = j.time_limit_s
        if limit is None or not r.gpus or r.run_s is None or r.running or r.flag is not None:
            continue
        held = r.gpus * j.gpu_frac / 3600
        yield (r.job_id, r.attempt, r.user, r.gpus, py.bucket(r.gpus), limit, r.run_s,
               r.run_s / limit, reason == "time_limit" if reason else r.run_s >= limit,
               r.run_s * held, max(0, limit - r.run_s) * held)  # fmt: skip


def attempt_weeks(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.gpu_jobs}
    for r in t.attempt_runs:
        if r.run_s is None:
            continue
        j = jobs[r.job_id]
        begin = py.first(r.started_at, j.submitted_at)
        end = begin + timedelta(seconds=r.run_s) if r.started_at is None else r.until_at
        week = py.monday(begin)
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
        at = r.started_at if r.gpus and py.lasts(r) else None
        while at and at < r.until_at:
            until = min(datetime(at.year, at.month, at.day) + DAY, r.until_at)
            days.append((at.date(), r.vc, r.gpus * ((until - at) / HOUR)))
            at = until
    return py.tally(days)


def arrival_hours(t: Rows) -> Out:
    counts = Counter(
        j.submitted_at.replace(minute=0, second=0) for j in t.gpu_jobs if j.flag is None
    )
    hour = min(counts)
    while hour <= max(counts):
        yield hour, counts[hour]
        hour += HOUR


def spreads_by_group(t: Rows) -> Out:
    groups: dict[tuple[str, str, str], list[tuple[float, bool]]] = defaultdict(list)
    times = [("run time", r, r.submitted_at, (r.run_s, r.censored)) for r in t.trusted_runs]
    times += [("wait", w, w.since_at, (w.wait_s, False)) for w in t.trusted_waits]
    for what, row, began, value in times:
        groups[what, "user", row.user or "(none)"].append(value)
        groups[what, "vc", row.vc or "(none)"].append(value)
        groups[what, "week", f"{py.monday(began):%Y-%m-%d}"].append(value)
    for key, values in groups.items():
        grid = [py.quantile([s for s, _ in values], q) for q in (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)]
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


def queue_entries(t: Rows) -> Out:
    made = py.by(t.attempts, "job_id")
    for j in t.jobs:
        attempts = sorted(made.get((j.job_id,), []), key=lambda a: a.attempt)
        unknown = any(a.run_s is not None and a.started_at is None for a in attempts)
        if not j.gpus or j.flag or any(a.flag for a in attempts) or unknown:
            continue
        entered = max(
            m
            for m in (j.submitted_at, j.eligible_at, attempts[0].eligible_at if attempts else None)
            if m
        )
        started = min((a.started_at for a in attempts if a.started_at), default=None)
        over = all(a.started_at is None or a.ended_at for a in attempts)
        ended = max((a.ended_at for a in attempts if a.ended_at), default=None) if over else None
        moment = started or ended
        if moment < entered if moment else j.status:
            continue
        moments = (entered, started, moment, ended if started else None)
        yield (j.job_id, j.vc, j.account, j.user, j.qos, j.gpus, j.servers, j.cpus, j.mem_gb,
               j.time_limit_s, *(m and py.us(m) / 1e6 for m in moments))  # fmt: skip


def passed_runs(t: Rows) -> Out:
    jobs = {j.job_id: j for j in t.jobs}
    for r in t.trusted_runs:
        j = jobs[r.job_id]
        if j.gpus and j.status == "Pass" and r.run_s and not r.censored:
            yield j.job_id, j.user, j.job_type, j.gpus, r.run_s


def job_hours(t: Rows) -> Out:
    hours: defaultdict[str, float] = defaultdict(float)
    waits: defaultdict[str, list[float]] = defaultdict(list)
    for r in t.attempt_runs:
        if r.run_s is not None and r.gpus is not None:
            hours[r.job_id] += r.run_s * r.gpus / 3600
    for w in t.trusted_waits:
        waits[w.job_id].append(w.wait_s)
    for j in t.gpu_jobs:
        waited = sum(waits[j.job_id]) / 3600 if j.job_id in waits else None
        yield (j.job_id, j.user or "(none)", j.account or "(none)", j.gpus, j.submitted_at,
               j.status, hours[j.job_id], waited)  # fmt: skip


def job_wait_cause(t: Rows) -> Out:
    methods = {c.method for c in t.wait_causes}
    method = "given" if "given" in methods else min(methods, default=None)
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for c in t.wait_causes:
        if c.method == method:
            sums[c.job_id][c.cause] += c.wait_s
    for job_id, causes in sums.items():
        cause, seconds = min(causes.items(), key=lambda item: (-item[1], item[0]))
        if seconds > 0:
            yield job_id, cause


def job_servers(t: Rows) -> Out:
    placed = Counter(p.job_id for p in t.placements)
    first: dict[str, str] = {}
    for p in t.placements:
        first[p.job_id] = min(p.machine_id, first.get(p.job_id, p.machine_id))
    for (job_id, machine), n in Counter((p.job_id, p.machine_id) for p in t.placements).items():
        yield job_id, machine, n / placed[job_id], machine == first[job_id]
