"""Jobs sorted by what a policy says of them: those that wait, in groups, and those that run."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from philly_analysis.simulator.jobs.job import Job

_BLOCK = 512
"""Places in a block, at most twice as many: what an insertion has to move."""


class Place(NamedTuple):
    """Where a job stands in an order: by the policy's word, then as it was submitted.

    No two jobs are the `nth` to be submitted, so comparing places never comes to comparing jobs.
    """

    key: Any
    nth: int
    job: Job


_JOB = attrgetter("job")


class Order:
    """Jobs, smallest key first.

    A key is asked for once, when the job is added, and the job is found again by it: a policy
    whose keys change while jobs stay must have them added anew (see ``Policy.review_s``).

    Places are kept in blocks, so that a queue of a million jobs is no slower than one of a
    thousand: only a block is moved about, and the lasts of the blocks say which.

    Attributes
    ----------
    version
        Raised whenever a job comes or goes, for those who keep what they derived.
    """

    __slots__ = ("_blocks", "_lasts", "_news", "_place_of", "version")

    def __init__(self) -> None:
        self._news: list[tuple[Place, bool]] | None = None
        self._blocks: list[list[Place]] = []
        self._lasts: list[Place] = []
        self._place_of: dict[Job, Place] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._place_of)

    def __contains__(self, job: Job) -> bool:
        return job in self._place_of

    def __iter__(self) -> Iterator[Job]:
        return map(_JOB, self.places())

    def __reversed__(self) -> Iterator[Job]:
        return map(_JOB, chain.from_iterable(map(reversed, reversed(self._blocks))))

    def places(self) -> Iterator[Place]:
        """Yield the jobs with their keys, in order."""
        return chain.from_iterable(self._blocks)

    def news(self) -> list[tuple[Place, bool]] | None:
        """Return who came (or went: False) since this was last asked, for the one who follows.

        None: nobody asked yet, or so many did that it is as well to look at all anew.
        """
        news, self._news = self._news, []
        return news

    def _note(self, place: Place, *, came: bool) -> None:
        self.version += 1
        if self._news is not None:
            self._news.append((place, came))
            if len(self._news) > len(self._place_of) + _BLOCK:
                self._news = None

    def below(self, key: Any) -> Iterator[Place]:
        """Yield the places of smaller keys, greatest first."""
        nth = bisect_left(self._lasts, (key,))
        if nth < len(self._blocks):
            block = self._blocks[nth]
            for at in range(bisect_left(block, (key,)) - 1, -1, -1):  # few are ever asked for
                yield block[at]
        for block in self._blocks[:nth][::-1]:
            yield from reversed(block)

    @property
    def first(self) -> Place:
        """The place of the first job; there must be one."""
        return self._blocks[0][0]

    def behind(self, many: int) -> Place | None:
        """Return the place behind so many; None: there is none."""
        for block in self._blocks:
            if many < len(block):
                return block[many]
            many -= len(block)
        return None

    def add(self, job: Job, key: Any) -> None:
        """Put a job where its key belongs."""
        place = self._place_of[job] = Place(key, job.index, job)
        self._note(place, came=True)
        if not self._blocks:
            self._blocks, self._lasts = [[place]], [place]
            return
        at = min(bisect_left(self._lasts, place), len(self._lasts) - 1)
        block = self._blocks[at]
        insort(block, place)
        self._lasts[at] = block[-1]
        if len(block) > 2 * _BLOCK:
            self._blocks[at : at + 1] = block[:_BLOCK], block[_BLOCK:]
            self._lasts[at : at + 1] = block[_BLOCK - 1], block[-1]

    def discard(self, job: Job) -> None:
        """Take a job out, if it is in."""
        place = self._place_of.pop(job, None)
        if place is None:
            return
        self._note(place, came=False)
        at = bisect_left(self._lasts, place)
        block = self._blocks[at]
        del block[bisect_left(block, place)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]


class Queue:
    """Waiting jobs in groups, each in the order of the policy's keys.

    A policy names groups so that when one job of a group cannot start, none behind it can: an
    event then costs as much as there are groups, not as there are jobs.

    Attributes
    ----------
    groups
        The jobs of each group; no group is empty.
    kinds
        The groups of each kind (see ``Policy.kind``), where there are kinds; none is empty.
    """

    __slots__ = ("_group_of", "_kind", "groups", "kinds")

    def __init__(self, kind: str | None = None) -> None:
        self._kind = attrgetter(kind) if kind else None
        self.groups: dict[Hashable, Order] = {}
        self.kinds: dict[Hashable, dict[Hashable, Order]] = {}
        self._group_of: dict[Job, Hashable] = {}

    def __len__(self) -> int:
        return len(self._group_of)

    def __iter__(self) -> Iterator[Job]:
        return (job for order in self.groups.values() for job in order)

    def file(self, job: Job, group: Hashable, key: Any) -> None:
        """Put a job where it belongs; group None: it waits, but does not ask now."""
        self.remove(job)
        if group is not None:
            order = self.groups.get(group)
            if order is None:
                order = self.groups[group] = Order()
                if self._kind is not None:
                    self.kinds.setdefault(self._kind(group), {})[group] = order
            order.add(job, key)
            self._group_of[job] = group

    def remove(self, job: Job) -> None:
        """Take a job out, if it is in."""
        group = self._group_of.pop(job, None)
        if group is not None:
            order = self.groups[group]
            order.discard(job)
            if not order:
                del self.groups[group]
                if self._kind is not None:
                    kind = self._kind(group)
                    del self.kinds[kind][group]
                    if not self.kinds[kind]:
                        del self.kinds[kind]

    def heads(self) -> list[Place]:
        """Return the first place of each group."""
        return [order._blocks[0][0] for order in self.groups.values()]  # often, so at once

    def led_by(self, job: Job) -> Hashable:
        """Return the group at whose head a job stands; None when it heads none."""
        group = self._group_of.get(job)
        return group if group is not None and self.groups[group].first.job is job else None
