"""Build the jobs to run from a workload's tables: requests, attempts, recorded stays."""

from collections.abc import Iterator
from sys import intern

import polars as pl

from philly_analysis.workload.job import AttemptSpec, JobSpec, Stay
from philly_analysis.workload.protocol import JobFrames

_KEY = ["job_id", "attempt"]


def job_specs(workload: JobFrames, *, stays: bool) -> Iterator[JobSpec]:
    """Yield the jobs that are not excluded (see ``workload_jobs``), by submission.

    Parameters
    ----------
    stays
        Whether attempts include where and when they ran.
    """
    answers = workload.answers(["workload_jobs", "workload_attempts"])
    included = answers["workload_jobs"].filter(pl.col("left_out").is_null())
    runs = (
        answers["workload_attempts"]
        .sort(_KEY)
        .group_by("job_id", maintain_order=True)
        .agg("attempt", "run_s", "end_reason")
    )
    stay_of = _stays(workload) if stays else {}
    servers_of = _gpus_by_server(workload)
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    jobs = (
        workload.frames["jobs"]
        .with_columns(
            submit_s=(pl.col("submitted_at") - origin).dt.total_microseconds() / 1e6,
            eligible_s=(pl.col("eligible_at") - origin).dt.total_microseconds() / 1e6,
        )
        .join(included.select("job_id", "censored"), on="job_id")
        .join(runs, on="job_id")
        .sort("submit_s", "job_id")
    )
    for row in jobs.iter_rows(named=True):
        yield JobSpec(
            job_id=row["job_id"],
            vc=_interned(row["vc"]) or "",
            user=_interned(row["user"]) or "",
            gpus=row["gpus"],
            submit_s=row["submit_s"],
            attempts=tuple(
                AttemptSpec(run_s, _interned(end_reason), stay_of.get((row["job_id"], attempt)))
                for attempt, run_s, end_reason in zip(
                    row["attempt"], row["run_s"], row["end_reason"], strict=True
                )
            ),
            status=_interned(row["status"]),
            cpus=row["cpus"],
            mem_gb=row["mem_gb"],
            job_type=_interned(row["job_type"]),
            time_limit_s=row["time_limit_s"],
            censored=row["censored"],
            gpu_frac=row["gpu_frac"] or 1.0,
            gpus_by_server=servers_of.get(row["job_id"]) or even_parts(row["gpus"], row["servers"]),
            gpu_model=_interned(row["gpu_model"]),
            account=_interned(row["account"]) or "",
            qos=_interned(row["qos"]) or "",
            eligible_s=row["eligible_s"],
        )


def _interned(word: str | None) -> str | None:
    """Intern a string, so that equal values share memory."""
    return word and intern(word)


def even_parts(gpus: int, servers: int | None) -> tuple[int, ...]:
    """Return the GPUs on each requested server, as even as possible; empty: any servers."""
    if not servers or servers > gpus:
        return ()
    least, more = divmod(gpus, servers)
    return (least + 1,) * more + (least,) * (servers - more)


def _shares(workload: JobFrames) -> pl.DataFrame:
    """Return one row per server of an attempt: its GPUs, and their indices if all are known.

    A share of unknown size makes the placement unknown: its number of GPUs is null.
    """
    return (
        workload.frames["placements"]
        .with_columns(pl.when(pl.col("gpu").is_not_null()).then(1).otherwise("gpus").alias("gpus"))
        .sort("container", "machine_id", "gpu", nulls_last=True)
        .group_by(*_KEY, "machine_id", maintain_order=True)
        .agg(
            gpus=pl.when(pl.col("gpus").is_not_null().all()).then(pl.col("gpus").sum()),
            known=pl.when(pl.col("gpu").is_not_null().all()).then(pl.col("gpu").implode()),
        )
    )


def _gpus_by_server(workload: JobFrames) -> dict[str, tuple[int, ...]]:
    """Return the GPUs on each server, most first, of jobs that requested several servers.

    The job's last attempt with the whole gang shows them. A server without GPUs has no part.
    """
    several = workload.frames["jobs"].filter(pl.col("servers") > 1).select("job_id", gang="gpus")
    if not several.height:
        return {}
    rows = (
        _shares(workload)
        .join(several, on="job_id")
        .group_by(*_KEY, "gang")
        .agg(pl.col("gpus").sort(descending=True), complete=pl.col("gpus").is_not_null().all())
        .filter(pl.col("complete") & (pl.col("gpus").list.sum() == pl.col("gang")))
        .sort(_KEY)
    )
    return {job_id: tuple(gpus) for job_id, gpus in rows.select("job_id", "gpus").iter_rows()}


def _stays(workload: JobFrames) -> dict[tuple[str, int], Stay]:
    """Return where and when each attempt ran, if its start and end are known."""
    origin = pl.lit(workload.origin_at, pl.Datetime("us"))
    ran = workload.answer("attempt_runs").filter(pl.col("until_at") >= pl.col("started_at"))
    shares = (
        _shares(workload)
        .group_by(_KEY, maintain_order=True)
        .agg("machine_id", pl.col("gpus").alias("counts"), "known")
    )
    rows = (
        ran.join(shares, on=_KEY, how="left")
        .with_columns(
            ((pl.col(at) - origin).dt.total_microseconds() / 1e6).alias(at)
            for at in ("started_at", "until_at")
        )
        .select(*_KEY, "started_at", "until_at", "guest", "machine_id", "counts", "known")
    )
    stay_of = {}
    for job_id, attempt, start_s, end_s, guest, servers, counts, indices in rows.iter_rows():
        placed = zip(servers or (), counts or (), indices or (), strict=True)
        places = tuple((m, n, tuple(gpus or ())) for m, n, gpus in placed)
        complete = all(n is not None for _, n, _ in places)
        stay_of[job_id, attempt] = Stay(start_s, end_s, places if complete else (), guest)
    return stay_of
