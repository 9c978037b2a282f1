"""Splits of a trace's jobs into a part to fit to and a held-out part."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from philly_analysis.distributions import Bools, Floats, Ints
from philly_analysis.models.components.hourly_counts import HOUR_S
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.distances import Jobs
from philly_analysis.models.validation.resampling import Resample, independent_jobs, user_blocks

DAY_S = 86_400

Cut = tuple[Bools, tuple[Floats | None, Floats | None]]
"""The jobs to fit to, and the observed times of both parts (see :class:`Jobs`)."""


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a trace's jobs.

    Attributes
    ----------
    meaning
        Both parts, as a phrase.
    cut
        Divides the jobs; None: both parts are all jobs.
    resample
        Resampling for the sampling variance of a part; None if there is none.
    arrivals
        Whether the arrivals of the parts can be compared.
    """

    meaning: str
    cut: Callable[[Observations], Cut] | None
    resample: Resample | None = user_blocks
    arrivals: bool = True

    def parts(self, data: Observations) -> tuple[Jobs, Jobs, Observations]:
        """Return the part to fit to, the held-out part, and the observations of the first."""
        if self.cut is None:
            return Jobs(data.jobs), Jobs(data.jobs), data
        mine, (windows, others) = self.cut(data)
        return Jobs(data.jobs[mine], windows), Jobs(data.jobs[~mine], others), data.where(mine)


def _span(data: Observations) -> tuple[float, float]:
    """Return the whole hours from the earliest submission to the latest."""
    at = data.jobs["submitted_s"].to_numpy(float)
    return at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S


def _alternate(data: Observations, length_s: int) -> Cut:
    """Split into alternating spans of `length_s`, aligned to a Monday 00:00 UTC."""
    first, last = _span(data)

    def turn(at: Floats) -> Ints:
        return ((at + 3 * DAY_S) // length_s).astype(int)

    starts = np.arange(first - (first + 3 * DAY_S) % length_s, last, length_s)
    spans = np.column_stack((np.maximum(starts, first), np.minimum(starts + length_s, last)))
    fitted = turn(starts) % 2 == 0
    return turn(data.jobs["submitted_s"].to_numpy(float)) % 2 == 0, (spans[fitted], spans[~fitted])


def _halves(data: Observations) -> Cut:
    first, last = _span(data)
    middle = (first + last) / 2 // HOUR_S * HOUR_S
    windows = np.array([[first, middle]]), np.array([[middle, last]])
    return data.jobs["submitted_s"].to_numpy(float) < middle, windows


def _random(data: Observations) -> Cut:
    return np.random.default_rng(20_171_003).random(len(data.jobs)) < 0.5, (None, None)


SPLITS = {
    "halves": Split("fitted to the first half of the period, compared with the second", _halves),
    "weeks": Split(
        "fitted to every other week, compared with the weeks between",
        partial(_alternate, length_s=7 * DAY_S),
    ),
    "days": Split(
        "fitted to every other day, compared with the days between",
        partial(_alternate, length_s=DAY_S),
    ),
    "jobs": Split(
        "fitted to a random half of the jobs, compared with the other half",
        _random,
        independent_jobs,
        arrivals=False,
    ),
    "none": Split(
        "fitted to all jobs and compared with the same: the model's own error", None, None
    ),
}
"""Splits by name, the split most sensitive to drift first; ``none`` holds nothing out."""
