"""Least attained service: queues of GPU-seconds, and Tiresias, which lets the starving rise."""

from bisect import bisect_right
from dataclasses import dataclass

from philly_analysis.simulator.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S, Bounds, knob
from philly_analysis.simulator.policies.ranked import Ranked

_EPS = 1e-6


@dataclass(frozen=True)
class Las(Ranked):
    """Least attained service in two dimensions, discretised: Tiresias' queues of GPU-seconds.

    A job falls to the next queue when the GPU-seconds that it has held reach a threshold. In a
    queue those that run stay before those that wait, and these are served as they came to wait.
    """

    name = "las"
    SOURCE = "Gu et al., Tiresias, NSDI'19, discretised 2D-LAS"

    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0,),
        "service at which a job falls to the next queue",
        unit="GPU s",
        within=Bounds(1, LONG_S),
        rises=True,
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue."""
        return bisect_right(self.thresholds_gpu_s, job.counted_gpu_s(now_s) + _EPS)

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, whether it waits, and since when it runs or waits."""
        since_s = job.started_s if job.running else job.queued_s
        return job.level, not job.running, since_s

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job falls to the next queue."""
        if job.grant is None or job.level == len(self.thresholds_gpu_s):
            return FOREVER
        to_go_gpu_s = self.thresholds_gpu_s[job.level] - job.counted_gpu_s(now_s)
        return now_s + to_go_gpu_s / job.grant.gpus


@dataclass(frozen=True)
class Tiresias(Las):
    """Tiresias' queues as its simulator has them, with promotion of jobs that starve.

    In a queue jobs are served as they entered it: on submission, by falling, or by rising. So a
    preempted job keeps its place, ahead of those that entered later, be they running. A job that
    has waited in one go for ``promote`` times as long as it has run in all rises to the first
    queue, and what it has held so far counts no more.

    Not modelled: placement by the skew of a model's tensors (jobs take what GPUs there are), and
    Gittins indices.
    """

    name = "tiresias"
    SOURCE = "Gu et al., Tiresias, NSDI'19, sections 3.2 and 3.3, with its simulator's thresholds"

    thresholds_gpu_s: tuple[float, ...] = knob(
        (3250.0, 7200.0),
        "service at which a job falls to the next queue",
        unit="GPU s",
        within=Bounds(1, LONG_S),
        rises=True,
    )
    promote: float = knob(
        8.0,
        "waits, in times that a job has run, after which it rises; 0: it never does",
        within=Bounds(1, 1e6, or_else=(0,)),
    )

    def level(self, job: Job, now_s: float) -> int:
        """Return its queue; the first for one that has starved."""
        queue = super().level(job, now_s)
        return 0 if queue and self._rises_s(job, now_s) <= now_s + _EPS else queue

    def key(self, job: Job, now_s: float) -> tuple[float, ...]:
        """Return its queue, and since when it is there."""
        return job.level, job.level_s

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when a running job falls, or a waiting one rises."""
        return super().review_s(job, now_s) if job.running else self._rises_s(job, now_s)

    def _rises_s(self, job: Job, now_s: float) -> float:
        """Return when a waiting job that is not in the first queue has starved."""
        if job.running or not self.promote or not super().level(job, now_s):
            return FOREVER
        return job.queued_s + self.promote * job.attained_gpu_s(now_s) / job.gpus
