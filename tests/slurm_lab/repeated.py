"""Compare two recordings of one scenario: how well a real Slurm agrees with itself.

Run ``python -m tests.slurm_lab.repeated FOLDER FOLDER``.
"""

import json
import re
import sys
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr


class Agreement(NamedTuple):
    """Waits of the jobs of two schedules: jobs, mean waits in seconds, rank correlation."""

    jobs: int
    mean_s: float
    other_mean_s: float
    spearman: float


def waits(recording: Path) -> dict[str, float]:
    """Return seconds from eligible to first started, by the scenario's step and array task."""
    steps = _steps(recording / "truth" / "steps.jsonl")
    with (recording / "collected" / "sacct.txt").open() as lines:
        header, *records = (line.rstrip("\n").split("^|^") for line in lines)
    rows = [dict(zip(header, fields, strict=True)) for fields in records]
    started = [r for r in rows if r["Start"][:1].isdecimal() and "gres/gpu" in r["ReqTRES"]]
    started.sort(key=lambda r: r["Start"], reverse=True)  # the first start counts
    return {
        f"{steps[number]}{part}": _seconds(row["Start"]) - _seconds(row["Eligible"])
        for row in started
        for number, part in re.findall(r"^(\d+)(.*)$", row["JobID"])
    }


def agreement(waits: dict[str, float], others: dict[str, float]) -> Agreement:
    """Compare the waits of the jobs that two schedules started."""
    jobs = sorted(waits.keys() & others.keys())
    first, second = (np.array([each[job] for job in jobs]) for each in (waits, others))
    return Agreement(len(jobs), first.mean(), second.mean(), spearmanr(first, second)[0])


def _steps(file: Path) -> dict[str, int]:
    """Return the place of each submission in the scenario, by the number of the job."""
    rows = enumerate(map(json.loads, file.read_text().splitlines()))
    return {row["printed"].split(";")[0]: place for place, row in rows if row["name"]}


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    sys.stdout.write(str(agreement(*(waits(Path(folder)) for folder in sys.argv[1:]))))
