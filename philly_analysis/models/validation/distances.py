"""Distances between two sets of jobs, by quantity, and their limits."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from philly_analysis.distributions import Bools, Floats
from philly_analysis.models.components.hourly_counts import HourlyCounts
from philly_analysis.models.validation.resampling import Resample
from philly_analysis.study import GANGS, gang_class
from philly_analysis.workload import Workload, demand_of

MIN_JOBS = 30  # of a gang class on either side
REPEATS = 20

LIMITS = {
    "run time": 0.03,
    "gaps between arrivals": 0.05,
    "gang size": 0.02,
    "hourly dispersion": 0.2,
    "hourly autocorrelation": 0.2,
}
"""Largest acceptable distance, by quantity, or the distance of resampled jobs if that is larger."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of one part of a trace, or of a sample.

    Attributes
    ----------
    frame
        Columns submitted_s (Unix seconds), gpus, run_s (null: unknown).
    windows
        Shape (k, 2): observed times, Unix seconds; None: from first to last submission.
    """

    frame: pd.DataFrame
    windows: Floats | None = None

    @classmethod
    def of_workload(cls, workload: Workload) -> Self:
        """Return the jobs of a workload; a job's run time is the sum of its attempts."""
        jobs = demand_of(workload).jobs
        at_s = jobs["submitted_at"].dt.epoch("us").to_numpy() / 1e6
        columns = {name: jobs[name].to_numpy() for name in ("gpus", "run_s")}
        return cls(pd.DataFrame({"submitted_s": at_s, **columns}))

    @property
    def span_s(self) -> float:
        """Seconds observed."""
        if self.windows is not None:
            return float(np.diff(self.windows, axis=1).sum())
        at = self.frame["submitted_s"]
        return float(at.max() - at.min()) + 1.0


def distances(real: Jobs, other: Jobs) -> pd.DataFrame:
    """Return the distances of jobs from real jobs.

    Run time and gaps between arrivals: largest gap between the CDFs (run times within a gang
    class); gang size and run time: between the joint CDFs. Gang size: total variation. Hourly
    dispersion and autocorrelation (at one hour): relative difference.

    Parameters
    ----------
    real, other
        Real jobs, and sampled (or other real) jobs.

    Returns
    -------
    pandas.DataFrame
        Columns quantity, gang (class, or all), distance, jobs (real jobs), other_jobs. Gang classes
        with fewer than `MIN_JOBS` jobs on a side are excluded.
    """
    a, b = real.frame, other.frame
    rows: list[tuple[str, str, float, int, int]] = []
    class_a, class_b = gang_class(a["gpus"]), gang_class(b["gpus"])
    for i, gang in enumerate(GANGS):
        x, y = _run_times(a, class_a == i), _run_times(b, class_b == i)
        if min(x.size, y.size) >= MIN_JOBS:
            rows.append(("run time", gang, cdf_gap(x, y), x.size, y.size))

    def add(quantity: str, distance: float, n: tuple[int, int] = (len(a), len(b))) -> None:
        rows.append((quantity, "all", float(distance), *n))

    timed = (int(a["run_s"].notna().sum()), int(b["run_s"].notna().sum()))
    joint = (
        cdf_gap(_run_times(a, class_a <= i), _run_times(b, class_b <= i), timed)
        for i in range(len(GANGS))
    )
    add("gang size and run time", max(joint))
    p, q = (f["gpus"].value_counts(normalize=True) for f in (a, b))
    add("gang size", p.sub(q, fill_value=0).abs().sum() / 2)
    counts = [HourlyCounts.of(j.frame["submitted_s"], j.windows) for j in (real, other)]
    gaps_a, gaps_b = (c.gaps_s() for c in counts)
    add("gaps between arrivals", cdf_gap(gaps_a, gaps_b), (gaps_a.size, gaps_b.size))
    for quantity, (value_a, value_b) in {
        "hourly dispersion": [c.dispersion for c in counts],
        "hourly autocorrelation": [float(c.autocorrelation(1)[0]) for c in counts],
    }.items():
        add(quantity, abs(value_b / value_a - 1) if value_a else float("inf"))
    return pd.DataFrame(rows, columns=["quantity", "gang", "distance", "jobs", "other_jobs"])


def resampled_distances(jobs: Jobs, resample: Resample, seed: int) -> pd.Series:
    """Return the distances between resampled lists of the same jobs.

    Parameters
    ----------
    jobs
        Real jobs.
    resample
        A way of resampling.
    seed
        The same seed gives the same result.

    Returns
    -------
    pandas.Series
        The 95 % quantile of the distances of `REPEATS` pairs, by quantity and gang.
    """
    rng = np.random.default_rng((seed, REPEATS))
    start_s = float(jobs.frame["submitted_s"].min())

    def drawn() -> Jobs:
        made = resample(jobs.frame, start_s, rng)
        return Jobs(made.sort_values("submitted_s", kind="stable"), jobs.windows)

    tables = [distances(drawn(), drawn()) for _ in range(REPEATS)]
    return pd.concat(tables).groupby(["quantity", "gang"])["distance"].quantile(0.95)


def cdf_gap(x: Floats, y: Floats, n: tuple[int, int] | None = None) -> float:
    """Return the largest gap between two empirical CDFs (two-sample Kolmogorov-Smirnov).

    Parameters
    ----------
    x, y
        Values of both samples.
    n
        Sizes of the samples, if `x` and `y` are parts of the samples; both CDFs then end below 1.
    """
    x, y = np.sort(x), np.sort(y)
    n_x, n_y = n or (x.size, y.size)
    at = np.concatenate((x, y))
    below_x, below_y = (np.searchsorted(v, at, side="right") for v in (x, y))
    return float(np.abs(below_x / n_x - below_y / n_y).max(initial=0.0))


def _run_times(jobs: pd.DataFrame, mask: Bools) -> Floats:
    run_s = jobs["run_s"].to_numpy(float)[mask]
    return np.asarray(run_s[np.isfinite(run_s)])
