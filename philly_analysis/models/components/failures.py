"""Why attempts fail, and after how long."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.distributions import Distribution, fit_distribution
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.study import GANGS, gang_class

Floats = NDArray[np.float64]

RESOLUTION_S = 1.0
MIN_FAILURES = 5


@dataclass(frozen=True, slots=True)
class FailureReason:
    """One reason.

    Attributes
    ----------
    weights
        Failures of it in each gang class of `GANGS`.
    time_to_failure
        Law of the run time until failure, s; None where too few were seen.
    """

    reason: str
    weights: tuple[float, ...]
    time_to_failure: Distribution | None

    @property
    def n(self) -> float:
        """Failures of this reason."""
        return sum(self.weights)


@dataclass(frozen=True, slots=True)
class Failures:
    """Reasons of failed attempts, most frequent first."""

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
            None when there are none.
        """
        known = failures[failures["gpus"] >= 1]
        if known.empty:
            return None
        gang = pd.Series(gang_class(known["gpus"]), index=known.index)
        reasons = []
        for reason, part in known.groupby("reason"):
            weights = np.bincount(gang[part.index], minlength=len(GANGS))
            run_s = part["run_s"].dropna().to_numpy(float)
            law = (
                fit_distribution(np.maximum(run_s, RESOLUTION_S / 2), what=f"failures: {reason}")
                if run_s.size >= MIN_FAILURES
                else None
            )
            reasons.append(FailureReason(str(reason), tuple(float(w) for w in weights), law))
        return cls(tuple(sorted(reasons, key=lambda r: (-r.n, r.reason))))

    def shares(self, gpus: int | None = None) -> dict[str, float]:
        """Return the probability of each reason, of jobs of that gang's class or of all."""
        weight = np.array(
            [r.n if gpus is None else r.weights[int(gang_class(gpus))] for r in self.reasons]
        )
        if not weight.sum():
            raise ModelError(f"no failure of a job of {gpus} GPUs was seen")
        names = (r.reason for r in self.reasons)
        return dict(zip(names, (float(w) for w in weight / weight.sum()), strict=True))

    def time_to_failure(self, reason: str) -> Distribution:
        """Return the law of the run time until failure in seconds.

        Raises
        ------
        UnknownNameError
            No such reason.
        ModelError
            Too few failures of it to fit.
        """
        for known in self.reasons:
            if known.reason == reason:
                if known.time_to_failure is None:
                    raise ModelError(
                        f"{reason}: {known.n:g} failures are too few for a law of time to failure"
                    )
                return known.time_to_failure
        raise UnknownNameError("failure reason", reason, [r.reason for r in self.reasons])

    def sample(self, gpus: NDArray[np.int_], rng: np.random.Generator) -> pd.DataFrame:
        """Draw a reason and a time to failure (run_s; null: it has no law) per attempt."""
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
