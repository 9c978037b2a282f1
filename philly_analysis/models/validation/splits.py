"""Ways to divide the jobs of a trace into a part to fit to and a part to compare with."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from philly_analysis.models.components.hourly_counts import HOUR_S
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.distances import Jobs
from philly_analysis.models.validation.resampling import Resample, jobs_one_by_one, user_blocks

DAY_S = 86_400
WEEK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class Split:
    """A way to divide a trace into a part to fit to and a part to compare with.

    Attributes
    ----------
    meaning
        What is fitted to and compared with, as a phrase.
    arrivals
        Whether the parts have arrivals that can be compared.
    chance
        How the jobs of one part might have been others without any change; None: they could not.
    halves
        Returns the part to fit to, the part to compare with, and the observations of the first.
    """

    name: str
    meaning: str
    arrivals: bool
    chance: Resample | None
    halves: Callable[[Observations], tuple[Jobs, Jobs, Observations]]


def _alternate(data: Observations, length_s: int) -> tuple[Jobs, Jobs, Observations]:
    """Split into spans of `length_s` that take turns, from a Monday 00:00 UTC on."""
    at = data.jobs["submitted_s"].to_numpy(float)
    first, last = at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S
    turn = (((at + 3 * DAY_S) // length_s) % 2).astype(int)
    begin = ((first + 3 * DAY_S) // length_s) * length_s - 3 * DAY_S
    starts = np.arange(begin, last, length_s)
    spans = np.column_stack((np.maximum(starts, first), np.minimum(starts + length_s, last)))
    parity = (((starts + 3 * DAY_S) // length_s) % 2).astype(int)
    parts = [Jobs(data.jobs[turn == i], spans[parity == i]) for i in (0, 1)]
    return parts[0], parts[1], data.where(turn == 0)


def _halves(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    at = data.jobs["submitted_s"].to_numpy(float)
    first, last = at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S
    middle = (first + last) / 2 // HOUR_S * HOUR_S
    early = at < middle
    return (
        Jobs(data.jobs[early], np.array([[first, middle]])),
        Jobs(data.jobs[~early], np.array([[middle, last]])),
        data.where(early),
    )


def _random(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    mine = np.random.default_rng(20_171_003).random(len(data.jobs)) < 0.5
    return Jobs(data.jobs[mine]), Jobs(data.jobs[~mine]), data.where(mine)


def _same(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    jobs = Jobs(data.jobs)
    return jobs, jobs, data


SPLITS: dict[str, Split] = {
    s.name: s
    for s in (
        Split(
            "halves",
            "fitted to the first half of the period, compared with the second",
            True,
            user_blocks,
            _halves,
        ),
        Split(
            "weeks",
            "fitted to every other week, compared with the weeks between",
            True,
            user_blocks,
            lambda d: _alternate(d, WEEK_S),
        ),
        Split(
            "days",
            "fitted to every other day, compared with the days between",
            True,
            user_blocks,
            lambda d: _alternate(d, DAY_S),
        ),
        Split(
            "jobs",
            "fitted to a random half of the jobs, compared with the other half",
            False,
            jobs_one_by_one,
            _random,
        ),
        Split(
            "none",
            "fitted to all jobs and compared with the same: the model's own error",
            True,
            None,
            _same,
        ),
    )
}
"""Ways to hold data out, from the one that drift hurts most; ``none`` holds nothing out."""
