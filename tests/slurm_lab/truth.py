"""What was submitted, and what the jobs of the laboratory wrote about themselves."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Run:
    """An attempt as its job saw it: Unix times, and the GPUs on each server."""

    started: float
    ended: float | None = None
    killed: bool = False
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
            run.ended, run.killed = float(at), kind == "killed"
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


def exit_codes(recording: Path) -> dict[str, str]:
    """Return what each job without tasks and components is told to exit with."""
    jobs = submitted(recording)
    return {
        step["printed"]: step["command"][step["command"].index("job.sh") + 2]
        for step in steps(recording)
        if step["name"] and jobs.get(step["printed"]) == 1
    }


def requeued_after_end(recording: Path) -> set[tuple[str, int]]:
    """Return job and attempt where Slurm moved the end of an attempt that had ended.

    Slurm writes the time of a requeue as the end of a finished job.
    """
    numbers = {step["name"]: step["printed"] for step in steps(recording) if step["name"]}
    attempts = runs(recording)
    moved = set()
    for step in steps(recording):
        if step["command"][:2] == ["scontrol", "requeue"]:
            job = step["command"][2].format_map(numbers)
            for number, run in enumerate(attempts.get(job, []), 1):
                if run.ended and not run.killed and run.ended < step["at"]:
                    moved.add((job, number))
    return moved


def accounting(recording: Path) -> list[dict[str, str]]:
    """Return the records of sacct."""
    header, *lines = (recording / "collected" / "sacct.txt").read_text().splitlines()
    names = header.split("^|^")
    return [dict(zip(names, line.split("^|^"), strict=True)) for line in lines]


def unix_time(text: str) -> float:
    """Return the Unix time of a time that sacct prints."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
