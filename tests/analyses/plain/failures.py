"""References of relations of failed and lost attempts."""

from tests.analyses.plain import Out, Row, Rows, attempts_of, bucket, by, first, keyed, trusted_run

NOT_FAILED = {
    *("completed", "killed", "migrated", "resized", "preempted", "requeued", "node_failure"),
    "rejected",
}


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


def lost_attempts(t: Rows) -> Out:
    made = keyed(t.attempts)
    for r in t.attempt_runs:
        if made[r.job_id, r.attempt].end_reason == "node_failure":
            yield from _lost(r)


def _lost(r: Row) -> Out:
    if r.gpus and r.until_at is not None and r.flag is None:
        yield r.job_id, r.attempt, r.gpus, r.until_at, r.run_s * r.gpus / 3600


def lost_to_failures(t: Rows) -> Out:
    return lost_by_job({(f.job_id, f.attempt): f for f in t.status_failures})


def lost_to_failures_by_output(t: Rows) -> Out:
    return lost_by_job({(f.job_id, f.attempt): f for f in (*t.status_failures, *t.failed_attempts)})


def lost_by_job(failed: dict[tuple[str, int], Row]) -> Out:
    lost: dict[tuple[str, str | None], float] = {}
    for f in failed.values():
        if f.gpu_h:
            lost[f.job_id, f.user] = lost.get((f.job_id, f.user), 0.0) + f.gpu_h
    for key, hours in lost.items():
        yield *key, hours


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
