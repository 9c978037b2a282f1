"""Block resampling of jobs: an alternative to models, and the variance of job lists."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from philly_analysis.distributions import Ints
from philly_analysis.models.components.sessions import job_clusters

DAY_S = 86_400
WEEK_D = 7
Resample = Callable[[pd.DataFrame, float, np.random.Generator], pd.DataFrame]
"""Takes jobs, the start of their window in Unix s, and a generator; returns resampled jobs."""


def independent_jobs(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw a Poisson number of independent jobs (Efron 1979)."""
    return jobs.iloc[rng.integers(0, len(jobs), max(rng.poisson(len(jobs)), 1))]


def day_blocks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Replace each day by a random one."""
    day = ((jobs["submitted_s"].to_numpy(float) - start_s) // DAY_S).astype(int)
    days = int(day.max()) + 1
    by_day = [np.flatnonzero(day == d) for d in range(days)]
    pick = rng.integers(0, days, days)
    taken = np.concatenate([by_day[d] for d in pick])
    if not taken.size:
        return jobs
    shift = np.repeat((np.arange(days) - pick) * DAY_S, [by_day[d].size for d in pick])
    drawn = jobs.iloc[taken]
    return drawn.assign(submitted_s=drawn["submitted_s"].to_numpy() + shift)


def user_blocks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw users with all their jobs; a user drawn twice is two users."""
    return _blocks(jobs, job_clusters(jobs), rng, named=bool(jobs["user"].notna().any()))


def user_weeks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw users, and the weeks of each user's jobs (days, if the window is under two weeks).

    Zakay and Feitelson (ICPE 2013): weeks of users are independent, at the same hours of the week.
    """
    named = bool(jobs["user"].notna().any())
    at = jobs["submitted_s"].to_numpy(float) - start_s
    length = DAY_S * (WEEK_D if at.max() >= 2 * WEEK_D * DAY_S else 1)
    drawn = _blocks(jobs.assign(submitted_s=at), job_clusters(jobs), rng, named=named)
    user = drawn["user"].to_numpy() if named else np.zeros(len(drawn), int)
    at = drawn["submitted_s"].to_numpy()
    piece = (at // length).astype(int)
    spans = int(piece.max()) + 1
    # each piece of a user's jobs is moved to a random span
    unit, number = np.unique(
        np.column_stack((pd.factorize(user)[0], piece)), axis=0, return_inverse=True
    )
    to = rng.integers(0, spans, len(unit))[number.ravel()]
    return drawn.assign(submitted_s=start_s + at + (to - piece) * length)


RESAMPLERS: dict[str, Resample] = {
    "jobs one by one": independent_jobs,
    "day blocks": day_blocks,
    "user blocks": user_blocks,
    "user weeks (Zakay-Feitelson)": user_weeks,
}


def _blocks(
    jobs: pd.DataFrame, block: Ints, rng: np.random.Generator, *, named: bool
) -> pd.DataFrame:
    """Draw as many blocks as the log has; rename users if blocks are users."""
    order = np.argsort(block, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(block))[:-1])
    pick = rng.integers(0, len(members), len(members))
    taken = [members[i] for i in pick]
    drawn = jobs.take(np.concatenate(taken))
    if not named:
        return drawn
    return drawn.assign(user=np.repeat(np.arange(pick.size), list(map(len, taken))))
