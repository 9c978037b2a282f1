"""Names users for jobs whose model knows none: habits that a predictor by user can learn."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

USERS = 152
"""Users of all virtual clusters together, as among 4,206 jobs of the Philly archive's sample."""

PERSISTENCE = 0.5
"""Of what makes a streak of jobs longer or shorter, the part that belongs to its user for good."""


def people(
    vc: NDArray[np.str_], gang: Ints, run_s: Floats, *, clinging: float, seed: int
) -> NDArray[np.str_]:
    """Return a user for each job; jobs stay as they are.

    In each virtual cluster users have shares of 1 / rank, and there are as many users in all as
    :data:`USERS`, by the square root of its jobs. A user submits whole streaks: jobs of one virtual
    cluster and gang one after the other. Users differ in how long their streaks run, by
    :data:`PERSISTENCE` of what successive jobs cling together, so that means by user predict run
    times about as well as on recorded jobs. It does not change how jobs come or run.

    Parameters
    ----------
    vc, gang, run_s
        Shape (n,): of each job, by submission.
    clinging
        Correlation of the run times of a user's successive jobs of one gang; 0: users are chance.
    """
    rng = np.random.default_rng([seed, USERS])
    names, index, sizes = np.unique(vc, return_inverse=True, return_counts=True)
    weight = np.sqrt(sizes)
    counts = np.maximum(np.round(USERS * weight / weight.sum()), 1).astype(int)
    user = np.empty(vc.size, dtype=object)
    for i, (name, count) in enumerate(zip(names, counts, strict=True)):
        mine = np.flatnonzero(index == i)
        streak = np.cumsum(np.diff(gang[mine], prepend=gang[mine][:1]) != 0)
        jobs = np.bincount(streak)
        length = np.bincount(streak, np.log(np.maximum(run_s[mine], 1.0))) / jobs
        normal = ndtri((scipy.stats.rankdata(length) - 0.5) / length.size)
        habit = PERSISTENCE * clinging
        score = np.sqrt(habit) * normal + np.sqrt(1 - habit) * rng.standard_normal(length.size)
        # who has most jobs is not who runs longest
        share = rng.permutation(1 / np.arange(1, count + 1))
        who = np.searchsorted(np.cumsum(share) / share.sum(), ndtr(score)).clip(max=count - 1)
        user[mine] = np.array([f"{name}-u{u + 1:03d}" for u in range(count)])[who[streak]]
    return user.astype(str)
