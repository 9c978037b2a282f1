"""Compare recordings of one scenario: how well a real Slurm agrees with itself.

Run ``python -m tests.slurm_lab.repeated`` to write the table of the docs.
"""

import json
import re
import tempfile
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from tests.slurm_lab.recording import LONG, SHIPPED, unpack
from tests.slurm_lab.table import TABLE, write

REPEATED = Path(__file__).with_name("repeated.tar.xz")
"""Accounting and commands of further recordings, in a folder each."""

PAIRS = (
    ("long", LONG, "long", "as in the recording"),
    ("long", LONG, "long-shifted", "shifted by up to half a second"),
    ("short", SHIPPED, "short", "as in the recording"),
    ("short", SHIPPED, "short-shifted", "shifted by up to half a second"),
    ("short", SHIPPED, "short-shifted-again", "shifted by up to half a second"),
)
"""Scenario, recording, folder of the other recording, and when its commands ran."""

HEADER = (
    *("scenario", "commands of the other recording", "jobs", "mean wait, s", "other mean wait, s"),
    "rank correlation",
)


class Agreement(NamedTuple):
    """Waits of the jobs of two recordings: jobs, mean waits in seconds, rank correlation."""

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


def agreement(first: dict[str, float], other: dict[str, float]) -> Agreement:
    """Compare the waits of the jobs that started in two recordings."""
    jobs = sorted(first.keys() & other.keys())
    pairs = np.array([(first[job], other[job]) for job in jobs])
    return Agreement(len(jobs), *pairs.mean(axis=0).tolist(), spearmanr(*pairs.T)[0])


def compared() -> list[tuple[str, ...]]:
    """Return the rows of the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        unpack(REPEATED, Path(folder))
        for scenario, archive, other, commands in PAIRS:
            recording = Path(folder, archive.name)
            if not recording.exists():
                unpack(archive, recording)
            found = agreement(waits(recording), waits(Path(folder, other)))
            means = f"{found.mean_s:.1f}", f"{found.other_mean_s:.1f}"
            rows.append((scenario, commands, f"{found.jobs}", *means, f"{found.spearman:.2f}"))
    return rows


def _steps(file: Path) -> dict[str, int]:
    """Return the place of each submission in the scenario, by the number of the job."""
    rows = enumerate(map(json.loads, file.read_text().splitlines()))
    return {row["printed"].split(";")[0]: place for place, row in rows if row["name"]}


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    write(TABLE.with_name("slurm-lab-repeated.csv"), [HEADER, *compared()])
