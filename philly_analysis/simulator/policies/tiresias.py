"""Least attained service in queues of GPU-seconds, and Tiresias with promotion."""

from dataclasses import dataclass

from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import SERVICE, Bounds, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.preemption import CONSOLIDATE, COUNTED, preempt_for_gpus
from philly_analysis.simulator.policies.service_queues import (
    EPS,
    Rank,
    demotion_s,
    last_rank_first,
    queue_of,
    running_rank,
    waiting_rank,
)
from philly_analysis.simulator.policies.view import Decision, View

THRESHOLDS_GPU_S = (3250.0, 7200.0)
"""Thresholds of Tiresias' simulator."""

DEMOTION = "service at which a job falls to the next queue"
"""Meaning of the knob of thresholds."""


@dataclass(frozen=True)
class Las(Policy):
    """Least attained service, with preemption: discretised two-dimensional LAS of Tiresias.

    A job is demoted to the next queue when its service, in GPU-seconds, reaches a threshold. A
    restart is no service: otherwise a wide gang whose restart exceeds the threshold would be
    demoted and preempted before any progress, repeatedly. Each queue is served from its
    front; jobs that do not fit are skipped. New and demoted jobs join at the end. A job that
    starts moves before all waiting jobs, behind the jobs already running. So in a queue

    - running jobs precede waiting ones, in the order in which they began to run there;
    - a preempted job precedes jobs that have waited longer; jobs preempted at once are in the order
      in which they began to run;
    - other jobs are served in the order of arrival, where a retry is a new arrival; new jobs
      precede retries that arrive at the same time, both in the order of submission.

    Tiresias' simulator, ``dlas-gpu``, does the same on whole seconds. The simulator detects a
    demotion only at another event, or as late again as the gang had run before. At loads of 1 and 2
    (800 jobs on 64 GPUs; the simulator's commit 959f9b0, placement by count; 2026-11-22) mean
    completion times agree to 0.1 %.
    """

    name = "las"
    SOURCE = "Gu et al., Tiresias, NSDI'19, discretised 2D-LAS as its simulator has it"
    steady = True
    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(False, COUNTED)
    thresholds_gpu_s: tuple[float, ...] = knob(
        THRESHOLDS_GPU_S, DEMOTION, within=SERVICE, rises=True
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return the job's queue."""
        return queue_of(job, self.thresholds_gpu_s, now_s)

    def key(self, job: Job, now_s: float) -> Rank:
        """Return the job's queue and its rank in the queue."""
        return waiting_rank(job, now_s)

    def running_key(self, job: Job, now_s: float) -> Rank:
        """Return the job's queue, and since when the job runs there."""
        return running_rank(job)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job is demoted."""
        return demotion_s(job, self.thresholds_gpu_s, now_s)

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the first jobs of the first queues."""
        return preempt_for_gpus(
            view, last_rank_first(view), consolidate=self.consolidate, counted=self.counted
        )


@dataclass(frozen=True)
class Tiresias(Policy):
    """Least attained service as ``las``, with promotion of starving jobs.

    A job is promoted to the end of the first queue after an uninterrupted wait of ``promote`` times
    its run time so far, restarts included. The service before the promotion no longer counts.
    Queues and their order are as in ``las``, unless ``order`` is ``arrival``: the paper leaves open
    which job is first within a queue.

    Tiresias' simulator, ``dlas-gpu-8``, adds up all waits since a job's first run. In that
    simulator mean completion times are 0.6 % lower (load 1) and 3.5 % higher (load 2) than here.

    Not modelled: placement by the skew of a model's tensors (``consolidate`` is for all gangs).
    """

    name = "tiresias"
    SOURCE = "Gu et al., Tiresias, NSDI'19, sections 3.2 and 3.3, with its simulator's thresholds"
    steady = True
    fractional = True

    consolidate: bool = knob(False, CONSOLIDATE)
    counted: bool = knob(False, COUNTED)
    thresholds_gpu_s: tuple[float, ...] = knob(
        THRESHOLDS_GPU_S, DEMOTION, within=SERVICE, rises=True
    )
    promote: float = knob(
        8.0,
        "waits, in multiples of a job's run time, after which it is promoted; 0: never",
        within=Bounds(1, 1e6, or_else=(0,)),
    )
    order: str = knob(
        "running",
        "first within a queue: running jobs, as in its simulator, or the earliest submission",
        among=("running", "arrival"),
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return the job's queue; the first for a job that has starved."""
        queue = queue_of(job, self.thresholds_gpu_s, now_s)
        return 0 if queue and self._promotion_s(job, now_s) <= now_s + EPS else queue

    def key(self, job: Job, now_s: float) -> Rank:
        """Return the job's queue and its rank in the queue."""
        if self.order == "arrival":
            return job.level, job.spec.submit_s, job.index
        return waiting_rank(job, now_s)

    def running_key(self, job: Job, now_s: float) -> Rank:
        """Return the key of a running job."""
        return self.key(job, now_s) if self.order == "arrival" else running_rank(job)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job is demoted, or a waiting one promoted."""
        if job.running:
            return demotion_s(job, self.thresholds_gpu_s, now_s)
        return self._promotion_s(job, now_s)

    def decide(self, view: View) -> Decision:
        """Allocate GPUs to the first jobs of the first queues."""
        return preempt_for_gpus(
            view, last_rank_first(view), consolidate=self.consolidate, counted=self.counted
        )

    def _promotion_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job outside the first queue is promoted."""
        if job.running or not self.promote or not queue_of(job, self.thresholds_gpu_s, now_s):
            return FOREVER
        return job.queued_s + self.promote * job.attained_gpu_s(now_s) / (job.size / GPU_UNITS)
