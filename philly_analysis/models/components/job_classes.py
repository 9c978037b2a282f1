"""Job classes: gang class, virtual cluster and status, and lookups of their distributions."""

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from philly_analysis.distributions import Ints
from philly_analysis.study import GANGS, gang_class

ANY = "*"  # every (other) value of a key


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
