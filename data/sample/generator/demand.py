"""Draw the jobs of the bundled sample from the shipped models, thinned for a small cluster.

The constants are chosen such that the sample resembles the published numbers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from data.sample.generator.plan import DAY_S, WARM_UP_S, Plan
from philly_analysis.models import MONDAY, load_model
from philly_analysis.study import FAILED, KILLED, LAST_END, PASS, STATUSES, archive, gang_class
from philly_analysis.trace import ATTEMPTS, JOBS, VIRTUAL_CLUSTERS, Table
from philly_analysis.workload import AttemptSpec, JobSpec, Machine, Workload

LARGEST_GANG, LARGEST_SERVER = 32, 8
LONGEST_H = 96
"""Longer jobs are excluded: a small cluster cannot run jobs of weeks."""
GANGS = 0.6
"""Weight of the gang sizes of attempts, against the gang sizes of passed jobs: the mean is then
1.65
GPUs, as of the log's jobs of every status."""
OVERLAYS = 12
"""Number of samples laid over one another and thinned, so that the bursts of a large cluster do not
overload a small one and the weekly rhythm stays."""
OVERBOOKED = 2.0
"""Total quota over total GPUs: most waits are then fragmentation delays, as in the study's Table 2
(70 %), and large gangs wait for their quota as well."""
NOTEBOOK_USER, NOTEBOOK_GPUS, NOTEBOOK_RUN_H = "1d1e00", 4, (18, 23)
"""A user who starts a notebook every morning and hardly computes: GPUs, and shortest and longest
run."""
SURVIVORS = ((1, 4), (3, 8), (5, 2))
"""Earlier jobs that are still running on the fifth day: days before the warm-up, GPUs."""
LONG_FROM = 0.85
STATUS_SHORT, STATUS_LONG = (0.730, 0.100, 0.170), (0.485, 0.333, 0.182)
"""Statuses of jobs below and above this quantile of run times in their gang bucket: close to the
study's Table 6 in jobs and in GPU time. Killed jobs are long."""
RETRY_PROBABILITY = {
    PASS: ((1, 0.10), (2, 0.16), (5, 0.20), (9, 0.28)),
    KILLED: ((1, 0.10), (2, 0.18), (5, 0.22), (9, 0.30)),
    FAILED: ((1, 0.58), (2, 0.64), (5, 0.68), (9, 0.72)),
}
"""Probability of a retry by status and smallest gang: growing with the gang as in the study's
Figure
9, with about 1.36 attempts per job as in the archive."""
MOST_ATTEMPTS = 4
FAILURE_MEDIAN_MIN, FAILURE_SIGMA = 2.0, 1.6
"""Log-normal run time to failure, like most reasons of the study's Table 7: medians of minutes,
long tails."""
NO_ATTEMPT_FRAC = round(archive()["jobs_without_attempts"] / archive()["jobs"], 3)
START_UP_MEDIAN_S, START_UP_SIGMA = 25.0, 1.3
"""Log-normal time between a submission and the request that the scheduler sees: in most virtual
clusters of the notebook's Figure 3 half the one-GPU jobs start within a minute or so."""


def start_up_s(rng: np.random.Generator) -> float:
    """Draw the seconds between a submission and the request to the scheduler."""
    return START_UP_MEDIAN_S * float(rng.lognormal(0, START_UP_SIGMA))


def draw(plan: Plan, capacity: int, rng: np.random.Generator) -> list[JobSpec]:
    """Return the jobs by submission, from the warm-up to the last day.

    Submission times, virtual clusters, gangs and run times come from the model of the study's
    passed jobs. Names, statuses and failures before the end are drawn here.
    """
    from_s, until_s = -WARM_UP_S, plan.days * DAY_S
    count = round(plan.jobs * (until_s - from_s) / until_s)
    model = load_model("philly")
    first = plan.at(from_s)
    monday = datetime.combine(first - timedelta(days=first.weekday()), MONDAY.time())
    weeks = -(-(plan.at(until_s) - monday) // timedelta(weeks=1))
    workload = model.sample(
        days=OVERLAYS * 7 * weeks,
        gpus=LARGEST_GANG,
        seed=plan.seed,
        start=monday,
        variation="none",
    )
    folded_s = (pl.col("submitted_at") - pl.lit(monday)).dt.total_seconds() % (weeks * 7 * DAY_S)
    pool = (
        workload.attempts.pl()
        .join(workload.jobs.pl().select("job_id", "vc", "submitted_at"), on="job_id")
        .select(
            "vc",
            "gpus",
            submit_s=folded_s - int((plan.origin - monday).total_seconds()),
            run_s=(pl.col("ended_at") - pl.col("started_at")).dt.total_seconds(),
        )
        .filter(pl.col("submit_s").is_between(from_s, until_s, closed="left"))
    )
    kept = _thin(pool, count, plan.load * capacity * (until_s - from_s), rng)
    names = {vc: rng.bytes(3).hex() for vc in sorted(kept["vc"].unique())}
    shares = kept["vc"].value_counts(normalize=True)
    users = {vc: max(3, round(90 * share)) for vc, share in shares.iter_rows()}
    numbers = {vc: i for i, vc in enumerate(names)}
    jobs = []
    for vc, gpus, submit_s, run_s, rank in kept.iter_rows():
        user = int(min(users[vc] * rng.beta(0.7, 2.5), users[vc] - 1))
        name = f"{(numbers[vc] * 7919 + user + 1) * 2_654_435_761 % 2**24:06x}"
        jobs.append(_job(names[vc], name, gpus, submit_s, run_s, rank, rng))
    for restart_s in plan.restarts_s[1:]:  # the first jobs after a restart of the manager
        jobs += [
            replace(jobs[k], submit_s=restart_s + after_s) for k, after_s in ((0, 12), (1, 34))
        ]
    jobs += _notebooks(kept["vc"].mode().sort()[0], names, plan, rng)
    for back_days, gpus in SURVIVORS:
        at_s = from_s - back_days * DAY_S
        runs = (AttemptSpec(4 * DAY_S + 3_319 - at_s, LAST_END["Killed"]),)
        jobs.append(replace(jobs[0], gpus=gpus, submit_s=at_s, attempts=runs, status="Killed"))
    return _named((j for j in jobs if j.submit_s < until_s), plan)


def _thin(pool: pl.DataFrame, count: int, gpu_s: float, rng: np.random.Generator) -> pl.DataFrame:
    """Select jobs with a total GPU time, and rank their run times in their gang bucket."""
    passed, attempts = load_model("philly"), load_model("philly-attempts")
    pool = pool.sort("run_s", "submit_s", "gpus", "vc")
    gpus, run_s = pool["gpus"].to_numpy(), pool["run_s"].to_numpy()
    sizes, size = np.unique(gpus, return_inverse=True)
    wanted = passed.gang_size.pmf(sizes) ** (1 - GANGS) * attempts.gang_size.pmf(sizes) ** GANGS
    for longest_h in range(LONGEST_H, 0, -1):
        weight = (run_s <= 3600 * longest_h).astype(float)
        weight *= (wanted / np.maximum(np.bincount(size, weight), 1e-9))[size]
        weight /= weight.sum()
        if count * (weight @ (gpus * run_s)) <= gpu_s:
            break
    chosen = rng.choice(pool.height, count, replace=False, p=weight)
    kept = pool[np.sort(chosen)]
    return (
        kept.with_columns(bucket=gang_class(kept["gpus"].to_numpy()))
        .with_columns(rank=pl.col("run_s").rank("ordinal").over("bucket") / pl.len().over("bucket"))
        .sort("submit_s", "run_s", "gpus", "vc")
        .select("vc", "gpus", "submit_s", "run_s", "rank")
    )


def _job(
    vc: str, user: str, gpus: int, submit_s: int, run_s: int, rank: float, rng: np.random.Generator
) -> JobSpec:
    """Return one job: its status depends on the run time; all attempts but the last failed."""
    share = STATUS_LONG if rank >= LONG_FROM else STATUS_SHORT
    status = str(rng.choice(STATUSES, p=share))
    attempts: list[AttemptSpec] = []
    if rng.random() >= NO_ATTEMPT_FRAC:
        retry = [p for least, p in RETRY_PROBABILITY[status] if gpus >= least][-1]
        while len(attempts) < MOST_ATTEMPTS - 1 and rng.random() < retry:
            failed_s = 60 * FAILURE_MEDIAN_MIN * rng.lognormal(0, FAILURE_SIGMA)
            attempts.append(AttemptSpec(max(4, int(min(failed_s, run_s))), LAST_END["Failed"]))
        attempts.append(AttemptSpec(max(3, run_s), LAST_END[status]))
    return JobSpec("", vc, user, gpus, submit_s, tuple(attempts), status)


def _notebooks(
    vc: str, names: dict[str, str], plan: Plan, rng: np.random.Generator
) -> list[JobSpec]:
    """Return one notebook a day of the user who hardly computes, in the virtual cluster `vc`."""
    notebooks = []
    for day in range(plan.days):
        at_s = day * DAY_S + 9 * 3600 + int(rng.integers(3600))
        run_s = int(3600 * rng.uniform(*NOTEBOOK_RUN_H))
        runs = (AttemptSpec(run_s, LAST_END[KILLED]),)
        notebooks.append(JobSpec("", names[vc], NOTEBOOK_USER, NOTEBOOK_GPUS, at_s, runs, KILLED))
    return notebooks


def _named(jobs: Iterable[JobSpec], plan: Plan) -> list[JobSpec]:
    """Name jobs ``application_<epoch ms of the manager's last restart>_<number since>``."""
    sequence = dict.fromkeys(plan.restarts_s, 0)
    named = []
    for job in sorted(jobs, key=lambda j: j.submit_s):
        restart_s = max(r for r in sequence if r <= job.submit_s)
        sequence[restart_s] += 1
        epoch_ms = round(plan.at(restart_s).replace(tzinfo=UTC).timestamp() * 1000) + 472
        named.append(replace(job, job_id=f"application_{epoch_ms}_{sequence[restart_s]:04d}"))
    return named


def requests(
    jobs: Sequence[JobSpec],
    start_ups_s: Mapping[str, int],
    machines: Sequence[Machine],
    plan: Plan,
) -> Workload:
    """Return the workload of requests to the scheduler, each some time after its submission.

    Jobs without attempts have none. Quotas are in proportion to the GPU time demanded, and
    hold the largest gang.
    """
    asking = [replace(j, submit_s=j.submit_s + start_ups_s[j.job_id]) for j in jobs if j.attempts]
    attempts = []
    for job in asking:
        at = plan.at(job.submit_s)
        for number, attempt in enumerate(job.attempts, start=1):
            end = at + timedelta(seconds=attempt.run_s)
            attempts.append((job.job_id, number, at, end, job.gpus, attempt.end_reason))
            at = end
    gpu_s: dict[str, float] = {}
    for job in jobs:
        gpu_s[job.vc] = gpu_s.get(job.vc, 0.0) + job.gpu_s
    booked = OVERBOOKED * sum(m.gpus for m in machines) / sum(gpu_s.values())
    largest = {vc: max(j.gpus for j in jobs if j.vc == vc) for vc in gpu_s}
    quotas = [(vc, max(largest[vc], round(booked * asked))) for vc, asked in gpu_s.items()]
    attempt_columns = ("job_id", "attempt", "started_at", "ended_at", "gpus", "end_reason")
    return Workload(
        name="philly-sample",
        jobs=job_table(asking, plan),
        attempts=_frame(ATTEMPTS, attempt_columns, attempts),
        virtual_clusters=_frame(VIRTUAL_CLUSTERS, ("vc", "gpus"), quotas),
    )


def job_table(jobs: Iterable[JobSpec], plan: Plan) -> pl.DataFrame:
    """Return jobs as the table ``jobs``."""
    rows = [(j.job_id, j.vc, j.user, j.gpus, plan.at(j.submit_s), j.status) for j in jobs]
    return _frame(JOBS, ("job_id", "vc", "user", "gpus", "submitted_at", "status"), rows)


def _frame(
    table: Table, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> pl.DataFrame:
    """Return rows as a frame of a table; missing columns are null."""
    empty = pl.DataFrame(table.arrow.empty_table())
    schema = {name: empty.schema[name] for name in columns}
    return pl.concat([empty, pl.DataFrame(rows, schema, orient="row")], how="diagonal")
