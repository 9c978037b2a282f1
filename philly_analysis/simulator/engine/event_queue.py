"""Queue the ends of runs and the reviews of jobs by time, with lazy deletion."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import FOREVER, Job


class Event(NamedTuple):
    """The end of a run, or a review: its time, sequence number, and version of its job."""

    at_s: float
    nth: int
    version: int
    job: Job
    ends: bool


class EventQueue:
    """A heap of events, earliest first; of simultaneous events the first scheduled.

    Events change often: a slowed job ends later, a started job needs no review. An obsolete event
    remains in the heap and is skipped when it is due (lazy deletion). An end is valid for the
    `version` of the job for which it was scheduled, which each change of speed and each stop
    increments; a review is valid if it is the job's last one.
    """

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._count = 0
        self._review_at_s: dict[Job, float] = {}

    @property
    def next_s(self) -> float:
        """Time of the first event, which may be obsolete."""
        return self._heap[0].at_s if self._heap else FOREVER

    def schedule_end(self, job: Job, at_s: float) -> None:
        """Schedule the end of a job's run; infinite: none."""
        if at_s < FOREVER:
            self._push(job, at_s, ends=True)

    def schedule_review(self, job: Job, now_s: float, at_s: float) -> None:
        """Schedule a job's review instead of any earlier one; none if it is not in the future."""
        if not now_s < at_s < FOREVER:
            self.cancel_review(job)
        elif self._review_at_s.get(job) != at_s:
            self._review_at_s[job] = at_s
            self._push(job, at_s, ends=False)

    def cancel_review(self, job: Job) -> None:
        """Cancel a job's review."""
        self._review_at_s.pop(job, None)

    def due(self, now_s: float) -> Iterator[Event]:
        """Yield the valid events up to now, those scheduled during the iteration included.

        Validity is checked as an event comes up: the one before may have changed it.
        """
        heap = self._heap
        while heap and heap[0].at_s <= now_s:
            event = heappop(heap)
            job = event.job
            if event.ends:
                valid = event.version == job.version
            else:
                valid = self._review_at_s.get(job) == event.at_s
            if valid:
                yield event

    def _push(self, job: Job, at_s: float, *, ends: bool) -> None:
        self._count += 1
        heappush(self._heap, Event(at_s, self._count, job.version, job, ends))
