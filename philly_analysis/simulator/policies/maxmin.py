"""Max-min fairness: divide GPUs each round, always to the owner with the fewest."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster.capacity import allocate
from philly_analysis.simulator.cluster.gpu_sharing import GPU_UNITS
from philly_analysis.simulator.cluster.request import Request
from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry, SortedJobs
from philly_analysis.simulator.policies.knobs import ROUND, check_at_most, knob
from philly_analysis.simulator.policies.periods import next_end_s
from philly_analysis.simulator.policies.policy import Policy, owner
from philly_analysis.simulator.policies.view import Decision, View


class _Group(NamedTuple):
    """Jobs of one owner and request."""

    owner: str
    request: Request


_Head = tuple[Entry, Iterator[Entry]]
"""The first job of a group, and the jobs behind the first."""


@dataclass(frozen=True)
class MaxMin(Policy):
    """Max-min fairness in GPUs over users, or virtual clusters; first come, first served within.

    Each round divides all GPUs anew. Each step selects the owner with the fewest GPUs (of several,
    the owner with the fewest GPU-seconds) and allocates its first gang that fits. If there are more
    owners than gangs that fit, the owners take turns.

    On GPUs of one kind the policy is Gavel's hierarchical policy, fairness above first come, first
    served, except that Gavel divides rounds. Not modelled: kinds of GPUs, weights.
    """

    name = "maxmin"
    SOURCE = "Narayanan et al., Gavel, OSDI'20, sections 4.1 and 4.3"
    steady = True

    fractional = True

    round_s: float = knob(
        360.0, "divide GPUs only at multiples of so many seconds; 0: at each event", within=ROUND
    )
    of: str = knob("user", "owners between which GPUs are divided", among=("user", "vc"))

    def __post_init__(self) -> None:
        """Check the bounds of the knobs, and that restarts leave time for work."""
        super().__post_init__()
        if self.round_s:
            check_at_most(self, "restart_s", "round_s", half=True)

    def wake_s(self, view: View) -> float:
        """Return the end of the period, if a job waits."""
        return next_end_s(view, self.round_s)

    def group(self, job: Job, now_s: float) -> _Group:
        """Return owner and request."""
        return _Group(owner(job, self.of), job.request)

    def decide(self, view: View) -> Decision:
        """Divide all GPUs anew."""
        if not view.queue.groups:
            return {}
        # the group and the counted GPU-seconds of the jobs chosen last
        held: dict[Job, tuple[_Group, float]] = view.state.get("held", {})
        chosen = self._divide(view, held)
        plan = view.plan()
        stopped = [job for job in view.running if job not in chosen]
        for job in stopped:
            plan.release(job)
        for job in chosen:
            if not job.running:
                plan.assign(job, allocate(plan.cluster, job.request))
        for job in stopped:  # a fraction of a GPU may fit on none
            if plan.restore(job):
                chosen[job] = None
        view.state["held"] = {
            job: held.get(job) or (self.group(job, view.now_s), job.attained_gpu_s(view.now_s))
            for job in chosen
        }
        return plan.decision

    def _divide(self, view: View, held: dict[Job, tuple[_Group, float]]) -> dict[Job, None]:
        """Count the GPU-seconds of each owner, and return the jobs to run."""
        served: dict[str, float] = view.state.setdefault("served", {})
        for job, (group, before) in held.items():
            so_far = job.attained_gpu_s(view.now_s)
            served[group.owner] = served.get(group.owner, 0.0) + so_far - before
            held[job] = group, so_far
        running: dict[_Group, list[Entry]] = {}
        for entry in view.running.entries():
            running.setdefault(held[entry.job][0], []).append(entry)
        waiting = cast("dict[_Group, SortedJobs]", view.queue.groups)
        heads: dict[str, list[_Head]] = {}
        for group, entries in (
            *((group, iter(group_entries)) for group, group_entries in running.items()),
            *((group, jobs.entries()) for group, jobs in waiting.items()),
        ):
            heads.setdefault(group.owner, []).append((next(entries), entries))
        return _fill(heads, served, view.cluster.capacity * GPU_UNITS)


def _fill(heads: dict[str, list[_Head]], served: dict[str, float], free: int) -> dict[Job, None]:
    """Allocate GPUs, gang by gang, to the owner with the fewest."""
    chosen: dict[Job, None] = {}
    for groups in heads.values():
        heapify(groups)
    least = [(0, served.get(owner, 0.0), owner) for owner in heads]
    heapify(least)
    while least and free:
        held, before, owner = heappop(least)
        groups = heads[owner]
        while groups and groups[0][0].job.size > free:  # nor will the later jobs of the group fit
            heappop(groups)
        if groups:
            (_, _, job), entries = groups[0]
            if (behind := next(entries, None)) is not None:
                heapreplace(groups, (behind, entries))
            else:
                heappop(groups)
            chosen[job] = None
            free -= job.size
            heappush(least, (held + job.size, before, owner))
    return chosen
