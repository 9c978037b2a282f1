"""Demand of a workload: one row per runnable job, and why the other jobs are excluded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from philly_analysis.errors import WorkloadError
from philly_analysis.results import count, number, share
from philly_analysis.study import RunPolicy
from philly_analysis.workload.job import AttemptSpec, JobSpec
from philly_analysis.workload.protocol import JobTables

UNKNOWN = "unknown"
"""Name of a virtual cluster or user that is not recorded."""


LARGE_JOB_FRAC = 0.1
"""Share of the GPU time of all jobs above which one job is noted; a convention."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Jobs that can be run, with one run time each, and the number of excluded jobs by reason.

    Attributes
    ----------
    jobs
        One row per job, by submission then job_id: job_id, vc, user (never null), gpus, status,
        job_type, cpus, mem_gb, time_limit_s, submitted_at, submit_s (after the first job), wait_s
        (submission to first start, null: unknown), run_s, gpu_frac, gpu_s, censored (still
        running at the end of the log: run_s is a lower bound).
    left_out
        Excluded jobs: reason, jobs (their number) and gpu_h (their recorded GPU hours).
    """

    workload: str
    jobs: pl.DataFrame
    left_out: pl.DataFrame

    @property
    def span_s(self) -> float:
        """Seconds from the first submission to the last submission."""
        return float(self.jobs["submit_s"].max() or 0.0)  # type: ignore[arg-type]

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that the jobs request."""
        return float(self.jobs["gpu_s"].sum())

    @property
    def reasons(self) -> dict[str, int]:
        """Number of excluded jobs by reason."""
        return dict(self.left_out.select("reason", "jobs").iter_rows())

    def account(self) -> tuple[str, ...]:
        """Return sentences on jobs, GPU hours, censored run times and excluded jobs."""
        running = int(self.jobs["censored"].sum())
        return account(self.jobs.height, self.gpu_s / 3600, running, self.left_out)

    def within(self, gpus: int) -> "Demand":
        """Return the demand without gangs larger than a cluster of `gpus` GPUs."""
        return self._only(pl.col("gpus") <= gpus, f"gang larger than the cluster of {gpus:,} GPUs")

    def of_gangs(self, gangs: Sequence[int]) -> "Demand":
        """Return the demand with jobs of the gang sizes only; other jobs become excluded."""
        sizes = ", ".join(map(str, gangs)) if len(gangs) <= 8 else f"1 to {max(gangs)}"
        return self._only(pl.col("gpus").is_in(list(gangs)), f"gang size not among {sizes}")

    def _only(self, fits: pl.Expr, reason: str) -> "Demand":
        """Return the demand with some jobs only; submit_s counts from the first selected job."""
        others, jobs = self.jobs.filter(~fits), self.jobs.filter(fits)
        if not others.height:
            return self
        row = pl.DataFrame(
            {
                "reason": [reason],
                "jobs": [others.height],
                "gpu_h": [others["gpu_s"].sum() / 3600],
            },
            schema=self.left_out.schema,
        )
        return replace(
            self,
            jobs=jobs.with_columns(pl.col("submit_s") - pl.col("submit_s").min()),
            left_out=pl.concat([self.left_out, row]),
        )


def largest_job_note(gpu_s: ArrayLike) -> tuple[str, ...]:
    """Return a sentence if one job exceeds a tenth of the GPU time of all jobs; else none."""
    demanded = np.asarray(gpu_s, float)
    total = demanded.sum()
    largest = float(demanded.max() / total) if total > 0 else 0.0
    if largest <= LARGE_JOB_FRAC:
        return ()
    return (
        f"One job has {share(largest)} of the GPU time of all {demanded.size:,} jobs: the offered "
        "load says little about queues. Give more jobs or days.",
    )


def account(jobs: int, gpu_h: float, running: int, left_out: pl.DataFrame) -> tuple[str, ...]:
    """Return sentences on the jobs that a workload has and excludes; none if it has all jobs.

    Pages, models, exports and what-ifs show these sentences.

    Parameters
    ----------
    jobs, gpu_h
        Jobs in the workload, and their GPU hours.
    running
        Number of the workload's jobs that were still running at the end of the log.
    left_out
        Excluded jobs, as in :class:`Demand`.
    """
    out = int(left_out["jobs"].sum())
    if not out and not running:
        return ()
    all_h = gpu_h + float(left_out["gpu_h"].sum())
    sentences = [
        f"The workload is {jobs:,} of {jobs + out:,} jobs, {number(gpu_h)} of {number(all_h)} GPU "
        "hours."
    ]
    sentences += [
        f"{count(n, 'job')} excluded ({number(hours)} GPU hours): {reason}."
        for reason, n, hours in left_out.iter_rows()
    ]
    if running:
        sentences.append(
            f"{count(running, 'job')} still ran as the log ended: the time that had passed counts "
            "as the whole."
        )
    return tuple(sentences)


def excluded_jobs(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return jobs and GPU hours by reason for exclusion, of a frame of ``workload_jobs``."""
    return (
        jobs.filter(pl.col("left_out").is_not_null())
        .group_by(reason="left_out")
        .agg(jobs=pl.len().cast(pl.Int64), gpu_h=pl.col("gpu_h").sum())
        .sort("jobs", "reason", descending=[True, False])
    )


def demand_of(workload: JobTables, run_policy: RunPolicy | str = RunPolicy.SUM) -> Demand:
    """Reduce a workload to the jobs that can be run, by the relation ``workload_jobs``.

    Parameters
    ----------
    run_policy
        Definition of a job's run time: ``sum`` of the attempts, ``span`` from first start to last
        end, or the ``last`` attempt.

    Raises
    ------
    UnknownNameError
        The run policy is not known.
    """
    recorded = workload.answer("workload_jobs", run_policy=run_policy)
    requested = workload.jobs.pl().select("job_id", "job_type", "cpus", "mem_gb", "time_limit_s")
    since_first = pl.col("submitted_at") - pl.col("submitted_at").min()
    jobs = (
        recorded.filter(pl.col("left_out").is_null())
        .join(requested, on="job_id")
        .with_columns(
            pl.col("vc", "user").fill_null(UNKNOWN),
            submit_s=since_first.dt.total_microseconds() / 1e6,
            wait_s=(pl.col("first_started_at") - pl.col("submitted_at")).dt.total_microseconds()
            / 1e6,
            gpu_s=pl.col("run_s") * pl.col("gpus") * pl.col("gpu_frac"),
        )
        .drop("left_out", "gpu_h", "service_s")
        .sort("submit_s", "job_id")
    )
    return Demand(workload.name, jobs, excluded_jobs(recorded))


def as_single_runs(specs: Iterable[JobSpec], demand: Demand) -> list[JobSpec]:
    """Return jobs with one run each: the demand's run time, the last attempt's end reason."""
    run_s = dict(demand.jobs.select("job_id", "run_s").iter_rows())
    return [
        replace(spec, attempts=(AttemptSpec(run_s[spec.job_id], spec.attempts[-1].end_reason),))
        for spec in specs
    ]


def require_jobs(demand: Demand) -> Demand:
    """Return a demand that has jobs.

    Raises
    ------
    WorkloadError
        The demand has no jobs; the message lists why jobs are excluded.
    """
    if demand.jobs.height:
        return demand
    why = "; ".join(f"{n:,}: {reason}" for reason, n, _ in demand.left_out.iter_rows())
    total = int(demand.left_out["jobs"].sum())
    raise WorkloadError(
        f"none of the {total:,} jobs of {demand.workload} can be run ({why})."
        if total
        else f"{demand.workload} has no jobs: there is nothing to run."
    )
