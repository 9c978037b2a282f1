"""Keep numbers of the waiting jobs in NumPy arrays, for policies that evaluate all of them."""

from bisect import bisect_left, insort
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Entry, SortedJobs

_SPARE = 64
"""Spare columns allocated at first."""


class QueueArrays:
    """Arrays of numbers of sorted jobs, updated by the changes since the last read.

    Parameters
    ----------
    jobs
        The jobs.
    numbers
        Computes the numbers of a job; they must not change while the job waits.

    Attributes
    ----------
    entries
        The jobs with their keys, in order.
    """

    def __init__(self, jobs: SortedJobs, numbers: Callable[[Job], tuple[float, ...]]) -> None:
        self.jobs, self._numbers = jobs, numbers
        self.entries: list[Entry] = []
        self._columns = np.empty((0, 0))

    def columns(self) -> npt.NDArray[np.float64]:
        """Update the arrays and return one row per number, one column per job."""
        changes = self.jobs.changes()
        if changes is None:
            self.entries = list(self.jobs.entries())
            rows = [self._numbers(entry.job) for entry in self.entries]
            values = np.array(rows).T
            self._columns = np.empty((len(values), len(rows) + _SPARE))
            self._columns[:, : len(rows)] = values
        else:
            for entry, added in changes:
                self._insert(entry) if added else self._delete(entry)
        return self._columns[:, : len(self.entries)]

    def _insert(self, entry: Entry) -> None:
        count, at = len(self.entries), bisect_left(self.entries, entry)
        if count == self._columns.shape[1]:
            spare = np.empty((len(self._columns), count))
            self._columns = np.concatenate([self._columns, spare], axis=1)
        insort(self.entries, entry)
        self._columns[:, at + 1 : count + 1] = self._columns[:, at:count]
        self._columns[:, at] = self._numbers(entry.job)

    def _delete(self, entry: Entry) -> None:
        count, at = len(self.entries), bisect_left(self.entries, entry)
        del self.entries[at]
        self._columns[:, at : count - 1] = self._columns[:, at + 1 : count]
