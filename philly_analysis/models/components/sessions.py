"""Clusters of correlated jobs: users, or sessions of similar jobs where users are unknown."""

import numpy as np
import pandas as pd

from philly_analysis.distributions import Ints

SESSION_GAP_S = 1_200  # longest gap between jobs of one session


def job_clusters(jobs: pd.DataFrame) -> Ints:
    """Return each job's user as a number, or its session if no user is known.

    Parameters
    ----------
    jobs
        Columns submitted_s (ascending), vc, user, gpus.
    """
    if jobs["user"].notna().any():
        return np.asarray(pd.factorize(jobs["user"].fillna("").astype(str))[0])
    return job_sessions(jobs)


def job_sessions(jobs: pd.DataFrame) -> Ints:
    """Return each job's session as a number.

    A session is a sequence of jobs of one user, or of one gang size and virtual cluster if no user
    is known, without a gap of more than `SESSION_GAP_S`.

    Parameters
    ----------
    jobs
        Columns submitted_s (ascending), vc, user, gpus.
    """
    if jobs["user"].notna().any():
        group = job_clusters(jobs)
    else:
        group = jobs.groupby(["vc", "gpus"]).ngroup().to_numpy()
    at = jobs["submitted_s"].to_numpy(float)
    order = np.lexsort((at, group))
    fresh = np.concatenate(
        ([True], (np.diff(group[order]) != 0) | (np.diff(at[order]) > SESSION_GAP_S))
    )
    session = np.empty(len(jobs), int)
    session[order] = np.cumsum(fresh) - 1
    return session
