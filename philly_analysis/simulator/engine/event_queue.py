"""What is due when: the ends of runs, and the moments at which a policy looks at a job again."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import FOREVER, Job


class Due(NamedTuple):
    """One entry: at what time, the how-manieth set, and for which version of which job."""

    at_s: float
    set_as: int
    version: int
    job: Job
    ends: bool


class Agenda:
    """A heap of dates, earliest first; of two at one time, the one that was set first.

    Dates change all the time: a job slows down, so its end moves; it starts, so nobody need look
    at it. To find the old entry inside a heap would cost a walk through it. It stays there instead
    and is passed over when it comes up (lazy deletion), as it no longer holds by then: an end
    holds for the `version` of the job that it was set for, which each change of speed and each
    stop raises by one; a review holds if it is the one that was set last.
    """

    __slots__ = ("_heap", "_review_at_s", "_set")

    def __init__(self) -> None:
        self._heap: list[Due] = []
        self._set = 0
        self._review_at_s: dict[Job, float] = {}

    @property
    def next_s(self) -> float:
        """When the first entry is due, be it one that no longer holds."""
        return self._heap[0].at_s if self._heap else FOREVER

    def end(self, job: Job, at_s: float) -> None:
        """Set the end of a job's run, as it runs now; infinite: it has none."""
        if at_s < FOREVER:
            self._push(job, at_s, ends=True)

    def review(self, job: Job, now_s: float, at_s: float) -> None:
        """Set when to look at a job again, in place of what was set; not after now: never."""
        if not now_s < at_s < FOREVER:
            self.forget_review(job)
        elif self._review_at_s.get(job) != at_s:
            self._review_at_s[job] = at_s
            self._push(job, at_s, ends=False)

    def forget_review(self, job: Job) -> None:
        """Look at a job no more."""
        self._review_at_s.pop(job, None)

    def due(self, now_s: float) -> Iterator[Due]:
        """Yield what is due by now and still holds, also what is set while others are dealt with.

        Whether an entry holds is known only when it comes up: the one before may have changed it.
        """
        heap = self._heap
        while heap and heap[0].at_s <= now_s:
            entry = heappop(heap)
            job = entry.job
            if entry.ends:
                holds = entry.version == job.version
            else:
                holds = self._review_at_s.get(job) == entry.at_s
            if holds:
                yield entry

    def _push(self, job: Job, at_s: float, *, ends: bool) -> None:
        self._set += 1
        heappush(self._heap, Due(at_s, self._set, job.version, job, ends))
