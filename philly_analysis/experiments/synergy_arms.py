"""Simulate Synergy's allocations of CPUs and memory, and the baselines of Synergy's paper."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from philly_analysis.experiments.experiment import changed_settings
from philly_analysis.experiments.optimum import best_throughput
from philly_analysis.simulator import PROFILES, HostResources, run
from philly_analysis.simulator.policies import Drf, Policy, Synergy, Tetris
from philly_analysis.workload import AttemptSpec, JobSpec, fleet

PROPORTIONAL, GREEDY, TUNE = "proportional", "greedy", "tune"

BIG_DATA: dict[str, Policy] = {
    "DRF": Drf(),
    "Tetris": Tetris(),
    "Tetris, packing only": Tetris(shortest=0.0),
}
"""The paper's other baselines, schedulers of data clusters; Tetris also prefers short jobs."""


class Setting(NamedTuple):
    """Jobs, order and servers."""

    order: str = "fifo"
    split: tuple[int, int, int] = (20, 70, 10)
    servers: int = 16
    cpus: int = 24
    gangs: str = "one"

    @property
    def fleet(self) -> str:
        """The servers, for :func:`fleet`."""
        return f"{self.servers}x8:{self.cpus}:500"


USUAL = "FIFO, 20/70/10"
"""Name of the setting from which all others differ in one assumption."""

SETTINGS: dict[str, Setting] = {USUAL: Setting(), **changed_settings("synergy", Setting())}
"""Settings by name: the usual one, and one for each changed assumption."""


def arms(setting: Setting, *, several: bool = False) -> dict[str, Policy]:
    """Return the policy of each arm: proportional and tuned shares, or all that there are."""
    allocations = (PROPORTIONAL, GREEDY, TUNE) if several else (PROPORTIONAL, TUNE)
    policies: dict[str, Policy] = {
        allocation: Synergy(allocation=allocation, order=setting.order)
        for allocation in allocations
    }
    return policies | BIG_DATA if several else policies


def with_models(specs: Sequence[JobSpec], split: tuple[int, int, int], seed: int) -> list[JobSpec]:
    """Return the jobs with models drawn by task split (percent image, language, speech)."""
    tasks = tuple(zip(("image", "language", "speech"), map(float, split), strict=True))
    bare = [replace(s, job_type=None, cpus=None, mem_gb=None) for s in specs]
    return list(HostResources(split=tasks).complete(bare, np.random.default_rng(seed)))


def throughputs(setting: Setting, seed: int, servers: int = 2) -> dict[str, float]:
    """Return the throughput of jobs that fill a few servers, by allocation, and the optimum."""
    machines = fleet(setting._replace(servers=servers).fleet)
    same = [
        JobSpec(f"j{i:03d}", "v", "u", 1, 0.0, (AttemptSpec(3600.0),), status="Pass")
        for i in range(sum(m.gpus for m in machines))
    ]
    specs = with_models(same, setting.split, seed)
    throughput = {}
    for allocation in (PROPORTIONAL, TUNE):
        schedule = run(specs, machines, Synergy(allocation=allocation), speed=HostResources())
        first = schedule.speeds.filter(schedule.speeds["start_s"] == 0)
        throughput[allocation] = float(first["speed"].sum()) / len(specs)
    best = best_throughput([PROFILES[s.job_type or ""] for s in specs], machines)
    return throughput | {"optimum": best / len(specs)}


def completion_times(
    specs: Sequence[JobSpec], setting: Setting, policy: Policy, measured: Sequence[str]
) -> dict[str, float]:
    """Return the mean and 99th percentile of completion times of the measured jobs."""
    schedule = run(specs, fleet(setting.fleet), policy, speed=HostResources())
    ended = schedule.jobs.filter(schedule.jobs["job_id"].is_in(measured))
    jct_h = ((ended["end_s"] - ended["submit_s"]) / 3600).to_numpy()
    return {"mean_jct_h": float(jct_h.mean()), "p99_jct_h": float(np.percentile(jct_h, 99))}


def static_trace(specs: Sequence[JobSpec], setting: Setting, policy: Policy) -> dict[str, float]:
    """Return the makespan of jobs submitted at once, and the allocated shares of GPUs and CPUs."""
    machines = fleet(setting.fleet)
    schedule = run(
        [replace(s, submit_s=0.0) for s in specs], machines, policy, speed=HostResources()
    )
    last_s = float(schedule.attempts["end_s"].to_numpy().max())
    lasted_s = schedule.speeds["end_s"] - schedule.speeds["start_s"]
    allocated = {
        "gpu_pct": (schedule.speeds["gpus"], sum(m.gpus for m in machines)),
        "cpu_pct": (schedule.speeds["cpus"], sum(m.cpus or 0 for m in machines)),
    }
    shares = {
        name: 100 * float((lasted_s * of).sum()) / (last_s * total)
        for name, (of, total) in allocated.items()
    }
    return {"makespan_h": last_s / 3600, **shares}
