"""Define the contract of a scheduling policy: a frozen dataclass of knobs with one decision."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.policies.knobs import ROUND, STALL, check, knob
from philly_analysis.simulator.policies.limit import Limit
from philly_analysis.simulator.policies.view import Decision, View
from philly_analysis.simulator.speed.speed import AS_RECORDED, Speed
from philly_analysis.workload import JobSpec, Machine, Workload


@dataclass(frozen=True)
class Policy:
    """A scheduling policy. A policy never changes the view, logs, or advances time.

    Besides :meth:`decide` a policy defines properties of single jobs (group, level, priority key,
    next review). The engine sorts jobs and asks for decisions by these properties. If a class
    defines a property without :attr:`steady`, the engine evaluates all jobs again before each
    decision, so that keys may depend on time.
    """

    name: ClassVar[str]
    """Name on the command line."""

    SOURCE: ClassVar[str] = ""
    """Publication of the policy."""

    steady: ClassVar[bool] = True
    """Whether group, level and keys of a job change only when the job starts, stops or changes its
    speed, and at :meth:`review_s`. The engine sorts the jobs of a steady policy only then."""

    quotas: ClassVar[bool] = False
    """Whether the policy uses the virtual clusters' quotas."""

    elastic: ClassVar[bool] = False
    """Whether a job may get more or fewer GPUs than it requests."""

    guests: ClassVar[bool] = False
    """Whether jobs may be guests on GPUs that other jobs hold."""

    fractional: ClassVar[bool] = False
    """Whether a job may get a fraction of a GPU; if not, the job gets the whole GPU."""

    replays: ClassVar[bool] = False
    """Whether the policy uses the recorded times and placements of attempts."""

    one_pool: ClassVar[bool] = False
    """Whether the policy chooses among all machines; if not, pools are simulated separately."""

    limits: ClassVar[bool] = False
    """Whether the policy has limits of accounts, users, QOS and partitions."""

    holds: ClassVar[bool] = False
    """Whether a job waits for its recorded eligible time."""

    kind: ClassVar[str | None] = None
    """Attribute of a group by which the queue also indexes groups."""

    round_s: float = knob(
        0.0, "decide only at multiples of so many seconds; 0: immediately", within=ROUND
    )
    restart_s: float = knob(
        0.0, "time to restart a preempted, migrated or resized job", within=STALL
    )

    def __post_init__(self) -> None:
        """Check the bounds of the knobs."""
        check(self)

    def for_workload(self, workload: Workload, machines: Sequence[Machine]) -> Self:
        """Return the policy with the parts of a workload beside the jobs, for example limits."""
        return self

    def notes(self) -> tuple[str, ...]:
        """Return sentences on what the policy uses of a workload, after :meth:`for_workload`."""
        return ()

    def within(self, limits: Sequence[Limit]) -> Self:
        """Return the policy with limits; unchanged, if the policy has no limits."""
        return self

    def prepare(self, specs: Sequence[JobSpec]) -> Self:
        """Return the policy for a workload, in the order of submission.

        Each simulation calls this method once, before the first event.
        """
        return self

    def decide(self, view: View) -> Decision:
        """Return the new allocations; jobs that are not named keep theirs."""
        raise NotImplementedError

    def group(self, job: Job, now_s: float) -> Hashable:
        """Return the queue group of a waiting job: if one cannot start, none behind it can.

        None: the job requests nothing now. The default is the request, so that smaller jobs may
        pass.
        """
        return job.request

    def level(self, job: Job, now_s: float) -> int:
        """Return the queue level of a job, 0 the best.

        The engine stores the level and its begin as ``Job.level`` and ``Job.level_s``, before the
        engine calls any other method for the job.
        """
        return 0

    def key(self, job: Job, now_s: float) -> Any:
        """Return the priority key of a waiting job; the smallest is served first.

        The key may depend on time unless the class is :attr:`steady`.
        """
        return job.spec.submit_s

    def running_key(self, job: Job, now_s: float) -> Any:
        """Return the priority key of a running job; by default :meth:`key`."""
        return self.key(job, now_s)

    def review_s(self, job: Job, now_s: float) -> float:
        """Return when to evaluate the job and to decide without an event (s).

        ``now_s + 60`` evaluates the job every minute.
        """
        return FOREVER

    def wake_s(self, view: View) -> float:
        """Return when to decide again without an event (s); called after each decision."""
        return FOREVER

    def speed(self) -> Speed:
        """Return the speed model of the policy's publication."""
        return AS_RECORDED

    def event_cost_s(self) -> float:
        """Return the work that each running job loses at an arrival or end (s)."""
        return 0.0


def is_steady(policy: Policy) -> bool:
    """Return whether a policy's class is steady, and not only a parent class."""
    for kind in type(policy).__mro__:
        defined = vars(kind)
        if "steady" in defined:
            return bool(defined["steady"])
        if defined.keys() & {"group", "level", "key", "running_key"}:
            return False
    return True


def owner(job: Job, of: str) -> str:
    """Return a job's user or virtual cluster: ``user`` or ``vc``."""
    return job.spec.user if of == "user" else job.vc
