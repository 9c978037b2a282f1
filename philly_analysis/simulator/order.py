"""Jobs sorted by what a policy says of them: those that wait, in groups, and those that run."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from philly_analysis.simulator.job import Job


class Place(NamedTuple):
    """Where a job stands in an order: by the policy's word, then as it was submitted.

    No two jobs are the `nth` to be submitted, so comparing places never comes to comparing jobs.
    """

    key: Any
    nth: int
    job: Job


class Order:
    """Jobs, smallest key first.

    A key is asked for once, when the job is added, and the job is found again by it: a policy
    whose keys change while jobs stay must have them added anew (see ``Policy.review_s``).

    Attributes
    ----------
    places
        The jobs with their keys, in order.
    """

    __slots__ = ("_place_of", "places")

    def __init__(self) -> None:
        self.places: list[Place] = []
        self._place_of: dict[Job, Place] = {}

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Job]:
        return (place.job for place in self.places)

    def __reversed__(self) -> Iterator[Job]:
        return (place.job for place in reversed(self.places))

    def add(self, job: Job, key: Any) -> None:
        """Put a job where its key belongs."""
        place = self._place_of[job] = Place(key, job.index, job)
        insort(self.places, place)

    def discard(self, job: Job) -> None:
        """Take a job out, if it is in."""
        place = self._place_of.pop(job, None)
        if place is not None:
            del self.places[bisect_left(self.places, place)]


class Queue:
    """Waiting jobs in groups, each in the order of the policy's keys.

    A policy names groups so that when one job of a group cannot start, none behind it can: an
    event then costs as much as there are groups, not as there are jobs.

    Attributes
    ----------
    groups
        The jobs of each group; no group is empty.
    """

    __slots__ = ("_group_of", "groups")

    def __init__(self) -> None:
        self.groups: dict[Hashable, Order] = {}
        self._group_of: dict[Job, Hashable] = {}

    def __len__(self) -> int:
        return sum(map(len, self.groups.values()))

    def __iter__(self) -> Iterator[Job]:
        return (job for order in self.groups.values() for job in order)

    def file(self, job: Job, group: Hashable, key: Any) -> None:
        """Put a job where it belongs; group None: it waits, but does not ask now."""
        self.remove(job)
        if group is not None:
            self.groups.setdefault(group, Order()).add(job, key)
            self._group_of[job] = group

    def remove(self, job: Job) -> None:
        """Take a job out, if it is in."""
        group = self._group_of.pop(job, None)
        if group is not None:
            order = self.groups[group]
            order.discard(job)
            if not order.places:
                del self.groups[group]

    def led_by(self, job: Job) -> Hashable:
        """Return the group at whose head a job stands; None when it heads none."""
        group = self._group_of.get(job)
        return group if group is not None and self.groups[group].places[0].job is job else None
