"""Least attained service: queues of GPU-seconds, and Tiresias, which lets the starving rise."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, Bounds, knob
from philly_analysis.simulator.policies.priority import Ranked
from philly_analysis.simulator.policies.view import View

_EPS = 1e-6

_RUNS, _STOPPED, _CAME = range(3)


@dataclass(frozen=True)
class Las(Ranked):
    """Least attained service in two dimensions, discretised: Tiresias' queues of GPU-seconds.

    A job falls to the next queue when its service reaches a threshold: the GPU-seconds in which it
    got on. A restart is no service, lest a wide gang that restarts for longer than it stays in its
    queue fall and be stopped before it gets on, again and again. Each queue is a line that is
    served from its front, those that do not fit being passed by. Whoever comes to a queue, new or
    fallen, stands at its end; whoever then runs goes before all that wait, behind those that ran
    already. So in a queue

    - those that run stay before those that wait, in the order in which they came to run there;
    - a job that is stopped waits before those that have waited longer; of several stopped at once,
      the one that came to run first is the first;
    - the others are served as they came, and a job that fails and asks again has come again; of
      several at once the new come first, then those that ask again, each kind as submitted.

    Tiresias' simulator, ``dlas-gpu``, does the same on whole seconds. It notices that a gang has
    fallen only as something else happens, or up to as late as the gang had run before. At loads of
    1 and 2 (800 jobs on 64 GPUs; its commit 959f9b0, placement by count; 2026-11-22) mean
    completion times are the same to 0.1 %.
    """

    name = "las"
    SOURCE = "Gu et al., Tiresias, NSDI'19, discretised 2D-LAS as its simulator has it"

    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0, 7200.0),
        "service at which a job falls to the next queue",
        unit="GPU s",
        within=Bounds(1, LONG_S),
        rises=True,
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue."""
        return bisect_right(self.thresholds_gpu_s, job.counted_gpu_s(now_s) + _EPS)

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, whether it runs, was stopped or came there, and its place among such.

        A job that has just fallen came there, even while it runs.
        """
        fell = job.level_s > job.started_s
        if job.running:
            if fell and job.level_s == now_s:
                return job.level, _CAME, now_s, 2, job.index
            return self.standing(job, now_s)
        if job.interrupted and job.queued_s > job.level_s:
            return job.level, _STOPPED, -job.queued_s, *self._seat(job)
        moved = job.interrupted or job.level_s > job.queued_s
        kind = 2 if moved else min(job.run, 1)
        return job.level, _CAME, max(job.level_s, job.queued_s), kind, job.index

    def standing(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, and since when it runs there."""
        return job.level, _RUNS, *self._seat(job)

    def worst_first(self, view: View) -> Iterator[tuple[tuple[float, ...], Job]]:
        """Yield the running jobs with their keys, the greatest first.

        They are served as they stand, but for those that come to their queue at this moment.
        """
        now_s = view.now_s
        for key, _, job in view.running.below((inf,)):
            yield (key if job.level_s < now_s else self.key(job, now_s)), job

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job falls to the next queue."""
        if job.grant is None or job.level == len(self.thresholds_gpu_s):
            return FOREVER
        to_go_gpu_s = self.thresholds_gpu_s[job.level] - job.counted_gpu_s(now_s)
        return job.served_at_s(to_go_gpu_s, now_s)

    @staticmethod
    def _seat(job: Job) -> tuple[float, bool, int]:
        """Return since when it runs, or ran, in its queue; of those at once, who started first.

        Who fell at that moment comes behind those that started, as submitted.
        """
        if job.level_s > job.started_s:
            return job.level_s, True, job.index
        return job.started_s, False, job.nth_start


@dataclass(frozen=True)
class Tiresias(Las):
    """Tiresias' queues with promotion of jobs that starve.

    A job that has waited in one go for ``promote`` times as long as it has run in all, restarts
    included, rises to the end of the first queue, and its service so far counts no more. Queues
    and their order are those of ``las``.

    Its simulator, ``dlas-gpu-8``, adds up all waits since a job's first run; there mean completion
    times are 0.6 % (load 1) less, and 3.5 % (load 2) more, than here.

    Not modelled: placement by the skew of a model's tensors (``consolidate`` is for all gangs).
    """

    name = "tiresias"
    SOURCE = "Gu et al., Tiresias, NSDI'19, sections 3.2 and 3.3, with its simulator's thresholds"

    promote: float = knob(
        8.0,
        "waits, in times that a job has run, after which it rises; 0: it never does",
        within=Bounds(1, 1e6, or_else=(0,)),
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue; the first for one that has starved."""
        queue = super().level(job, now_s)
        return 0 if queue and self._rises_s(job, now_s) <= now_s + _EPS else queue

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job falls, or a waiting one rises."""
        return super().review_s(job, now_s) if job.running else self._rises_s(job, now_s)

    def _rises_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job that is not in the first queue has starved."""
        if job.running or not self.promote or not super().level(job, now_s):
            return FOREVER
        return job.queued_s + self.promote * job.attained_gpu_s(now_s) / (job.size / WHOLE)
