"""A Gymnasium environment for schedulers that learn (extra ``gym``)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.engine.event_loop import Simulation
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies import LONG_S, Policy, View
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec, Machine

try:
    import gymnasium
except ImportError:
    raise SimulationError(
        "the learning environment needs the package gymnasium, which is not installed: "
        "`pip install 'philly-analysis[gym]'`."
    ) from None

Jobs = Sequence[JobSpec] | Callable[[np.random.Generator], Sequence[JobSpec]]
"""The jobs of each episode, or a function that draws them."""


@dataclass(frozen=True)
class _External(Policy):
    """A policy whose decisions are external: at each event, and after a while without one."""

    name = "external"
    SOURCE = "the agent"

    again_s: float = 300.0

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all jobs, first come, first served."""
        return 0

    def wake_s(self, view: View) -> float:
        """Return when to decide again, if a job waits."""
        return view.now_s + self.again_s if view.queue else FOREVER


class SchedulingEnv(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """Decides which of the first waiting jobs starts next.

    Actions 0 to ``window`` - 1 start that waiting job, first come, first served, on as few servers
    as possible now; while others wait, more may start at the same moment. Action ``window``, or one
    that starts no job (there is none, or no room), advances time to the next event, or by
    ``again_s`` if nothing happens before. ``info["action_mask"]`` marks the effective actions.

    Observations are numbers from 0 to 1: for each waiting job in the window its share of the GPUs
    and, on a logarithmic scale, its wait and its remaining run time; then the share of free GPUs
    and, logarithmic, the number of waiting jobs. The reward is minus the hours that jobs spent
    waiting or running meanwhile. The sum of rewards over an episode is minus the sum of completion
    times. An episode ends with its last job; an agent that may never start a job needs a
    ``TimeLimit``.

    Parameters
    ----------
    jobs
        The jobs of each episode, or a function that draws them, given a random generator.
    machines
        The cluster.
    window
        Number of waiting jobs in an observation.
    again_s
        Seconds until the next decision if a job waits and nothing happens.
    speed
        The speed of jobs on their allocations.
    """

    def __init__(
        self,
        jobs: Jobs,
        machines: Sequence[Machine],
        *,
        window: int = 16,
        again_s: float = 300.0,
        speed: Speed = AS_RECORDED,
    ) -> None:
        self._jobs, self._machines, self._speed = jobs, tuple(machines), speed
        self._window, self._policy = window, _External(again_s=again_s)
        self.action_space = gymnasium.spaces.Discrete(window + 1)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (3 * window + 2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, and advance until the first job waits."""
        super().reset(seed=seed)
        jobs = self._jobs(self.np_random) if callable(self._jobs) else self._jobs
        self.simulation = Simulation(jobs, self._machines, self._policy, speed=self._speed)
        self._advance(0.0, 0)
        return self._observation(), self._info()

    def step(
        self, action: np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Start a job, or advance time."""
        waiting = self._waiting()
        if action < len(waiting):
            job = waiting[int(action)]
            started = self._plan.assign(job, allocate(self._plan.cluster, job.request))
            if started and self._waiting():
                return self._observation(), 0.0, False, False, self._info()
        before_s, view = self.simulation.view.now_s, self.simulation.view
        present = len(view.queue) + len(view.running)
        self.simulation.apply(self._plan.decision)
        spent_s, done = self._advance(before_s, present)
        return self._observation(), -spent_s / 3600, done, False, self._info()

    def _advance(self, since_s: float, present: int) -> tuple[float, bool]:
        """Advance until a job waits; return the seconds spent by jobs, and whether all ended."""
        view, spent_s = self.simulation.view, 0.0
        while True:
            more = self.simulation.advance()
            spent_s += present * (view.now_s - since_s)
            if not more or view.queue:
                self._plan = view.plan()
                return spent_s, not more
            since_s, present = view.now_s, len(view.running)
            self.simulation.apply({})

    def _waiting(self) -> list[Job]:
        """Return the first waiting jobs that have not been started at this moment."""
        jobs = self.simulation.view.queue.groups.get(0, ())
        waiting = (job for job in jobs if self._plan.allocation_of(job) is None)
        return list(islice(waiting, self._window))

    def _observation(self) -> npt.NDArray[np.float32]:
        view, cluster = self.simulation.view, self._plan.cluster
        numbers = np.zeros(self.observation_space.shape or (), np.float32)
        for at, job in enumerate(self._waiting()):
            waited_s, runs_s = view.now_s - job.queued_s, job.left_s(view.now_s)
            numbers[3 * at : 3 * at + 3] = job.gpus / cluster.capacity, _log(waited_s), _log(runs_s)
        numbers[-2:] = cluster.free / cluster.capacity, _log(len(view.queue))
        return numbers

    def _info(self) -> dict[str, Any]:
        """Return the time, and which actions start a job or advance time."""
        mask = np.zeros(self._window + 1, np.int8)
        mask[-1] = 1
        for at, job in enumerate(self._waiting()):
            mask[at] = job.gpus <= self._plan.cluster.free
        return {"now_s": self.simulation.view.now_s, "action_mask": mask}


def _log(value: float) -> float:
    """Return a number from 0 to a thousand million on a logarithmic scale from 0 to 1."""
    return float(min(np.log1p(max(value, 0.0)) / np.log1p(LONG_S), 1.0))
