"""References of the relations of claims that no finding has, in plain Python."""

from tests.analyses import plain as py
from tests.analyses.plain import Out, Row, Rows

YEAR_S = 365.25 * 86_400


def failures_rise_with_age(t: Rows) -> Out:
    runs = [r for r in _runs(t) if r.until_at]
    days = [r.until_at.date() for r in runs]
    for (late,), some in py.by(
        runs, lambda r: ((r.until_at.date() - min(days)) > (max(days) - r.until_at.date()),)
    ).items():
        for (day,), rows in py.by(some, lambda r: (r.until_at.date(),)).items():
            yield day, late, *_failures(t, rows)


def gpu_readings_are_low(t: Rows) -> Out:
    users = {j.job_id: j.user or j.job_id for j in t.jobs}
    placed = {p.placement: p for p in t.placed_gpus if p.attribution == "gpu_exact"}
    bins = (b for b in t.gpu_use_bins if b.bin is not None and b.placement in placed)
    return py.tally((users[placed[b.placement].job_id], b.bin, b.minutes) for b in bins)


def gpus_fail_rarely(t: Rows) -> Out:
    submitted = {j.job_id: j.submitted_at for j in t.jobs}
    for key, rows in py.by(
        _runs(t), lambda r: ((r.until_at or submitted[r.job_id]).date(), py.bucket(r.gpus))
    ).items():
        yield *key, *_failures(t, rows)


def idle_gpus_are_fragments(t: Rows) -> Out:
    for week in t.idle_gpus:
        yield week.week, "partly used", week.partly_gpu_h
        yield week.week, "empty", week.idle_gpu_h - week.partly_gpu_h


def jobs_need_less_than_one_gpu(t: Rows) -> Out:
    jobs = (j for j in t.jobs if j.gpus is not None and j.flag is None)
    return py.tally((j.user, j.submitted_at.date(), _kind(j), 1) for j in jobs)


def large_gangs_run_longer(t: Rows) -> Out:
    for r in t.trusted_runs:
        yield r.user, r.submitted_at.date(), py.bucket(r.gpus), None if r.censored else r.run_s


def load_follows_the_week(t: Rows) -> Out:
    days = (j.submitted_at.date() for j in t.jobs if j.flag is None and j.gpus != 0)
    return py.tally((day, day.isoweekday() % 7, 1) for day in days)


def long_jobs_use_most(t: Rows) -> Out:
    def length(run_s: float) -> str:
        return "longer" if run_s > 86_400 else "a day" if run_s > 3_600 else "an hour"

    jobs = (j for j in t.workload_jobs if j.left_out is None)
    return py.tally(((j.user, j.submitted_at.date(), length(j.run_s), 1, j.gpu_h) for j in jobs), 2)


def most_jobs_wait_little(t: Rows) -> Out:
    return ((w.since_at.date(), w.wait_s - w.held_s) for w in t.trusted_waits if w.first)


ENDED = {
    **dict.fromkeys(("failed", "out_of_memory"), "failed"),
    "node_failure": "server",
    **dict.fromkeys(("preempted", "requeued", "migrated", "resized"), "moved"),
}


def retries_help(t: Rows) -> Out:
    runs = (r for r in t.job_runs if r.attempts > 1 and r.status and r.gpus)
    attempts = sorted(t.attempts, key=lambda a: a.attempt, reverse=True)
    first = {a.job_id: ENDED.get(a.end_reason, "other") for a in attempts}
    return py.tally(
        ((r.user, r.submitted_at.date(), first[r.job_id], 1, r.status == "Pass") for r in runs),
        2,
    )


def _kind(job: Row) -> str:
    if job.gpus == 0:
        return "none"
    return "part" if job.gpus == 1 and (job.gpu_frac or 1) < 1 else "whole"


def waits_are_predictable(t: Rows) -> Out:
    waits = []
    for w in t.trusted_waits:
        earlier = [k for k in t.trusted_waits if k.gpus == w.gpus and k.started_at < w.since_at]
        if earlier:
            latest = max(k.started_at for k in earlier)
            last_s = max(k.wait_s - k.held_s for k in earlier if k.started_at == latest)
            waits.append((w.since_at.date(), last_s >= 600, 1, w.wait_s - w.held_s >= 600))
    return py.tally(waits, 2)


def _runs(t: Rows) -> list[Row]:
    return [r for r in t.attempt_runs if r.flag is None and r.gpus and r.run_s is not None]


def _failures(t: Rows, rows: list[Row]) -> tuple[int, float, int]:
    ends = py.keyed(t.attempts)
    gpu_years = sum(r.run_s * r.gpus for r in rows) / YEAR_S
    failed = sum(ends[r.job_id, r.attempt].end_reason == "node_failure" for r in rows)
    return len(rows), gpu_years, failed
