"""Distribution of the wait of one job, with the methods of SciPy's frozen distributions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from philly_analysis.distributions import DiscreteDistribution, Floats, Ints, probabilities
from philly_analysis.results import duration, whole_percent

SOON_S = {"5 min": 300.0, "1 h": 3_600.0, "8 h": 28_800.0}
"""Waits whose probability is stated, by name."""
HALF, MOST = 0.5, 0.9
"""Probabilities of the stated intervals."""


@dataclass(frozen=True, slots=True)
class WaitDistribution(DiscreteDistribution):
    """Distribution of a wait in whole seconds, as logs record waits.

    Attributes
    ----------
    waits
        Possible waits in seconds, ascending.
    shares
        Probability of each wait.
    """

    waits: tuple[int, ...]
    shares: tuple[float, ...]

    @classmethod
    def of_points(cls, points: Floats, masses: Floats) -> "WaitDistribution":
        """Return the distribution of points with these probabilities, in whole seconds."""
        seconds, places = np.unique(np.rint(points).astype(int), return_inverse=True)
        shares = np.bincount(places, weights=masses)
        return cls(tuple(seconds.tolist()), tuple((shares / shares.sum()).tolist()))

    @property
    def points(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """Waits, ascending, and the probability of each."""
        return self.waits, self.shares

    def interval(self, confidence: ArrayLike) -> tuple[Floats | Ints, Floats | Ints]:
        """Return the ends of an interval with this probability.

        The interval is equal-tailed, unless the shortest wait (often zero) alone has the
        probability of a tail: then the interval begins there.
        """
        level = probabilities(confidence, "a confidence")
        outside = (1 - level) / 2
        begins = self.shares[0] >= outside
        return self.ppf(outside), np.where(begins, self.ppf(level), self.ppf(level + outside))

    def after(self, elapsed_s: float) -> "WaitDistribution":
        """Return the distribution of the whole wait of a job that has waited this long already.

        Where no possible wait is longer, the job may start at any moment: one wait, the elapsed
        one.
        """
        later = [(w, p) for w, p in zip(self.waits, self.shares, strict=True) if w > elapsed_s]
        total = sum(p for _, p in later)
        if total <= 0:
            return WaitDistribution((int(elapsed_s),), (1.0,))
        return WaitDistribution(tuple(w for w, _ in later), tuple(p / total for _, p in later))

    def numbers(self) -> dict[str, float]:
        """Return the stated numbers by column name: quantiles in seconds, and probabilities."""
        half, most = (tuple(map(float, self.interval(level))) for level in (HALF, MOST))
        soon = {f"within_{n.replace(' ', '_')}": float(self.cdf(s)) for n, s in SOON_S.items()}
        return {
            "median_s": self.median(),
            "low_50_s": half[0],
            "high_50_s": half[1],
            "low_90_s": most[0],
            "high_90_s": most[1],
            **soon,
        }

    def describe(self, subject: str) -> str:
        """Return the stated numbers as sentences about a job.

        Parameters
        ----------
        subject
            The job, e.g. ``A job of 16 GPUs``.
        """
        n = self.numbers()
        soon = ", ".join(
            f"{name}: {whole_percent(float(self.cdf(s)))}" for name, s in SOON_S.items()
        )
        return (
            f"{subject} waits {duration(n['median_s'])} (median). With a probability of 50 % the "
            f"job waits {duration(n['low_50_s'])} to {duration(n['high_50_s'])}, with 90 % "
            f"{duration(n['low_90_s'])} to {duration(n['high_90_s'])}. Probability to start within "
            f"{soon}."
        )
