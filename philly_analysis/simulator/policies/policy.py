"""What a policy is: a frozen set of knobs that says who should hold what now."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from philly_analysis.simulator.cluster.cluster import Grant
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import PERIOD, STALL, check, knob
from philly_analysis.simulator.policies.view import View, Wish
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec


@dataclass(frozen=True)
class Policy:
    """Knobs and one decision. It never changes what it is shown, logs, or advances time.

    Besides :meth:`decide` a policy only states facts about single jobs, so that the engine can
    keep them sorted and knows when to ask again.
    """

    name: ClassVar[str]
    """What the user types."""

    SOURCE: ClassVar[str]
    """Where the policy was published."""

    quotas: ClassVar[bool] = False
    """Whether it looks at the virtual clusters' quotas."""

    elastic: ClassVar[bool] = False
    """Whether a job may get more or fewer GPUs than it asks for."""

    shares: ClassVar[bool] = False
    """Whether jobs may be guests on GPUs that others hold."""

    parts: ClassVar[bool] = False
    """Whether a job that asks for a share of a GPU gets no more of it; if not, it gets it all."""

    replays: ClassVar[bool] = False
    """Whether it looks at where and when attempts were recorded."""

    kind: ClassVar[str | None] = None
    """What of a group says what it asks for, for policies that look up groups by that."""

    round_s: float = knob(
        0.0,
        "decide only at multiples of so many seconds; 0: at once",
        unit="s",
        within=PERIOD._replace(or_else=(0,)),
    )
    restart_s: float = knob(
        0.0,
        "what a stopped, moved or resized job needs before it gets on again",
        unit="s",
        within=STALL,
    )

    def __post_init__(self) -> None:
        """Refuse knobs outside of their bounds."""
        check(self, self.name)

    def informed(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy with what it is to know of the jobs, in the order of submission.

        Each simulation asks once, before anything happens.
        """
        return self

    def decide(self, view: View) -> Wish:
        """Say who should hold what now; jobs not named stay as they are."""
        raise NotImplementedError

    def group(self, job: Job, now_s: float) -> Hashable:
        """Return the group in which a job waits: if it cannot start, none behind it can.

        None: it does not ask now. The default, what it asks for, lets smaller jobs pass by.
        """
        return job.size

    def level(self, job: Job, now_s: float) -> int:
        """Return the level at which a job is from now on, 0 the best: a queue of several.

        The engine remembers it, and since when, as ``Job.level`` and ``Job.level_s``, before it
        asks for anything else of the job.
        """
        return 0

    def key(self, job: Job, now_s: float) -> Any:
        """Return what waiting jobs are served by, smallest first."""
        return job.spec.submit_s

    def standing(self, job: Job, now_s: float) -> Any:
        """Return what running jobs are sorted by, best first; time alone never reorders them."""
        return self.key(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when to look at a job again though nothing happened to it (s since origin)."""
        return FOREVER

    def wake_s(self, view: View) -> float:
        """Return when to decide again though nothing happens till then (s since origin).

        It is asked after each decision, of the present that this made.
        """
        return FOREVER

    def speed(self) -> Speed:
        """Return how fast jobs run, as its publication has it."""
        return AS_RECORDED

    def stall_s(self, job: Job, grant: Grant) -> float:
        """Return how long a job that starts on a grant gets nothing done (s)."""
        return self.restart_s if job.interrupted else 0.0

    def toll_s(self) -> float:
        """Return the work that each running job loses whenever a job comes or ends (s)."""
        return 0.0
