"""Optimal allocation of CPUs and memory to jobs that run at once: an integer program."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from philly_analysis.errors import SimulationError
from philly_analysis.simulator import Profile
from philly_analysis.workload import Machine


def best_throughput(jobs: Sequence[Profile], servers: Sequence[Machine]) -> float:
    """Return the maximum total throughput of one-GPU jobs, none below its fair share.

    In Synergy's optimum each job gets a server, whole CPUs and one of the amounts of memory at
    which the job was measured. No job is slower than with a proportional share. The sum of
    throughputs (1 each at a proportional share) is largest. The integer program is solved exactly.

    Raises
    ------
    SimulationError
        The jobs do not fit.
    """
    options = [_options(job, servers[0]) for job in jobs]
    picks = [
        (j, s, *option)
        for j, job_options in enumerate(options)
        for s, option in product(range(len(servers)), job_options)
    ]
    job, server, cpus, mem_gb, speed = map(np.array, zip(*picks, strict=True))
    columns = np.arange(len(picks))

    def sums(group: np.ndarray, weight: np.ndarray, groups: int) -> csr_array:
        return csr_array((weight, (group, columns)), shape=(groups, len(picks)))

    one = np.ones(len(picks))
    limits = np.array([(m.gpus, m.cpus or 0, m.mem_gb or 0) for m in servers]).T
    solved = milp(
        -speed,
        integrality=np.ones(len(picks), int),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(sums(job, one, len(jobs)), 1, 1),
            *(
                LinearConstraint(sums(server, amount, len(servers)), -np.inf, limit)
                for amount, limit in zip((one, cpus, mem_gb), limits, strict=True)
            ),
        ],
    )
    if solved.x is None:
        raise SimulationError(
            f"{len(jobs)} jobs cannot all run on {len(servers)} servers at a fair share: "
            f"{solved.message}"
        )
    return float(-solved.fun)


def _options(job: Profile, server: Machine) -> list[tuple[int, float, float]]:
    """Return amounts of CPUs and memory with throughputs no lower than of a fair share.

    An amount is left out if another amount has no more CPUs and memory and is as fast.
    """
    share = (server.cpus or 0) / server.gpus, (server.mem_gb or 0) / server.gpus
    fair = job.throughput(*share)
    points: list[tuple[int, float, float]] = []
    amounts = sorted({*job.mem_grid_gb, share[1]})
    for cpus, mem_gb in product(range(1, int(server.cpus or 0) + 1), amounts):
        speed = job.throughput(cpus, mem_gb)
        dominated = any(c <= cpus and m <= mem_gb and v >= speed for c, m, v in points)
        if speed >= fair - 1e-9 and not dominated:
            points.append((cpus, mem_gb, speed))
    return points
