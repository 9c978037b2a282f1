"""Decide whether a replay is believed: compare replayed and recorded waits by half of the log."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import ks_2samp

from philly_analysis.distributions import Floats
from philly_analysis.results import duration, number, whole_percent

THRESHOLD = tomllib.loads(Path(__file__).with_name("threshold.toml").read_text("utf-8"))
"""Largest distance of the distributions, with the simulated clusters that define the limit."""

MOST_APART = 0.25
"""Largest difference of the mean waits, as a share of the recorded mean wait (convention)."""
NOBODY_WAITS_S = 120.0
"""Mean wait below which nobody waits, so that a difference does not matter (convention)."""


class Agreement(NamedTuple):
    """How near replayed waits are to recorded waits, in one half of the log.

    Waits up to the longest start-up time count as 0, since replays start jobs at once.

    Attributes
    ----------
    recorded_s, replayed_s
        Mean waits.
    ks
        Distance of Kolmogorov and Smirnov between the distributions of both waits, from 0 to 1.
    """

    recorded_s: float
    replayed_s: float
    ks: float

    @property
    def means_agree(self) -> bool:
        """Whether the mean waits differ little, or nobody waits."""
        near = abs(self.recorded_s - self.replayed_s) <= MOST_APART * self.recorded_s
        return near or max(self.recorded_s, self.replayed_s) < NOBODY_WAITS_S

    @property
    def holds(self) -> bool:
        """Whether the mean waits and the distributions agree."""
        return self.means_agree and self.ks <= THRESHOLD["ks"]

    def __str__(self) -> str:
        """Format both mean waits and the distance of the distributions."""
        return (
            f"mean wait {duration(self.replayed_s)} replayed, {duration(self.recorded_s)} "
            f"recorded; distance of the distributions (Kolmogorov-Smirnov) {number(self.ks)}"
        )


def agreement(recorded_s: Floats, replayed_s: Floats, floor_s: float) -> Agreement:
    """Return how near replayed waits are to recorded waits of the same jobs.

    Parameters
    ----------
    recorded_s, replayed_s
        Seconds that each job waited, shape (n,).
    floor_s
        Longest start-up time.
    """
    recorded, replayed = (
        np.where(waits > floor_s, waits, 0.0) for waits in (recorded_s, replayed_s)
    )
    ks = float(ks_2samp(recorded, replayed, method="asymp").statistic)
    return Agreement(float(recorded.mean()), float(replayed.mean()), ks)


CONDITION = (
    f"A replay is believed if, in each half of the log, the mean waits differ by at most "
    f"{whole_percent(MOST_APART)} and the distance of the distributions is at most "
    f"{THRESHOLD['ks']:g}."
)
