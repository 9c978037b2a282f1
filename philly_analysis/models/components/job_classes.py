"""Job classes: gang class, virtual cluster, status and length, and their distributions' numbers."""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions import Floats, Ints
from philly_analysis.study import GANGS, gang_class

ANY = "*"  # every (other) value of a key
LONG_SHARE = 0.1
"""Share of the jobs of a gang class that are long; a convention."""
MIN_JOBS = 20
"""Fewest jobs of a gang class that has long jobs: two of them are compared."""


def gang_names(gpus: ArrayLike) -> NDArray[np.str_]:
    """Return the names of gang classes."""
    return np.asarray(GANGS)[gang_class(gpus)]


def nearest_gang(classes: Iterable[str], index: int) -> str:
    """Return the gang class nearest to the class at an index of `GANGS`."""
    return min(classes, key=lambda gang: abs(GANGS.index(gang) - index))


def look_up(find: Callable[..., int], gpus: Ints, *labels: NDArray[np.str_]) -> Ints:
    """Return a number per job, computed once per job class.

    Parameters
    ----------
    find
        Returns the number, given the index of the gang class and a value of each label.
    gpus, labels
        Shape (n,): gang size and labels of each job.
    """
    names, index = zip(*(np.unique(v, return_inverse=True) for v in labels), strict=True)
    sizes = (len(GANGS), *(v.size for v in names))
    keys = product(range(len(GANGS)), *(map(str, v) for v in names))
    table = np.fromiter((find(*key) for key in keys), int, int(np.prod(sizes))).reshape(sizes)
    return np.asarray(table[(gang_class(gpus), *index)])


def long_jobs_of(gang: Ints, run_s: Floats) -> tuple[Ints, Floats]:
    """Return the longest jobs of each gang class: a share of `LONG_SHARE`.

    Parameters
    ----------
    gang, run_s
        Shape (n,): index of the gang class and run time of each job.

    Returns
    -------
    tuple
        Numbers of the long jobs, ascending, and the level of each among the long jobs of its gang
        class, in (0, 1). Equal run times are in random order.
    """
    rng = np.random.default_rng(0)
    numbers, levels = [np.empty(0, int)], [np.empty(0)]
    for index in np.unique(gang):
        jobs = np.flatnonzero(gang == index)
        if jobs.size < MIN_JOBS:
            continue
        ascending = jobs[np.lexsort((rng.random(jobs.size), run_s[jobs]))]
        size = int(jobs.size * LONG_SHARE)
        numbers.append(ascending[-size:])
        levels.append((np.arange(size) + 0.5) / size)
    order = np.argsort(np.concatenate(numbers))
    return np.concatenate(numbers)[order], np.concatenate(levels)[order]
