"""Max-min fairness: GPUs, round by round, to whoever holds least."""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple, cast

from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import seat
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import Order, Place
from philly_analysis.simulator.policies.knobs import PERIOD, check_below, knob
from philly_analysis.simulator.policies.policy import Policy
from philly_analysis.simulator.policies.view import View, Wish


class _Line(NamedTuple):
    """Jobs of one owner that ask for as much."""

    owner: str
    size: int


_Head = tuple[Place, Iterator[Place]]
"""The first of a line's jobs, and those behind it."""


@dataclass(frozen=True)
class MaxMin(Policy):
    """Max-min fairness in GPUs over users, or virtual clusters; first come, first served within.

    At each round all GPUs are divided anew: the next gang is always the first that fits of the
    owner who holds fewest GPUs, or, of several, has held fewest GPU-seconds until now. So with
    more owners than gangs that fit they take turns.

    On GPUs of one kind this is what Gavel's policy of two levels comes to, fairness above and
    first come, first served below, but for its shares that may be parts of a round. Not modelled:
    kinds of GPUs, weights.
    """

    name = "maxmin"
    SOURCE = "Narayanan et al., Gavel, OSDI'20, sections 4.1 and 4.3"

    parts = True

    round_s: float = knob(
        360.0,
        "divide GPUs only at multiples of so many seconds; 0: whenever something happens",
        unit="s",
        within=PERIOD._replace(or_else=(0,)),
    )
    of: str = knob("user", "between whom GPUs are divided", among=("user", "vc"))

    def __post_init__(self) -> None:
        """Refuse restarts that would eat up the rounds."""
        super().__post_init__()
        if self.round_s:
            check_below(self, self.name, "restart_s", "round_s", 2)

    def group(self, job: Job, now_s: float) -> _Line:
        """Return owner and gang."""
        return _Line(self._owner(job), job.size)

    def wake_s(self, view: View) -> float:
        """Return the next round, if a job waits for that."""
        if not view.queue.groups or not self.round_s:
            return FOREVER
        return (view.now_s // self.round_s + 1) * self.round_s

    def decide(self, view: View) -> Wish:
        """Divide all GPUs anew."""
        if not view.queue.groups:
            return {}
        chosen = self._divided(view, self._served(view))
        plan = view.plan()
        stopped = [job for job in view.running if job not in chosen]
        for job in stopped:
            plan.release(job)
        for job in chosen:
            if not job.running:
                plan.grant(job, seat(plan.cluster, job.size))
        for job in stopped:  # for a share of a GPU that is on none
            if plan.return_to(job):
                chosen[job] = None
        held = self._held(view)
        view.kept["held"] = {
            job: held.get(job) or (self.group(job, view.now_s), job.attained_gpu_s(view.now_s))
            for job in chosen
        }
        return plan.wish

    def _owner(self, job: Job) -> str:
        return job.spec.user if self.of == "user" else job.vc

    def _held(self, view: View) -> dict[Job, tuple[_Line, float]]:
        """Return, of the jobs chosen last, the line and the GPU-seconds that it has held."""
        held: dict[Job, tuple[_Line, float]] = view.kept.get("held", {})
        return held

    def _served(self, view: View) -> dict[str, float]:
        """Return the GPU-seconds that each owner's jobs have held until now."""
        served: dict[str, float] = view.kept.setdefault("served", {})
        held, now_s = self._held(view), view.now_s
        for job, (line, before) in held.items():
            so_far = job.attained_gpu_s(now_s)
            served[line.owner] = served.get(line.owner, 0.0) + so_far - before
            held[job] = line, so_far
        return served

    def _divided(self, view: View, served: dict[str, float]) -> dict[Job, None]:
        """Return who is to run."""
        running: dict[_Line, list[Place]] = {}
        held = self._held(view)
        for place in view.running.places():  # they stand as they were submitted
            running.setdefault(held[place.job][0], []).append(place)
        waiting = cast("dict[_Line, Order]", view.queue.groups)
        heads: dict[str, list[_Head]] = {}
        for line, places in (
            *((line, iter(own)) for line, own in running.items()),
            *((line, order.places()) for line, order in waiting.items()),
        ):
            heads.setdefault(line.owner, []).append((next(places), places))
        return _filled(heads, served, view.cluster.capacity * WHOLE)


def _filled(heads: dict[str, list[_Head]], served: dict[str, float], free: int) -> dict[Job, None]:
    """Give GPUs, gang by gang, to the owner that has least."""
    chosen: dict[Job, None] = {}
    for lines in heads.values():
        heapify(lines)
    least = [(0, served.get(owner, 0.0), owner) for owner in heads]
    heapify(least)
    while least and free:
        held, before, owner = heappop(least)
        lines = heads[owner]
        while lines and lines[0][0].job.size > free:  # nor will those behind it ever fit
            heappop(lines)
        if lines:
            (_, _, job), line = lines[0]
            if (behind := next(line, None)) is not None:
                heapreplace(lines, (behind, line))
            else:
                heappop(lines)
            chosen[job] = None
            free -= job.size
            heappush(least, (held + job.size, before, owner))
    return chosen
