"""Gittins: whoever is likeliest to be done soon for what it costs, by the law of service."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.tiresias import Las
from philly_analysis.workload import JobSpec

_EPS_GPU_S = 1e-6
_SERVICE = Bounds(1e-3, 1e15)


@dataclass(frozen=True)
class Gittins(Las):
    """Tiresias' queues of GPU-seconds, each served by two-dimensional Gittins indices.

    The index of a job that has held a GPU-seconds is the most, over all d, of the chance that it
    ends within d more, over what it is then expected to hold: P(S - a <= d | S > a) /
    E(min(S - a, d) | S > a). The law of S is that of the workload's own jobs, which no scheduler
    knows beforehand, or one that is given. It counts as equally likely values, and what a job has
    held as the greatest of these that it has reached; beyond the last its index is 0. Ties go to
    whoever was submitted first. No thresholds: the index alone decides.
    """

    name = "gittins"
    SOURCE = "Gu et al., Tiresias, NSDI'19, 2D-Gittins: dlas-gpu-gittins in its simulator"

    steps: int = knob(
        10, "equally likely values that stand for the law of the jobs' own", within=Bounds(1, 1000)
    )
    service_gpu_s: tuple[float, ...] = knob(
        (),
        "the law of service, as equally likely values; none: that of the jobs' own",
        unit="GPU s",
        within=_SERVICE,
        rises=True,
    )

    def informed(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the law of service of these jobs, unless one was given."""
        if self.service_gpu_s:
            return self
        ranks = (np.arange(self.steps) + 0.5) / self.steps
        values = np.quantile([s.gpu_s for s in specs], ranks, method="inverted_cdf")
        steps = np.unique(values.clip(_SERVICE.low, _SERVICE.high))
        return replace(self, service_gpu_s=tuple(steps.tolist()))

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, its index, and when it was submitted."""
        index = self._index[self._reached(job, now_s)]
        return job.level, -index, job.spec.submit_s, job.index

    @cached_property
    def _index(self) -> tuple[float, ...]:
        return _indices(self.service_gpu_s)

    def standing(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return the same: it changes only as a job reaches another value."""
        return self.key(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job falls, or reaches the next value of the law."""
        falls_s = super().review_s(job, now_s)
        reached = self._reached(job, now_s)
        if job.grant is None or reached == len(self.service_gpu_s):
            return falls_s if job.running else FOREVER
        to_go_gpu_s = self.service_gpu_s[reached] - job.served_gpu_s(now_s)
        return min(falls_s, job.served_at_s(to_go_gpu_s, now_s))

    def _reached(self, job: Job, now_s: float) -> int:
        """Return how many values of the law its service has reached."""
        return bisect_right(self.service_gpu_s, job.served_gpu_s(now_s) + _EPS_GPU_S)


def _indices(service_gpu_s: tuple[float, ...]) -> tuple[float, ...]:
    """Return the index at no service, and at each value of the law."""
    values = np.array((0.0, *service_gpu_s))
    indices = []
    for at in range(len(service_gpu_s)):
        to_go = values[at + 1 :] - values[at]
        done = np.arange(1, len(to_go) + 1)
        spent = to_go.cumsum() + (len(to_go) - done) * to_go
        indices.append(float((done / spent).max()))
    return (*indices, 0.0)
