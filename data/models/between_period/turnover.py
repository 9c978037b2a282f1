"""Estimate the turnover and activity of users from consecutive windows, by maximum likelihood.

    python -m data.models.between_period.turnover > data/turnover.md

estimates the parameters of users in `philly_analysis/models/between_period.toml`. A user of `j`
jobs leaves with probability `leave_probability * j ** -leave_power`. The jobs of users who stay are
Poisson, in proportion to `j ** user_persistence` times a log-normal factor of deviation `user_sd`.
New users resemble leaving users; the number of new users with jobs is Poisson, `new_user_ratio`
times the expected leaving users, times growth, times a log-normal factor of deviation
`new_user_sd`. Both deviations are divided by the root mean square of the periods' scale.

Lists have equal weights, and so do pairs of windows of a list for new users. Ranges are 90 % of
bootstraps of whole lists. It takes three CPU minutes.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray
from scipy.special import expit, gammaln

from data.models.between_period.lists import DEVELOPED_ON, LISTS, PAIRS, in_use, listed
from data.models.between_period.one_by_one import show
from philly_analysis.models import ESTIMATED, Variation
from philly_analysis.models.validation import Window, window_pairs

BOOTSTRAPS = 100
MOST = 100
"""Jobs above which a user's count is no more precise, as jobs come in runs."""

Floats = NDArray[np.float64]

_NODES = np.linspace(-5, 5, 201)
_WEIGHTS = np.exp(-(_NODES**2) / 2) / np.exp(-(_NODES**2) / 2).sum()
"""Weights of a normal distribution, dense enough for counts of `MOST`."""


@dataclass(frozen=True, slots=True)
class Turnover:
    """Jobs of users in two consecutive windows.

    Attributes
    ----------
    jobs, then
        Shape (k,): jobs of each user in the first window and in the second.
    came
        Users in the second window only.
    growth
        Jobs in the second window over jobs in the first window.
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
class UserParameters:
    """Parameters of turnover and activity."""

    leave_probability: float
    leave_power: float
    user_persistence: float
    user_sd: float

    @classmethod
    def at(cls, x: Floats) -> Self:
        """Return parameters from unbounded numbers."""
        return cls(float(expit(x[0])), float(np.exp(x[1])), float(expit(x[2])), float(np.exp(x[3])))

    def leaves(self, met: Turnover) -> Floats:
        """Return the probability that each user leaves."""
        return self.leave_probability * met.jobs**-self.leave_power

    def expected(self, met: Turnover) -> Floats:
        """Return the jobs of users who stay, shape (k, nodes of the log-normal factor)."""
        like = met.jobs**self.user_persistence
        mean = float(((1 - self.leaves(met)) * like).sum()) * np.exp(self.user_sd**2 / 2)
        jobs = like * max(met.then.sum(), 1.0) / mean
        return np.asarray(jobs[:, None] * np.exp(self.user_sd * _NODES))

    def log_likelihood(self, met: Turnover) -> Floats:
        """Return the log-likelihood of each user's jobs in the second window."""
        leaves = self.leaves(met)
        stays = (1 - leaves) * (_poisson(met.then[:, None], self.expected(met)) @ _WEIGHTS)
        return np.asarray(np.log(np.maximum(stays + leaves * (met.then == 0), 1e-300)))

    def expected_new(self, met: Turnover) -> float:
        """Return the expected number of leaving users with jobs if they were new."""
        seen = 1 - np.exp(-self.expected(met)) @ _WEIGHTS
        return float((self.leaves(met) * seen).sum())


def _poisson(count: Floats, mean: Floats) -> Floats:
    """Return the probability of a count, of large ones up to a factor."""
    mean = mean * np.minimum(1, MOST / np.maximum(count, 1))
    count = np.minimum(count, MOST)
    return np.asarray(np.exp(count * np.log(mean) - mean - gammaln(count + 1)))


@cache
def windows(name: str) -> list[Turnover]:
    """Return the turnover between pairs of windows of a list; none if users are unknown."""
    data = in_use(listed(name))
    named = bool(data.jobs["user"].notna().any())
    return [Turnover.of(*pair) for pair in window_pairs(data, most=PAIRS)] if named else []


def estimate(names: Sequence[str], variation: Variation = ESTIMATED) -> dict[str, float]:
    """Estimate the parameters of users on lists, given all others."""
    lists = [pairs for name in names if (pairs := windows(name))]

    def of_users(x: Floats) -> float:
        parameters = UserParameters.at(x)
        by_list = [
            np.mean(np.concatenate([parameters.log_likelihood(m) for m in met])) for met in lists
        ]
        return -float(np.mean(by_list))

    best = scipy.optimize.minimize(of_users, (-0.5, -1.0, 1.0, 0.0), method="L-BFGS-B")
    parameters = UserParameters.at(best.x)
    expected = [
        np.array(
            [
                parameters.expected_new(m) * m.growth ** (1 - variation.dispersion_power.value)
                for m in met
            ]
        )
        for met in lists
    ]
    came = [np.array([m.came for m in met], float) for met in lists]

    def of_coming(x: Floats) -> float:
        factor = np.exp(x[0] + np.exp(x[1]) * _NODES)
        by_list = [
            np.log(np.maximum(_poisson(n[:, None], mean[:, None] * factor) @ _WEIGHTS, 1e-300))
            for n, mean in zip(came, expected, strict=True)
        ]
        return -float(np.mean([e.mean() for e in by_list]))

    coming = scipy.optimize.minimize(of_coming, (0.0, -1.0), method="L-BFGS-B").x
    scale = np.sqrt(variation.degrees_of_freedom.value / (variation.degrees_of_freedom.value - 2))
    return {
        "leave_probability": parameters.leave_probability,
        "leave_power": parameters.leave_power,
        "user_persistence": parameters.user_persistence,
        "user_sd": float(parameters.user_sd / scale),
        "new_user_ratio": float(np.exp(coming[0])),
        "new_user_sd": float(np.exp(coming[1]) / scale),
    }


def main() -> None:
    """Print the estimates on the lists developed on."""
    names = [name for name in LISTS if name in DEVELOPED_ON and windows(name)]
    rng = np.random.default_rng(0)
    drawn = [list(rng.choice(names, len(names))) for _ in range(BOOTSTRAPS)]
    with ProcessPoolExecutor() as pool:
        ranges = pd.DataFrame(list(pool.map(estimate, drawn)))
    print(f"On {', '.join(names)}.\n")
    low, high = (ranges.quantile(q) for q in (0.05, 0.95))
    show((name, value, low[name], high[name]) for name, value in estimate(names).items())


if __name__ == "__main__":
    main()
