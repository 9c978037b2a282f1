"""Queue the ends of runs and the reviews of jobs by time, with lazy deletion."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from philly_analysis.simulator.jobs.job import FOREVER, Job


class Event(NamedTuple):
    """The end of a run, or a review: time, sequence number, and version of the job."""

    at_s: float
    nth: int
    version: int
    job: Job
    ends: bool


class EventQueue:
    """A heap of events, earliest first; of simultaneous events the first scheduled.

    Events change often: a slowed job ends later, a started job needs no review. An obsolete event
    remains in the heap and is skipped when the event is due (lazy deletion). An end is valid while
    the job has the `version` of the event. Each change of speed and each stop increments the
    version. Only a job's latest review is valid.
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
        """Replace a job's review; without a time in the future the job has no review."""
        if not now_s < at_s < FOREVER:
            self.cancel_review(job)
        elif self._review_at_s.get(job) != at_s:
            self._review_at_s[job] = at_s
            self._push(job, at_s, ends=False)

    def cancel_review(self, job: Job) -> None:
        """Cancel a job's review."""
        self._review_at_s.pop(job, None)

    def due(self, now_s: float) -> Iterator[Event]:
        """Yield the valid events up to now, also events scheduled during the iteration.

        An event is checked when its turn comes, because the event before may have made it obsolete.
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
