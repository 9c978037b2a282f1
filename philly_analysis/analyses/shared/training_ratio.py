"""Expected share of time in which a run makes progress despite failures, and the best interval.

Failures occur at a constant rate, also during restarts and while a checkpoint is written. Each
failure discards the work since the last complete checkpoint, and then the run waits and restarts.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import InputError


@dataclass(frozen=True, slots=True)
class Recovery:
    """Times of checkpoints and restarts; logs do not record them.

    The defaults are hourly checkpoints, 5 minutes to write a checkpoint, and 5 minutes to restart.
    These times are from Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning
    Research Clusters", HPCA 2025.

    Attributes
    ----------
    checkpoint_s
        Seconds of work between two checkpoints.
    write_s
        Seconds during which the run stands still while a checkpoint is written.
    restart_s
        Seconds from the start of an attempt until the attempt makes progress.

    Raises
    ------
    InputError
        A time is negative.
    """

    checkpoint_s: float = 3600.0
    write_s: float = 300.0
    restart_s: float = 300.0

    def __post_init__(self) -> None:
        if min(self.checkpoint_s, self.write_s, self.restart_s) < 0:
            raise InputError(f"{self} has a negative time; give seconds of 0 or more.")


def training_ratio(
    mttf_s: ArrayLike, recovery: Recovery, wait_s: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Return the expected effective training time ratio (ETTR) of a long run.

    The ratio is progress that is kept, divided by the time of the run, waits after failures
    included. Failures occur at the rate 1/M. The number of checkpoints completed between failures
    is then geometric. The ratio is

    Δ/(Δ+w) · exp(-u/M) · x/(exp(x) - 1) / (1 + q/M) with x = (Δ+w)/M,

    for the checkpoint interval Δ, the writing time w, the restart time u and the wait q. Without
    waits, the ratio follows Daly's equation of the run time (Future Generation Computer Systems 22,
    2006). For rare failures the ratio agrees with (1 - (u + Δ/2)/M) / (1 + w/Δ) (Kokolis et al.,
    HPCA 2025). That formula turns negative where failures are frequent.

    Parameters
    ----------
    mttf_s
        Mean time to failure of the gang in seconds, M = 1/(rate × servers); may be infinite.
    wait_s
        Seconds that a run waits after a failure.
    """
    mttf, wait = np.asarray(mttf_s, float), np.asarray(wait_s, float)
    cycle_s = recovery.checkpoint_s + recovery.write_s
    working = recovery.checkpoint_s / cycle_s if recovery.write_s else 1.0
    above_zero = np.where(mttf == 0, 1.0, mttf)
    kept = working / scipy.special.exprel(cycle_s / above_zero)
    ratio = kept * np.exp(-recovery.restart_s / above_zero) / (1 + wait / above_zero)
    return np.asarray(np.where(mttf == 0, 0.0, ratio), float)


def optimum_interval(mttf_s: ArrayLike, write_s: float) -> NDArray[np.float64]:
    """Return the work between two checkpoints that maximises the ratio, in seconds.

    Young (Communications of the ACM 17, 1974) gives √(2 w M), for the time w to write a checkpoint
    and the mean time to failure M. Daly (2006) subtracts w, and gives M for w of 2 M and more.
    """
    mttf = np.asarray(mttf_s, float)
    return np.where(write_s < 2 * mttf, np.sqrt(2 * write_s * mttf) - write_s, mttf)
