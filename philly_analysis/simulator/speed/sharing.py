"""Compute the speed of a job that shares GPUs with another job."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.speed.speed import Speed, with_unknown
from philly_analysis.study import curve
from philly_analysis.workload import JobSpec


def _tenths() -> tuple[float, ...]:
    read = curve("gpu_util", "Pass 1").set_index("cdf_pct")["value"].to_dict()
    return (0.0, *(round(read[pct] / 100, 2) for pct in range(10, 100, 10)), 1.0)


PHILLY_MINUTES = _tenths()
"""Per-minute utilisation of allocated GPUs of passed 1-GPU jobs, at each tenth of the samples: the
Philly archive's notebook, Figure 5. The distribution is too wide for jobs' means, because a job's
mean varies less than a job's minutes."""


@dataclass(frozen=True)
class Sharing(Speed):
    """Holders of a GPU run at full speed; a guest gets the compute that the holder leaves.

    A guest that uses the share u of a GPU whose holder uses h runs at min(u, 1 - h) / u. A guest
    makes no progress while the memory of both does not fit. (AntMan would let the guest continue
    from host memory, more slowly.) A gang runs at the speed of its slowest GPU.

    Attributes
    ----------
    util_quantiles
        Mean utilisation, at evenly spaced quantiles from 0 to 1, of jobs without samples.
    gpu_mem
        Parameters of the Beta distribution of the share of GPU memory that a job uses, where
        unknown. Assumed.
    interference
        Share of speed that a holder loses to a guest. AntMan reports no loss.
    together
        Whether a guest makes progress beside a holder; if not, guests use idle GPUs only.
    """

    neighbourly: ClassVar[bool] = True
    by_use: ClassVar[bool] = True

    util_quantiles: tuple[float, ...] = PHILLY_MINUTES
    gpu_mem: tuple[float, float] = (2.0, 2.5)
    interference: float = 0.0
    together: bool = True

    def complete(self, specs: Sequence[JobSpec], rng: np.random.Generator) -> Sequence[JobSpec]:
        """Return the jobs with utilisation and GPU memory drawn where unknown."""
        grid = np.linspace(0, 1, len(self.util_quantiles))
        util = np.interp(rng.random(len(specs)), grid, self.util_quantiles).clip(0.01, 1.0)
        mem = rng.beta(*self.gpu_mem, len(specs))
        return [
            with_unknown(spec, util_frac=u, gpu_mem_frac=m)
            for spec, u, m in zip(specs, util.tolist(), mem.tolist(), strict=True)
        ]

    def of(self, job: Job, allocation: Allocation, neighbours: Sequence[Job]) -> float:
        """Return 1 for a holder, and for a guest the speed that the busiest of its GPUs leaves."""
        if not allocation.guest and not self.interference:
            return 1.0
        beside = [other for other in neighbours if _overlap(allocation, other.allocated)]
        if beside and not self.together:
            return 0.0 if allocation.guest else 1.0
        if not allocation.guest:
            return 1.0 - self.interference if beside else 1.0
        speed = 1.0
        for holder in beside:
            if job.gpu_mem_frac + holder.gpu_mem_frac > 1:
                return 0.0
            free_frac = max(0.0, 1 - holder.util_frac)
            speed = min(speed, free_frac / job.util_frac if job.util_frac > free_frac else 1.0)
        return speed


def _overlap(one: Allocation, other: Allocation) -> bool:
    theirs = dict(other.shares)
    return any(gpus & theirs.get(machine, 0) for machine, gpus in one.shares)
