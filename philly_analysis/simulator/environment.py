"""A Gymnasium environment over a simulation, for those who learn schedulers: extra ``gym``."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from philly_analysis.errors import SimulationError
from philly_analysis.simulator.cluster.placement import packed
from philly_analysis.simulator.engine.engine import Simulation
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import LONG_S
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import View
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec, Machine

try:
    import gymnasium
except ImportError:
    raise SimulationError(
        "an environment to learn in was asked for, and the package gymnasium is not installed: "
        "`pip install 'philly-analysis[gym]'`."
    ) from None

Jobs = Sequence[JobSpec] | Callable[[np.random.Generator], Sequence[JobSpec]]
"""The jobs of each episode, or how to draw them."""


@dataclass(frozen=True)
class _Outside(Policy):
    """Who decides is outside: it is asked at each event, and again after a while."""

    name = "outside"
    SOURCE = "whoever learns"

    again_s: float = 300.0

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all, first come first."""
        return 0

    def wake_s(self, view: View) -> float:
        """Return when to ask again whom to start, if somebody waits."""
        return view.now_s + self.again_s if view.queue else FOREVER


class SchedulingEnv(gymnasium.Env[npt.NDArray[np.float32], np.int64]):
    """Decides which of the first jobs that wait starts next.

    Actions 0 to ``window`` - 1 start that one of the waiting jobs, first come first, on as few
    servers as it now fits on; while others wait, they may be started at the same moment. Action
    ``window``, or one that starts nobody since there is no such job or no room, lets time go on to
    the next event, or by ``again_s`` if nothing happens before. ``info["action_mask"]`` says which
    actions do what they say.

    An observation is made of numbers from 0 to 1: of each waiting job in the window its share of
    the GPUs and, on a logarithmic scale, how long it has waited and how long it will run; then the
    share of the GPUs that are free and, logarithmic, how many jobs wait. The reward is minus the
    hours that jobs spent waiting or running meanwhile: an episode's is minus the sum of its jobs'
    completion times. An episode ends with its last job; whoever never starts anybody wants a
    ``TimeLimit``.

    Parameters
    ----------
    jobs
        The jobs of each episode, or a function that draws them, of a random generator.
    machines
        Where they run.
    window
        Waiting jobs that are seen.
    again_s
        Seconds after which the question is put again if somebody waits and nothing happens.
    speed
        How fast jobs run.
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
        self._window, self._policy = window, _Outside(again_s=again_s)
        self.action_space = gymnasium.spaces.Discrete(window + 1)
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (3 * window + 2,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode, and go on to when the first job waits."""
        super().reset(seed=seed)
        jobs = self._jobs(self.np_random) if callable(self._jobs) else self._jobs
        self.simulation = Simulation(jobs, self._machines, self._policy, speed=self._speed)
        self._go_on(self.simulation.advance())
        return self._seen(), self._told()

    def step(
        self, action: np.int64
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Start a job, or let time go on."""
        waiting = self._waiting()
        if action < len(waiting):
            job = waiting[int(action)]
            started = self._plan.grant(job, packed(self._plan.cluster, job.gpus))
            if started and self._waiting():
                return self._seen(), 0.0, False, False, self._told()
        before_s, view = self.simulation.view.now_s, self.simulation.view
        present = len(view.queue) + len(view.running)
        self.simulation.apply(self._plan.wish)
        spent_s, done = self._go_on(self.simulation.advance(), before_s, present)
        return self._seen(), -spent_s / 3600, done, False, self._told()

    def _go_on(
        self, there_is_more: bool, since_s: float = 0.0, present: int = 0
    ) -> tuple[float, bool]:
        """Go on until a job waits; return the seconds that jobs spent, and whether all is done."""
        view, spent_s = self.simulation.view, 0.0
        while True:
            spent_s += present * (view.now_s - since_s)
            if not there_is_more or view.queue:
                self._plan = view.plan()
                return spent_s, not there_is_more
            since_s, present = view.now_s, len(view.running)
            self.simulation.apply({})
            there_is_more = self.simulation.advance()

    def _waiting(self) -> list[Job]:
        """Return the first jobs that wait and have not been started at this moment."""
        line = self.simulation.view.queue.groups.get(0, ())
        return list(islice((job for job in line if self._plan.held(job) is None), self._window))

    def _seen(self) -> npt.NDArray[np.float32]:
        view, cluster = self.simulation.view, self._plan.cluster
        seen = np.zeros(self.observation_space.shape or (), np.float32)
        for at, job in enumerate(self._waiting()):
            waited_s, runs_s = view.now_s - job.queued_s, job.left_s(view.now_s)
            seen[3 * at : 3 * at + 3] = job.gpus / cluster.capacity, _log(waited_s), _log(runs_s)
        seen[-2:] = cluster.free / cluster.capacity, _log(len(view.queue))
        return seen

    def _told(self) -> dict[str, Any]:
        """Return the time, and which actions start a job or let time go on."""
        mask = np.zeros(self._window + 1, np.int8)
        mask[-1] = 1
        for at, job in enumerate(self._waiting()):
            mask[at] = job.gpus <= self._plan.cluster.free
        return {"now_s": self.simulation.view.now_s, "action_mask": mask}


def _log(value: float) -> float:
    """Return a number from 0 to a thousand million on a scale from 0 to 1."""
    return float(min(np.log1p(max(value, 0.0)) / np.log1p(LONG_S), 1.0))
