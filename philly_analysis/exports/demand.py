"""The demand of a workload: one row per job that a simulator can run, with one run time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.schema import (
    ATTEMPTS,
    JOBS,
    MACHINES,
    PLACEMENTS,
    VIRTUAL_CLUSTERS,
    Table,
)
from philly_analysis.study import RunPolicy
from philly_analysis.workload import Workload

_UNKNOWN = "unknown"


def complete(workload: Workload) -> Workload:
    """Return a workload whose frames have all columns of their tables, absent ones null."""
    return replace(
        workload,
        jobs=_complete(workload.jobs, JOBS),
        attempts=_complete(workload.attempts, ATTEMPTS),
        machines=_complete(workload.machines, MACHINES),
        placements=_complete(workload.placements, PLACEMENTS),
        virtual_clusters=_complete(workload.virtual_clusters, VIRTUAL_CLUSTERS),
    )


def _complete(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    schema = pl.DataFrame(table.arrow.empty_table()).schema
    absent = [
        pl.lit(None, schema[c.name]).alias(c.name)
        for c in table.columns
        if c.nullable and c.name not in frame.columns
    ]
    return frame.with_columns(absent).select(pl.col(n).cast(t) for n, t in schema.items())


@dataclass(frozen=True, slots=True)
class Demand:
    """The jobs that a simulator can run, each with one run time.

    Attributes
    ----------
    jobs
        One row per job, by submission then job_id: job_id, vc, user (never null), gpus, status,
        job_type, cpus, mem_gb, time_limit_s, submitted_at, submit_s (after the first), wait_s
        (submission to first start, null: unknown), run_s, gpu_s.
    left_out
        Jobs that are not in `jobs`, by reason.
    notes
        What had to be assumed to get here.
    """

    jobs: pl.DataFrame
    left_out: dict[str, int]
    notes: tuple[str, ...]

    @property
    def span_s(self) -> float:
        """Seconds from the first submission to the last."""
        return float(self.jobs["submit_s"].max() or 0.0)  # type: ignore[arg-type]

    @property
    def gpu_s(self) -> float:
        """GPU-seconds that the jobs ask for."""
        return float(self.jobs["gpu_s"].sum())

    def stretched(self, factor: float) -> "Demand":
        """Return it with submissions `factor` times as far apart; waits and run times stay."""
        submit_us = (pl.col("submit_s") * factor * 1e6).round().cast(pl.Int64)
        return replace(
            self,
            jobs=self.jobs.with_columns(
                submitted_at=pl.col("submitted_at").min() + pl.duration(microseconds=submit_us),
                submit_s=submit_us / 1e6,
            ),
        )


def _run_times(workload: Workload, policy: RunPolicy) -> pl.DataFrame:
    """Return job_id, first_started_at, run_s (null: not known) and censored.

    The rules are those of the relations ``attempt_runs`` and ``job_runs``: an attempt that never
    started does not count, and one without an end counts to the end of the log if no other
    attempt of its job followed.
    """
    attempts = workload.attempts
    last_at = pl.concat(
        [workload.jobs["submitted_at"], attempts["started_at"], attempts["ended_at"]]
    ).max()
    is_last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    until_at = pl.coalesce("ended_at", pl.when("running").then(pl.lit(last_at, pl.Datetime("us"))))
    runs = (
        attempts.with_columns(running=pl.col("ended_at").is_null() & is_last)
        .filter(pl.col("started_at").is_not_null())
        .with_columns(until_at=until_at, is_last=is_last)
        .with_columns(
            run_s=(pl.col("until_at") - pl.col("started_at")).dt.total_microseconds() / 1e6
        )
    )
    last_s = pl.col("run_s").filter("is_last").first()
    span = (pl.col("until_at").max() - pl.col("started_at").min()).dt.total_microseconds() / 1e6
    run_s = {
        RunPolicy.SPAN: pl.when(last_s.is_not_null()).then(span),
        RunPolicy.SUM: pl.when(pl.col("run_s").is_not_null().any()).then(pl.col("run_s").sum()),
        RunPolicy.LAST: last_s,
    }[policy]
    return runs.group_by("job_id").agg(
        pl.col("started_at").min().alias("first_started_at"),
        run_s.alias("run_s"),
        pl.col("running").any().alias("censored"),
    )


def demand(
    workload: Workload,
    run_policy: RunPolicy | str = RunPolicy.SUM,
    gangs: Sequence[int] | None = None,
) -> Demand:
    """Reduce a workload to jobs with one run time each.

    Parameters
    ----------
    workload
        With all columns (see :func:`complete`).
    run_policy
        How attempts become a run time: ``sum`` of them, ``span`` from first start to last end,
        or the ``last`` one.
    gangs
        Gang sizes that the reader takes; None: all.

    Raises
    ------
    ExportError
        There are no jobs, or none is left with a gang size and a run time.
    """
    if run_policy not in list(RunPolicy):
        raise UnknownNameError("run policy", run_policy, list(RunPolicy))
    if not workload.jobs.height:
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    jobs = workload.jobs.join(_run_times(workload, RunPolicy(run_policy)), on="job_id", how="left")
    checks = [
        ("gang size not known", pl.col("gpus").is_null()),
        ("no GPUs asked for", pl.col("gpus") == 0),
        ("no run time known", pl.col("run_s").is_null() | (pl.col("run_s") < 0)),
    ]
    if gangs is not None:
        sizes = ", ".join(map(str, gangs)) if len(gangs) <= 8 else f"1 to {max(gangs)}"
        checks.append((f"gang size not among {sizes}", ~pl.col("gpus").is_in(list(gangs))))
    left_out: dict[str, int] = {}
    gpu_s = pl.col("run_s") * pl.col("gpus")
    for reason, wrong in checks:
        unfit = wrong.fill_null(False)
        if out := int(jobs.select(unfit.sum()).item()):
            total_s = jobs.select(gpu_s.sum()).item()
            share = jobs.select(gpu_s.filter(unfit).sum()).item() / total_s if total_s else 0.0
            left_out[f"{reason} ({share:.1%} of the GPU time)" if share else reason] = out
        jobs = jobs.filter(~unfit)
    if not jobs.height:
        why = "; ".join(f"{n:,}: {reason}" for reason, n in left_out.items())
        raise ExportError(
            f"none of the {workload.jobs.height:,} jobs of {workload.name} can be exported ({why})."
        )
    n = jobs.height
    found = {
        "still ran as the log ended: their run time so far is taken as whole": jobs[
            "censored"
        ].sum(),
        f"have no vc: called {_UNKNOWN!r}": jobs["vc"].null_count(),
        f"have no user: called {_UNKNOWN!r}": jobs["user"].null_count(),
        "are flagged as not to be trusted: exported as they are": jobs["flag"].count(),
    }
    notes = [f"{count:,} of {n:,} jobs {what}" for what, count in found.items() if count]
    since_first = pl.col("submitted_at") - pl.col("submitted_at").min()
    return Demand(
        jobs=jobs.with_columns(
            pl.col("vc", "user").fill_null(_UNKNOWN),
            submit_s=since_first.dt.total_microseconds() / 1e6,
            wait_s=(pl.col("first_started_at") - pl.col("submitted_at")).dt.total_microseconds()
            / 1e6,
            gpu_s=pl.col("run_s") * pl.col("gpus"),
        ).sort("submit_s", "job_id"),
        left_out=left_out,
        notes=tuple(notes),
    )
