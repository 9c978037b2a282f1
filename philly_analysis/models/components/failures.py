"""Failure reasons and times to failure given gang class."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from philly_analysis.distributions import Distribution, Ints, fit_distribution
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.study import GANGS, gang_class

RESOLUTION_S = 1.0
MIN_FAILURES = 5


@dataclass(frozen=True, slots=True)
class FailureReason:
    """One failure reason.

    Attributes
    ----------
    weights
        Failures in each gang class of `GANGS`.
    time_to_failure
        Distribution of the run time until failure, s; None with fewer than `MIN_FAILURES`.
    """

    reason: str
    weights: tuple[float, ...]
    time_to_failure: Distribution | None

    @property
    def n(self) -> float:
        """Number of failures."""
        return sum(self.weights)


@dataclass(frozen=True, slots=True)
class Failures:
    """Failure reasons of attempts, most frequent first."""

    reasons: tuple[FailureReason, ...]

    @classmethod
    def fit(cls, failures: pd.DataFrame) -> Self | None:
        """Fit to failed attempts.

        Parameters
        ----------
        failures
            Columns reason, gpus, run_s (null: unknown).

        Returns
        -------
        Failures or None
            None without failures.
        """
        of_known_gang = failures[failures["gpus"] >= 1]
        if of_known_gang.empty:
            return None
        gang = pd.Series(gang_class(of_known_gang["gpus"]), index=of_known_gang.index)
        reasons = []
        for reason, part in of_known_gang.groupby("reason"):
            weights = np.bincount(gang[part.index], minlength=len(GANGS))
            run_s = part["run_s"].dropna().to_numpy(float)
            time_to_failure = None
            if run_s.size >= MIN_FAILURES:
                run_s = np.maximum(run_s, RESOLUTION_S / 2)
                time_to_failure = fit_distribution(run_s, noun=f"failures: {reason}")
            reasons.append(FailureReason(str(reason), tuple(map(float, weights)), time_to_failure))
        return cls(tuple(sorted(reasons, key=lambda r: (-r.n, r.reason))))

    def shares(self, gpus: int | None = None) -> dict[str, float]:
        """Return the probability of each reason, in the gang's class or in all."""
        weight = np.array(
            [r.n if gpus is None else r.weights[int(gang_class(gpus))] for r in self.reasons]
        )
        if not weight.sum():
            raise ModelError(f"no failure of a job of {gpus} GPUs was observed")
        shares = (weight / weight.sum()).tolist()
        return dict(zip((r.reason for r in self.reasons), shares, strict=True))

    def time_to_failure(self, reason: str) -> Distribution:
        """Return the distribution of the run time until failure in seconds.

        Raises
        ------
        UnknownNameError
            The reason is not known.
        ModelError
            Fewer than `MIN_FAILURES` failures.
        """
        by_reason = {r.reason: r for r in self.reasons}
        if reason not in by_reason:
            raise UnknownNameError("failure reason", reason, by_reason)
        if (distribution := by_reason[reason].time_to_failure) is None:
            raise ModelError(f"{reason}: {by_reason[reason].n:g} failures are too few to fit to")
        return distribution

    def sample(self, gpus: Ints, rng: np.random.Generator) -> pd.DataFrame:
        """Draw a reason and a time to failure (run_s; null: not fitted) per attempt."""
        gang = gang_class(gpus)
        weights = np.array([r.weights for r in self.reasons])
        share = np.where(weights.sum(axis=0) > 0, weights, weights.sum(axis=1, keepdims=True))
        edges = np.cumsum(share / share.sum(axis=0), axis=0)
        pick = np.minimum((rng.random(gang.size) > edges[:, gang]).sum(axis=0), len(edges) - 1)
        run_s = np.full(gang.size, np.nan)
        for i, reason in enumerate(self.reasons):
            mine = np.flatnonzero(pick == i)
            if reason.time_to_failure is not None:
                run_s[mine] = np.maximum(
                    np.rint(reason.time_to_failure.rvs(mine.size, rng)), RESOLUTION_S
                )
        names = np.array([r.reason for r in self.reasons])
        return pd.DataFrame({"reason": names[pick], "run_s": run_s})
