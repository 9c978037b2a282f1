"""Run times as schedulers are told them: exact, noisy, as people ask for time, or by history."""

from typing import assert_never

import numpy as np
import polars as pl

from philly_analysis.study import Estimates

ASKED_H = (
    *(minutes / 60 for minutes in (5, 10, 15, 20, 30, 45)),
    *(1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 18.0, 24.0, 36.0, 48.0, 72.0, 96.0, 120.0),
)
"""Hours that people ask for: of the few round ones most requests name (Tsafrir et al., 2005)."""

OVERESTIMATE = 5.0
"""People ask for 1 to 1 + this times what a run takes, any factor as often as another."""

NOISE = 1.0
"""Standard deviation of the natural logarithm of a noisy estimate over the run time."""


SAYS = {
    Estimates.EXACT: "the run time itself, as nobody knows it beforehand",
    Estimates.NOISY: f"run time x exp of a normal variate of standard deviation {NOISE:g}",
    Estimates.ROUNDED: (
        f"as people ask: 1 to {1 + OVERESTIMATE:g} times the run time, uniform (A. Mu'alem, "
        "D. Feitelson, TPDS 2001), then up to the next round time from 5 minutes to 5 days, in "
        "days above (D. Tsafrir et al., JSSPP 2005)"
    ),
    Estimates.HISTORY: (
        "mean of the user's jobs that had finished at submission, as if nobody waited"
    ),
}
"""What each kind of estimate is, for a side-car."""


def estimated_s(how: Estimates, jobs: pl.DataFrame, rng: np.random.Generator) -> pl.Series:
    """Return what a scheduler is told of each job's run time, in s.

    Parameters
    ----------
    jobs
        By submission: submit_s, run_s and user.
    """
    run_s = jobs["run_s"]
    match how:
        case Estimates.EXACT:
            return run_s
        case Estimates.NOISY:
            return run_s * pl.Series(np.exp(rng.normal(0, NOISE, jobs.height)))
        case Estimates.ROUNDED:
            wanted_h = run_s.to_numpy() * rng.uniform(1, 1 + OVERESTIMATE, jobs.height) / 3600
            usual = np.asarray(ASKED_H)
            place = np.searchsorted(usual, wanted_h)
            days_h = np.ceil(wanted_h / 24) * 24
            asked_h = np.where(place < usual.size, usual[place.clip(max=usual.size - 1)], days_h)
            return pl.Series(asked_h * 3600)
        case Estimates.HISTORY:
            return history(jobs, "user")
    assert_never(how)


def history(jobs: pl.DataFrame, by: str) -> pl.Series:
    """Estimate each run time as the mean of what its user (say) had finished when it came.

    Runs count as finished at submission + run time, as if nobody waited. Who has finished
    nothing yet gets the mean over all, and before anybody has, the mean of the whole workload.

    Parameters
    ----------
    jobs
        By submission: submit_s, run_s and the column `by`.
    """
    means = []
    for key in (by, "all"):
        keyed = jobs.select(
            key=pl.col(by) if key == by else pl.lit(""), submit_s="submit_s", run_s="run_s"
        )
        done = (
            keyed.select("key", "run_s", at=pl.col("submit_s") + pl.col("run_s"))
            .sort("at")
            .with_columns(
                mean_s=pl.col("run_s").cum_sum().over("key")
                / pl.int_range(1, pl.len() + 1).over("key")
            )
        )
        means.append(
            keyed.join_asof(
                done.select("key", "at", "mean_s"),
                left_on="submit_s",
                right_on="at",
                by="key",
                check_sortedness=False,
                allow_exact_matches=False,
            )["mean_s"]
        )
    whole = pl.lit(jobs["run_s"].mean())
    return (
        pl.DataFrame({"own": means[0], "all": means[1]})
        .select(pl.coalesce("own", "all", whole))
        .to_series()
    )
