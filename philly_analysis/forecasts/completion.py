"""Estimate completion times by gang size from repeated jobs of the same users."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.distribution import WaitDistribution
from philly_analysis.results import duration
from philly_analysis.trace import Trace

FEWEST_KINDS = 5
"""Fewest kinds of jobs that ran on both gang sizes (convention: an interval of a median)."""
FEWEST_RUNS = 5
"""Fewest passed runs of a kind of job on a gang size (convention)."""
_LEVEL = 0.95
_RESAMPLES = 999
COLUMNS = ["gpus", "kinds", "ratio", "ratio_low", "ratio_high", "run_s"]


def run_times_by_gang(trace: Trace) -> pd.DataFrame:
    """Return how the run time of repeated jobs changes with the gang size.

    A kind of job is a user's jobs with one recorded job type. Kinds that ran on two gang sizes give
    the ratio of their median run times; the reference is the gang size with the most kinds.

    Returns
    -------
    pandas.DataFrame
        One row per gang size with at least five kinds: gpus, kinds (on this size and the
        reference), ratio (median, of the run time over the run time at the reference), ratio_low,
        ratio_high (95 %, bootstrap over kinds), run_s (median at the reference times the ratio).
        Empty where the log records no repeated jobs on several sizes.
    """
    jobs = trace.answer("repeated_jobs").df().dropna(subset=["job_type"])
    jobs = jobs[jobs["runs"] >= FEWEST_RUNS]
    if jobs.empty:
        return pd.DataFrame(columns=COLUMNS)
    keys = ["user", "job_type"]
    reference = int(jobs["gpus"].value_counts().sort_index().idxmax())
    at_reference = jobs[jobs["gpus"] == reference].set_index(keys)["run_s"]
    typical_s = float(at_reference.median())
    rows = []
    for gpus, some in jobs.groupby("gpus"):
        runs = some.set_index(keys)["run_s"]
        kinds = runs.index.intersection(at_reference.index)
        if len(kinds) < FEWEST_KINDS:
            continue
        logs = np.log((runs.loc[kinds] / at_reference.loc[kinds]).to_numpy(float))
        ratio, low, high = _median(logs)
        rows.append((int(str(gpus)), len(kinds), ratio, low, high, typical_s * ratio))
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table if len(table) > 1 else table.head(0)


def _median(logs: Floats) -> tuple[float, float, float]:
    """Return the exponential of the median with its interval."""
    middle = float(np.exp(np.median(logs)))
    if not np.ptp(logs):
        return middle, middle, middle
    interval = bootstrap(
        (logs,),
        np.median,
        confidence_level=_LEVEL,
        n_resamples=_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return middle, float(np.exp(interval.low)), float(np.exp(interval.high))


def completion_times(runs: pd.DataFrame, waits: Mapping[float, WaitDistribution]) -> pd.DataFrame:
    """Return the completion time of the typical repeated job by gang size.

    Parameters
    ----------
    runs
        Run times by gang size; see :func:`run_times_by_gang`.
    waits
        Forecast of the wait by gang size.

    Returns
    -------
    pandas.DataFrame
        The rows with a forecast, with wait_s (median wait) and completion_s (median of wait and
        run time).
    """
    rows = runs[runs["gpus"].isin(list(waits))]
    medians = [waits[gpus].median() for gpus in rows["gpus"]]
    return rows.assign(wait_s=medians, completion_s=np.asarray(medians) + rows["run_s"])


def completion_sentence(table: pd.DataFrame, gpus: float) -> str:
    """Say which gang size ends soonest; empty where the asked size has no run times."""
    if table.empty or gpus not in set(table["gpus"]):
        return ""
    by_size = table.set_index("gpus")["completion_s"]
    best = int(table["gpus"].iloc[int(table["completion_s"].to_numpy(float).argmin())])
    asked = f"{gpus:g} GPU{'' if gpus == 1 else 's'}"
    if best == gpus:
        return f"A typical repeated job ends soonest on {asked}: {duration(by_size[gpus])}."
    fewer = "Fewer" if best < gpus else "More"
    return (
        f"{fewer} GPUs end sooner: a typical repeated job ends {duration(by_size[best])} after its "
        f"submission on {best} GPU{'' if best == 1 else 's'}, and {duration(by_size[gpus])} on "
        f"{asked}."
    )
