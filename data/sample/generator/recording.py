"""Write the logs of a simulated run: jobs at the snapshot, readings, and why each wait lasted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.signal import lfilter
from scipy.special import ndtr

from data.sample.generator.demand import job_table, start_up_s
from data.sample.generator.plan import READING_S, Plan
from data.sample.generator.servers import REPAIR_S, outages_s
from philly_analysis.study import FAILED, LAST_END, curve
from philly_analysis.trace import Manifest, write_trace
from philly_analysis.workload import JobSpec, Machine, Workload

LEAST_S = 3
"""Shortest failed attempt: it ends earlier by the start-up time of its successor."""
CPU_BUSY_MEDIAN_PCT, CPU_BUSY_SIGMA = 22.0, 0.5
"""CPU utilisation of attempts, log-normal: a choice between the medians of the notebook's Figure 7,
15 % over all machines, and the paper's median, 29 % over machines with a job."""
MEM_CDF_PCT = (1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 80)
"""Points used of the notebook's curve of host memory in use."""
MEM_ENDS_PCT = 30.0, 99.7
"""Ends of that curve."""
_KB_PER_GB = 1 << 20
CAUSES = ("start_up", "fair_share", "fragmentation", "other")
"""Causes of a wait: start-up of the job's containers, before the scheduler sees its request; its
virtual cluster's quota; fragmentation, or too few free GPUs; or neither (back-off, GPUs reserved
for others, its turn)."""


@dataclass(frozen=True, slots=True)
class Samples:
    """Readings of the machines, shape (machines, readings); NaN where a machine was offline.

    Attributes
    ----------
    gpu
        Utilisation by machine, %, shape (readings, GPUs).
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
    start_ups_s: Mapping[str, int],
    silent: Sequence[Machine],
    plan: Plan,
    out: Path,
    rng: np.random.Generator,
) -> tuple[Path, pl.DataFrame]:
    """Write the trace of the cluster's logs at the end of the last day.

    Parameters
    ----------
    start_ups_s
        Seconds between the submission of each job and its request.
    silent
        Unused machines. Most report idle GPUs; the last one reports no value, as 13 machines of
        the archive.

    Returns
    -------
    tuple
        The trace; and why each attempt waited: see `_truth`.
    """
    run = Workload.from_trace(simulated)
    attempts = _attempts(run.attempts.pl(), start_ups_s, plan, rng)
    snapshot = pl.lit(plan.at(plan.end_s))
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
    samples = _measure(simulated, run, machines, plan, rng)
    at = np.datetime64(plan.at(0), "us") + np.arange(samples.cpu.shape[1]) * np.timedelta64(
        READING_S, "s"
    )
    trace = write_trace(
        out,
        {
            "jobs": logged,
            "attempts": attempts.drop("start_up_s"),
            "placements": run.placements.pl().join(attempts, on=key, how="semi"),
            "machines": pl.DataFrame(_listed(sizes)),
            "gpu_samples": _gpu_rows(samples, list(sizes), at, rng),
            "host_samples": _host_rows(samples, sizes, at, rng),
        },
        Manifest(name="sample", source="simulate", synthetic=True),
    )
    return trace, _truth(attempts, pl.read_parquet(simulated / "known_causes.parquet"))


def _attempts(
    attempts: pl.DataFrame,
    start_ups_s: Mapping[str, int],
    plan: Plan,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Cut attempts at the snapshot; failed ones end before the request of their successor.

    The column ``start_up_s`` is the time between the submission, or the end of the attempt before,
    and the request. Attempts that the scheduler or an outage stopped request again at once.
    """
    attempts = attempts.sort("job_id", "attempt")
    asks = pl.Series([round(start_up_s(rng)) for _ in range(attempts.height)])
    run_s = (attempts["ended_at"] - attempts["started_at"]).dt.total_seconds()
    last = pl.col("attempt") == pl.col("attempt").max().over("job_id")
    retried = ~last & (pl.col("end_reason") == LAST_END[FAILED])
    earlier = pl.min_horizontal(pl.lit(asks), pl.lit(run_s) - LEAST_S).clip(0)
    first = pl.col("job_id").replace_strict(start_ups_s, return_dtype=pl.Int64)
    snapshot = plan.at(plan.end_s)
    return (
        attempts.with_columns(earlier=pl.when(retried).then(earlier).otherwise(0).cast(pl.Int64))
        .with_columns(
            ended_at=pl.col("ended_at") - pl.duration(seconds="earlier"),
            start_up_s=pl.col("earlier").shift().over("job_id").fill_null(first),
        )
        .drop("earlier")
        .filter(pl.col("started_at") < snapshot)
        .with_columns(ended_at=pl.when(pl.col("ended_at") < snapshot).then("ended_at"))
    )


def _truth(attempts: pl.DataFrame, queued: pl.DataFrame) -> pl.DataFrame:
    """Return why each attempt waited: start-up, then the causes that the simulator recorded.

    Columns: job_id, attempt; after, how the attempt before ended (null: there is none); wait_s;
    cause, the one of most seconds, or ``none``; and the seconds of each of `CAUSES`.
    """
    seconds = [f"{cause}_s" for cause in CAUSES]
    largest = pl.concat_list(seconds).list.arg_max()
    cause = largest.replace_strict(dict(enumerate(CAUSES)), return_dtype=pl.String)
    return (
        attempts.select(
            "job_id",
            pl.col("attempt").cast(pl.Int32),
            pl.col("start_up_s").cast(pl.Float64),
            after=pl.col("end_reason").shift().over("job_id"),
        )
        .join(
            queued.select("job_id", pl.col("attempt").cast(pl.Int32), *seconds[1:]),
            on=["job_id", "attempt"],
            how="left",
            maintain_order="left",
        )
        .with_columns(pl.col(seconds).fill_null(0.0).round(3))
        .with_columns(wait_s=pl.sum_horizontal(seconds))
        .select(
            *("job_id", "attempt", "after", "wait_s"),
            pl.when(pl.col("wait_s") > 0).then(cause).otherwise(pl.lit("none")).alias("cause"),
            *seconds,
        )
        .sort("job_id", "attempt")
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
) -> Samples:
    """Return the readings of each machine: simulated GPUs, published CPUs and memory."""
    n, k, hour = plan.end_s // READING_S, len(machines), 3600 // READING_S
    minutes = plan.end_s // 60
    rows = pl.read_parquet(simulated / "gpu_samples" / "*.parquet").with_columns(
        minute=(pl.col("sampled_at") - plan.at(0)).dt.total_minutes()
    )
    gpu = []
    for machine in machines:
        mine = rows.filter(
            (pl.col("machine_id") == machine.machine_id)
            & pl.col("minute").is_between(0, minutes - 1)
        )
        values = np.zeros((minutes, machine.gpus or 2))
        if mine.height:
            values[mine["minute"].to_numpy()] = mine["util_pct"].list.to_array(machine.gpus)
        gpu.append(values.reshape(n, READING_S // 60, -1).mean(axis=1))
    cpu = _cpu(run, machines, plan, rng)
    slow = np.array([np.repeat(_wander(-(-n // 2), 0.995, rng), 2)[:n] for _ in machines])
    mem = np.interp(100 * ndtr(slow), *_memory_in_use())
    for _ in range(3):  # one GPU off the bus
        i, at = rng.integers(k), rng.integers(n - 10 * hour)
        gpu[i][at : at + 10 * hour, rng.integers(gpu[i].shape[1])] = np.nan
    down = [(int(rng.integers(k)), int(rng.integers(n - 4 * hour)), 4 * hour) for _ in range(2)]
    down += [(0, s // READING_S, REPAIR_S // READING_S) for s in outages_s(plan) if s >= 0]
    for place, first, readings in down:
        gpu[place][first : first + readings] = np.nan
        cpu[place, first : first + readings] = np.nan
    gpu[-1] = np.full((n, 8), np.nan)
    cpu[-1] = np.nan
    present = rng.random((k, n)) > 0.002
    # the archive has no data on one afternoon (2017-10-25 14:01 to 23:59), for any machine
    silent = round(n * 0.22)
    present[:, silent : silent + 5 * hour] = False
    return Samples(gpu, cpu, np.where(np.isnan(cpu), np.nan, mem), present)


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
    n, index = plan.end_s // READING_S, {m.machine_id: i for i, m in enumerate(machines)}
    cpu = 0.3 + np.abs(rng.standard_normal((len(machines), n))) * 0.4
    key = ["job_id", "attempt"]
    second = (pl.col("started_at", "ended_at") - plan.at(0)).dt.total_seconds()
    held = (
        run.placements.pl()
        .group_by(*key, "machine_id")
        .len()
        .join(run.attempts.pl().with_columns(second), on=key)
        .filter((pl.col("started_at") < plan.end_s) & (pl.col("ended_at") > 0))
        .sort(*key, "machine_id")
    )
    levels: dict[tuple[str, int], float] = {}
    for job_id, attempt, machine_id, gpus, start_s, end_s in held.select(
        *key, "machine_id", "len", "started_at", "ended_at"
    ).iter_rows():
        if (job_id, attempt) not in levels:
            levels[job_id, attempt] = CPU_BUSY_MEDIAN_PCT * rng.lognormal(0, CPU_BUSY_SIGMA)
        reading = np.arange(max(0, start_s // READING_S), min(n, -(-end_s // READING_S)))
        from_s, until_s = READING_S * reading, READING_S * (reading + 1)
        share = (np.minimum(until_s, end_s) - np.maximum(from_s, start_s)) / READING_S
        if not share.size:
            continue
        i = index[machine_id]
        drift = np.clip(1 + 0.05 * _wander(len(share), 0.5, rng), 0.5, 1.5)
        part = gpus / machines[i].gpus
        cpu[i, reading] += levels[job_id, attempt] * part * share.clip(0, 1) * drift
    return np.clip(cpu, 0, 100)


def _gpu_rows(
    samples: Samples, names: Sequence[str], at: np.ndarray, rng: np.random.Generator
) -> pl.DataFrame:
    """Return the table ``gpu_samples``; most values are rounded averages, as in the archive."""
    frames = []
    for name, values, present in zip(names, samples.gpu, samples.present, strict=True):
        precise = (rng.random(len(values)) < 0.01)[:, None]
        exact = np.clip(values + rng.uniform(-0.005, 0.005, values.shape) * (values > 0), 0, 100)
        recorded = np.where(precise, exact.round(9), values.round())
        util = pl.Series(recorded[present]).arr.to_list().list.eval(pl.element().fill_nan(None))
        frames.append(
            pl.DataFrame({"sampled_at": at[present], "machine_id": name, "util_pct": util})
        )
    return _by_time(frames)


def _host_rows(
    samples: Samples, sizes: dict[str, int], at: np.ndarray, rng: np.random.Generator
) -> pl.DataFrame:
    """Return the table ``host_samples``; free memory in multiples of 64 MB."""
    frames = []
    for i, (name, gpus) in enumerate(sizes.items()):
        cpu, present = samples.cpu[i], samples.present[i]
        precise = rng.random(len(cpu)) < 0.01
        total_kb = 264_136_376.0 if gpus in (0, 2) else 528_272_752.0
        free_kb = total_kb * (1 - samples.mem[i] / 100) // 65_536 * 65_536
        host = {
            "cpu_pct": np.where(precise, cpu.round(9), cpu.round(1)),
            "mem_used_gb": (total_kb - free_kb) / _KB_PER_GB,
            "mem_gb": np.where(np.isnan(free_kb), np.nan, total_kb / _KB_PER_GB),
        }
        columns = {column: values[present] for column, values in host.items()}
        frame = pl.DataFrame({"sampled_at": at[present], "machine_id": name, **columns})
        frames.append(frame.with_columns(pl.col(*host).fill_nan(None)))
    return _by_time(frames)


def _by_time(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).sort("sampled_at", maintain_order=True)
