"""References of the relations that each answer one question, in plain Python."""

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date, datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from tests.analyses import plain as py
from tests.analyses.plain import DAY, Out, Row, Rows


def total_of(rows: list[Row], name: str) -> float:
    """Sum the known values of a column; 0 without any."""
    return float(sum(py.column(rows, name)))


def with_all(rows: list[Row], name: str) -> list[tuple[Any, list[Row]]]:
    """Groups by a column, and all rows as the group `all`."""
    return [(key if some is not rows else "all", some)
            for (key,), some in [*py.by(rows, name).items(), (("all",), rows)] if some]  # fmt: skip


def arrivals(t: Rows) -> Out:
    groups = defaultdict(list)
    for h in t.arrival_hours:
        groups[h.hour.isoweekday(), h.hour.hour].append(h.jobs)
    return ((*key, len(n), sum(n), sum(n) / len(n)) for key, n in groups.items())


def arrivals_bursts(t: Rows) -> Out:
    moments = sorted(j.submitted_at for j in t.gpu_jobs if j.flag is None)
    gaps = [(b - a).total_seconds() for a, b in pairwise(moments)]
    n = [h.jobs for h in t.arrival_hours]
    yield (len(n), np.std(gaps) / np.mean(gaps), 100 * gaps.count(0) / len(gaps),
           np.var(n) / np.mean(n), sum(j.flag is not None for j in t.gpu_jobs))  # fmt: skip


def concentration(t: Rows) -> Out:
    for kind in ("user", "vc"):
        sums = [(-total_of(rows, "gpu_h"), -len(rows), name)
                for (name,), rows in py.by(t.job_runs, kind).items() if name]  # fmt: skip
        every, gpu_h, jobs = sorted(sums), 0.0, 0
        for rank, (held, made, name) in enumerate(every, 1):
            gpu_h, jobs = gpu_h - held, jobs - made
            yield (kind, rank, name, -made, -held, 100 * rank / len(every),
                   -100 * jobs / sum(s[1] for s in every),
                   -100 * gpu_h / sum(s[0] for s in every))  # fmt: skip


def cause_accuracy(t: Rows) -> Out:
    true_causes = py.keyed(t.known_causes)
    parts = ("start_up", "fair_share", "fragmentation", "other")
    rows = []
    for w in t.study_causes:
        if w.wait_s > 0 and (k := true_causes.get((w.job_id, w.attempt))):
            cause = max(parts, key=lambda c: getattr(k, f"{c}_s"))
            stated_cause = "other" if w.cause == "unknown" else w.cause
            rows.append((w.method, cause, stated_cause, 1, w.wait_s))
    return py.tally(rows, 2)


def delay_causes(t: Rows) -> Out:
    rows = (
        (w.method, w.vc or "(none)", py.bucket(w.gpus), w.first, cause,
         w.cause == cause, getattr(w, f"{cause}_s", 0), w.full_s)
        for w in t.study_causes
        for cause in ("none", "held", "fair_share", "fragmentation", "start_up", "unknown")
    )  # fmt: skip
    for *key, waits, time_s, full_s in py.tally(rows, 3):
        if waits or time_s > 0:
            yield *key, waits, time_s, full_s if key[-1] == "fragmentation" else None


def delay_causes_no_quota(t: Rows) -> Out:
    vcs = {q.vc for q in t.given_quotas}
    yield (sum(w.vc not in vcs and bool(w.gpus) for w in t.waits),)


def failure_costs_pool(t: Rows) -> Out:
    runs = [r for r in t.attempt_runs if r.flag is None and r.gpus]
    # an unknown run time counts as one of five minutes or more
    pooled = sum(
        min([300.0, *py.column([r], "run_s")]) for r in runs if r.attempt == 1 and r.gpus > 1
    )
    yield 5, sum(r.run_s * r.gpus for r in runs if r.run_s is not None) / 3600, pooled / 3600


def failure_costs(t: Rows) -> Out:
    help_of = {h.reason: h for h in t.retry_help}
    hopeless = {r for r, h in help_of.items() if h.retried >= 5 and not h.passed}
    stops: dict[str, Row] = {}
    for f in sorted(t.failed_attempts, key=lambda f: f.attempt):
        if f.reason in hopeless:
            stops.setdefault(f.job_id, f)
    saved: dict[str, float] = defaultdict(float)
    for r in t.attempt_runs:
        stop = stops.get(r.job_id)
        if stop and r.attempt > stop.attempt and r.flag is None and None not in (r.run_s, r.gpus):
            saved[stop.reason] += r.run_s * r.gpus / 3600
    for reason, rows in with_all(t.failed_attempts, "reason"):
        early = [f for f in rows if f.first and f.run_s is not None and f.run_s <= 300]
        helps = [h for r, h in help_of.items() if reason in (r, "all")]
        yield (reason, len(py.column(rows, "gpu_h")), total_of(rows, "gpu_h"), len(early),
               sum((f.gpus - 1) * f.run_s / 3600 for f in early if (f.gpus or 0) > 1),
               py.total(h.retried for h in helps), py.total(h.passed for h in helps),
               reason in hopeless if reason in help_of else None,
               sum(saved.values()) if reason == "all" else saved[reason])  # fmt: skip


def failure_reasons(t: Rows) -> Out:
    every = t.failed_attempts
    for reason, rows in with_all(every, "reason"):
        times = py.column(rows, "run_s")
        tier = "" if reason == "all" else max(f.tier for f in rows)
        demand = Counter(f.demand for f in rows)
        yield (reason, tier, len(rows), len({f.job_id for f in rows}),
               len(set(py.column(rows, "user"))), len(times),
               *(py.quantile(times, q) for q in (0.5, 0.9, 0.95)),
               py.ratio(100 * sum(times), total_of(every, "run_s")) if times else None, demand["1"],
               demand["2-4"], demand[">4"], py.total(py.column(rows, "gpu_h")),
               py.ratio(100 * total_of(rows, "gpu_h"), total_of(every, "gpu_h")))  # fmt: skip


def failure_reasons_no_output(t: Rows) -> Out:
    jobs, failures = {j.job_id: j for j in t.gpu_jobs}, py.keyed(t.failures)
    yield (sum((a.job_id, a.attempt) not in failures and a.job_id in jobs
               and (a.end_reason or jobs[a.job_id].status) in ("failed", "out_of_memory", "Failed")
               for a in t.attempts),)  # fmt: skip


def failure_repetition(t: Rows) -> Out:
    for reason, rows in with_all(t.failed_attempts, "reason"):
        jobs, users = len({f.job_id for f in rows}), Counter(py.column(rows, "user"))
        yield (reason, len(rows), jobs, len(users), len(rows) / jobs,
               py.ratio(len(rows), len(users)),
               100 * max(users.values()) / len(rows) if users else None)  # fmt: skip


def failure_statuses(t: Rows) -> Out:
    groups = [
        *py.by(t.status_failures, "ending exit_code").items(),
        (("all", None), t.status_failures),
    ]
    for key, rows in groups:
        times = py.column(rows, "run_s")
        yield (*key, len(rows), len({f.job_id for f in rows}), py.quantile(times, 0.5),
               py.ratio(100 * sum(s <= 300 for s in times), len(times)),
               py.total(py.column(rows, "gpu_h")))  # fmt: skip


def time_to_failure(t: Rows) -> Out:
    for key, rows in py.cube(t.timed_failures, "reason demand", without="all"):
        cols = (len(rows), total_of(rows, "gpu_h"))
        yield from py.curve(*key, cols=cols, values=py.column(rows, "run_s"))


def gang_failures(t: Rows) -> Out:
    gangs = {(s.job_id, s.attempt): s for s in t.held_servers}.values()
    for (servers,), rows in py.by(gangs, "servers").items():
        yield servers, len(rows), sum((s.until_at - s.started_at) / DAY for s in rows)


def gang_failures_gpus(t: Rows) -> Out:
    runs = [r for r in t.attempt_runs if r.gpus and r.run_s is not None and r.flag is None]
    for (gpus,), rows in py.by(runs, "gpus").items():
        yield gpus, len(rows), total_of(rows, "run_s") / 86_400


def lost_servers(t: Rows) -> Out:
    lost = {(a.job_id, a.attempt) for a in t.lost_attempts}
    for s in t.held_servers:
        if (s.job_id, s.attempt) in lost:
            yield (s.job_id, s.attempt, s.machine_id, s.servers, s.gpus, s.started_at,
                   s.until_at)  # fmt: skip


def days_of_use(rows: list[Row]) -> float:
    """Days during which a server was held by at least one of the attempts."""
    days, reached = 0.0, datetime(1970, 1, 1)
    for s in sorted(rows, key=lambda s: (s.started_at, s.until_at)):
        days += max(timedelta(0), s.until_at - max(s.started_at, reached)) / DAY
        reached = max(reached, s.until_at)
    return days


def node_failures(t: Rows) -> Out:
    for (machine,), rows in py.by(t.held_servers, "machine_id").items():
        yield machine, len(rows), days_of_use(rows)


def reliability(t: Rows) -> Out:
    for (servers,), rows in py.by(t.held_servers, "servers").items():
        days = sum(days_of_use(of) for of in py.by(rows, "machine_id").values())
        gangs = {(s.job_id, s.attempt): s for s in rows}.values()
        gpu_days = [
            s.gpus * ((s.until_at - s.started_at) / DAY) for s in gangs if s.gpus is not None
        ]
        yield servers, days, py.total(gpu_days)


def reliability_causes(t: Rows) -> Out:
    lost = {(a.job_id, a.attempt): a for a in t.lost_attempts_by_output}
    output = {(f.job_id, f.attempt): f for f in t.failures}
    fine = {"gpu_fell_off_bus": "GPU off the bus", "nvlink_error": "NVLink error"}
    for key, a in lost.items():
        f = output.get(key)
        cause = fine.get(f.fine, "lost server") if f else "lost server"
        if f and f.reason == "GPU ECC error":
            cause = "GPU memory error"
        yield *key, "hardware", cause, a.gpus, a.ended_at
    for r in t.attempt_runs:
        f = output.get((r.job_id, r.attempt))
        if (f and f.tier == "IF" and f.reason != "Job preempted" and r.gpus and r.until_at
                and r.flag is None and (r.job_id, r.attempt) not in lost):  # fmt: skip
            yield r.job_id, r.attempt, "infrastructure", f.reason, r.gpus, r.until_at


def peak_use(t: Rows) -> Out:
    held = [r for r in t.attempt_runs if r.gpus and r.until_at and r.started_at]
    log = t.snapshot[0]
    yield (
        max(sum(o.gpus for o in held if o.started_at <= r.started_at < o.until_at) for r in held),
        (log.ended_at - log.began_at).total_seconds(),
    )


def gpus_in_use(t: Rows) -> Out:
    for d in t.vc_days:
        yield d.day, d.vc or "(none)", d.gpu_h / 24


def day_of(t: Rows, *times: str) -> Callable[[Row], date | None]:
    """Function that returns the day of an attempt's first known time."""
    made = py.keyed(t.attempts)

    def day(row: Row) -> date | None:
        moments = (getattr(made[row.job_id, row.attempt], c) for c in times)
        return next((moment.date() for moment in moments if moment), None)

    return day


def how_used(t: Rows) -> Out:
    day = day_of(t, "ended_at")
    for key, rows in py.by(t.sampled_attempts, lambda s: (day(s), s.user)).items():
        minutes, idle, pct = (total_of(rows, c) for c in ("minutes", "idle_min", "sum_pct"))
        yield *key, len(rows), minutes / 60, idle / 60, pct / 6000


def level(pct: float) -> float:
    """Lower end of the quarter of 0 to 100 that a utilisation is in; -1 for none."""
    return 25 * (ceil(pct / 25) - 1) if pct else -1


def how_used_levels(t: Rows) -> Out:
    return py.tally((level(b.bin), b.minutes / 60) for b in t.gpu_util_bins)


def how_used_by_summary(t: Rows) -> Out:
    attempts = [s for s in t.summarised_attempts if s.gpu_h]
    day = day_of(t, "ended_at")
    for key, rows in py.by(attempts, lambda s: (day(s), s.user, level(s.mean_pct))).items():
        yield (*key, len(rows), total_of(rows, "gpu_h"),
               sum(s.gpu_h * s.mean_pct for s in rows) / 100)  # fmt: skip


def gpu_util_summaries(t: Rows) -> Out:
    for key, rows in py.cube(t.summarised_attempts, "gpus status"):
        timed = [s for s in rows if s.gpu_h is not None]
        gpu_h = total_of(timed, "gpu_h")
        mean = py.ratio(sum(s.mean_pct * s.gpu_h for s in timed), gpu_h)
        yield from py.curve(*key, cols=(len(rows), gpu_h, mean), values=py.column(rows, "mean_pct"))


def read_off(bins: list[Row]) -> list[float]:
    """Percentiles of a histogram of whole percents, linear within each bin but the first."""
    minutes: dict[int, float] = defaultdict(float)
    for b in bins:
        minutes[b.bin] += b.minutes
    at, grid = sorted(minutes), []
    for p in range(101):
        remaining = p * sum(minutes.values()) / 100
        for n in at:
            if remaining <= minutes[n] + 1e-9 or n == at[-1]:
                grid.append(n - 1 + remaining / minutes[n] if n else 0.0)
                break
            remaining -= minutes[n]
    return grid


def curves(key: tuple[Any, ...], cols: tuple[Any, ...], bins: list[Row]) -> Out:
    return ((*key, *cols, p, v) for p, v in enumerate(read_off(bins)))


def means(rows: list[Row]) -> tuple[float, float]:
    minutes = total_of(rows, "minutes")
    return minutes / 60, total_of(rows, "sum_pct") / minutes


def gpu_util(t: Rows) -> Out:
    bins = dict(py.cube(t.gpu_util_bins, "gpus status"))
    for key, rows in py.cube(t.sampled_attempts, "gpus status"):
        gpu_h, mean = means(rows)
        cols = (len(rows), gpu_h, 100 * total_of(rows, "idle_min") / gpu_h / 60, mean)
        yield from curves(key, cols, bins[key])


def gpu_util_by_servers(t: Rows) -> Out:
    bins = py.by(t.gpu_util_bins, "gpus servers")
    for key, rows in py.by(t.sampled_attempts, "gpus servers").items():
        if key[0] > 1:
            cols = (len(rows), len(set(py.column(rows, "user"))), *means(rows))
            yield from curves(key, cols, bins[key])


def gpu_util_dedicated(t: Rows) -> Out:
    alone = [a for a in t.sampled_attempts if a.dedicated and a.gpus > 1]
    for (gpus, servers), rows in py.by(alone, "gpus servers").items():
        gpu_h, mean = means(rows)
        idle = 100 * total_of(rows, "idle_min") / gpu_h / 60
        bins = [b for b in t.gpu_util_bins if b.dedicated and b.gpus == gpus]
        yield from curves((gpus, servers), (len(rows), gpu_h, idle, mean), bins)


def notebook_gpu_util(t: Rows) -> Out:
    bins, groups = [b for b in t.notebook_gpu_util_bins if b.bin is not None], defaultdict(list)
    for b in bins:
        groups[5, b.gpus, b.status or "unknown"].append(b)
        if b.dedicated and b.gpus >= 8:
            groups[6, b.gpus, None].append(b)
    for key, rows in groups.items():
        yield from curves(key, means(rows), rows)


def host_util(t: Rows) -> Out:
    groups = defaultdict(list)
    for b in t.host_util_bins:
        for servers in ("all", "with a job" if b.attempts else "without a job"):
            if b.bin is not None:
                groups[b.resource, servers].append(b)
    for key, rows in groups.items():
        yield from curves(key, means(rows), rows)


def job_status(t: Rows) -> Out:
    every = total_of(t.job_runs, "gpu_h")
    for (status,), rows in py.by(t.job_runs, "status").items():
        gpu_h = total_of(rows, "gpu_h")
        yield (status or "(none)", len(rows), 100 * len(rows) / len(t.job_runs), gpu_h,
               100 * gpu_h / every, sum(r.censored for r in rows))  # fmt: skip


def locality_effect(t: Rows) -> Out:
    gangs = [a for a in t.sampled_attempts if a.gpus > 1]
    key = lambda a: (a.user or a.job_id, a.gpus, a.status, a.spread, a.co_tenants)  # noqa: E731
    for group, some in py.by(gangs, key).items():
        yield *group, len(some), total_of(some, "minutes"), total_of(some, "sum_pct")


def gpus_are_used_little(t: Rows) -> Out:
    for key, some in py.by(
        t.sampled_attempts, lambda a: (a.user or a.job_id, py.bucket(a.gpus))
    ).items():
        yield *key, len(some), total_of(some, "minutes"), total_of(some, "sum_pct")


def locality_relaxation(t: Rows) -> Out:
    placed = [w for w in t.large_waits if w.servers is not None]
    for key, rows in py.by(placed, "gang servers").items():
        grid = (py.quantile(py.column(rows, "wait_s"), q) for q in (0.1, 0.5, 0.9))
        yield *key, len(rows), sum(w.spread for w in rows), *grid


def notebook_definitions(t: Rows) -> Out:
    for quantity, ours, theirs, value in (
        ("run time", t.trusted_runs, t.notebook_runs, "run_s"),
        ("wait", t.trusted_waits, t.notebook_waits, "wait_s"),
    ):
        for definition, rows in (("ours", ours), ("notebook", theirs)):
            for (gang,), some in py.by(rows, "gang").items():
                key = (quantity, definition, gang)
                yield from py.curve(*key, cols=(len(some),), values=py.column(some, value))


def notebook_definitions_waits(t: Rows) -> Out:
    zeros = sum(w.wait_s == 0 and bool(w.gpus) for w in t.waits)
    ours, theirs = (
        py.quantile(py.column(r, "wait_s"), 0.5) for r in (t.trusted_waits, t.notebook_waits)
    )
    yield sum(w.stale for w in t.notebook_waits), zeros, ours, theirs


def out_of_order(t: Rows) -> Out:
    return py.tally(((o.vc, py.bucket(o.gpus), 1, o.overtook) for o in t.overtakings), 2)


def out_of_order_overtaken(t: Rows) -> Out:
    for gang, rows in py.by(t.overtaken_gangs, lambda o: (py.bucket(o.waiter_gpus),)).items():
        yield *gang, total_of(rows, "overtakings"), total_of(rows, "harmless")


def overview(t: Rows) -> Out:
    jobs = {j.job_id for j in t.gpu_jobs}
    made = Counter(j.submitted_at.date() for j in t.gpu_jobs)
    ran = Counter(a.started_at.date() for a in t.attempts if a.started_at and a.job_id in jobs)
    day = t.snapshot[0].began_at.date()
    while day <= t.snapshot[0].ended_at.date():
        yield day, made[day], ran[day], sum(d.gpu_h for d in t.vc_days if d.day == day)
        day += DAY


def queueing_delay(t: Rows) -> Out:
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for w in t.trusted_waits:
        for vc in (w.vc or "(none)", None):
            groups[vc, w.gang].append(w.wait_s)
    for key, values in groups.items():
        yield from py.curve(*key, cols=(len(values), values.count(0)), values=values)


def retries(t: Rows) -> Out:
    for gang, rows in with_all(t.started_jobs, "gang"):
        made, ends = py.column(rows, "attempts"), py.column(rows, "failed")
        yield (gang, len(rows), sum(made), sum(made) / len(made) - 1,
               100 * sum(n > 1 for n in made) / len(made), len(ends),
               py.ratio(100 * sum(ends), len(ends)))  # fmt: skip


def run_policy(t: Rows) -> Out:
    runs = [r for r in t.job_runs if r.flag is None and r.gpus and not r.censored
             and None not in (r.span_s, r.sum_s, r.last_s)]  # fmt: skip
    again = [r for r in runs if r.attempts > 1]
    for policy in ("span", "sum", "last"):
        every, retried = ([getattr(r, f"{policy}_s") for r in some] for some in (runs, again))
        cols = (len(runs), len(again), sum(every) / 3600)
        curves_ = (py.curve(values=values) for values in (every, retried))
        for (p, run_s), (_, retried_s) in zip(*curves_, strict=True):
            yield policy, *cols, p, run_s, retried_s


def run_time(t: Rows) -> Out:
    for (gang,), rows in py.by(t.trusted_runs, "gang").items():
        steps = [s for s in t.run_survival if s.gang == gang and s.ended]
        for p in range(101):
            reached = [s.run_s for s in steps if s.ended_frac >= p / 100 - 1e-9]
            running = sum(r.censored for r in rows)
            yield gang, len(rows), running, p, min(reached, default=None)


def run_time_over_week(t: Rows) -> Out:
    ended = [s.ended_frac for s in t.run_survival if s.gang == "all" and s.run_s <= 604_800]
    yield (100 * (1 - max(ended, default=0)),)


def time_asked(t: Rows) -> Out:
    for gang, rows in with_all(t.limited_runs, "gang"):
        used = py.column(rows, "used_frac")
        cols = (len(rows), sum(r.at_limit for r in rows), sum(f < 0.1 for f in used),
                total_of(rows, "used_gpu_h"), total_of(rows, "unused_gpu_h"))  # fmt: skip
        yield from py.curve(gang, cols=cols, values=used)


def usage(t: Rows) -> Out:
    jobs, runs = {j.job_id: j for j in t.gpu_jobs}, py.keyed(t.attempt_runs)
    totals: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0, 0.0, []])

    def group(j: Row, at: datetime) -> list[Any]:
        names = (j.account or "(none)", j.user or "(none)", j.vc or "(none)")
        return totals[*names, py.monday(at).date()]

    for j in jobs.values():
        group(j, j.submitted_at)[0] += 1
    for a in t.attempt_weeks:
        totals[a.account, a.user, a.vc, a.week][1] += a.gpu_h or 0
    for w in t.trusted_waits:
        j, r = jobs[w.job_id], runs.get((w.job_id, w.attempt))
        weight = None if r is None or None in (r.run_s, r.gpus) else r.run_s * r.gpus * j.gpu_frac
        group(j, w.since_at)[2].append((w.wait_s, weight))
    for key, (made, gpu_h, waited) in totals.items():
        times = [s for s, _ in waited]
        weighed = py.total(s * n for s, n in waited if n is not None)
        yield (*key, made, gpu_h, len(times), py.quantile(times, 0.5), py.quantile(times, 0.9),
               py.ratio(weighed, py.total(n for _, n in waited)))  # fmt: skip


def usage_idle(t: Rows) -> Out:
    used = py.keyed(t.sampled_attempts)
    rows = []
    for a in t.attempt_weeks:
        if u := used.get((a.job_id, a.attempt)):
            hours = u.minutes * a.part / 60, u.idle_min * a.part / 60
            rows.append((a.account, a.user, a.vc, a.week, *hours))
    return py.tally(rows, 2)


def wait_states(t: Rows) -> Out:
    return by_state(t, t.wait_causes)


def wait_states_unplaced(t: Rows) -> Out:
    return by_state(t, t.wait_causes_unplaced)


def by_state(t: Rows, causes: list[Row]) -> Out:
    """Waits by method, cause, name and gang."""
    queued, groups = py.keyed(t.queued_attempts), defaultdict(list)
    for c in causes:
        q = queued[c.job_id, c.attempt]
        groups[c.method, c.cause, c.name or "(none)", py.bucket(q.gpus)].append((c.wait_s, q))
    for key, rows in groups.items():
        times = [s for s, _ in rows]
        yield (*key, len(rows), sum(q.outcome == "started" for _, q in rows), sum(times) / 3600,
               sum(s * q.gpus for s, q in rows) / 3600, py.quantile(times, 0.5),
               py.quantile(times, 0.9))  # fmt: skip


def waits_by_day(t: Rows) -> Out:
    groups = defaultdict(list)
    for w in t.trusted_waits:
        groups[w.since_at.date()].append(w)
    for day, rows in groups.items():
        times = py.column(rows, "wait_s")
        yield (day, len(rows), times.count(0), py.quantile(times, 0.5), py.quantile(times, 0.9),
               max(times), sum(w.wait_s * w.gpus for w in rows) / 3600)  # fmt: skip


def why_failures(t: Rows) -> Out:
    day = day_of(t, "ended_at")
    for key, rows in py.by(t.failed_attempts, lambda f: (day(f), f.user, f.reason)).items():
        times = py.column(rows, "run_s")
        yield *key, len(rows), sum(s <= 300 for s in times), len(times), total_of(rows, "gpu_h")


def by_user(t: Rows, causes: list[Row], methods: set[str], names: str) -> Out:
    """Count waits by day, user, VC and gang: all, longer than 10 minutes, seconds by cause."""
    made = py.by(causes, "method job_id attempt")

    def key(q: Row) -> tuple[Any, ...]:
        return q.until_at.date(), q.user, q.vc, py.bucket(q.gpus)

    for method in methods:
        for group, some in py.by(t.queued_attempts, key).items():
            sums = dict.fromkeys(((c, g) for c in names.split() for g in (False, True)), 0.0)
            for q in some:
                for c in made.get((method, q.job_id, q.attempt), []):
                    sums[c.cause, False] += c.wait_s
                    sums[c.cause, True] += c.wait_s * q.gpus
            yield (method, *group, len(some), sum(q.wait_s > 600 for q in some),
                   *sums.values())  # fmt: skip


def daily_waits(t: Rows) -> Out:
    def key(q: Row) -> tuple[Any, ...]:
        return q.until_at.date(), q.user, q.vc, py.bucket(q.gpus)

    for group, some in py.by(t.queued_attempts, key).items():
        yield (*group, len(some), sum(q.wait_s > 600 for q in some), total_of(some, "wait_s"),
               sum(q.wait_s * q.gpus for q in some))  # fmt: skip


def why_waits(t: Rows) -> Out:
    names = "held limit quota too_few fragmented stranded behind start_up unknown"
    return by_user(t, t.wait_causes, {q.method for q in t.vc_quotas} or {"none"}, names)


def why_waits_unplaced(t: Rows) -> Out:
    return by_user(t, t.wait_causes_unplaced, {"none"}, "held limit pending start_up unknown")


def wide_gangs(t: Rows) -> Out:
    for key, rows in py.by(t.wide_attempts, "gang vc account").items():
        wide = [w for w in rows if w.wide]
        yield (*key, len(rows), len(wide), total_of(wide, "servers"), total_of(wide, "fewest"),
               total_of(rows, "gpu_h"), total_of(wide, "gpu_h"))  # fmt: skip


def workload_account(t: Rows) -> Out:
    rows = []
    for j in t.workload_jobs:
        part = "left out" if j.left_out else "still running" if j.censored else "ended"
        gpu_h = (j.service_s or 0) * (j.gpus or 0) * j.gpu_frac / 3600
        rows.append((part, j.left_out or "", 1, gpu_h))
    return py.tally(rows, 2)


def worst_offenders_idle(t: Rows) -> Out:
    for key, rows in py.by(t.sampled_attempts, "job_id user").items():
        yield *key, total_of(rows, "minutes") / 60, total_of(rows, "idle_min") / 60


def failures_come_early(t: Rows) -> Out:
    for r in t.job_runs:
        complete = r.flag is None and r.last_s is not None and not r.censored
        if complete and r.status == "Failed" and r.gpus:
            yield r.user, r.submitted_at.date(), r.last_s


def failures_repeat(t: Rows) -> Out:
    ended = [r for r in t.job_runs if r.status and r.user and r.attempts and r.gpus]
    for (user,), rows in py.by(ended, "user").items():
        order = sorted(rows, key=lambda r: (r.submitted_at, r.job_id))
        pairs = [(a.status == "Failed", b.status == "Failed") for a, b in pairwise(order)]
        for after in {a for a, _ in pairs}:
            yield user, after, sum(a == after for a, _ in pairs), pairs.count((after, True))


def fragmentation_delays_most(t: Rows) -> Out:
    causes = {(c.job_id, c.attempt): c for c in t.study_causes if c.method == "given"}
    waited = [w for w in t.trusted_waits if w.wait_s > w.held_s and (w.job_id, w.attempt) in causes]
    for key, rows in py.by(waited, lambda w: (w.since_at.date(), w.gang)).items():
        mine = [causes[w.job_id, w.attempt] for w in rows]
        fair, apart = total_of(mine, "fair_share_s"), total_of(mine, "fragmentation_s")
        yield *key, len(rows), fair, apart, fair + apart


def gpu_time_is_in_few_jobs(t: Rows) -> Out:
    return ((j.user, j.submitted_at.date(), j.gpu_h) for j in t.workload_jobs if not j.left_out)


def gpu_time_is_of_few_users(t: Rows) -> Out:
    mine = [j for j in t.workload_jobs if not j.left_out and j.user]
    for (user,), rows in py.by(mine, "user").items():
        yield user, len(rows), total_of(rows, "gpu_h")


def jobs_are_short(t: Rows) -> Out:
    for r in t.trusted_runs:
        yield r.user, r.submitted_at.date(), None if r.censored else r.run_s


def gpu_time_by_gang(t: Rows) -> Out:
    jobs = (j for j in t.workload_jobs if j.left_out is None)
    return py.tally(
        ((j.user, j.submitted_at.date(), py.bucket(j.gpus), 1, j.gpu_h) for j in jobs), 2
    )


def known_columns(t: Rows) -> Out:
    jobs, moments = t.jobs, py.column(t.jobs, "submitted_at")
    users = py.column(jobs, "user")
    yield (len(jobs), sum(bool(j.gpus) for j in jobs),
           sum(j.gpus == 0 or (j.gpu_frac or 1) < 1 for j in jobs), min(moments),
           max(moments), len(users), len(set(users)),
           *(len(py.column(jobs, c)) for c in ("vc", "status", "gpus", "time_limit_s")),
           len(set(py.column(jobs, "cluster"))), len(t.attempts),
           len(py.column(t.attempts, "started_at")),
           sum(py.first(a.run_s, a.started_at and a.ended_at) is not None for a in t.attempts),
           sum(a.attempt > 1 for a in t.attempts),
           len(py.column(t.attempts, "end_reason")),
           len(t.given_quotas))  # fmt: skip


def large_gangs_are_spread(t: Rows) -> Out:
    users = {j.job_id: j.user or j.job_id for j in t.jobs}
    gangs = (s for s in t.attempt_servers if (s.gpus or 0) > 1)
    return py.tally(((users[s.job_id], py.bucket(s.gpus), 1, s.spread) for s in gangs), 2)


def large_gangs_fail_more(t: Rows) -> Out:
    ended = [r for r in t.job_runs if r.status and r.attempts and r.gpus]
    for key, rows in py.by(
        ended, lambda r: (r.user, r.submitted_at.date(), py.bucket(r.gpus))
    ).items():
        yield *key, len(rows), sum(r.status == "Failed" for r in rows)


def load_follows_the_day(t: Rows) -> Out:
    jobs_by_hour = Counter((j.submitted_at.date(), j.submitted_at.hour)
                    for j in t.jobs if j.flag is None and j.gpus != 0)  # fmt: skip
    return ((*key, n) for key, n in jobs_by_hour.items())


def overtaken_without_room(t: Rows) -> Out:
    key_of = lambda o: (o.started_at.date(), py.bucket(o.waiter_gpus))  # noqa: E731
    for key, rows in py.by(t.overtaken_attempts, key_of).items():
        yield *key, len(rows), total_of(rows, "harmless")


def starts_out_of_order(t: Rows) -> Out:
    for key, rows in py.by(
        t.overtakings, lambda o: (o.started_at.date(), py.bucket(o.gpus))
    ).items():
        yield *key, len(rows), sum(o.overtook for o in rows)


def submissions_are_bursty(t: Rows) -> Out:
    counts = Counter(j.submitted_at.replace(minute=0, second=0, microsecond=0)
                     for j in t.jobs if j.flag is None and j.gpus != 0)  # fmt: skip
    hour, last = min(counts), max(counts)
    rows = []
    while hour < last:
        before, hour = counts[hour], hour + timedelta(hours=1)
        n = counts[hour]
        level = "0" if n == 0 else "1-3" if n <= 3 else "4-15" if n <= 15 else ">15"
        rows.append((hour.date(), level, 1, n, (n - before) ** 2))
    return py.tally(rows, 3)


def time_limits_are_loose(t: Rows) -> Out:
    days = {j.job_id: j.submitted_at.date() for j in t.gpu_jobs}
    runs = ((r.user, days[r.job_id], r.gang, 1, 2 * r.run_s < r.limit_s) for r in t.limited_runs)
    return py.tally(runs, 2)


def unsuccessful_jobs_cost_most(t: Rows) -> Out:
    runs = [r for r in t.job_runs if r.status and r.gpus and r.flag is None]
    for key, rows in py.by(runs, lambda r: (r.user, r.submitted_at.date(), r.status)).items():
        yield *key, len(rows), total_of(rows, "gpu_h")


def waits_rise_with_gangs(t: Rows) -> Out:
    for key, rows in py.by(t.trusted_waits, lambda w: (w.since_at.date(), w.gang)).items():
        yield *key, len(rows), sum(w.wait_s - w.held_s >= 600 for w in rows)


def model_failures(t: Rows) -> Out:
    runs = py.keyed(t.attempt_runs)
    for f in t.failures:
        if r := runs.get((f.job_id, f.attempt)):
            yield f.reason, r.gpus, r.run_s if r.ended_at else None


def model_jobs(t: Rows) -> Out:
    inside, runs = ({r.job_id: r for r in rows} for rows in (t.workload_jobs, t.job_runs))
    for j in t.jobs:
        if r := runs.get(j.job_id):
            w = inside[j.job_id]
            yield (j.job_id, py.us(j.submitted_at) / 1e6, j.vc or "", j.user, j.gpus, j.status,
                   w.run_s if w.left_out is None else None, w.censored, r.attempts,
                   py.ratio(r.last_s, r.sum_s), j.flag)  # fmt: skip


def model_machines(t: Rows) -> Out:
    yield from Counter(m.gpus for m in t.machines if m.gpus).items()


def model_spreads(t: Rows) -> Out:
    return py.tally((s.gpus, s.servers, 1) for s in t.attempt_servers)


def model_use(t: Rows) -> Out:
    status = {j.job_id: j.status for j in t.jobs}
    placed, servers = {p.placement: p for p in t.placed_gpus}, py.keyed(t.attempt_servers)
    rows = []
    for b in t.gpu_use_bins:
        p = placed[b.placement]
        if b.bin is not None and p.attribution == "gpu_exact":
            s = servers[p.job_id, p.attempt]
            rows.append((s.gpus, s.servers, status[p.job_id], b.bin, b.minutes))
    return py.tally(rows)


def occupancy(t: Rows) -> Out:
    sizes = {pool: rows for (pool,), rows in py.by(t.machine_pools, "pool").items()}
    groups: dict[tuple[Any, ...], list[tuple[float, ...]]] = defaultdict(list)
    for (pool,), uses in py.by(t.pool_use, "pool").items():
        servers, gpus = len(sizes[pool]), total_of(sizes[pool], "gpus")
        for u, later in pairwise(sorted(uses, key=lambda u: u.moment)):
            held = later.moment // 2 - max(u.moment // 2, py.us(t.snapshot[0].complete_from))
            if held > 0:
                parts = (100 * u.servers_empty / servers, 100 * u.servers_full / servers)
                groups[pool, gpus, 100 * u.gpus_used // gpus].append((held, *parts))
    for key, rows in groups.items():
        held = sum(h for h, _, _ in rows)
        empty = [e for _, e, _ in rows]
        yield (*key, held / 3.6e9, sum(h * e for h, e, _ in rows) / held, min(empty), max(empty),
               sum(h * (100 - e - f) for h, e, f in rows) / held)  # fmt: skip
