"""Convert a schedule to the tables of a trace."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from philly_analysis.simulator.engine.schedule import Schedule, spec_rows
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.study import FAILED, STATUS_AFTER
from philly_analysis.workload import JobSpec, Machine, Workload, machine_rows


def with_interval(frame: pl.DataFrame, origin_at: datetime) -> pl.DataFrame:
    """Return a frame with start_s and end_s converted to started_at and ended_at."""
    since_us = (pl.col("start_s", "end_s") * 1e6).round().cast(pl.Int64)
    times = pl.lit(origin_at, pl.Datetime("us")) + pl.duration(microseconds=since_us)
    renamed = {"start_s": "started_at", "end_s": "ended_at"}
    return frame.with_columns(times.name.keep()).rename(renamed)


def tables(
    workload: Workload,
    specs: Sequence[JobSpec],
    servers: Sequence[Machine],
    schedule: Schedule,
    origin_at: datetime,
    quotas: Mapping[str, int],
    policy: Policy,
) -> dict[str, pl.DataFrame]:
    """Return the tables of the trace."""
    records = _records(specs)
    attempts = _attempts(schedule, records)
    tables = {
        "jobs": _jobs(workload, records, attempts),
        "attempts": with_interval(attempts, origin_at),
        "placements": schedule.placements,
        "machines": _machines(workload, servers),
    }
    counted = [pl.when(pl.col(c) > 0).then(c).alias(c) for c in ("cpus", "mem_gb")]
    speeds = schedule.speeds.clear() if schedule.as_recorded else schedule.speeds
    for name, rows in (
        ("speeds", speeds.drop("gpus").with_columns(counted)),
        ("holds", schedule.holds),
    ):
        lasting = with_interval(rows, origin_at).filter(pl.col("started_at") < pl.col("ended_at"))
        if lasting.height:
            tables[name] = lasting
    if schedule.waits.height:
        tables["known_causes"] = schedule.waits.select(
            *("job_id", "attempt"),
            pl.lit(0.0).alias("start_up_s"),
            pl.col("fair_share_s", "fragmentation_s", "other_s").clip(0),
        )
    if policy.quotas:
        tables["virtual_clusters"] = pl.DataFrame(
            {"vc": list(quotas), "gpus": list(quotas.values())},
            schema={"vc": pl.String, "gpus": pl.Int32},
        )
    elif len(workload.virtual_clusters):
        tables["virtual_clusters"] = workload.virtual_clusters.pl()
    return tables


def _records(specs: Sequence[JobSpec]) -> pl.DataFrame:
    """Return what the workload records of each job, with the end of the last recorded attempt."""
    return spec_rows(
        specs,
        job_id=pl.String,
        status=pl.String,
        job_type=pl.String,
        cpus=pl.Float64,
        mem_gb=pl.Float64,
        censored=pl.Boolean,
    ).with_columns(
        recorded_end=pl.Series([spec.attempts[-1].end_reason for spec in specs], dtype=pl.String)
    )


def _attempts(schedule: Schedule, records: pl.DataFrame) -> pl.DataFrame:
    """Return the attempts; a job last seen running has a known end only at its time limit."""
    is_last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    is_unknown = pl.col("censored") & is_last & (pl.col("end_reason") != "time_limit")
    return (
        schedule.attempts.join(
            records.select("job_id", "censored"), on="job_id", maintain_order="left"
        )
        .with_columns(end_reason=pl.when(~is_unknown).then("end_reason"))
        .drop("censored")
    )


def _jobs(workload: Workload, records: pl.DataFrame, attempts: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs; a time limit that the log does not record decides the status."""
    status = pl.col("end_reason").replace_strict(STATUS_AFTER, default=FAILED)
    simulated = pl.when(pl.col("end_reason").is_not_null()).then(status)
    was_cut = (pl.col("end_reason") == "time_limit") & pl.col("recorded_end").ne_missing(
        "time_limit"
    )
    last_ends = attempts.group_by("job_id").agg(pl.col("end_reason").last())
    jobs: pl.DataFrame = workload.jobs.pl()
    return (
        jobs.drop("status", "job_type", "cpus", "mem_gb", strict=False)
        .join(records, on="job_id", maintain_order="left")
        .join(last_ends, on="job_id", maintain_order="left")
        .with_columns(
            status=pl.when(was_cut).then(simulated).otherwise(pl.coalesce("status", simulated)),
            flag=pl.lit(None, pl.String),
        )
        .drop("end_reason", "recorded_end", "censored")
    )


def _machines(workload: Workload, servers: Sequence[Machine]) -> pl.DataFrame:
    columns = [c for c in ("gpus_listed", "gpu_mem_gb") if c in workload.machines.columns]
    listed = workload.machines.pl().select("machine_id", *columns)
    return machine_rows(servers).join(listed, on="machine_id", how="left")
