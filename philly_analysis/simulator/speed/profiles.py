"""Read per-model throughput by CPUs and memory from a table of measurements."""

import csv
from bisect import bisect_right
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

COLUMNS = ("job_type", "task", "cpus", "mem_gb", "at_mem_gb")
"""Columns of a profile table, before the columns ``c<CPUs>`` of throughput."""


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
        CPUs and memory per GPU at which the throughput was measured, ascending.
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


def _read() -> dict[str, Profile]:
    text = files(__package__).joinpath("profiles.csv").read_text("utf-8")
    profiles: dict[str, Profile] = {}
    for row in csv.DictReader(text.splitlines()):
        name, old = row["job_type"], profiles.get(row["job_type"])
        by_cpus = {float(c[1:]): float(of) for c, of in row.items() if c not in COLUMNS}
        profiles[name] = Profile(
            job_type=name,
            task=row["task"],
            cpus=float(row["cpus"]),
            mem_gb=float(row["mem_gb"]),
            cpu_grid=tuple(by_cpus),
            mem_grid_gb=(*(old.mem_grid_gb if old else ()), float(row["at_mem_gb"])),
            table=(*(old.table if old else ()), tuple(by_cpus.values())),
        )
    return profiles


PROFILES = _read()
"""Ten models: profiles in Synergy's artifact (OSDI'22), msr-fiddle/synergy at 1bb2bed."""
