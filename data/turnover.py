"""Learns who leaves, who comes, and how active users are then, from users of consecutive windows.

    python data/turnover.py > data/turnover.md

What `philly_analysis/models/variation.py` says of users is read off the users themselves, by
likelihood. A user of `j` jobs leaves with probability `leaving * j ** -settled`. Whoever stays has
jobs in proportion to `j ** constancy`, times a log-normal factor of deviation `users`; how many is
Poisson's, so that some who stay submit nothing. Whoever comes is like one who may leave; how many
submit something is Poisson's about `coming` times those who may leave, with growth, times a
log-normal factor of deviation `crowd`. As months are more or less eventful, which scales both
deviations, what is learned of these is less by the root mean square of that.

Lists count alike, as do pairs of windows of a list for who comes. The range holds each number in
90 % of bootstraps that draw whole lists. It takes three CPU minutes.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import pandas as pd
import scipy
from coverage import DEVELOPED_ON, LISTS, PAIRS, in_use, listed
from learn_variation import show
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from philly_analysis.models.between_period import LEARNED, Variation
from philly_analysis.models.validation.coverage import Window, pairs

BOOTSTRAPS = 100
MOST = 100
"""Jobs from which on a user's are known to a tenth, however many more: they come in runs."""

Floats = NDArray[np.float64]

_NODES = np.linspace(-5, 5, 201)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
"""Of a normal law: close enough to each other for counts of `MOST`."""


@dataclass(frozen=True, slots=True)
class Met:
    """The users of a window, and who of them is met in the next.

    Attributes
    ----------
    jobs, then
        Shape (k,): of each user, jobs in the first window and in the second.
    came
        Users of the second who were not in the first.
    growth
        Jobs of the second over those of the first.
    """

    jobs: Floats
    then: Floats
    came: int
    growth: float

    @classmethod
    def of(cls, first: Window, second: Window) -> Self:
        """Count the jobs of users."""
        jobs, then = (
            w.data.jobs["user"].dropna().astype(str).value_counts() for w in (first, second)
        )
        return cls(
            np.asarray(jobs, float),
            np.asarray(then.reindex(jobs.index).fillna(0), float),
            int((~then.index.isin(jobs.index)).sum()),
            float(then.sum() / jobs.sum()),
        )


@dataclass(frozen=True, slots=True)
class Stay:
    """What becomes of the users of a window."""

    leaving: float
    settled: float
    constancy: float
    users: float

    @classmethod
    def at(cls, x: Floats) -> Self:
        """Return what unbounded numbers stand for."""
        return cls(float(expit(x[0])), float(np.exp(x[1])), float(expit(x[2])), float(np.exp(x[3])))

    def leaves(self, met: Met) -> Floats:
        """Return the probability that each user leaves."""
        return self.leaving * met.jobs**-self.settled

    def expected(self, met: Met) -> Floats:
        """Return the jobs of users who stay, shape (k, nodes of the log-normal factor)."""
        like = met.jobs**self.constancy
        mean = float(((1 - self.leaves(met)) * like).sum()) * np.exp(self.users**2 / 2)
        each = like * max(met.then.sum(), 1.0) / mean
        return np.asarray(each[:, None] * np.exp(self.users * _NODES))

    def log_likelihood(self, met: Met) -> Floats:
        """Return that of each user's jobs in the second window."""
        leaves = self.leaves(met)
        stays = (1 - leaves) * (_poisson(met.then[:, None], self.expected(met)) @ _WEIGHTS)
        return np.asarray(np.log(np.maximum(stays + leaves * (met.then == 0), 1e-300)))

    def met_again(self, met: Met) -> float:
        """Return how many of those who may leave would be seen, were they new."""
        seen = 1 - np.exp(-self.expected(met)) @ _WEIGHTS
        return float((self.leaves(met) * seen).sum())


def _poisson(count: Floats, mean: Floats) -> Floats:
    """Return the probability of a count, of large ones but for a factor that the mean is not in."""
    mean = mean * np.minimum(1, MOST / np.maximum(count, 1))
    count = np.minimum(count, MOST)
    return np.asarray(np.exp(count * np.log(mean) - mean - gammaln(count + 1)))


@cache
def windows(name: str) -> list[Met]:
    """Return the pairs of windows of a list, from when it is in use; none: it names no users."""
    data = in_use(listed(name))
    named = bool(data.jobs["user"].notna().any())
    return [Met.of(*pair) for pair in pairs(data, most=PAIRS)] if named else []


def learned(names: Sequence[str], law: Variation = LEARNED) -> dict[str, float]:
    """Return the numbers of users that lists have, given what a law says of all else."""
    lists = [found for name in names if (found := windows(name))]

    def of_users(x: Floats) -> float:
        stay = Stay.at(x)
        each = [np.mean(np.concatenate([stay.log_likelihood(m) for m in met])) for met in lists]
        return -float(np.mean(each))

    best = scipy.optimize.minimize(of_users, (-0.5, -1.0, 1.0, 0.0), method="L-BFGS-B")
    stay = Stay.at(best.x)
    expected = [
        np.array([stay.met_again(m) * m.growth ** (1 - law.swell.value) for m in met])
        for met in lists
    ]
    came = [np.array([m.came for m in met], float) for met in lists]

    def of_coming(x: Floats) -> float:
        factor = np.exp(x[0] + np.exp(x[1]) * _NODES)
        each = [
            np.log(np.maximum(_poisson(n[:, None], mean[:, None] * factor) @ _WEIGHTS, 1e-300))
            for n, mean in zip(came, expected, strict=True)
        ]
        return -float(np.mean([e.mean() for e in each]))

    coming = scipy.optimize.minimize(of_coming, (0.0, -1.0), method="L-BFGS-B").x
    eventful = np.sqrt(law.freedom.value / (law.freedom.value - 2))
    return {
        "leaving": stay.leaving,
        "settled": stay.settled,
        "constancy": stay.constancy,
        "users": float(stay.users / eventful),
        "coming": float(np.exp(coming[0])),
        "crowd": float(np.exp(coming[1]) / eventful),
    }


def main() -> None:
    """Print the numbers as the lists developed on have them."""
    names = [name for name in LISTS if name in DEVELOPED_ON and windows(name)]
    rng = np.random.default_rng(0)
    drawn = [list(rng.choice(names, len(names))) for _ in range(BOOTSTRAPS)]
    with ProcessPoolExecutor() as pool:
        ranges = pd.DataFrame(list(pool.map(learned, drawn)))
    print(f"On {', '.join(names)}.\n")
    low, high = (ranges.quantile(q) for q in (0.05, 0.95))
    show((name, value, low[name], high[name]) for name, value in learned(names).items())


if __name__ == "__main__":
    main()
