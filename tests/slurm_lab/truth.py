"""What was submitted, and what the jobs of the laboratory wrote about themselves."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Run:
    """An attempt as its job saw it: Unix times, and the GPUs on each server."""

    started: float
    ended: float | None = None
    gpus: dict[str, set[int]] = field(default_factory=dict)


def runs(recording: Path) -> dict[str, list[Run]]:
    """Return the runs of each job, by its JobIDRaw, in the order of time."""
    attempts: dict[tuple[str, int], Run] = {}
    for line in (recording / "truth" / "stamps.txt").read_text().splitlines():
        kind, job, restart, server, at, devices = line.split()
        attempt = (job, int(restart))
        if kind == "start":
            attempts[attempt] = Run(float(at))
        run = attempts[attempt]
        if kind in ("start", "server"):
            run.gpus[server] = {int(gpu) for gpu in devices.split(",") if gpu.isdecimal()}
        else:
            run.ended = float(at)
    by_job: dict[str, list[Run]] = defaultdict(list)
    for (job, _), run in sorted(attempts.items()):
        by_job[job].append(run)
    return dict(by_job)


def steps(recording: Path) -> list[dict[str, Any]]:
    """Return the commands of the scenario: time, user, name, command and what it printed."""
    lines = (recording / "truth" / "steps.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def submitted(recording: Path) -> dict[str, int]:
    """Return the number of jobs (tasks, components) of each submission, by its job number."""
    numbers = {}
    for step in steps(recording):
        if step["name"] and step["printed"].isdecimal():
            numbers[step["printed"]] = _jobs(step["command"])
    return numbers


def _jobs(command: list[str]) -> int:
    tasks = next((part for part in command if part.startswith("--array=")), None)
    if tasks is None:
        return 1 + command.count(":")
    first, last = tasks.removeprefix("--array=").partition("%")[0].split("-")
    return int(last) - int(first) + 1
