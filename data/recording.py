"""Write the logs of a simulated run: jobs at the snapshot, and per-minute samples of some days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import numpy as np
import polars as pl
from demand import job_table, start_up_s
from plan import DAY_S, Plan
from scipy.signal import lfilter
from scipy.special import ndtr

from philly_analysis.study.published_numbers import curve
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.writer import write_trace
from philly_analysis.workload import JobSpec, Machine, Workload

LEAST_S = 3
"""Shortest failed attempt: it ends earlier by the start-up time of its successor."""
CPU_BUSY_MEDIAN_PCT, CPU_BUSY_SIGMA = 22.0, 0.5
"""CPU utilisation of attempts, log-normal: a choice between the medians of the notebook's Figure 7,
15 % over all machines, and the paper's, 29 % over those with a job."""
MEM_CDF_PCT = (1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 80)
"""Points used of the notebook's curve of host memory in use."""
MEM_ENDS_PCT = 30.0, 99.7
"""Ends of that curve."""
_KB_PER_GB = 1 << 20


@dataclass(frozen=True, slots=True)
class Minutes:
    """Samples of the machines, shape (machines, minutes); NaN where a machine was offline.

    Attributes
    ----------
    gpu
        Utilisation by machine, %, shape (minutes, GPUs).
    cpu, mem
        CPU utilisation and memory in use, %.
    present
        Whether a row was recorded.
    """

    gpu: list[np.ndarray]
    cpu: np.ndarray
    mem: np.ndarray
    present: np.ndarray


def record(
    simulated: Path,
    jobs: Sequence[JobSpec],
    silent: Sequence[Machine],
    plan: Plan,
    out: Path,
    rng: np.random.Generator,
) -> Path:
    """Write the trace of the cluster's logs at the end of the last day.

    Parameters
    ----------
    silent
        Unused machines: most report idle GPUs, the last one no value, as 13 machines of the
        archive.
    """
    run = Workload.from_trace(simulated)
    attempts = _attempts(run.attempts, plan, rng)
    snapshot = pl.lit(plan.at(plan.days * DAY_S))
    ends = attempts.group_by("job_id").agg(last=pl.col("ended_at").fill_null(snapshot).max())
    logged = (
        job_table(jobs, plan)
        .join(ends, on="job_id", how="left", maintain_order="left")
        .filter((pl.col("submitted_at") >= plan.origin) | (pl.col("last") > plan.origin))
        .drop("last")
    )
    attempts = attempts.join(logged, on="job_id", how="semi", maintain_order="left")
    key = ["job_id", "attempt"]
    machines = [*run.servers(), *silent]
    sizes = {m.machine_id: m.gpus for m in machines}
    minutes = _measure(simulated, run, machines, plan, rng)
    at = np.datetime64(plan.at(plan.sampled_s[0]), "us") + np.arange(
        minutes.cpu.shape[1]
    ) * np.timedelta64(60, "s")
    return write_trace(
        out,
        {
            "jobs": logged,
            "attempts": attempts,
            "placements": run.placements.join(attempts, on=key, how="semi"),
            "machines": pl.DataFrame(_listed(sizes)),
            "gpu_samples": _gpu_rows(minutes, list(sizes), at, rng),
            "host_samples": _host_rows(minutes, sizes, at, rng),
        },
        Manifest(name="sample", source="simulate", synthetic=True),
    )


def _attempts(attempts: pl.DataFrame, plan: Plan, rng: np.random.Generator) -> pl.DataFrame:
    """Cut attempts at the snapshot; failed ones end at the request of their successor."""
    attempts = attempts.sort("job_id", "attempt")
    asks = pl.Series([round(start_up_s(rng)) for _ in range(attempts.height)])
    run_s = (attempts["ended_at"] - attempts["started_at"]).dt.total_seconds()
    earlier = pl.min_horizontal(pl.lit(asks), pl.lit(run_s) - LEAST_S).clip(0)
    last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    ended = pl.col("ended_at") - pl.when(last).then(0).otherwise(earlier) * timedelta(seconds=1)
    snapshot = plan.at(plan.days * DAY_S)
    return (
        attempts.with_columns(ended_at=ended)
        .filter(pl.col("started_at") < snapshot)
        .with_columns(
            ended_at=pl.when(pl.col("ended_at") < snapshot).then("ended_at"),
        )
    )


def _listed(sizes: dict[str, int]) -> list[dict[str, object]]:
    """Return the machines, with a list as inaccurate as the archive's.

    Three quarters of the 8-GPU servers are listed with 2 GPUs, half of the 2-GPU servers with 8.
    """
    rows: list[dict[str, object]] = []
    ranks = {8: 0, 4: 0, 2: 0, 0: 0}
    for machine_id, gpus in sizes.items():
        ranks[gpus] += 1
        right = gpus in (0, 4) or (gpus == 8) == (ranks[gpus] % 4 == 0)
        listed = 8 if right else 2
        if gpus == 2:
            listed = 8 if ranks[2] % 2 else 2
        rows.append(
            {
                "machine_id": machine_id,
                "gpus": gpus,
                "gpus_listed": listed,
                "gpu_mem_gb": 12.0 if listed == 2 else 24.0,
            }
        )
    return sorted(rows, key=lambda r: (r["gpus_listed"], r["machine_id"]))


def _wander(n: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """Return a standard normal first-order autoregressive series."""
    noise = rng.standard_normal(n) * np.sqrt(1 - keep**2)
    noise[0] = rng.standard_normal()
    return lfilter([1.0], [1.0, -keep], noise)


def _measure(
    simulated: Path,
    run: Workload,
    machines: Sequence[Machine],
    plan: Plan,
    rng: np.random.Generator,
) -> Minutes:
    """Return the samples of each machine: simulated GPUs, published CPUs and memory."""
    from_s, until_s = plan.sampled_s
    n, k = (until_s - from_s) // 60, len(machines)
    rows = pl.read_parquet(simulated / "gpu_samples" / "*.parquet").with_columns(
        minute=(pl.col("sampled_at") - plan.at(from_s)).dt.total_minutes()
    )
    gpu = []
    for machine in machines:
        mine = rows.filter(
            (pl.col("machine_id") == machine.machine_id) & pl.col("minute").is_between(0, n - 1)
        )
        values = np.zeros((n, machine.gpus or 2))
        if mine.height:
            values[mine["minute"].to_numpy()] = mine["util_pct"].list.to_array(machine.gpus)
        gpu.append(values)
    cpu = _cpu(run, machines, plan, rng)
    slow = np.array([np.repeat(_wander(-(-n // 10), 0.995, rng), 10)[:n] for _ in machines])
    mem = np.interp(100 * ndtr(slow), *_memory_in_use())
    for _ in range(3):  # one GPU off the bus
        i, at = rng.integers(k), rng.integers(n - 600)
        gpu[i][at : at + 600, rng.integers(gpu[i].shape[1])] = np.nan
    for _ in range(2):  # a machine down
        i, at = rng.integers(k), rng.integers(n - 240)
        gpu[i][at : at + 240] = np.nan
        cpu[i, at : at + 240] = np.nan
    gpu[-1] = np.full((n, 8), np.nan)
    cpu[-1] = np.nan
    present = rng.random((k, n)) > 0.002
    # the archive has no data on one afternoon (2017-10-25 14:01 to 23:59), for any machine
    silent = round(n * 0.22)
    present[:, silent : silent + 5 * 60] = False
    return Minutes(gpu, cpu, np.where(np.isnan(cpu), np.nan, mem), present)


def _memory_in_use() -> tuple[list[float], list[float]]:
    """Return percentiles and the share of host memory in use at each, %."""
    read = curve("host_util", "memory").set_index("cdf_pct")["value"].to_dict()
    least, most = MEM_ENDS_PCT
    used = [least, *(round(read[pct], 1) for pct in MEM_CDF_PCT), most]
    return [0.0, *map(float, MEM_CDF_PCT), 100.0], used


def _cpu(
    run: Workload, machines: Sequence[Machine], plan: Plan, rng: np.random.Generator
) -> np.ndarray:
    """Return CPU utilisation, %: each attempt has a random level on its share of a machine."""
    from_s, until_s = plan.sampled_s
    n, index = (until_s - from_s) // 60, {m.machine_id: i for i, m in enumerate(machines)}
    cpu = 0.3 + np.abs(rng.standard_normal((len(machines), n))) * 0.4
    key = ["job_id", "attempt"]
    second = (pl.col("started_at", "ended_at") - plan.at(from_s)).dt.total_seconds()
    held = (
        run.placements.group_by(*key, "machine_id")
        .len()
        .join(run.attempts.with_columns(second), on=key)
        .filter((pl.col("started_at") < 60 * n) & (pl.col("ended_at") > 0))
        .sort(*key, "machine_id")
    )
    levels: dict[tuple[str, int], float] = {}
    for job_id, attempt, machine_id, gpus, start_s, end_s in held.select(
        *key, "machine_id", "len", "started_at", "ended_at"
    ).iter_rows():
        if (job_id, attempt) not in levels:
            levels[job_id, attempt] = CPU_BUSY_MEDIAN_PCT * rng.lognormal(0, CPU_BUSY_SIGMA)
        minute_s = 60 * np.arange(max(0, start_s // 60), min(n, -(-end_s // 60)))
        share = (np.minimum(minute_s + 60, end_s) - np.maximum(minute_s, start_s)) / 60
        if not share.size:
            continue
        i = index[machine_id]
        drift = np.clip(1 + 0.05 * _wander(len(share), 0.5, rng), 0.5, 1.5)
        part = gpus / machines[i].gpus
        cpu[i, minute_s // 60] += levels[job_id, attempt] * part * share.clip(0, 1) * drift
    return np.clip(cpu, 0, 100)


def _gpu_rows(
    minutes: Minutes, names: Sequence[str], at: np.ndarray, rng: np.random.Generator
) -> pl.DataFrame:
    """Return the table ``gpu_samples``; most values are rounded averages, as in the archive."""
    frames = []
    for name, values, present in zip(names, minutes.gpu, minutes.present, strict=True):
        precise = (rng.random(len(values)) < 0.01)[:, None]
        exact = np.clip(values + rng.uniform(-0.005, 0.005, values.shape) * (values > 0), 0, 100)
        recorded = np.where(precise, exact.round(9), values.round())
        util = pl.Series(recorded[present]).arr.to_list().list.eval(pl.element().fill_nan(None))
        frames.append(
            pl.DataFrame({"sampled_at": at[present], "machine_id": name, "util_pct": util})
        )
    return _by_minute(frames)


def _host_rows(
    minutes: Minutes, sizes: dict[str, int], at: np.ndarray, rng: np.random.Generator
) -> pl.DataFrame:
    """Return the table ``host_samples``; free memory in multiples of 64 MB."""
    frames = []
    for i, (name, gpus) in enumerate(sizes.items()):
        cpu, present = minutes.cpu[i], minutes.present[i]
        precise = rng.random(len(cpu)) < 0.01
        total_kb = 264_136_376.0 if gpus in (0, 2) else 528_272_752.0
        free_kb = total_kb * (1 - minutes.mem[i] / 100) // 65_536 * 65_536
        host = {
            "cpu_pct": np.where(precise, cpu.round(9), cpu.round(1)),
            "mem_used_gb": (total_kb - free_kb) / _KB_PER_GB,
            "mem_gb": np.where(np.isnan(free_kb), np.nan, total_kb / _KB_PER_GB),
        }
        columns = {column: values[present] for column, values in host.items()}
        frame = pl.DataFrame({"sampled_at": at[present], "machine_id": name, **columns})
        frames.append(frame.with_columns(pl.col(*host).fill_nan(None)))
    return _by_minute(frames)


def _by_minute(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).sort("sampled_at", maintain_order=True)
