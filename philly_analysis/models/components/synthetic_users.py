"""Assign synthetic users to the jobs of a model without users."""

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from philly_analysis.distributions import Floats, Ints

USERS = 152  # of all virtual clusters, as among 4,206 jobs of the Philly archive's sample
PERSISTENCE = 0.5  # share of the correlation of run times that is a user effect


def assign_users(
    vc: NDArray[np.str_], gang: Ints, run_s: Floats, *, correlation: float, seed: int
) -> NDArray[np.str_]:
    """Return a user for each job, without changing the jobs.

    In each virtual cluster users have shares of 1 / rank. The :data:`USERS` users
    are divided in proportion to the square root of the virtual cluster's jobs. A user submits whole
    streaks: successive jobs of one virtual cluster and gang size. Mean run times of users differ
    such that they predict run times about as well as on recorded jobs.

    Parameters
    ----------
    vc, gang, run_s
        Shape (n,): of each job, by submission.
    correlation
        Correlation of the run times of a user's successive jobs of one gang size.
    """
    rng = np.random.default_rng([seed, USERS])
    names, index, sizes = np.unique(vc, return_inverse=True, return_counts=True)
    weight = np.sqrt(sizes)
    counts = np.maximum(np.round(USERS * weight / weight.sum()), 1).astype(int)
    user = np.empty(vc.size, dtype=object)
    effect = PERSISTENCE * correlation
    for i, (name, count) in enumerate(zip(names, counts, strict=True)):
        mine = np.flatnonzero(index == i)
        streak = np.cumsum(np.diff(gang[mine], prepend=gang[mine][:1]) != 0)
        log_run = np.bincount(streak, np.log(np.maximum(run_s[mine], 1.0))) / np.bincount(streak)
        normal = ndtri((scipy.stats.rankdata(log_run) - 0.5) / log_run.size)
        score = np.sqrt(effect) * normal + np.sqrt(1 - effect) * rng.standard_normal(log_run.size)
        # the user's share of jobs is independent of its run times
        share = rng.permutation(1 / np.arange(1, count + 1))
        who = np.searchsorted(np.cumsum(share) / share.sum(), ndtr(score)).clip(max=count - 1)
        user[mine] = np.array([f"{name}-u{u + 1:03d}" for u in range(count)])[who[streak]]
    return user.astype(str)
