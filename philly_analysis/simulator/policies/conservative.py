"""Conservative backfilling: everybody has a reservation, and nobody's is put off."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import filterfalse, islice

from philly_analysis.simulator.cluster.gpu_sharing import WHOLE
from philly_analysis.simulator.cluster.placement import seat
from philly_analysis.simulator.jobs.job import FOREVER, Job
from philly_analysis.simulator.jobs.ordering import Order
from philly_analysis.simulator.policies.easy import Easy
from philly_analysis.simulator.policies.knobs import Bounds, knob
from philly_analysis.simulator.policies.view import Plan, View, Wish

_EPS_S = 1e-6


@dataclass(frozen=True)
class Conservative(Easy):
    """First come, first served, with a reservation for each job that waits.

    As it comes to wait, a job reserves the earliest stretch of time in which its gang fits for as
    long as it is believed to run, beside those that run and all reservations made before; then it
    starts. So jobs pass others only where that delays none of them. When a run ends otherwise than
    was believed, all reservations are made again, in the order in which jobs came to wait.

    Gangs are as many GPUs anywhere, and shares of GPUs as much of any: a job that then finds its
    share on no single GPU waits on. Only the first ``depth`` that wait have reservations, as in
    production schedulers; 1 is not EASY, where those behind may start, too.
    """

    name = "conservative"
    SOURCE = "Mu'alem and Feitelson, TPDS'01, section 2: conservative backfilling"

    depth: int = knob(
        100, "waiting jobs, first come, that have a reservation", within=Bounds(1, 1_000_000)
    )

    def group(self, job: Job, now_s: float) -> int:
        """Return one group for all."""
        return 0

    def key(self, job: Job, now_s: float) -> float:
        """Return since when it waits: who failed and asks again comes last."""
        return job.queued_s

    def decide(self, view: View) -> Wish:
        """Reserve for those who have come, and start whose time has come."""
        if not view.queue.groups:
            return {}
        now_s = view.now_s
        table: _Timetable | None = view.kept.get("table")
        if table is None or not table.starts_s:  # nothing is reserved, so what fits starts
            first = list(islice(view.queue.groups[0], self.depth))
            if sum(job.gpus for job in first) <= view.cluster.free:
                view.kept.pop("table", None)
                plan = view.plan()
                for job in first:
                    plan.grant(job, seat(plan.cluster, job.size))
                return plan.wish
        if table is None or not table.holds(view):
            table = view.kept["table"] = _Timetable(view)
        table.forget_before(now_s)
        for job in self._unreserved(view.queue.groups[0], table.starts_s):
            table.reserve(job, self.estimate * job.believed_left_s(now_s))
        due = table.due(now_s + _EPS_S)
        if not due:
            return {}
        plan = view.plan()
        for job in due:
            self._start(plan, job, table)
        return plan.wish

    def _unreserved(self, line: Order, reserved: Mapping[Job, float]) -> list[Job]:
        """Return those who are to reserve now, in order; where all may, the last have not yet."""
        more = min(len(line), self.depth) - len(reserved)
        if more <= 0:
            return []
        if len(line) > self.depth:
            return [*islice(filterfalse(reserved.__contains__, line), more)]
        return [*islice(filterfalse(reserved.__contains__, reversed(line)), more)][::-1]

    def _start(self, plan: Plan, job: Job, table: "_Timetable") -> None:
        if plan.grant(job, seat(plan.cluster, job.size)):
            del table.starts_s[job]
            table.ends_s[job] = plan.view.now_s + self.estimate * job.believed_left_s(
                plan.view.now_s
            )
        else:  # somebody is late
            plan.view.kept.pop("table", None)


class _Timetable:
    """What will be free in parts of GPUs, as is believed, and who has reserved it.

    Attributes
    ----------
    starts_s
        When those that wait will start, who reserved first first.
    ends_s
        When those that run are believed to end.
    """

    def __init__(self, view: View) -> None:
        self._most = view.cluster.capacity * WHOLE
        self.starts_s: dict[Job, float] = {}
        self._to_start: list[tuple[float, int, Job]] = []
        self._reserved = 0
        view.running.news()  # from now on
        self.ends_s = {place.job: place.key for place in view.running.places()}
        running = {job: ends_s for job, ends_s in self.ends_s.items() if ends_s > view.now_s}
        self._from_s, self._free = [view.now_s], [self._most - sum(job.size for job in running)]
        for job, ends_s in running.items():  # those that end first come first
            if self._from_s[-1] < ends_s:
                self._from_s.append(ends_s)
                self._free.append(self._free[-1])
            self._free[-1] += job.size

    def holds(self, view: View) -> bool:
        """Whether all who ran have ended, or will, as was believed, and the GPUs are the same."""
        running = view.running
        news, now_s = running.news(), view.now_s
        if news is None or self._most != view.cluster.capacity * WHOLE:
            return False
        for job, key in {place.job: place.key for place, _ in news}.items():
            if not job.running:
                if self.ends_s.pop(job, now_s) > now_s + _EPS_S:
                    return False
            elif abs(key - self.ends_s.get(job, FOREVER)) >= _EPS_S:
                return False
        return not running or running.first.key > now_s - _EPS_S

    def forget_before(self, now_s: float) -> None:
        """Leave out what has passed."""
        past = bisect_right(self._from_s, now_s) - 1
        del self._from_s[:past], self._free[:past]
        self._from_s[0] = max(self._from_s[0], now_s)

    def due(self, by_s: float) -> list[Job]:
        """Return those whose time to start has come, who reserved first first; but once."""
        found = []
        while self._to_start and self._to_start[0][0] <= by_s:
            found.append(heappop(self._to_start)[1:])
        return [job for _, job in sorted(found)]

    def reserve(self, job: Job, takes_s: float) -> None:
        """Reserve the earliest stretch in which a gang fits for so long, if it ever will."""
        if job.size > self._most:
            self.starts_s[job] = FOREVER
            return
        free, size, at, last = self._free, job.size, 0, 0
        while at == 0 or at < last:  # somebody is in the way at this step, or nobody looked yet
            while free[at] < size:
                at += 1
            starts_s = self._from_s[at]
            last = bisect_left(self._from_s, starts_s + takes_s, at + 1)
            at += 1
            while at < last and free[at] >= size:
                at += 1
        self.starts_s[job] = starts_s
        self._reserved += 1
        heappush(self._to_start, (starts_s, self._reserved, job))
        self._take(job.size, starts_s, starts_s + takes_s)

    def _take(self, size: int, from_s: float, until_s: float) -> None:
        if from_s < until_s:
            first, last = self._cut(from_s), self._cut(until_s)
            self._free[first:last] = [free - size for free in self._free[first:last]]

    def _cut(self, at_s: float) -> int:
        """Return the place of a step that begins at a moment."""
        at = bisect_right(self._from_s, at_s) - 1
        if self._from_s[at] < at_s:
            at += 1
            self._from_s.insert(at, at_s)
            self._free.insert(at, self._free[at - 1])
        return at
