"""Estimate completion times by gang size, from repeated jobs or under a speed model."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import bootstrap

from philly_analysis.distributions import Floats
from philly_analysis.forecasts.distribution import WaitDistribution
from philly_analysis.forecasts.queue import Queue
from philly_analysis.results import Result, duration, figures, gang_label
from philly_analysis.trace import Trace

FEWEST_KINDS = 5
"""Fewest kinds of jobs that ran on both gang sizes (convention: an interval of a median)."""
FEWEST_RUNS = 5
"""Fewest passed runs of a kind of job on a gang size (convention)."""
_LEVEL = 0.95
_RESAMPLES = 999
COLUMNS = ["gpus", "kinds", "ratio", "ratio_low", "ratio_high", "run_s"]


def passed_runs(trace: Trace, queue: Queue) -> pd.DataFrame:
    """Return the runs of passed jobs that ended before the end of a queue's history.

    Returns
    -------
    pandas.DataFrame
        One row per job in the order of the queue: job_id, user, job_type, gpus, run_s.
    """
    over = queue.jobs.loc[np.isfinite(queue.jobs["ended_s"]), ["job_id"]]
    runs: pd.DataFrame = over.merge(trace.answer("passed_runs").df(), on="job_id")
    return runs


def run_times_by_gang(runs: pd.DataFrame) -> pd.DataFrame:
    """Return how the run time of repeated jobs changes with the gang size.

    A kind of job is a user's jobs with one recorded job type. Kinds that ran on two gang sizes give
    the ratio of their median run times; the reference is the gang size with the most kinds.

    Parameters
    ----------
    runs
        Runs of passed jobs; see :func:`passed_runs`.

    Returns
    -------
    pandas.DataFrame
        One row per gang size with at least five kinds: gpus, kinds (on this size and the
        reference), ratio (median, of the run time over the run time at the reference), ratio_low,
        ratio_high (95 %, bootstrap over kinds), run_s (median at the reference times the ratio).
        Empty where the log records no repeated jobs on several sizes.
    """
    keys = ["user", "job_type"]
    jobs = (
        runs.dropna(subset=keys)
        .groupby([*keys, "gpus"], as_index=False)["run_s"]
        .agg(runs="size", run_s="median")
    )
    jobs = jobs[jobs["runs"] >= FEWEST_RUNS]
    if jobs.empty:
        return pd.DataFrame(columns=COLUMNS)
    reference = int(jobs["gpus"].value_counts().sort_index().idxmax())
    at_reference = jobs[jobs["gpus"] == reference].set_index(keys)["run_s"]
    typical_s = float(at_reference.median())
    rows = []
    for gpus, some in jobs.groupby("gpus"):
        medians = some.set_index(keys)["run_s"]
        kinds = medians.index.intersection(at_reference.index)
        if len(kinds) < FEWEST_KINDS:
            continue
        logs = np.log((medians.loc[kinds] / at_reference.loc[kinds]).to_numpy(float))
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
    """Return the completion time of the typical job by gang size.

    Parameters
    ----------
    runs
        Run times by gang size: of repeated jobs, or under a speed model.
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


def completion_sentence(table: pd.DataFrame, gpus: float, job: str) -> str:
    """Say which gang size ends soonest; empty where the asked size has no run times.

    Parameters
    ----------
    job
        Words for the typical job, such as ``repeated job``.
    """
    if table.empty or gpus not in set(table["gpus"]):
        return ""
    by_size = table.set_index("gpus")["completion_s"]
    best, asked = int(str(by_size.idxmin())), gang_label(f"{gpus:g}")
    sizes = "; ".join(f"{gang_label(str(n))} {duration(s)}" for n, s in by_size.items())
    listed = f"Completion time by gang size: {sizes}."
    if best == gpus:
        return f"A typical {job} ends soonest on {asked}. {listed}"
    fewer = "Fewer" if best < gpus else "More"
    return (
        f"{fewer} GPUs end sooner: a typical {job} ends {duration(by_size[best])} after its "
        f"submission on {gang_label(str(best))}, and {duration(by_size[gpus])} on {asked}. {listed}"
    )


def draw_completion(result: Result) -> Figure:
    """Draw the median wait and the median run time by gang size, one after the other."""
    fig, [ax] = figures.canvas()
    sizes = [gang_label(f"{gpus:g}") for gpus in result.table["gpus"]]
    unit, unit_s = figures.hours_or_minutes(result.table["completion_s"].max())
    waits, runs = (result.table[column] / unit_s for column in ("wait_s", "run_s"))
    ax.barh(sizes, waits, color=figures.MUTED, label="median wait")
    ax.barh(sizes, runs, left=waits, color=figures.ACCENT, label="median run time")
    ax.invert_yaxis()
    ax.set_xlabel(f"{unit} after submission")
    figures.legend(ax)
    return fig
