"""Least attained service in queues of GPU-seconds, and Tiresias with promotion."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import SERVICE, Bounds, knob
from philly_analysis.simulator.policies.preemption import PreemptiveOrder
from philly_analysis.simulator.policies.view import View

_EPS = 1e-6

_RUNS, _STOPPED, _CAME = range(3)


@dataclass(frozen=True)
class Las(PreemptiveOrder):
    """Least attained service, with preemption: discretised two-dimensional LAS of Tiresias.

    A job is demoted to the next queue when its service, in GPU-seconds, reaches a threshold. A
    restart is no service: otherwise a wide gang whose restart exceeds the threshold would be
    demoted and preempted before it makes progress, repeatedly. Each queue is served from its
    front; jobs that do not fit are skipped. New and demoted jobs join at the end. A job that
    starts moves before all waiting jobs, behind those already running. So in a queue

    - running jobs precede waiting ones, in the order in which they began to run there;
    - a preempted job precedes those that have waited longer; of several preempted at once, the
      one that began to run first is first;
    - the others are served in the order of arrival, where a retry is a new arrival; of
      simultaneous arrivals the new jobs come first, then retries, each as submitted.

    Tiresias' simulator, ``dlas-gpu``, does the same on whole seconds. It detects a demotion only
    at another event, or as late again as the gang had run before. At loads of 1 and 2 (800 jobs
    on 64 GPUs; its commit 959f9b0, placement by count; 2026-11-22) mean completion times agree to
    0.1 %.
    """

    name = "las"
    SOURCE = "Gu et al., Tiresias, NSDI'19, discretised 2D-LAS as its simulator has it"

    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0, 7200.0),
        "service at which a job falls to the next queue",
        within=SERVICE,
        rises=True,
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue."""
        return bisect_right(self.thresholds_gpu_s, job.counted_gpu_s(now_s) + _EPS)

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, whether it runs, was preempted or arrived, and its place among such.

        A job demoted just now arrived, even while it runs.
        """
        demoted = job.level_s > job.started_s
        if job.running:
            if demoted and job.level_s == now_s:
                return job.level, _CAME, now_s, 2, job.index
            return self.running_key(job, now_s)
        if job.interrupted and job.queued_s > job.level_s:
            return job.level, _STOPPED, -job.queued_s, *self._running_place(job)
        moved = job.interrupted or job.level_s > job.queued_s
        kind = 2 if moved else min(job.run, 1)
        return job.level, _CAME, max(job.level_s, job.queued_s), kind, job.index

    def running_key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, and since when it runs there."""
        return job.level, _RUNS, *self._running_place(job)

    def worst_first(self, view: View) -> Iterator[tuple[tuple[float, ...], Job]]:
        """Yield the running jobs with their keys, the greatest first.

        They are sorted already, except for those demoted at this moment.
        """
        now_s = view.now_s
        for key, _, job in view.running.below((inf,)):
            yield (key if job.level_s < now_s else self.key(job, now_s)), job

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job is demoted."""
        if job.allocation is None or job.level == len(self.thresholds_gpu_s):
            return FOREVER
        missing_gpu_s = self.thresholds_gpu_s[job.level] - job.counted_gpu_s(now_s)
        return job.service_reached_s(missing_gpu_s, now_s)

    @staticmethod
    def _running_place(job: Job) -> tuple[float, bool, int]:
        """Return since when it runs, or ran, in its queue; at equal times by start.

        Jobs demoted at that time come behind those that started, as submitted.
        """
        if job.level_s > job.started_s:
            return job.level_s, True, job.index
        return job.started_s, False, job.nth_start


@dataclass(frozen=True)
class Tiresias(Las):
    """Least attained service as ``las``, with promotion of starving jobs.

    A job that has waited, without interruption, ``promote`` times as long as it has run in all,
    restarts included, is promoted to the end of the first queue, and its service so far no longer
    counts. Queues are those of ``las``, and so is their order, unless ``order`` is ``arrival``: the
    paper leaves open who is first within a queue.

    Its simulator, ``dlas-gpu-8``, adds up all waits since a job's first run; there mean completion
    times are 0.6 % lower (load 1) and 3.5 % higher (load 2) than here.

    Not modelled: placement by the skew of a model's tensors (``consolidate`` is for all gangs).
    """

    name = "tiresias"
    SOURCE = "Gu et al., Tiresias, NSDI'19, sections 3.2 and 3.3, with its simulator's thresholds"

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

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue and its place in it."""
        if self.order == "arrival":
            return job.level, job.spec.submit_s, job.index
        return super().key(job, now_s)

    def running_key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return the key of a running job."""
        if self.order == "arrival":
            return self.key(job, now_s)
        return super().running_key(job, now_s)

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue; the first for a job that has starved."""
        queue = super().level(job, now_s)
        return 0 if queue and self._promotion_s(job, now_s) <= now_s + _EPS else queue

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job is demoted, or a waiting one promoted."""
        return super().review_s(job, now_s) if job.running else self._promotion_s(job, now_s)

    def _promotion_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job outside the first queue is promoted."""
        if job.running or not self.promote or not super().level(job, now_s):
            return FOREVER
        return job.queued_s + self.promote * job.attained_gpu_s(now_s) / (job.size / GPU_UNITS)
