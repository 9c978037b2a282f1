"""Read per-model throughput by CPUs and memory from a table of measurements."""

import csv
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from philly_analysis.errors import SimulationError

COLUMNS = ("job_type", "task", "cpus", "mem_gb", "at_mem_gb")
"""Columns of a profile table, before those of throughput, which are named ``c<CPUs>``."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The throughput of one job type by CPUs and memory per GPU.

    Attributes
    ----------
    task
        Kind of model: image, language, speech, ….
    cpus, mem_gb
        Request per GPU: more does not increase the throughput.
    cpu_grid, mem_grid_gb
        CPUs and memory per GPU at which it was measured, ascending.
    table
        Throughput by memory and CPUs, 1 at a proportional share.
    """

    job_type: str
    task: str
    cpus: float
    mem_gb: float
    cpu_grid: tuple[float, ...]
    mem_grid_gb: tuple[float, ...]
    table: tuple[tuple[float, ...], ...]

    def throughput(self, cpus: float, mem_gb: float) -> float:
        """Return the throughput: linear between CPUs, and in steps of memory."""
        row = max(bisect_right(self.mem_grid_gb, mem_gb + 1e-6) - 1, 0)
        return float(np.interp(cpus, self.cpu_grid, self.table[row]))


def read_profiles(path: str | Path) -> dict[str, Profile]:
    """Read profiles from a CSV file with one row per job type and memory.

    Columns: job_type, task, cpus and mem_gb (request per GPU), at_mem_gb (memory per GPU at which
    the row was measured), and c1, c2, … (throughput at so many CPUs per GPU, relative to a
    proportional share).

    Raises
    ------
    SimulationError
        The file cannot be read, or has other columns or values.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return _read(file, str(path))
    except OSError as error:
        raise SimulationError(f"{path} cannot be read: {error.strerror}.") from None


def _read(lines: Iterable[str], where: str) -> dict[str, Profile]:
    reader = csv.DictReader(lines)
    names = tuple(reader.fieldnames or ())
    grid = tuple(n for n in names if n not in COLUMNS)
    if missing := [c for c in COLUMNS if c not in names]:
        raise SimulationError(f"{where} has no column {', '.join(missing)}. It has: {names}.")
    profiles: dict[str, Profile] = {}
    for row in reader:
        try:
            name, at_gb = row["job_type"], float(row["at_mem_gb"])
            old = profiles.get(name)
            profiles[name] = Profile(
                job_type=name,
                task=row["task"],
                cpus=float(row["cpus"]),
                mem_gb=float(row["mem_gb"]),
                cpu_grid=tuple(float(c.removeprefix("c")) for c in grid),
                mem_grid_gb=(*(old.mem_grid_gb if old else ()), at_gb),
                table=(*(old.table if old else ()), tuple(float(row[c]) for c in grid)),
            )
        except (TypeError, ValueError) as error:
            raise SimulationError(f"{where}, line {reader.line_num}: {error}.") from None
    return profiles


PROFILES = _read(
    files(__package__).joinpath("profiles.csv").read_text("utf-8").splitlines(), "profiles.csv"
)
"""Ten models: Synergy (OSDI'22), profiles of its artifact, msr-fiddle/synergy at 1bb2bed."""
