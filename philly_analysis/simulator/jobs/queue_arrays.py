"""Waiting jobs beside numbers of each, for policies that look at all who wait at once."""

from bisect import bisect_left, insort
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from philly_analysis.simulator.jobs.job import Job
from philly_analysis.simulator.jobs.ordering import Order, Place

_SPARE = 64
"""Places more than are taken, at first."""


class Line:
    """The jobs of an order with numbers of each in columns, kept in step with it.

    What came and went since is put in or taken out: a look at all of a long line then costs a
    walk through arrays, not through jobs.

    Parameters
    ----------
    order
        The jobs.
    numbers
        What is wanted of a job; it must not change while the job waits.

    Attributes
    ----------
    places
        The jobs with their keys, in order.
    """

    __slots__ = ("_columns", "_numbers", "_order", "places")

    def __init__(self, order: Order, numbers: Callable[[Job], tuple[float, ...]]) -> None:
        self._order, self._numbers = order, numbers
        self.places: list[Place] = []
        self._columns = np.empty((0, 0))

    def of(self, order: Order) -> bool:
        """Whether it is the line of this very order."""
        return self._order is order

    def columns(self) -> npt.NDArray[np.float64]:
        """Return one row per number, as many columns as jobs; brings all up to date."""
        news = self._order.news()
        if news is None:
            self.places = list(self._order.places())
            rows = [self._numbers(place.job) for place in self.places]
            taken = np.array(rows).T
            self._columns = np.empty((len(taken), len(rows) + _SPARE))
            self._columns[:, : len(rows)] = taken
        else:
            for place, came in news:
                self._put(place) if came else self._drop(place)
        return self._columns[:, : len(self.places)]

    def _put(self, place: Place) -> None:
        count, at = len(self.places), bisect_left(self.places, place)
        if count == self._columns.shape[1]:
            room = np.empty((len(self._columns), count))
            self._columns = np.concatenate([self._columns, room], axis=1)
        insort(self.places, place)
        self._columns[:, at + 1 : count + 1] = self._columns[:, at:count]
        self._columns[:, at] = self._numbers(place.job)

    def _drop(self, place: Place) -> None:
        count, at = len(self.places), bisect_left(self.places, place)
        del self.places[at]
        self._columns[:, at : count - 1] = self._columns[:, at + 1 : count]
