"""Users run longer or shorter than others, and so do hours of the day."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from philly_analysis.distributions import Own, worth

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

FEWEST_JOBS = 5
MOST_APART = 0.9


@dataclass(frozen=True, slots=True)
class Habit:
    """How one user's, or one hour's, run times differ from all of the same gang class.

    Attributes
    ----------
    name
        The user as samples name it, or the hour of the day in UTC.
    shift
        Mean normal score of its run times: 0 is as all, 1 a standard deviation longer.
    n, worth
        Its jobs, and how many independent ones they are worth.
    """

    name: str
    shift: float
    n: int
    worth: float


@dataclass(frozen=True, slots=True)
class Habits:
    """How users, or hours, differ from each other.

    Attributes
    ----------
    apart
        Variance of their true shifts; that of all normal scores is 1. What is seen of each is
        drawn towards 0 by as much as chance explains (Robbins 1956; Efron and Morris 1973).
    known
        Those with at least `FEWEST_JOBS` jobs.
    """

    apart: float
    known: tuple[Habit, ...]

    @classmethod
    def fit(cls, score: Floats, name: NDArray[np.str_], cluster: Ints, alike: float) -> Self:
        """Fit to jobs, all arguments of shape (n,) but the last.

        Parameters
        ----------
        score
            Normal scores of run times among jobs of the gang class.
        name
            Whose they are.
        cluster, alike
            Which jobs of one name are not independent, and how alike such are.
        """
        names, of, count = np.unique(name, return_inverse=True, return_counts=True)
        known = []
        for i in np.flatnonzero(count >= FEWEST_JOBS):
            mine = of == i
            own = np.unique(cluster[mine], return_inverse=True)[1]
            known.append(
                Habit(
                    str(names[i]),
                    round(float(score[mine].mean()), 4),
                    int(count[i]),
                    round(worth(own, alike), 2),
                )
            )
        shift, told = np.array([(h.shift, h.worth) for h in known]).reshape(-1, 2).T
        weight = told / (1 + told)
        # seen = true + what chance adds to the mean of so many independent values
        apart = float(weight @ (shift**2 - 1 / told) / weight.sum()) if known else 0.0
        return cls(round(float(np.clip(apart, 0, MOST_APART)), 4), tuple(known))

    def of(self, name: str, what: str) -> tuple[float, float, Own]:
        """Return a shift, the variance that it explains, and how much of it is known.

        Parameters
        ----------
        name
            Of which; one not seen is like all others.
        what
            The same in words.
        """
        for habit in self.known:
            if habit.name == name:
                noise = 1 - self.apart
                weight = habit.worth * self.apart / max(habit.worth * self.apart + noise, 1e-12)
                return (
                    weight * habit.shift,
                    weight * self.apart,
                    Own(what, habit.worth, round(weight, 3)),
                )
        return 0.0, 0.0, Own(what, 0.0, 0.0)
