"""Resampling jobs in blocks: what one has without a model, and what a model must be better than."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.models.components.sessions import whose

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

DAY_S = 86_400
WEEK_D = 7
Resample = Callable[[pd.DataFrame, float, np.random.Generator], pd.DataFrame]
"""Takes jobs, the start of their window in Unix s, and a generator; returns jobs drawn of them."""


def jobs_one_by_one(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw jobs independently, as many as a Poisson law says (Efron 1979)."""
    return jobs.iloc[rng.integers(0, len(jobs), max(rng.poisson(len(jobs)), 1))]


def day_blocks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw whole days; each takes the place of another."""
    day = ((jobs["submitted_s"].to_numpy(float) - start_s) // DAY_S).astype(int)
    days = int(day.max()) + 1
    of_day = [np.flatnonzero(day == d) for d in range(days)]
    pick = rng.integers(0, days, days)
    taken = np.concatenate([of_day[d] for d in pick])
    if not taken.size:
        return jobs
    shift = np.repeat((np.arange(days) - pick) * DAY_S, [of_day[d].size for d in pick])
    drawn = jobs.iloc[taken]
    return drawn.assign(submitted_s=drawn["submitted_s"].to_numpy() + shift)


def user_blocks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw whole users, with all their jobs at their times; a user drawn twice is two users."""
    return _blocks(jobs, whose(jobs), rng, known=bool(jobs["user"].notna().any()))


def user_weeks(jobs: pd.DataFrame, start_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw users, and of each the weeks of activity (days, of windows shorter than two weeks).

    As Zakay and Feitelson (ICPE 2013) resample a log: users come as wholes, and the weeks of each
    are drawn apart from those of others, at the same hours of the week.
    """
    known = bool(jobs["user"].notna().any())
    at = jobs["submitted_s"].to_numpy(float) - start_s
    length = DAY_S * (WEEK_D if at.max() >= 2 * WEEK_D * DAY_S else 1)
    drawn = _blocks(jobs.assign(submitted_s=at), whose(jobs), rng, known=known)
    who = drawn["user"].to_numpy() if known else np.zeros(len(drawn), int)
    at = drawn["submitted_s"].to_numpy()
    piece = (at // length).astype(int)
    spans = int(piece.max()) + 1
    # each piece of a user's activity goes to a span of its own
    unit, number = np.unique(
        np.column_stack((pd.factorize(who)[0], piece)), axis=0, return_inverse=True
    )
    to = rng.integers(0, spans, len(unit))[number.ravel()]
    return drawn.assign(submitted_s=start_s + at + (to - piece) * length)


RESAMPLERS: dict[str, Resample] = {
    "jobs one by one": jobs_one_by_one,
    "day blocks": day_blocks,
    "user blocks": user_blocks,
    "user weeks (Zakay-Feitelson)": user_weeks,
}
"""Ways of resampling by name."""


def _blocks(
    jobs: pd.DataFrame, block: Ints, rng: np.random.Generator, *, known: bool
) -> pd.DataFrame:
    """Draw as many blocks as there are; users of blocks that are users are told apart."""
    order = np.argsort(block, kind="stable")
    edges = np.searchsorted(block[order], np.arange(int(block.max()) + 2))
    pick = rng.integers(0, edges.size - 1, edges.size - 1)
    size = np.diff(edges)[pick]
    offset = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
    drawn = jobs.take(order[np.repeat(edges[pick], size) + offset])
    if not known:
        return drawn
    return drawn.assign(user=np.repeat(np.arange(pick.size), size))
