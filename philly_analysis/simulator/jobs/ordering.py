"""Keep waiting jobs in groups, and running jobs, sorted by a policy's priority keys."""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from philly_analysis.simulator.jobs.job import Job

_BLOCK = 512
"""Entries per block; larger blocks than twice this are split: an insertion moves few entries."""


class Entry(NamedTuple):
    """A job with the priority key and the job's number in the order of submission.

    The numbers are distinct, so comparing entries never compares jobs.
    """

    key: Any
    nth: int
    job: Job


_JOB = attrgetter("job")


class SortedJobs:
    """Jobs sorted by priority key, smallest first.

    A key is computed when the job is added. Jobs of policies that are not steady are added again
    before each decision (see ``Policy.steady``).

    Entries are stored in blocks, found by their last entries: an insertion moves one block only,
    so that a queue of a million jobs is as fast as one of a thousand.

    Attributes
    ----------
    version
        Incremented whenever a job is added or removed; for caches of derived values.
    """

    __slots__ = ("_blocks", "_changes", "_entry_of", "_lasts", "version")

    def __init__(self) -> None:
        self._changes: list[tuple[Entry, bool]] | None = None
        self._blocks: list[list[Entry]] = []
        self._lasts: list[Entry] = []
        self._entry_of: dict[Job, Entry] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._entry_of)

    def __iter__(self) -> Iterator[Job]:
        return map(_JOB, self.entries())

    def __reversed__(self) -> Iterator[Job]:
        return map(_JOB, chain.from_iterable(map(reversed, reversed(self._blocks))))

    def key_of(self, job: Job) -> Any:
        """Return the key that a job is sorted by."""
        return self._entry_of[job].key

    def entries(self) -> Iterator[Entry]:
        """Yield the jobs with their keys, in order."""
        return chain.from_iterable(self._blocks)

    def changes(self) -> list[tuple[Entry, bool]] | None:
        """Return the entries added (True) or removed since the last call; for one caller.

        None at the first call, or after so many changes that reading all entries is cheaper.
        """
        changes, self._changes = self._changes, []
        return changes

    def _record_change(self, entry: Entry, *, added: bool) -> None:
        self.version += 1
        if self._changes is not None:
            self._changes.append((entry, added))
            if len(self._changes) > len(self._entry_of) + _BLOCK:
                self._changes = None

    def below(self, key: Any) -> Iterator[Entry]:
        """Yield the entries of smaller keys, greatest first."""
        nth = bisect_left(self._lasts, (key,))
        if nth < len(self._blocks):
            block = self._blocks[nth]
            for at in range(bisect_left(block, (key,)) - 1, -1, -1):  # few are ever consumed
                yield block[at]
        for block in self._blocks[:nth][::-1]:
            yield from reversed(block)

    @property
    def first(self) -> Entry:
        """The first entry; there must be one."""
        return self._blocks[0][0]

    def add(self, job: Job, key: Any) -> None:
        """Insert a job."""
        entry = self._entry_of[job] = Entry(key, job.index, job)
        self._record_change(entry, added=True)
        if not self._blocks:
            self._blocks, self._lasts = [[entry]], [entry]
            return
        at = min(bisect_left(self._lasts, entry), len(self._lasts) - 1)
        block = self._blocks[at]
        insort(block, entry)
        self._lasts[at] = block[-1]
        if len(block) > 2 * _BLOCK:
            self._blocks[at : at + 1] = block[:_BLOCK], block[_BLOCK:]
            self._lasts[at : at + 1] = block[_BLOCK - 1], block[-1]

    def discard(self, job: Job) -> None:
        """Remove a job, if present."""
        entry = self._entry_of.pop(job, None)
        if entry is None:
            return
        self._record_change(entry, added=False)
        at = bisect_left(self._lasts, entry)
        block = self._blocks[at]
        del block[bisect_left(block, entry)]
        if block:
            self._lasts[at] = block[-1]
        else:
            del self._blocks[at], self._lasts[at]


class Queue:
    """Waiting jobs in groups, each sorted by the policy's priority keys.

    A policy defines groups by a rule: if one job of a group cannot start, no later job can. The
    cost of an event is then proportional to the number of groups, not of jobs.

    Attributes
    ----------
    groups
        The jobs of each group; no group is empty.
    kinds
        The groups of each kind (see ``Policy.kind``), if any; none is empty.
    withheld
        Waiting jobs that request nothing now (group None).
    """

    def __init__(self, kind: str | None = None) -> None:
        self._kind = attrgetter(kind) if kind else None
        self.groups: dict[Hashable, SortedJobs] = {}
        self.kinds: dict[Hashable, dict[Hashable, SortedJobs]] = {}
        self.withheld: dict[Job, None] = {}
        self._group_of: dict[Job, Hashable] = {}

    def __len__(self) -> int:
        return len(self._group_of)

    def __iter__(self) -> Iterator[Job]:
        return (job for jobs in self.groups.values() for job in jobs)

    def put(self, job: Job, group: Hashable, key: Any) -> None:
        """Insert or move a job; a job in group None waits without requesting GPUs."""
        self.remove(job)
        if group is not None:
            jobs = self.groups.get(group)
            if jobs is None:
                jobs = self.groups[group] = SortedJobs()
                if self._kind is not None:
                    self.kinds.setdefault(self._kind(group), {})[group] = jobs
            jobs.add(job, key)
            self._group_of[job] = group
        else:
            self.withheld[job] = None

    def place_of(self, job: Job) -> tuple[Hashable, Any]:
        """Return the group of a waiting job, and the key that sorts the job."""
        group = self._group_of.get(job)
        return group, None if group is None else self.groups[group].key_of(job)

    def remove(self, job: Job) -> None:
        """Remove a job, if present."""
        self.withheld.pop(job, None)
        group = self._group_of.pop(job, None)
        if group is not None:
            jobs = self.groups[group]
            jobs.discard(job)
            if not jobs:
                del self.groups[group]
                if self._kind is not None:
                    kind = self._kind(group)
                    del self.kinds[kind][group]
                    if not self.kinds[kind]:
                        del self.kinds[kind]

    def heads(self) -> list[Entry]:
        """Return the first entry of each group."""
        return [jobs._blocks[0][0] for jobs in self.groups.values()]  # a hot path
