"""Splits of a trace's jobs into a part to fit to and a held-out part."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from philly_analysis.models.components.hourly_counts import HOUR_S
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.distances import Jobs
from philly_analysis.models.validation.resampling import Resample, independent_jobs, user_blocks

DAY_S = 86_400
WEEK_S = 7 * DAY_S

SplitParts = tuple[Jobs, Jobs, Observations]


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a trace's jobs.

    Attributes
    ----------
    meaning
        Both parts, as a phrase.
    parts
        Returns the part to fit to, the held-out part, and the observations of the first.
    resample
        Resampling for the sampling variance of a part; None if there is none.
    arrivals
        Whether the arrivals of the parts can be compared.
    """

    meaning: str
    parts: Callable[[Observations], SplitParts]
    resample: Resample | None = user_blocks
    arrivals: bool = True


def _span(data: Observations) -> tuple[float, float]:
    """Return the whole hours from the first submission to the last."""
    at = data.jobs["submitted_s"].to_numpy(float)
    return at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S


def _alternate(data: Observations, length_s: int) -> SplitParts:
    """Split into alternating spans of `length_s`, aligned to a Monday 00:00 UTC."""
    at = data.jobs["submitted_s"].to_numpy(float)
    first, last = _span(data)
    turn = (((at + 3 * DAY_S) // length_s) % 2).astype(int)
    begin = ((first + 3 * DAY_S) // length_s) * length_s - 3 * DAY_S
    starts = np.arange(begin, last, length_s)
    spans = np.column_stack((np.maximum(starts, first), np.minimum(starts + length_s, last)))
    parity = (((starts + 3 * DAY_S) // length_s) % 2).astype(int)
    fitted, rest = (Jobs(data.jobs[turn == i], spans[parity == i]) for i in (0, 1))
    return fitted, rest, data.where(turn == 0)


def _halves(data: Observations) -> SplitParts:
    first, last = _span(data)
    middle = (first + last) / 2 // HOUR_S * HOUR_S
    early = data.jobs["submitted_s"].to_numpy(float) < middle
    return (
        Jobs(data.jobs[early], np.array([[first, middle]])),
        Jobs(data.jobs[~early], np.array([[middle, last]])),
        data.where(early),
    )


def _random(data: Observations) -> SplitParts:
    mine = np.random.default_rng(20_171_003).random(len(data.jobs)) < 0.5
    return Jobs(data.jobs[mine]), Jobs(data.jobs[~mine]), data.where(mine)


def _same(data: Observations) -> SplitParts:
    return Jobs(data.jobs), Jobs(data.jobs), data


SPLITS = {
    "halves": Split("fitted to the first half of the period, compared with the second", _halves),
    "weeks": Split(
        "fitted to every other week, compared with the weeks between",
        lambda data: _alternate(data, WEEK_S),
    ),
    "days": Split(
        "fitted to every other day, compared with the days between",
        lambda data: _alternate(data, DAY_S),
    ),
    "jobs": Split(
        "fitted to a random half of the jobs, compared with the other half",
        _random,
        independent_jobs,
        arrivals=False,
    ),
    "none": Split(
        "fitted to all jobs and compared with the same: the model's own error", _same, None
    ),
}
"""Splits by name, the one most sensitive to drift first; ``none`` holds nothing out."""
