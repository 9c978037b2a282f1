"""The demand of a workload: one row per job that can be run, and the account of all the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.errors import WorkloadError
from philly_analysis.results import count
from philly_analysis.study import RunPolicy
from philly_analysis.workload.job import AttemptSpec, JobSpec
from philly_analysis.workload.workload import Workload

UNKNOWN = "unknown"
"""What a virtual cluster or user is called that nobody named."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The jobs that can be run, each with one run time, and the account of the others.

    Attributes
    ----------
    jobs
        One row per job, by submission then job_id: job_id, vc, user (never null), gpus, status,
        job_type, cpus, mem_gb, time_limit_s, submitted_at, submit_s (after the first), wait_s
        (submission to first start, null: unknown), run_s, gpu_frac, gpu_s, censored (still ran
        as the log ended: run_s is a lower bound).
    left_out
        Columns reason, jobs and gpu_h (GPU hours known of them): the workload's other jobs.
    """

    workload: str
    jobs: pl.DataFrame
    left_out: pl.DataFrame

    @property
    def span_s(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.jobs["submit_s"].max() or 0.0)  # type: ignore[arg-type]

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that the jobs ask for."""
        return float(self.jobs["gpu_s"].sum())

    @property
    def largest_gang(self) -> int:
        """GPUs of the largest job."""
        return int(self.jobs["gpus"].max() or 1)  # type: ignore[arg-type]

    @property
    def reasons(self) -> dict[str, int]:
        """Jobs that are left out, by reason."""
        return dict(self.left_out.select("reason", "jobs").iter_rows())

    def account(self) -> tuple[str, ...]:
        """Say how many jobs and GPU hours are in it, which run times are bounds, what is not."""
        running = int(self.jobs["censored"].sum())
        return account(self.jobs.height, self.gpu_s / 3600, running, self.left_out)

    def stretched(self, factor: float) -> "Demand":
        """Return it with submissions `factor` times as far apart, to the second, all else as is."""
        submit_s = (pl.col("submit_s") * factor).round()
        return replace(
            self,
            jobs=self.jobs.with_columns(
                submitted_at=pl.col("submitted_at").min()
                + pl.duration(seconds=submit_s.cast(pl.Int64)),
                submit_s=submit_s,
            ).sort("submit_s", "job_id"),
        )

    def of(self, jobs: pl.DataFrame) -> "Demand":
        """Return it with these jobs instead; what is left out stays."""
        return replace(self, jobs=jobs)

    def within(self, gpus: int) -> "Demand":
        """Return it without the gangs that a cluster of so many GPUs has no room for."""
        return self._only(pl.col("gpus") <= gpus, f"gang larger than the cluster of {gpus:,} GPUs")

    def of_gangs(self, gangs: Sequence[int]) -> "Demand":
        """Return it with jobs of these gang sizes only; the others join those left out."""
        sizes = ", ".join(map(str, gangs)) if len(gangs) <= 8 else f"1 to {max(gangs)}"
        return self._only(pl.col("gpus").is_in(list(gangs)), f"gang size not among {sizes}")

    def _only(self, fits: pl.Expr, reason: str) -> "Demand":
        """Return it with some jobs only, its clock from the first of them."""
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


def account(jobs: int, gpu_h: float, running: int, left_out: pl.DataFrame) -> tuple[str, ...]:
    """Say what a workload takes from a trace and what not; nothing where it takes all as it is.

    Whatever takes jobs from a trace says these sentences: page, model, export and what-if.

    Parameters
    ----------
    jobs, gpu_h
        Jobs in the workload, and their GPU hours.
    running
        How many of them still ran as the log ended.
    left_out
        As in :class:`Demand`.
    """
    out = int(left_out["jobs"].sum())
    if not out and not running:
        return ()
    all_h = gpu_h + float(left_out["gpu_h"].sum())
    said = [
        f"The workload is {jobs:,} of {jobs + out:,} jobs, {gpu_h:,.0f} of {all_h:,.0f} GPU hours."
    ]
    said += [
        f"{count(n, 'job')} left out ({hours:,.0f} GPU hours): {reason}."
        for reason, n, hours in left_out.iter_rows()
    ]
    if running:
        said.append(
            f"{count(running, 'job')} still ran as the log ended: the time that had passed counts "
            "as the whole."
        )
    return tuple(said)


def not_taken(told: pl.DataFrame) -> pl.DataFrame:
    """Return jobs and GPU hours by reason for being left out, of a frame of ``workload_jobs``."""
    return (
        told.filter(pl.col("left_out").is_not_null())
        .group_by(reason="left_out")
        .agg(jobs=pl.len().cast(pl.Int64), gpu_h=pl.col("gpu_h").sum())
        .sort("jobs", "reason", descending=[True, False])
    )


def demand_of(workload: Workload, run_policy: RunPolicy | str = RunPolicy.SUM) -> Demand:
    """Reduce a workload to the jobs that can be run, by the relation ``workload_jobs``.

    Parameters
    ----------
    run_policy
        How attempts become a run time: ``sum`` of them, ``span`` from first start to last end,
        or the ``last`` one.

    Raises
    ------
    UnknownNameError
        There is no such run policy.
    """
    told = workload.answer("workload_jobs", run_policy=run_policy)
    asked = workload.jobs.select("job_id", "job_type", "cpus", "mem_gb", "time_limit_s")
    since_first = pl.col("submitted_at") - pl.col("submitted_at").min()
    jobs = (
        told.filter(pl.col("left_out").is_null())
        .join(asked, on="job_id")
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
    return Demand(workload.name, jobs, not_taken(told))


def in_one_run(specs: Iterable[JobSpec], needs: Demand) -> list[JobSpec]:
    """Return jobs as their demand has them: each as one run, which ends as its last attempt did."""
    run_s = dict(needs.jobs.select("job_id", "run_s").iter_rows())
    return [
        replace(spec, attempts=(AttemptSpec(run_s[spec.job_id], spec.attempts[-1].end_reason),))
        for spec in specs
    ]


def some(needs: Demand) -> Demand:
    """Return a demand that has jobs.

    Raises
    ------
    WorkloadError
        It has none; the message gives the account.
    """
    if needs.jobs.height:
        return needs
    why = "; ".join(f"{n:,}: {reason}" for reason, n, _ in needs.left_out.iter_rows())
    total = int(needs.left_out["jobs"].sum())
    raise WorkloadError(
        f"none of the {total:,} jobs of {needs.workload} can be run ({why})."
        if total
        else f"{needs.workload} has no jobs: there is nothing to run."
    )
