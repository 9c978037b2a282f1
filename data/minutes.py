"""Per-minute utilisation of the synthetic cluster, and the three files that record it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from gangs import Job, Server
from published import (
    CPU_BUSY_MEDIAN_PCT,
    CPU_BUSY_SIGMA,
    MEM_CDF_PCT,
    MEM_USED_PCT,
    SPREAD_FACTOR,
    util_pct,
)
from scipy.signal import lfilter
from scipy.special import ndtr

PACIFIC = ZoneInfo("America/Los_Angeles")
HEADERS = {
    "cluster_gpu_util": "time,machineId," + ",".join(f"gpu{g}_util" for g in range(8)),
    "cluster_cpu_util": "time,machine_id,cpu_util",
    "cluster_mem_util": "time,machine_id,mem_total,mem_free",
}


@dataclass(frozen=True, slots=True)
class Minutes:
    """What the machines measured; NaN where a GPU or machine was offline.

    Attributes
    ----------
    from_s
        First minute, in seconds after the origin.
    gpu
        Utilisation, %, shape (machines, minutes, 8); GPUs that a machine lacks stay at 0.
    cpu, mem
        CPU utilisation and memory in use, %, shape (machines, minutes).
    present
        Whether a row was recorded, shape (machines, minutes).
    """

    from_s: int
    gpu: np.ndarray
    cpu: np.ndarray
    mem: np.ndarray
    present: np.ndarray


def _wander(n: int, keep: float, rng: np.random.Generator) -> np.ndarray:
    """Return a standard normal series in which each minute keeps a share of the one before."""
    noise = rng.standard_normal(n) * np.sqrt(1 - keep**2)
    noise[0] = rng.standard_normal()
    return lfilter([1.0], [1.0, -keep], noise)


def measure(
    jobs: list[Job], machines: list[Server], span_s: tuple[int, int], rng: np.random.Generator
) -> Minutes:
    """Return what each machine measured while these jobs ran."""
    from_s, until_s = span_s
    n, k = (until_s - from_s) // 60, len(machines)
    gpu, cpu = np.zeros((k, n, 8)), np.zeros((k, n))
    for job in jobs:
        for attempt in job.attempts:
            end_s = until_s if attempt.end_s is None else min(attempt.end_s, until_s)
            first = max(0, (attempt.start_s - from_s) // 60)
            last = -((from_s - end_s) // 60)
            if last <= first:
                continue
            minute_s = from_s + 60 * np.arange(first, last)
            held_s = np.minimum(minute_s + 60, end_s) - np.maximum(minute_s, attempt.start_s)
            share = np.clip(held_s / 60, 0, 1)
            spread = len(attempt.held) / -(-job.gpus // 8)
            factor = SPREAD_FACTOR[1 if spread < 2 else 2 if spread < 4 else 4]
            mood = rng.standard_normal()
            host = CPU_BUSY_MEDIAN_PCT * rng.lognormal(0, CPU_BUSY_SIGMA)
            for i, gpus in attempt.held:
                for g in gpus:
                    z = 0.75 * mood + 0.25 * rng.standard_normal()
                    z = z + np.sqrt(1 - 0.625) * _wander(len(share), 0.6, rng)
                    gpu[i, first:last, g] += (
                        share * factor * util_pct(ndtr(z), job.status, job.gpus)
                    )
                part = len(gpus) / machines[i].gpus
                drift = 1 + 0.05 * _wander(len(share), 0.5, rng)
                cpu[i, first:last] += share * host * part * np.clip(drift, 0.5, 1.5)
    cpu += 0.3 + np.abs(rng.standard_normal((k, n))) * 0.4
    slow = np.array([np.repeat(_wander(-(-n // 10), 0.995, rng), 10)[:n] for _ in machines])
    mem = np.interp(100 * ndtr(slow), MEM_CDF_PCT, MEM_USED_PCT)
    present = _outages(gpu, cpu, rng)
    return Minutes(from_s, np.clip(gpu, 0, 100), np.clip(cpu, 0, 100), mem, present)


def _outages(gpu: np.ndarray, cpu: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Switch GPUs and machines off for a while (NaN), and lose rows; return which rows exist."""
    k, n = cpu.shape
    for _ in range(3):  # one GPU off the bus
        at = rng.integers(n - 600)
        gpu[rng.integers(k), at : at + 600, rng.integers(8)] = np.nan
    for _ in range(2):  # a machine down
        i, at = rng.integers(k), rng.integers(n - 240)
        gpu[i, at : at + 240] = np.nan
        cpu[i, at : at + 240] = np.nan
    present = rng.random((k, n)) > 0.002
    # the archive has no data on one afternoon (2017-10-25 14:01 to 23:59), for any machine
    at = round(n * 0.22)
    present[:, at : at + 5 * 60] = False
    return present


def rows(
    minutes: Minutes, machines: list[Server], origin: datetime, rng: np.random.Generator
) -> dict[str, list[str]]:
    """Return the lines of the three files, header first."""
    lines = {name: [header] for name, header in HEADERS.items()}
    doubled = rng.random(minutes.cpu.shape) < 0.003
    precise = rng.random(minutes.cpu.shape) < 0.01
    # nobody uses the silent machines: most report idle GPUs, the last one never a value, as 13
    # machines of the archive
    silent = len(machines) - 1
    for m in range(minutes.cpu.shape[1]):
        at = origin + timedelta(seconds=minutes.from_s + 60 * m)
        stamp = at.astimezone(PACIFIC).strftime("%Y-%m-%d %H:%M:%S %Z")
        for i in range(len(machines)):
            if not minutes.present[i, m]:
                continue
            count = machines[i].gpus or 2
            digits = 9 if precise[i, m] else 0  # the archive's values are averages, most rounded
            cells = [_number(v, digits) for v in minutes.gpu[i, m, :count]]
            # the archive records each GPU twice on some small machines, and in some rows of
            # large ones, which then carry 16 values
            if (count == 2 and i % 2) or (count == 8 and doubled[i, m]):
                cells = [c for c in cells for _ in range(2)]
            cells = ["NA"] * 8 if i == silent else cells + [""] * (8 - len(cells))
            cpu = np.nan if i == silent else minutes.cpu[i, m]
            total_kb = 264_136_376.0 if count == 2 else 528_272_752.0
            free_kb = total_kb * (1 - minutes.mem[i, m] / 100) // 65_536 * 65_536
            memory = "NA,NA" if np.isnan(cpu) else f"{total_kb},{free_kb}"
            key = f"{stamp},{machines[i].machine_id}"
            lines["cluster_gpu_util"].append(f"{key},{','.join(cells)},")
            lines["cluster_cpu_util"].append(f"{key},{_number(cpu, 9 if digits else 1)}")
            lines["cluster_mem_util"].append(f"{key},{memory}")
    large = next(s.machine_id for s in machines if s.gpus == 8)
    return {name: _spoil(name, of_file, large) for name, of_file in lines.items()}


def _number(value: float, digits: int) -> str:
    return "NA" if np.isnan(value) else f"{value:.{digits}f}"


def _spoil(name: str, lines: list[str], machine: str) -> list[str]:
    """Repeat some rows, and add a handful about one machine that no table can take."""
    time = lines[1].split(",")[0]
    wrong = {
        "cluster_gpu_util": (
            f"{time},{machine},12,",
            f"{time},{machine},12,250,0,0,0,0,0,0,",
            f"{time},{machine},12,x9,0,0,0,0,0,0,",
            f"yesterday,{machine},0,0,0,0,0,0,0,0,",
        ),
        "cluster_cpu_util": (
            f"{time},{machine}",
            f"{time},{machine},31.8 30.9",
            f"{time},,12.5",
            f"{time[:-4]} GMT,{machine},12.5",
        ),
        "cluster_mem_util": (
            f"{time},{machine},0.0,0.0",
            f"{time},{machine},528272752.0,628272752.0",
            f"{time},{machine},528272752.0",
        ),
    }[name]
    spoiled = list(lines)
    for k in range(12):  # the same machine and minute twice, every other time with other values
        at = len(lines) * (k + 1) // 14
        again = lines[at] if k % 2 else ",".join([*lines[at].split(",")[:2], *_values(lines, at)])
        spoiled.insert(at + k + 1, again)
    for k, row in enumerate(wrong):
        spoiled.insert(len(lines) * (k + 1) // (len(wrong) + 1), row)
    return spoiled


def _values(lines: list[str], at: int) -> list[str]:
    """Return the values of an earlier row with as many fields."""
    width = lines[at].count(",")
    machine = lines[at].split(",")[1]
    earlier = (r.split(",") for r in reversed(lines[1 : at - 40]) if r.count(",") == width)
    return next(r[2:] for r in earlier if r[1] == machine)
