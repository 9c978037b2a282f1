"""Gittins index: serve the job most likely to end soon for its expected service."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import SERVICE, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import CONSOLIDATE, COUNTED, preempt_for_gpus
from philly_analysis.simulator.policies.service_queues import (
    Rank,
    demotion_s,
    last_rank_first,
    queue_of,
)
from philly_analysis.simulator.policies.tiresias import DEMOTION, THRESHOLDS_GPU_S
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.workload import JobSpec

_EPS_GPU_S = 1e-6
_SERVICE = Bounds(1e-3, 1e15)


@dataclass(frozen=True)
class Gittins(Policy):
    """Two-dimensional Gittins index in Tiresias' queues of GPU-seconds, with preemption.

    A job's index at service a (GPU-seconds) is the maximum over d of a ratio: P(S - a <= d | S > a)
    / E(min(S - a, d) | S > a). The ratio is the probability that the job ends within d more
    GPU-seconds, over the expected service until then. The distribution of the service S is taken
    from the workload's jobs, which no scheduler knows in advance, or is given. The distribution is
    a set of equally likely values. A job's service counts as the greatest value that the job has
    reached. Beyond the largest value the index is 0. Ties go to the job submitted first. Without
    thresholds the index alone decides.
    """

    name = "gittins"
    SOURCE = "Gu et al., Tiresias, NSDI'19, 2D-Gittins: dlas-gpu-gittins in its simulator"
    steady = True
    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(False, COUNTED)
    thresholds_gpu_s: tuple[float, ...] = knob(
        THRESHOLDS_GPU_S, DEMOTION, within=SERVICE, rises=True
    )
    steps: int = knob(
        10, "equally likely values of the service of the workload's jobs", within=Bounds(1, 1000)
    )
    service_gpu_s: tuple[float, ...] = knob(
        (),
        "distribution of service, as equally likely values; none: the workload's jobs",
        within=_SERVICE,
        rises=True,
    )

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with the distribution of the jobs' service, unless one is set."""
        if self.service_gpu_s:
            return self
        ranks = (np.arange(self.steps) + 0.5) / self.steps
        values = np.quantile([s.gpu_s for s in specs], ranks, method="inverted_cdf")
        steps = np.unique(values.clip(_SERVICE.low, _SERVICE.high))
        return replace(self, service_gpu_s=tuple(steps.tolist()))

    def level(self, job: Job, now_s: float) -> int:
        """Return the job's queue."""
        return queue_of(job, self.thresholds_gpu_s, now_s)

    def key(self, job: Job, now_s: float) -> Rank:
        """Return the job's queue, its index, and its submission."""
        index = self._index[self._reached(job, now_s)]
        return job.level, -index, job.spec.submit_s, job.index

    @cached_property
    def _index(self) -> tuple[float, ...]:
        return _indices(self.service_gpu_s)

    def running_key(self, job: Job, now_s: float) -> Rank:
        """Return :meth:`key`, which changes only when a job reaches another value."""
        return self.key(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job is demoted, or reaches the next value of service."""
        demoted_s = demotion_s(job, self.thresholds_gpu_s, now_s)
        reached = self._reached(job, now_s)
        if job.allocation is None or reached == len(self.service_gpu_s):
            return demoted_s if job.running else FOREVER
        missing_gpu_s = self.service_gpu_s[reached] - job.served_gpu_s(now_s)
        return min(demoted_s, job.service_reached_s(missing_gpu_s, now_s))

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the jobs of greatest index in the first queues."""
        return preempt_for_gpus(
            view, last_rank_first(view), consolidate=self.consolidate, counted=self.counted
        )

    def _reached(self, job: Job, now_s: float) -> int:
        """Return the number of values that the job's service has reached."""
        return bisect_right(self.service_gpu_s, job.served_gpu_s(now_s) + _EPS_GPU_S)


def _indices(service_gpu_s: tuple[float, ...]) -> tuple[float, ...]:
    """Return the index at no service, and at each value of service."""
    values = np.array((0.0, *service_gpu_s))
    indices = []
    for at in range(len(service_gpu_s)):
        missing = values[at + 1 :] - values[at]
        done = np.arange(1, len(missing) + 1)
        spent = missing.cumsum() + (len(missing) - done) * missing
        indices.append(float((done / spent).max()))
    return (*indices, 0.0)
