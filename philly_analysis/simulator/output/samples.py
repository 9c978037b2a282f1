"""Write per-minute GPU utilisation samples of a simulated cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.simulator.engine.schedule import Schedule
from philly_analysis.study import PASS, STATUSES, table_3, table_5
from philly_analysis.trace import GPU_SAMPLES
from philly_analysis.workload import JobSpec, Machine

_MINUTE_S = 60.0

Array = npt.NDArray[np.float64]


class Utilisation(Protocol):
    """A distribution of the GPU utilisation of jobs."""

    def level(self, spec: JobSpec, servers: int, rng: np.random.Generator) -> float:
        """Draw the mean utilisation of one attempt on so many servers, in percent."""

    def minutes(self, level: float, minutes: int, gpus: int, rng: np.random.Generator) -> Array:
        """Draw per-minute utilisation, in percent: an array of minutes by GPUs."""


@dataclass(frozen=True, slots=True)
class PublishedMeans:
    """Beta distributions around the study's mean utilisation by size, status and spread.

    Attributes
    ----------
    means_pct
        (GPUs, status) to mean utilisation: ATC'19, Table 3; other sizes use the next smaller.
    spread
        Servers to factor for 16 GPUs and more: ATC'19, Table 5, relative to 2 servers.
    between, within
        Concentration of the Beta distributions of jobs' means, and of a job's minutes. Assumed.
    """

    means_pct: tuple[tuple[int, tuple[float, ...]], ...] = field(default_factory=table_3)
    spread: tuple[tuple[int, float], ...] = field(default_factory=table_5)
    between: float = 2.0
    within: float = 6.0

    def level(self, spec: JobSpec, servers: int, rng: np.random.Generator) -> float:
        """Draw the mean utilisation of one attempt on so many servers, in percent."""
        by_status = [m for gpus, m in self.means_pct if gpus <= spec.gpus][-1]
        column = STATUSES.index(spec.status or PASS)
        mean = by_status[column] / 100
        if spec.gpus >= 16:
            mean *= [f for n, f in self.spread if n <= max(servers, 2)][-1]
        return 100 * float(rng.beta(mean * self.between, (1 - mean) * self.between))

    def minutes(self, level: float, minutes: int, gpus: int, rng: np.random.Generator) -> Array:
        """Draw per-minute utilisation, in percent: an array of minutes by GPUs."""
        mean = min(max(level / 100, 1e-3), 1 - 1e-3)
        return 100 * rng.beta(mean * self.within, (1 - mean) * self.within, (minutes, gpus))


UTILISATION = PublishedMeans()


def write_gpu_samples(
    folder: Path,
    schedule: Schedule,
    specs: Sequence[JobSpec],
    machines: Sequence[Machine],
    origin_at: datetime,
    model: Utilisation,
    rng: np.random.Generator,
) -> int:
    """Write the table ``gpu_samples``, day by day, from the first start to the last end.

    On the requested GPUs a job has the recorded or drawn utilisation, times its speed. On more or
    fewer GPUs the same work is divided among the GPUs. Idle GPUs have 0 %. A partly allocated
    minute counts in part, and jobs that share a GPU add up, to at most 100 %.

    Returns
    -------
    int
        Rows written: one per machine and minute.
    """
    held = _allocated(schedule, machines)
    levels = _levels(schedule, held, specs, model, rng)
    held = _intervals(schedule, held)
    if not held.height:
        return 0
    midnight = origin_at.replace(hour=0, minute=0, second=0, microsecond=0)
    offset_s = (origin_at - midnight).total_seconds()
    start_s, end_s = held["start_s"].to_numpy() + offset_s, held["end_s"].to_numpy() + offset_s
    target = folder / GPU_SAMPLES.name
    target.mkdir()
    rows = 0
    first, last = start_s.min() // _MINUTE_S * _MINUTE_S, end_s.max()
    for day in range(int(first // 86400), int(last // 86400) + 1):
        lo_s, hi_s = max(day * 86400.0, first), min((day + 1) * 86400.0, last)
        minutes = int(np.ceil((hi_s - lo_s) / _MINUTE_S))
        busy = np.zeros((minutes, len(machines), max(m.gpus for m in machines)), np.float32)
        now = held.filter(pl.Series((start_s < hi_s) & (end_s > lo_s)))
        for job_id, attempt, begin_s, stop_s, effort, machine, gpus in now.select(
            "job_id", "attempt", "start_s", "end_s", "effort", "machine", "gpu"
        ).iter_rows():
            a = max((begin_s + offset_s - lo_s) / _MINUTE_S, 0.0)
            b = min((stop_s + offset_s - lo_s) / _MINUTE_S, float(minutes))
            i, j = int(a), min(int(np.ceil(b)), minutes)
            if j > i:
                part = np.ones(j - i)
                part[0] -= a - i
                part[-1] -= j - b
                level = min(levels[job_id, attempt] * effort, 100.0)
                drawn = model.minutes(level, j - i, len(gpus), rng) if level else 0.0
                busy[i:j, machine, gpus] += drawn * part[:, None]
        at = midnight + timedelta(seconds=lo_s)
        pq.write_table(
            _table(np.minimum(busy, 100.0), machines, at),
            target / f"{day:05d}.parquet",
            compression="zstd",
        )
        rows += minutes * len(machines)
    return rows


def _allocated(schedule: Schedule, machines: Sequence[Machine]) -> pl.DataFrame:
    """Return a row per attempt and machine, with the GPUs allocated there."""
    return (
        schedule.placements.join(schedule.attempts, on=["job_id", "attempt"])
        .with_columns(
            machine=pl.col("machine_id").replace_strict(
                {m.machine_id: i for i, m in enumerate(machines)}, return_dtype=pl.Int32
            )
        )
        .group_by("job_id", "attempt", "machine", maintain_order=True)
        .agg("gpu")
        .with_columns(servers=pl.len().over("job_id", "attempt"))
    )


def _intervals(schedule: Schedule, held: pl.DataFrame) -> pl.DataFrame:
    """Divide attempts into intervals of constant speed.

    Their ``effort`` is the work of each GPU, relative to the recorded run.
    """
    efforts = schedule.speeds.join(
        schedule.jobs.select("job_id", requested="gpus"), on="job_id", maintain_order="left"
    ).select(
        *("job_id", "attempt", "start_s", "end_s"),
        effort=pl.col("speed") * pl.col("requested") / pl.col("gpus"),
    )
    return held.join(efforts, on=["job_id", "attempt"], maintain_order="left_right")


def _levels(
    schedule: Schedule,
    held: pl.DataFrame,
    specs: Sequence[JobSpec],
    model: Utilisation,
    rng: np.random.Generator,
) -> dict[tuple[str, int], float]:
    """Return the utilisation of each attempt at full speed, in percent.

    If the speed model accounts for the spread over servers, the distribution does not.
    """
    by_id = {spec.job_id: spec for spec in specs}
    spread_counts = schedule.as_recorded
    attempts = held.select("job_id", "attempt", "servers").unique(maintain_order=True)
    return {
        (job_id, attempt): model.level(spec, servers if spread_counts else 1, rng)
        if (spec := by_id[job_id]).util_frac is None
        else 100 * spec.util_frac
        for job_id, attempt, servers in attempts.iter_rows()
    }


def _table(busy: npt.NDArray[np.float32], machines: Sequence[Machine], at: datetime) -> pa.Table:
    """Return one day as a table: a row per minute and machine, with a list of its GPUs."""
    minutes = len(busy)
    sizes = np.array([m.gpus for m in machines])
    present = np.arange(busy.shape[2])[None, :] < sizes[:, None]
    values = busy[:, present].round(2).astype(np.float64).ravel()
    ends = np.concatenate([[0], np.cumsum(np.tile(sizes, minutes))]).astype(np.int32)
    times = np.datetime64(at, "us") + np.arange(minutes) * np.timedelta64(60_000_000, "us")
    columns = {
        "sampled_at": pa.array(np.repeat(times, len(machines))),
        "machine_id": pa.array([m.machine_id for m in machines] * minutes),
        "util_pct": pa.ListArray.from_arrays(pa.array(ends), pa.array(values)),
    }
    return pa.table(columns).cast(pa.schema([GPU_SAMPLES.arrow.field(name) for name in columns]))
