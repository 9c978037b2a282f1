"""Whose jobs are whose: users, and where none is known, sessions of similar jobs."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]

SESSION_GAP_S = 1_200
"""Where users are not known, jobs of one gang and VC no further apart stand for a user's."""


def whose(jobs: pd.DataFrame) -> Ints:
    """Return whose each job is, as numbers: the user, or where none is known, the session.

    Parameters
    ----------
    jobs
        Columns submitted_s (ascending), vc, user, gpus.
    """
    if jobs["user"].notna().any():
        return np.asarray(pd.factorize(jobs["user"].fillna("").astype(str))[0])
    kind = jobs.groupby(["vc", "gpus"]).ngroup().to_numpy()
    at = jobs["submitted_s"].to_numpy(float)
    order = np.lexsort((at, kind))
    fresh = np.concatenate(
        ([True], (np.diff(kind[order]) != 0) | (np.diff(at[order]) > SESSION_GAP_S))
    )
    session = np.empty(len(jobs), int)
    session[order] = np.cumsum(fresh) - 1
    return session
