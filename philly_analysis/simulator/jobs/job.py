"""Hold the state of a simulated job: remaining work, allocation, waits and attained service."""

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.allocation import Allocation
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import request_of
from philly_analysis.workload import AttemptSpec, JobSpec, runs_of

FOREVER = float("inf")
"""A time that is never reached."""

_NOTHING_S = 1e-6
"""Largest work that is a rounding error (s)."""


class Job:
    """A job in the simulation. Only the engine changes a job.

    Attributes
    ----------
    spec, index
        What was submitted, and the job's place in the order of submission.
    gpus, vc
        Gang size and virtual cluster.
    request, size
        Request for GPUs, CPUs, memory and servers, and the requested GPU units.
    runs, run
        The runs, and the index of the present one: each but the last fails and is retried.
    run_s, believed_run_s
        Run time of all runs (s), and the estimate of the run time, which policies use.
    allocation
        Allocation of the job, or None.
    running
        False while the job waits, even if the job holds part of its gang.
    queued_s
        When the present wait began.
    started_s
        When the present attempt began.
    started
        Number of attempts begun.
    nth_start
        Number of the job's latest start among all starts of the simulation.
    segment_s
        Start of the present interval of constant speed.
    util_frac, gpu_mem_frac
        Shares of a GPU's compute and memory that the job uses; 1 if unknown.
    speed
        Seconds of the recorded run that the job completes per second.
    progress_from_s
        When the job begins to make progress at the present speed: after the restart.
    interrupted
        Whether the scheduler or an outage ended the latest attempt.
    limit_s
        Time limit of an attempt (s): as recorded, but at least the longest recorded run.
    level, level_s
        Queue level assigned by the policy, and since when (see ``Policy.level``).
    setbacks
        Consecutive interruptions without progress.
    version
        Incremented when a scheduled end becomes invalid.
    """

    __slots__ = (
        "_attained_gpu_s", "_began_left_s", "_error_s", "_forgiven_gpu_s", "_later_s", "_left_s",
        "_restarted_s", "_served_gpu_s", "allocation", "believed_run_s", "gpu_mem_frac", "gpus",
        "index", "interrupted", "level", "level_s", "limit_s", "nth_start", "progress_from_s",
        "queued_s", "request", "run", "run_s", "running", "runs", "segment_s", "setbacks", "size",
        "spec", "speed", "started", "started_s", "util_frac", "vc", "version",
    )  # fmt: skip

    def __init__(self, spec: JobSpec, index: int) -> None:
        self.spec, self.index, self.gpus, self.vc = spec, index, spec.gpus, spec.vc
        self.request = request_of(spec)
        self.size = self.request.size
        self.runs = runs_of(spec)
        self.run_s, self.believed_run_s = spec.run_s, sum(map(_believed_s, self.runs))
        self.queued_s = self.started_s = self.segment_s = self.level_s = spec.submit_s
        self.limit_s = max(spec.time_limit_s or FOREVER, *(r.run_s for r in self.runs), 0.0)
        self.util_frac = 1.0 if spec.util_frac is None else spec.util_frac
        self.gpu_mem_frac = 1.0 if spec.gpu_mem_frac is None else spec.gpu_mem_frac
        self.allocation: Allocation | None = None
        self.running = self.interrupted = False
        self.run = self.started = self.nth_start = self.level = self.setbacks = self.version = 0
        self.speed = 1.0
        self.progress_from_s = self._restarted_s = 0.0
        self._attained_gpu_s = self._served_gpu_s = self._forgiven_gpu_s = 0.0
        self._begin_run()
        self._began_left_s = self._left_s

    def _begin_run(self) -> None:
        run = self.runs[self.run]
        self._left_s = run.run_s
        self._error_s = 0.0 if run.believed_s is None else run.believed_s - run.run_s
        self._later_s = sum(map(_believed_s, self.runs[self.run + 1 :]))

    def __repr__(self) -> str:
        return f"Job({self.spec.job_id}, {self.gpus} GPUs)"

    def left_s(self, now_s: float) -> float:
        """Return the remaining time of the present run at speed 1 (s)."""
        if not self.running or now_s <= self.progress_from_s:
            return self._left_s
        return max(0.0, self._left_s - (now_s - self.progress_from_s) * self.speed)

    def work_s(self, now_s: float) -> float:
        """Return the work done in the present attempt (s at speed 1)."""
        return self._began_left_s - self.left_s(now_s)

    def believed_left_s(self, now_s: float) -> float:
        """Return the estimated remaining time of the present run at speed 1 (s)."""
        return max(0.0, self.left_s(now_s) + self._error_s)

    def remaining_s(self, now_s: float) -> float:
        """Return the estimated remaining time at speed 1, retries included (s).

        A run that exceeds its estimate reduces the estimate of later runs. The value therefore
        falls steadily while the job runs, as the order of running jobs requires.
        """
        return max(0.0, self.left_s(now_s) + self._error_s + self._later_s)

    def until_end_s(self, now_s: float) -> float:
        """Return the estimated time until the job ends at its present speed (waiting: speed 1).

        Retries are counted at speed 1.
        """
        if self.running:
            return max(0.0, self.believed_end_s() - now_s + self._later_s)
        return max(0.0, self._left_s + self._error_s + self._later_s)

    def attained_gpu_s(self, now_s: float) -> float:
        """Return the GPU-seconds allocated to the job so far; half a GPU counts as half."""
        if not self.running or self.allocation is None:
            return self._attained_gpu_s
        return self._attained_gpu_s + (now_s - self.started_s) * (self.allocation.size / GPU_UNITS)

    def served_gpu_s(self, now_s: float) -> float:
        """Return the attained GPU-seconds without the time of restarts."""
        if not self.running or self.allocation is None or now_s <= self._restarted_s:
            return self._served_gpu_s
        return self._served_gpu_s + (now_s - self._restarted_s) * (self.allocation.size / GPU_UNITS)

    def counted_gpu_s(self, now_s: float) -> float:
        """Return the service (GPU-seconds) since the latest promotion to a better level."""
        return self.served_gpu_s(now_s) - self._forgiven_gpu_s

    def service_reached_s(self, more_gpu_s: float, now_s: float) -> float:
        """Return when the job will have received so much more service on its allocation."""
        return max(now_s, self._restarted_s) + more_gpu_s / (self.allocated.size / GPU_UNITS)

    def set_level(self, level: int, now_s: float) -> None:
        """Change the job's level; at a better level the service so far no longer counts."""
        if level < self.level:
            self._forgiven_gpu_s = self.served_gpu_s(now_s)
        self.level, self.level_s = level, now_s

    @property
    def allocated(self) -> Allocation:
        """The job's allocation; an error if there is none."""
        if self.allocation is None:
            raise SimulationError(f"{self} has no allocation.")
        return self.allocation

    def start(self, allocation: Allocation, now_s: float, stall_s: float) -> None:
        """Start an attempt that makes no progress in the first `stall_s` seconds."""
        self.allocation, self.running, self.interrupted = allocation, True, False
        self.started_s = self.segment_s = now_s
        self._began_left_s = self._left_s
        self.progress_from_s = self._restarted_s = now_s + stall_s
        self.started += 1

    def change_speed(self, now_s: float, speed: float) -> None:
        """Change the job's speed; the caller schedules the job's end anew."""
        self._left_s = self.left_s(now_s)
        self.progress_from_s = max(self.progress_from_s, now_s)
        self.speed = speed
        self.version += 1

    def lose(self, now_s: float, lost_s: float) -> None:
        """Add lost work to the present run; the caller schedules the job's end anew."""
        self.change_speed(now_s, self.speed)
        self._left_s += lost_s

    def end_s(self) -> float:
        """Return when the present run ends, or reaches the time limit, at the present speed."""
        return self._end_s(self._left_s)

    def believed_end_s(self) -> float:
        """Return the estimated end of the present run at the present speed; may be past."""
        return self._end_s(self._left_s + self._error_s)

    def _end_s(self, left_s: float) -> float:
        done_s = self.progress_from_s + left_s / self.speed if self.speed else FOREVER
        return min(done_s, self.started_s + self.limit_s)

    def over_limit(self, now_s: float) -> bool:
        """Whether the time limit ends the present run now, before the run would end."""
        return now_s >= self.started_s + self.limit_s and self.left_s(now_s) > _NOTHING_S

    def stop(self, now_s: float, lost_s: float = 0.0) -> None:
        """End the present attempt, and keep its progress except for the lost work."""
        self._attained_gpu_s = self.attained_gpu_s(now_s)
        self._served_gpu_s = self.served_gpu_s(now_s)
        self._left_s = self.left_s(now_s) + lost_s
        self.running, self.allocation = False, None
        self.version += 1

    def finish_run(self, *, give_up: bool = False) -> bool:
        """Go to the next run; return False if there is none, or the job is not retried."""
        self.run = len(self.runs) if give_up else self.run + 1
        if self.run == len(self.runs):
            self._left_s = 0.0
            return False
        self._begin_run()
        return True


def _believed_s(run: AttemptSpec) -> float:
    return run.run_s if run.believed_s is None else run.believed_s
