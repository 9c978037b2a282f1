"""How far one set of jobs lies from another: quantity by quantity, and the limit each has."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.models.components.hourly_counts import HourlyCounts
from philly_analysis.models.validation.resampling import Resample
from philly_analysis.study import GANGS, gang_class
from philly_analysis.workload import Workload, demand_of

Floats = NDArray[np.float64]

MIN_JOBS = 30
"""Jobs of a gang class, on either side, below which a distance says nothing."""

LIMITS = {
    "run time": 0.03,
    "gaps between arrivals": 0.05,
    "gang size": 0.02,
    "hourly dispersion": 0.2,
    "hourly autocorrelation": 0.2,
}
"""What a distance should stay below, by quantity, where chance alone would not part jobs more."""

REPEATS = 20
"""How often chance is asked how far it parts jobs."""

MEASURES = {
    "run time": "largest gap between the CDFs, within a gang class",
    "gang size and run time": "largest gap between the joint CDFs",
    "gaps between arrivals": "largest gap between the CDFs",
    "gang size": "total variation",
    "hourly dispersion": "relative difference of variance over mean of the hourly counts",
    "hourly autocorrelation": "relative difference at a lag of one hour",
}
"""What the distance is, by quantity."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of one part of a trace, or of a sample.

    Attributes
    ----------
    frame
        Columns submitted_s (Unix seconds), gpus, run_s (null: unknown).
    windows
        Shape (k, 2): when they were observed, Unix seconds; None: from first to last.
    """

    frame: pd.DataFrame
    windows: Floats | None = None

    @classmethod
    def of_workload(cls, workload: Workload) -> Self:
        """Take the jobs of a workload; a job's run time is the sum of its attempts."""
        jobs = demand_of(workload).jobs
        return cls(
            pd.DataFrame(
                {
                    "submitted_s": jobs["submitted_at"].dt.epoch("us").to_numpy() / 1e6,
                    "gpus": jobs["gpus"].to_numpy(),
                    "run_s": jobs["run_s"].to_numpy(),
                }
            )
        )

    @property
    def span_s(self) -> float:
        """Seconds observed."""
        if self.windows is not None:
            return float(np.diff(self.windows, axis=1).sum())
        at = self.frame["submitted_s"]
        return float(at.max() - at.min()) + 1.0


def distances(real: Jobs, other: Jobs) -> pd.DataFrame:
    """Measure how far jobs lie from real ones.

    Parameters
    ----------
    real, other
        Real jobs, and sampled (or other real) ones.

    Returns
    -------
    pandas.DataFrame
        Columns quantity (see `MEASURES`), gang (class, or all), distance, jobs (real ones it
        rests on), other_jobs. Gang classes with fewer than `MIN_JOBS` on a side are left out.
    """
    a, b = real.frame, other.frame
    rows: list[tuple[str, str, float, int, int]] = []
    class_a, class_b = gang_class(a["gpus"]), gang_class(b["gpus"])
    for i, gang in enumerate(GANGS):
        x = a["run_s"].to_numpy(float)[class_a == i]
        y = b["run_s"].to_numpy(float)[class_b == i]
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        if min(x.size, y.size) >= MIN_JOBS:
            rows.append(("run time", gang, cdf_gap(x, y), x.size, y.size))
    joint = max(_partial_gap(a, b, class_a <= i, class_b <= i) for i in range(len(GANGS)))
    rows.append(("gang size and run time", "all", joint, len(a), len(b)))
    p, q = (f["gpus"].value_counts(normalize=True) for f in (a, b))
    variation = float(p.sub(q, fill_value=0).abs().sum() / 2)
    rows.append(("gang size", "all", variation, len(a), len(b)))
    counts_a = HourlyCounts.of(a["submitted_s"], real.windows)
    counts_b = HourlyCounts.of(b["submitted_s"], other.windows)
    gaps_a, gaps_b = counts_a.gaps_s(), counts_b.gaps_s()
    rows.append(("gaps between arrivals", "all", cdf_gap(gaps_a, gaps_b), gaps_a.size, gaps_b.size))
    for quantity, value_a, value_b in (
        ("hourly dispersion", counts_a.dispersion, counts_b.dispersion),
        (
            "hourly autocorrelation",
            float(counts_a.autocorrelation(1)[0]),
            float(counts_b.autocorrelation(1)[0]),
        ),
    ):
        off = abs(value_b / value_a - 1) if value_a else float("inf")
        rows.append((quantity, "all", float(off), len(a), len(b)))
    return pd.DataFrame(rows, columns=["quantity", "gang", "distance", "jobs", "other_jobs"])


def by_chance(jobs: Jobs, resample: Resample, seed: int) -> pd.Series:
    """Measure how far apart two lists of such jobs lie where nothing but chance parts them.

    Parameters
    ----------
    jobs
        Real jobs.
    resample
        How they might have been others.
    seed
        The same seed gives the same answer.

    Returns
    -------
    pandas.Series
        By quantity and gang: the distance that 95 % of `REPEATS` pairs stay below.
    """
    rng = np.random.default_rng((seed, REPEATS))
    start_s = float(jobs.frame["submitted_s"].min())

    def drawn() -> Jobs:
        made = resample(jobs.frame, start_s, rng)
        return Jobs(made.sort_values("submitted_s", kind="stable"), jobs.windows)

    tables = [distances(drawn(), drawn()) for _ in range(REPEATS)]
    apart = pd.concat(tables).groupby(["quantity", "gang"])["distance"]
    return apart.quantile(0.95)


def cdf_gap(x: Floats, y: Floats) -> float:
    """Largest gap between the empirical CDFs of two samples (two-sample Kolmogorov-Smirnov)."""
    x, y = np.sort(x), np.sort(y)
    at = np.concatenate((x, y))
    return float(
        np.abs(
            np.searchsorted(x, at, side="right") / x.size
            - np.searchsorted(y, at, side="right") / y.size
        ).max()
    )


def _partial_gap(
    a: pd.DataFrame, b: pd.DataFrame, in_a: NDArray[np.bool_], in_b: NDArray[np.bool_]
) -> float:
    """Largest gap over t between the shares of jobs within the masks with a run time up to t."""
    x, y = a["run_s"].to_numpy(float), b["run_s"].to_numpy(float)
    x_n, y_n = np.isfinite(x).sum(), np.isfinite(y).sum()
    x, y = np.sort(x[in_a & np.isfinite(x)]), np.sort(y[in_b & np.isfinite(y)])
    at = np.concatenate((x, y))
    if not at.size:
        return 0.0
    return float(
        np.abs(
            np.searchsorted(x, at, side="right") / x_n - np.searchsorted(y, at, side="right") / y_n
        ).max()
    )
