"""A job in the simulated cluster: what it still has to do, what it holds, how long it waited."""

from dataclasses import replace
from functools import cache

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.study import LAST_END
from philly_analysis.workload import AttemptSpec, JobSpec

FOREVER = float("inf")
"""A moment that never comes."""

_NOTHING_S = 1e-6
"""Work so small that it is a rounding error."""

OF_THE_SCHEDULER = ("preempted", "migrated", "resized")
"""Ends that a scheduler caused: such an attempt and the next are one run of the job."""


def runs_of(spec: JobSpec) -> tuple[AttemptSpec, ...]:
    """Return what a job does on its own: attempts that a scheduler cut apart are joined again."""
    if len(spec.attempts) == 1:
        [only] = spec.attempts
        if only.end_reason:
            return spec.attempts
        end_reason = LAST_END.get(spec.status or "", "completed")
        return (replace(only, end_reason=end_reason),)
    runs: list[AttemptSpec] = []
    carried_s = 0.0
    for attempt in spec.attempts:
        if attempt.end_reason in OF_THE_SCHEDULER and attempt is not spec.attempts[-1]:
            carried_s += attempt.run_s
            continue
        runs.append(replace(attempt, run_s=attempt.run_s + carried_s))
        carried_s = 0.0
    return tuple(
        replace(run, end_reason=run.end_reason or ("failed" if run is not runs[-1] else last))
        for last in (LAST_END.get(spec.status or "", "completed"),)
        for run in runs
    )


class Job:
    """A job as engine and policies see it. Only the engine changes it.

    Attributes
    ----------
    gpus
        GPUs that it asks for.
    index
        Place in the order of submission.
    size
        What it asks for, in parts of GPUs.
    run
        Which of its runs it is in, from 0: each but the last fails and is retried.
    run_s, believed_run_s
        Seconds that all its runs need by themselves, and that they are believed to need, which is
        what policies go by.
    grant
        What it holds, or None; ``running`` is False while it only holds part of its gang.
    queued_s
        When the present wait began.
    started_s
        When the present attempt began.
    started
        Attempts begun so far.
    nth_start
        Place of its last start among all starts of the simulation.
    segment_s
        Since when it runs at its present speed.
    util_frac, gpu_mem_frac
        Share of a GPU's compute and memory that it uses, all where it is not known; for policies
        that let jobs share.
    speed
        Seconds of its recorded run that one second of holding the grant accomplishes.
    interrupted
        Whether the scheduler or an outage, not the job itself, ended its last attempt.
    limit_s
        Seconds after which an attempt is stopped: as recorded, but no run that is known to have
        been let go on for longer is cut.
    level, level_s
        The policy's level at which it is, and since when (see ``Policy.level``).
    setbacks
        Times that it has been stopped in a row without getting any further.
    version
        Raised by one whenever an end that was foreseen for it no longer holds.
    """

    __slots__ = (
        "_attained_gpu_s",
        "_began_left_s",
        "_counts_from_s",
        "_forgiven_gpu_s",
        "_later_s",
        "_left_s",
        "_off_s",
        "_restarted_s",
        "_served_gpu_s",
        "believed_run_s",
        "gpu_mem_frac",
        "gpus",
        "grant",
        "index",
        "interrupted",
        "level",
        "level_s",
        "limit_s",
        "nth_start",
        "queued_s",
        "run",
        "run_s",
        "running",
        "runs",
        "segment_s",
        "setbacks",
        "size",
        "spec",
        "speed",
        "started",
        "started_s",
        "util_frac",
        "vc",
        "version",
    )

    def __init__(self, spec: JobSpec, index: int) -> None:
        self.spec, self.index = spec, index
        self.gpus, self.vc = spec.gpus, spec.vc
        self.size = _size(spec.gpus, spec.gpu_frac)
        self.runs = runs_of(spec)
        self.run_s, self.believed_run_s = spec.run_s, sum(map(_believed_s, self.runs))
        self.run = self.started = self.nth_start = self.version = 0
        self.queued_s = self.started_s = self.segment_s = spec.submit_s
        self.grant: Grant | None = None
        self.running = self.interrupted = False
        self.limit_s = max(spec.time_limit_s or FOREVER, *(r.run_s for r in self.runs), 0.0)
        self.setbacks = self.level = 0
        self.level_s = spec.submit_s
        self._forgiven_gpu_s = 0.0
        self.speed = 1.0
        self.util_frac = 1.0 if spec.util_frac is None else spec.util_frac
        self.gpu_mem_frac = 1.0 if spec.gpu_mem_frac is None else spec.gpu_mem_frac
        self._begin_run()
        self._counts_from_s = self._restarted_s = 0.0
        self._attained_gpu_s = self._served_gpu_s = 0.0
        self._began_left_s = self._left_s

    def _begin_run(self) -> None:
        run = self.runs[self.run]
        self._left_s = run.run_s
        self._off_s = 0.0 if run.believed_s is None else run.believed_s - run.run_s
        self._later_s = sum(map(_believed_s, self.runs[self.run + 1 :]))

    def __repr__(self) -> str:
        return f"Job({self.spec.job_id}, {self.gpus} GPUs)"

    @property
    def gets_on_s(self) -> float:
        """When its present speed counts from: after it has restarted."""
        return self._counts_from_s

    def left_s(self, now_s: float) -> float:
        """Return the seconds that its present run still needs at speed 1."""
        if not self.running or now_s <= self._counts_from_s:
            return self._left_s
        return max(0.0, self._left_s - (now_s - self._counts_from_s) * self.speed)

    def work_s(self, now_s: float) -> float:
        """Return the seconds at speed 1 that it has got done in its present attempt."""
        return self._began_left_s - self.left_s(now_s)

    def believed_left_s(self, now_s: float) -> float:
        """Return the seconds that its present run is believed to need still, at speed 1."""
        return max(0.0, self.left_s(now_s) + self._off_s)

    def remaining_s(self, now_s: float) -> float:
        """Return the seconds that it is believed to need at speed 1, retries included.

        A run that takes longer than was believed leaves less for those after it: what a running
        job is believed to need falls all the time, as the order of running jobs relies on.
        """
        return max(0.0, self.left_s(now_s) + self._off_s + self._later_s)

    def to_go_s(self, now_s: float) -> float:
        """Return the seconds until its end, as believed, if it runs on, or (waiting) at speed 1.

        Retries are counted at speed 1.
        """
        if self.running:
            return max(0.0, self.believed_end_s() - now_s + self._later_s)
        return max(0.0, self._left_s + self._off_s + self._later_s)

    def attained_gpu_s(self, now_s: float) -> float:
        """Return the GPU-seconds that it has held so far, of shares their part."""
        if not self.running or self.grant is None:
            return self._attained_gpu_s
        return self._attained_gpu_s + (now_s - self.started_s) * (self.grant.size / WHOLE)

    def served_gpu_s(self, now_s: float) -> float:
        """Return the GPU-seconds of these in which it got on: the others it spent restarting."""
        if not self.running or self.grant is None or now_s <= self._restarted_s:
            return self._served_gpu_s
        return self._served_gpu_s + (now_s - self._restarted_s) * (self.grant.size / WHOLE)

    def counted_gpu_s(self, now_s: float) -> float:
        """Return the service that it has had since it last rose to a better level."""
        return self.served_gpu_s(now_s) - self._forgiven_gpu_s

    def served_at_s(self, more_gpu_s: float, now_s: float) -> float:
        """Return when it will have had so much more service, if it holds on to what it holds."""
        return max(now_s, self._restarted_s) + more_gpu_s / (self.held.size / WHOLE)

    def move_to(self, level: int, now_s: float) -> None:
        """Put it at another level; if that is better, what it was served so far counts no more."""
        if level < self.level:
            self._forgiven_gpu_s = self.served_gpu_s(now_s)
        self.level, self.level_s = level, now_s

    @property
    def held(self) -> Grant:
        """What it holds; it must hold something."""
        if self.grant is None:
            raise SimulationError(f"{self} holds nothing.")
        return self.grant

    def begin(self, grant: Grant, now_s: float, stall_s: float) -> None:
        """Let it run on a grant; it gets nothing done in the first `stall_s` seconds."""
        self.grant, self.running, self.interrupted = grant, True, False
        self.started_s = self.segment_s = now_s
        self._began_left_s = self._left_s
        self._counts_from_s = self._restarted_s = now_s + stall_s
        self.started += 1

    def change_speed(self, now_s: float, speed: float) -> None:
        """Let it go on at another speed; its end has to be set anew."""
        self._left_s = self.left_s(now_s)
        self._counts_from_s = max(self._counts_from_s, now_s)
        self.speed = speed
        self.version += 1

    def lose(self, now_s: float, lost_s: float) -> None:
        """Let it run on with so much more to do; its end has to be set anew."""
        self.change_speed(now_s, self.speed)
        self._left_s += lost_s

    def end_s(self) -> float:
        """Return when its present run ends if nothing changes, be it by its time limit."""
        done_s = self._counts_from_s + self._left_s / self.speed if self.speed else FOREVER
        return min(done_s, self.started_s + self.limit_s)

    def believed_end_s(self) -> float:
        """Return when its present run is believed to end if nothing changes; it may be past."""
        left_s = self._left_s + self._off_s
        done_s = self._counts_from_s + left_s / self.speed if self.speed else FOREVER
        return min(done_s, self.started_s + self.limit_s)

    def over_limit(self, now_s: float) -> bool:
        """Whether its time limit, and not its own end, stops it now."""
        return now_s >= self.started_s + self.limit_s and self.left_s(now_s) > _NOTHING_S

    def halt(self, now_s: float, lost_s: float = 0.0) -> None:
        """Take it off its GPUs, keeping what it has done but for what is lost."""
        self._attained_gpu_s = self.attained_gpu_s(now_s)
        self._served_gpu_s = self.served_gpu_s(now_s)
        self._left_s = self.left_s(now_s) + lost_s
        self.running, self.grant = False, None
        self.version += 1

    def finish_run(self, *, give_up: bool = False) -> bool:
        """Go to its next run; False when that was the last, or it is not tried again."""
        self.run = len(self.runs) if give_up else self.run + 1
        if self.run == len(self.runs):
            self._left_s = 0.0
            return False
        self._begin_run()
        return True


def _believed_s(run: AttemptSpec) -> float:
    return run.run_s if run.believed_s is None else run.believed_s


@cache
def _size(gpus: int, frac: float) -> int:
    """Return shares of GPUs in parts: one number for all alike, as a million jobs have a size."""
    return round(gpus * frac * WHOLE)
