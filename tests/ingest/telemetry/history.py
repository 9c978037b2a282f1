"""One history of GPUs, written in every format, and its samples computed in plain Python."""

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MIB = 1048576 / 1e9
ZONE = ZoneInfo("Europe/Berlin")

GPUS = {"a01": 4, "a02": 2}
BEGINS = datetime(2026, 1, 31, 23, 45)
MOMENTS = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """What one GPU told at one moment; util is None where it did not answer."""

    at: datetime
    machine: str
    gpu: int
    util: int | None
    mem_mib: int
    power: float


def history(seconds: float, seed: int = 1) -> list[Reading]:
    """Readings at a rate, over midnight; some moments are missing, some GPUs do not answer."""
    rng = random.Random(seed)
    samples = []
    for machine, gpus in GPUS.items():
        moment = BEGINS
        while moment < BEGINS + MOMENTS * timedelta(seconds=seconds):
            if rng.random() > 0.08 or moment == BEGINS:
                for gpu in range(gpus):
                    # idle a quarter of the time; the first GPU of each machine always answers
                    util = None if gpu and rng.random() < 0.05 else max(0, rng.randint(-33, 100))
                    power = round(rng.uniform(50, 400), 2)
                    samples.append(
                        Reading(moment, machine, gpu, util, rng.randint(0, 80_000), power)
                    )
            moment += timedelta(seconds=seconds)
    return samples


def expected(
    readings: list[Reading], seconds: float
) -> dict[tuple[datetime, str], tuple[list[float | None], float]]:
    """Samples by time and machine: utilisation, seconds."""
    rows: dict[tuple[datetime, str], list[float | None]] = {}
    for r in readings:
        rows.setdefault((r.at, r.machine), [None] * GPUS[r.machine])[r.gpu] = r.util
    moments = defaultdict(list)
    for moment, machine in rows:
        moments[machine].append(moment)
    samples = {}
    for machine, times in moments.items():
        for moment, after in zip(times, [*times[1:], None], strict=True):
            lasts = (after - moment).total_seconds() if after else seconds
            lasts_s = lasts if lasts <= 1.5 * seconds else seconds
            samples[moment, machine] = (rows[moment, machine], lasts_s)
    return samples


def epoch(moment: datetime) -> float:
    """Seconds since 1970 of a moment in UTC."""
    return moment.replace(tzinfo=UTC).timestamp()


def local(moment: datetime) -> datetime:
    """The moment on the clock in Berlin."""
    return moment.replace(tzinfo=UTC).astimezone(ZONE).replace(tzinfo=None)


def range_json(readings: list[Reading]) -> dict[str, bytes]:
    """Answers of /api/v1/query_range, one file per metric, utilisation gzipped."""
    metrics: dict[str, Callable[[Reading], object]] = {
        "DCGM_FI_DEV_GPU_UTIL": lambda r: r.util,
        "DCGM_FI_DEV_FB_USED": lambda r: r.mem_mib,
        "DCGM_FI_DEV_POWER_USAGE": lambda r: r.power,
    }
    files = {}
    for name, value in metrics.items():
        series: dict[tuple[str, int], list[object]] = defaultdict(list)
        for r in readings:
            if value(r) is not None:
                series[r.machine, r.gpu].append([epoch(r.at), str(value(r))])
        result = [
            {"metric": {"__name__": name} | _labels(machine, gpu), "values": values}
            for (machine, gpu), values in series.items()
        ]
        answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        text = json.dumps(answer).encode()
        packed = name.endswith("UTIL")
        files[f"{name}.json" + ".gz" * packed] = gzip.compress(text) if packed else text
    return files


def _labels(machine: str, gpu: int) -> dict[str, str]:
    return {
        "gpu": str(gpu),
        "UUID": f"GPU-{machine}-{gpu}",
        "device": f"nvidia{gpu}",
        "modelName": "NVIDIA A100-SXM4-40GB",
        "Hostname": machine,
        "instance": f"{machine}.cluster.example:9400",
        "job": "dcgm",
    }


def scrapes(readings: list[Reading]) -> dict[str, str]:
    """Lines of /metrics, each with its time; DCGM's blank number where a GPU does not answer."""
    lines = ["# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).", "# TYPE x gauge"]
    for r in readings:
        labels = ",".join(f'{k}="{v}"' for k, v in _labels(r.machine, r.gpu).items())
        ms = round(epoch(r.at) * 1_000)
        util = 9223372036854775794 if r.util is None else r.util
        values = {"GPU_UTIL": util, "FB_USED": r.mem_mib, "POWER_USAGE": r.power, "SM_CLOCK": 139}
        lines += [f"DCGM_FI_DEV_{name}{{{labels}}} {v} {ms}" for name, v in values.items()]
    return {"metrics.prom": "\n".join(lines) + "\n"}


def nvidia_smi(
    readings: list[Reading], *, header: bool = True, units: bool = True, index: str = "index"
) -> dict[str, str]:
    """A file per machine, in local time, the GPUs of a moment some milliseconds apart."""
    names = dict.fromkeys(("timestamp", index, "uuid"), "")
    names |= dict.fromkeys(("utilization.gpu", "utilization.memory"), "%")
    names |= {"memory.used": "MiB", "power.draw": "W"}
    lines = defaultdict(list)
    for r in readings:
        shown = local(r.at) + timedelta(milliseconds=3 * r.gpu)
        told = {
            "utilization.gpu": "[N/A]" if r.util is None else r.util,
            "utilization.memory": "[Not Supported]",
            "memory.used": r.mem_mib,
            "power.draw": f"{r.power:.2f}",
        }
        values = [f"{shown:%Y/%m/%d %H:%M:%S}.{shown.microsecond // 1000:03}"]
        values.append(str(r.gpu) if index == "index" else f"00000000:{7 * r.gpu + 8:02X}:00.0")
        values.append(f"GPU-{r.machine}-{r.gpu}")
        for name, value in told.items():
            unit = f" {names[name]}" if units and not str(value).startswith("[") else ""
            values.append(f"{value}{unit}")
        lines[r.machine].append(", ".join(map(str, values)))
    first = ", ".join(f"{n} [{u}]" if u else n for n, u in names.items())
    return {
        f"{machine}_nvidia-smi.csv": "\n".join([*([first] if header else []), *text, ""])
        for machine, text in lines.items()
    }


def dmon(readings: list[Reading]) -> dict[str, str]:
    """A table per machine that goes on, the local time before each row, its header repeated."""
    lines: dict[str, list[str]] = defaultdict(list)
    for i, r in enumerate(readings):
        shown = r.at.replace(tzinfo=UTC).astimezone(ZONE).isoformat()
        if not lines[r.machine] or i % 40 == 0:
            lines[r.machine] += [
                f"{shown} #Entity   GPUTL   FBUSD   SMACT   POWER",
                f"{shown} ID                               W",
            ]
        util = "N/A" if r.util is None else r.util
        lines[r.machine].append(
            f"{shown} GPU {r.gpu}     {util:<6}  {r.mem_mib:<6}  0.500   {r.power:.3f}"
        )
    return {f"{machine}/dmon.txt": "\n".join([*text, ""]) for machine, text in lines.items()}


FORMATS: dict[str, Callable[[list[Reading]], dict[str, str] | dict[str, bytes]]] = {
    "range answers": range_json,
    "scrapes": scrapes,
    "nvidia-smi": nvidia_smi,
    "nvidia-smi, nounits": lambda r: nvidia_smi(r, units=False),
    "nvidia-smi, noheader": lambda r: nvidia_smi(r, header=False),
    "nvidia-smi, noheader, nounits": lambda r: nvidia_smi(r, header=False, units=False),
    "nvidia-smi without index": lambda r: nvidia_smi(r, index="pci.bus_id"),
    "dmon": dmon,
}
