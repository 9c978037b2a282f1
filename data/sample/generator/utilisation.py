"""Utilisation of the sample's jobs: by size and status, and lower for gangs that are spread."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from data.sample.generator.demand import LARGEST_SERVER, NOTEBOOK_USER
from philly_analysis.simulator import PublishedMeans
from philly_analysis.study import table_4
from philly_analysis.workload import JobSpec

NOTEBOOK_PCT = 0.4
"""Mean utilisation of an idle notebook."""
CHANGE_PROBABILITY = 1 / 15
"""Per minute: a GPU's utilisation lasts for a quarter of an hour on average. Means of five minutes
then have the spread of the published ones of one minute."""


def _spread_factor() -> float:
    """Return the throughput of a gang on two servers, relative to one (ATC'19, Table 4)."""
    images_per_s = table_4()
    return images_per_s["DiffServer"] / images_per_s["SameServer"]


@dataclass(frozen=True, slots=True)
class PlacedUtilisation:
    """The study's mean utilisation by size and status, times the effect of placement.

    Attributes
    ----------
    published
        Means of the study's Table 3; and of Table 5, for 16 GPUs and more by number of servers. Its
        spreads between and within jobs meet the percentiles of the notebook's Figure 5 to within 4
        points on average.
    spread
        Factor for smaller gangs on more servers than they need: Table 4.
    """

    published: PublishedMeans = field(
        default_factory=lambda: PublishedMeans(between=4.0, within=0.8)
    )
    spread: float = field(default_factory=_spread_factor)

    def level(self, spec: JobSpec, servers: int, rng: np.random.Generator) -> float:
        """Draw the mean utilisation of one attempt on so many servers, in percent."""
        if spec.user == NOTEBOOK_USER:
            return NOTEBOOK_PCT
        drawn = self.published.level(spec, servers, rng)
        spread = spec.gpus < 16 and servers > -(-spec.gpus // LARGEST_SERVER)
        return drawn * self.spread if spread else drawn

    def minutes(
        self, level: float, minutes: int, gpus: int, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Draw per-minute utilisation, in percent: an array of minutes by GPUs."""
        drawn = self.published.minutes(level, minutes, gpus, rng)
        changes = rng.random((minutes, gpus)) < CHANGE_PROBABILITY
        held = np.where(changes, np.arange(minutes)[:, None], 0)
        return np.take_along_axis(drawn, np.maximum.accumulate(held), axis=0)
