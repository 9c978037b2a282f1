"""Add the irregularities of the real archive's files to an exported archive."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from data.sample.generator.plan import clock
from philly_analysis.study import archive

Entry = dict[str, Any]
NO_START_FRAC = round(archive()["attempts_without_start"] / archive()["attempts"], 3)
NO_END_FRAC = 0.03
"""Share of attempts before a retry without an end. A last one without an end would run on."""
REPEATED_IP_FRAC = round(archive()["jobs_repeating_a_machine"] / archive()["jobs_sampled"], 2)
"""Share of gangs for which the log lists a machine once per GPU."""
DOUBLED_FRAC = 0.003
"""Share of rows of 8-GPU machines with each value twice."""


def job_log(text: str, rng: np.random.Generator) -> str:
    """Return the job log with its quirks."""
    entries: list[Any] = json.loads(text)
    for entry in entries:
        for position, attempt in enumerate(entry["attempts"]):
            last = position == len(entry["attempts"]) - 1
            attempt["detail"] = _containers(attempt["detail"], rng)
            if rng.random() < NO_END_FRAC and not last:
                attempt["end_time"] = "None"
    attempts = [attempt for entry in entries for attempt in entry["attempts"]]
    for k in rng.choice(len(attempts), round(NO_START_FRAC * len(attempts)), replace=False):
        attempts[k]["start_time"] = "None"
    corrupt_jobs(entries, rng)
    return "[" + ",\n".join(json.dumps(e) for e in entries) + "]\n"


def _containers(detail: list[Entry], rng: np.random.Generator) -> list[Entry]:
    """Split the GPUs of some gangs into several containers on one machine."""
    entries = []
    for held in detail:
        gpus = held["gpus"]
        step = 1 if len(gpus) > 1 and rng.random() < REPEATED_IP_FRAC else len(gpus)
        entries += [
            {"ip": held["ip"], "gpus": gpus[k : k + step]} for k in range(0, len(gpus), step)
        ]
    return entries


def corrupt_jobs(entries: list[Any], rng: np.random.Generator) -> None:
    """Corrupt a few entries in place; each must become a counted reject or a flag."""
    retried = [
        e
        for e in entries
        if len(e["attempts"]) > 1
        and "None" not in (e["attempts"][0]["end_time"], e["attempts"][1]["start_time"])
        and e["attempts"][0]["start_time"] != "None"
    ]
    overlaps, overlaps_too, backwards, holds_nothing = (
        retried[len(retried) * k // 4] for k in range(4)
    )
    for e in (overlaps, overlaps_too):  # the second starts before the first has ended
        second = datetime.fromisoformat(e["attempts"][1]["start_time"])
        e["attempts"][0]["end_time"] = clock(second + timedelta(seconds=30))
    e = backwards["attempts"][0]  # an attempt that ends before it starts
    e["end_time"] = clock(datetime.fromisoformat(e["start_time"]) - timedelta(seconds=61))
    holds_nothing["attempts"][1]["detail"] = []
    nameless, timeless, odd, twice = (len(entries) * k // 5 for k in range(1, 5))
    entries[nameless] = {k: v for k, v in entries[nameless].items() if k != "jobid"}
    entries[timeless]["submitted_time"] = "2017-13-45 99:00:00"
    entries[odd]["status"] = "Unknown"
    entries.append(dict(entries[twice]))  # a job twice
    entries.append("not a job")
    rng.shuffle(entries)


def utilisation(name: str, text: str, large: Sequence[str], rng: np.random.Generator) -> str:
    """Return a utilisation file with its quirks; `large` are 8-GPU machines."""
    lines = text.splitlines()
    if name == "cluster_gpu_util":
        lines = _doubled(lines, rng)
    return "\n".join(_corrupt(name, lines, large[0])) + "\n"


def _doubled(lines: list[str], rng: np.random.Generator) -> list[str]:
    """Record each GPU twice: always on some 2-GPU machines, and in some rows of 8-GPU machines."""
    small: dict[str, int] = {}
    doubled = [lines[0]]
    for line, chance in zip(lines[1:], rng.random(len(lines) - 1), strict=True):
        at, machine_id, *cells = line.split(",")
        values = [c for c in cells if c]
        twice = chance < DOUBLED_FRAC and len(values) == 8 and "NA" not in values
        if len(values) == 2:
            twice = small.setdefault(machine_id, len(small)) % 2 == 1
        if twice:
            values = [v for v in values for _ in range(2)]
            cells = [*values, *[""] * (8 - len(values)), ""]
        doubled.append(",".join((at, machine_id, *cells)))
    return doubled


def _corrupt(name: str, lines: list[str], machine: str) -> list[str]:
    """Repeat some rows, and add a few invalid rows of one machine."""
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
    corrupted = list(lines)
    for k in range(12):  # a machine and minute twice, half of them with other values
        at = len(lines) * (k + 1) // 14
        again = lines[at] if k % 2 else ",".join([*lines[at].split(",")[:2], *_values(lines, at)])
        corrupted.insert(at + k + 1, again)
    for k, row in enumerate(wrong):
        corrupted.insert(len(lines) * (k + 1) // (len(wrong) + 1), row)
    return corrupted


def _values(lines: list[str], at: int) -> list[str]:
    """Return the values of an earlier row with as many fields."""
    width = lines[at].count(",")
    machine = lines[at].split(",")[1]
    earlier = (r.split(",") for r in reversed(lines[1 : at - 40]) if r.count(",") == width)
    return next(r[2:] for r in earlier if r[1] == machine)
