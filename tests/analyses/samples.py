"""Samples for the tests of analyses: a random cluster with gaps, and one with known steps."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

from tests.support.clusters import random_tables, table_of

MINUTE = timedelta(minutes=1)
Tables = dict[str, pl.DataFrame]


def floor(moment: datetime) -> datetime:
    """The minute of a moment."""
    return moment.replace(second=0, microsecond=0)


def sampled_cluster(seed: int, *, tidy: bool = False) -> Tables:
    """The random cluster of five machines, its times off the minute, with samples full of holes.

    Minutes are missing, GPUs are offline or past the end of the list, one machine is never
    sampled, and one is sampled but holds nothing.
    """
    rng = np.random.default_rng(seed)
    tables = random_tables(seed, tidy=tidy)
    moments = [c for c in tables["attempts"].columns if c.endswith("_at")]
    tables["attempts"] = tables["attempts"].with_columns(
        (pl.col(c) + pl.lit(timedelta(seconds=int(rng.integers(0, 60))))) for c in moments
    )
    tables["attempts"] = tables["attempts"].with_columns(
        ended_at=pl.when(pl.col("ended_at") < pl.col("started_at"))
        .then("started_at")
        .otherwise("ended_at")
    )
    caps: dict[str, int] = dict(tables["machines"].iter_rows())
    tables["machines"] = pl.concat(
        [
            tables["machines"],
            pl.DataFrame({"machine_id": ["idle"], "gpus": [4]}, schema=tables["machines"].schema),
        ]
    )
    start = floor(min(tables["attempts"]["started_at"].drop_nulls()))
    gpu, host = [], []
    for machine, gpus in (caps | {"idle": 4}).items():
        if machine == "m4":
            continue
        for minute in range(3_600):
            if rng.random() < 0.2:
                continue
            util: list[float | None] = [
                None if u > 1.1 else 0.0 if u > 0.8 else 100 * u / 0.8
                for u in 1.2 * rng.random(gpus)
            ]
            at = start + minute * MINUTE
            gpu.append((at, machine, util[: rng.integers(max(gpus - 2, 0), gpus + 1)]))
            cpu = None if rng.random() < 0.1 else float(rng.random() * 100)
            mem = None if rng.random() < 0.1 else float(rng.random() * 64)
            host.append((at, machine, cpu, mem, 64.0))
    tables["gpu_samples"] = table_of("gpu_samples", gpu)
    tables["host_samples"] = pl.DataFrame(
        host, schema=["sampled_at", "machine_id", "cpu_pct", "mem_used_gb", "mem_gb"], orient="row"
    )
    return tables


def resampled(tables: Tables, seconds: float) -> Tables:
    """The same samples, one a minute, as a monitor of another rate would have written them.

    A minute is repeated, or several are averaged; the mean of readings of which one is offline
    or not there is that of the others.
    """

    def at_rate(samples: pl.DataFrame) -> pl.DataFrame:
        if seconds <= 60:
            offsets = pl.Series("offset", np.arange(0, 60, seconds) * 1e6).cast(pl.Duration("us"))
            return (
                samples.join(offsets.to_frame(), how="cross")
                .with_columns(pl.col("sampled_at") + pl.col("offset"), seconds=pl.lit(seconds))
                .drop("offset")
            )
        mean = samples.with_columns(pl.col("sampled_at").dt.truncate(f"{int(seconds)}s"))
        keys = ["sampled_at", "machine_id"]
        values = [c for c in samples.columns if c not in keys]
        if "util_pct" in values:
            mean = mean.with_columns(gpu=pl.int_ranges(pl.col("util_pct").list.len())).explode(
                "util_pct", "gpu"
            )
            mean = mean.group_by(*keys, "gpu").agg(pl.col("util_pct").mean()).sort("gpu")
            mean = mean.group_by(keys, maintain_order=True).agg("util_pct")
        else:
            mean = mean.group_by(keys).agg(pl.col(values).mean())
        return mean.with_columns(seconds=pl.lit(float(seconds)))

    return {k: at_rate(v) if k.endswith("_samples") else v for k, v in tables.items()}


def by_attempt(tables: Mapping[str, pl.DataFrame]) -> dict[tuple[str, int], dict[str, Any]]:
    """Attempts whose start and end are known, with their GPUs."""
    attempts = {
        (r["job_id"], r["attempt"]): r | {"held": []}
        for r in tables["attempts"].iter_rows(named=True)
        if r["started_at"] is not None and r["ended_at"] is not None
    }
    for r in tables["placements"].iter_rows(named=True):
        if (key := (r["job_id"], r["attempt"])) in attempts:
            attempts[key]["held"].append((r["machine_id"], r["gpu"]))
    return {key: a for key, a in attempts.items() if a["held"]}


def minutes_of(attempt: Mapping[str, Any]) -> list[datetime]:
    """The minutes that the study counts as an attempt's own."""
    readings, minute = [], floor(attempt["started_at"])
    while minute < attempt["ended_at"]:
        readings.append(minute)
        minute += MINUTE
    return readings
