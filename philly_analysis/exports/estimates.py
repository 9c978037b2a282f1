"""Estimates of run times that schedulers plan by: exact, noisy, rounded requests, user history."""

from typing import assert_never

import numpy as np
import polars as pl

from philly_analysis.study import Estimates

ROUND_TIMES_H = (
    *(minutes / 60 for minutes in (5, 10, 15, 20, 30, 45)),
    *(1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 18.0, 24.0, 36.0, 48.0, 72.0, 96.0, 120.0),
)
"""Round times in hours, which most requests of users name (Tsafrir et al., 2005)."""

OVERESTIMATE = 5.0
"""Users request 1 to 1 + this times the run time, uniformly distributed."""

NOISE = 1.0
"""Standard deviation of the natural logarithm of a noisy estimate over the run time."""

MEANING = {
    Estimates.EXACT: "the run time itself, which no scheduler knows beforehand",
    Estimates.NOISY: f"run time x exp of a normal variate of standard deviation {NOISE:g}",
    Estimates.ROUNDED: (
        f"as users request: 1 to {1 + OVERESTIMATE:g} times the run time, uniform (A. Mu'alem, "
        "D. Feitelson, TPDS 2001), then up to the next round time from 5 minutes to 5 days, in "
        "days above (D. Tsafrir et al., JSSPP 2005)"
    ),
    Estimates.HISTORY: (
        "mean of the user's jobs that had finished at submission, as if nobody waited"
    ),
}
"""Definition of each kind of estimate, for a sidecar."""


def estimated_s(kind: Estimates, jobs: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    """Return the estimate of each job's run time, in s.

    Parameters
    ----------
    jobs
        Jobs by submission: submit_s, run_s and user.
    """
    run_s = jobs["run_s"]
    match kind:
        case Estimates.EXACT:
            return run_s
        case Estimates.NOISY:
            return run_s * pl.Series(np.exp(rng.normal(0, NOISE, jobs.height)))
        case Estimates.ROUNDED:
            wanted_h = run_s.to_numpy() * rng.uniform(1, 1 + OVERESTIMATE, jobs.height) / 3600
            times = np.asarray(ROUND_TIMES_H)
            place = np.searchsorted(times, wanted_h)
            days_h = np.ceil(wanted_h / 24) * 24
            asked_h = np.where(place < times.size, times[place.clip(max=times.size - 1)], days_h)
            return pl.Series(asked_h * 3600)
        case Estimates.HISTORY:
            return user_history(jobs)
    assert_never(kind)


def user_history(jobs: pl.DataFrame) -> pl.Series:
    """Estimate each run time as the mean of the jobs that its user had finished at submission.

    Jobs finish at submission + run time, as if nobody waited. A user without a finished job gets
    the mean over all users; before any job has finished, the mean of the whole workload.

    Parameters
    ----------
    jobs
        Jobs by submission: submit_s, run_s and user.
    """
    means = []
    for key in (pl.col("user"), pl.lit("")):
        keyed = jobs.select("submit_s", "run_s", key=key)
        done = (
            keyed.select("key", "run_s", at=pl.col("submit_s") + pl.col("run_s"))
            .sort("at")
            .with_columns(
                mean_s=pl.col("run_s").cum_sum().over("key")
                / pl.int_range(1, pl.len() + 1).over("key")
            )
        )
        averages = keyed.join_asof(
            done.select("key", "at", "mean_s"),
            left_on="submit_s",
            right_on="at",
            by="key",
            check_sortedness=False,
            allow_exact_matches=False,
        )
        means.append(averages["mean_s"])
    return pl.select(pl.coalesce(*means, pl.lit(jobs["run_s"].mean()))).to_series()
