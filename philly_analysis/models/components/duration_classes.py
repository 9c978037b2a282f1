"""Fit run times of job classes: gang class, virtual cluster and status."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from philly_analysis.distributions import (
    Distribution,
    Floats,
    Lifetimes,
    fit_distribution,
    intracluster_correlation,
)
from philly_analysis.errors import ModelError
from philly_analysis.models.components.job_classes import ANY, gang_names
from philly_analysis.models.components.sessions import job_clusters
from philly_analysis.models.components.user_effects import Effects

MIN_VC_JOBS = 200
"""Least finished jobs of a gang class in a virtual cluster that has a leaf of its own."""
MIN_STATUS_JOBS = 60
"""Least finished jobs of a status that has a leaf of its own."""
MIN_CELL_JOBS = 20
"""Least finished jobs of a conditional distribution."""
MIN_LEAF_JOBS = 10
"""Least finished jobs of a leaf."""
MIN_JOBS = 2
"""Least finished jobs of a gang class."""
MAX_SHARE = 0.9
"""Cells with a larger share of the jobs of their gang class do not inform the prior."""
_CONDITIONS = (("gang", "vc", ANY), ("gang", ANY, "status"), ("gang", "vc", "status"))


@dataclass(frozen=True, slots=True)
class DurationCell:
    """Run times of one job class; ``*`` is every (other) value."""

    gang: str
    vc: str
    status: str
    distribution: Distribution


@dataclass(frozen=True, slots=True)
class ClassFits:
    """Fits of run times to the jobs of classes, each set of jobs fitted once.

    Attributes
    ----------
    frame
        Jobs, from :func:`classed`.
    family
        Family to force everywhere; None: chosen for each class.
    correlation
        Correlation of the normal scores of two jobs of one cluster.
    fits
        Distributions by the jobs that they were fitted to.
    """

    frame: pd.DataFrame
    family: str | None
    correlation: float
    fits: dict[bytes, Distribution] = field(default_factory=dict)

    def cells(self, *, conditional: bool) -> tuple[DurationCell, ...]:
        """Return a cell of each gang class, and of each condition with enough finished jobs."""
        cells = self._by(("gang", ANY, ANY), MIN_JOBS)
        for keys in _CONDITIONS if conditional else ():
            cells += self._by(keys, MIN_CELL_JOBS)
        return tuple({(c.gang, c.vc, c.status): c for c in reversed(cells)}.values())[::-1]

    def leaves(self) -> tuple[DurationCell, ...]:
        """Return cells that partition the jobs."""
        return self._by(("gang", "leaf_vc", "leaf_status"), MIN_LEAF_JOBS)

    def _by(self, keys: tuple[str, str, str], least: int) -> tuple[DurationCell, ...]:
        cells = []
        for (gang, vc, status), jobs in self.frame.groupby(list(keys)):
            if (~jobs["censored"]).sum() < least:
                continue
            members = jobs.index.to_numpy().tobytes()
            if members not in self.fits:
                self.fits[members] = fit_distribution(
                    jobs["run_s"],
                    jobs["censored"],
                    family=self.family,
                    cluster=jobs["cluster"],
                    correlation=self.correlation,
                    noun=f"durations of {gang}-GPU jobs",
                    tempered=True,
                )
            cells.append(DurationCell(str(gang), str(vc), str(status), self.fits[members]))
        return tuple(cells)


def clock_resolution_s(jobs: pd.DataFrame) -> float:
    """Return the unit of the run times of jobs: 1 s or 0.01 s.

    Raises
    ------
    ModelError
        There are no jobs, too few have ended, or run times are negative or all zero.
    """
    run_s, ended = jobs["run_s"].to_numpy(float), int((~jobs["censored"]).sum())
    n, negative = len(jobs), int((run_s < 0).sum())
    for message, wrong in {
        "there are no jobs with a known gang and run time": not n,
        f"{negative} run times are negative": negative,
        f"all {n} run times are zero: start or end times are missing": not run_s.any(),
        f"{ended} of {n} jobs have a known end; at least {MIN_JOBS} are needed": ended < MIN_JOBS,
    }.items():
        if wrong:
            raise ModelError(f"durations: {message}")
    return 1.0 if (run_s == np.rint(run_s)).all() else 0.01


def classed(jobs: pd.DataFrame, resolution_s: float) -> pd.DataFrame:
    """Return the class, leaf, cluster and run time of each job; no run time is zero."""
    frame = pd.DataFrame(
        {
            "gang": gang_names(jobs["gpus"]),
            "vc": jobs["vc"].to_numpy(str),
            "status": jobs["status"].fillna(ANY).to_numpy(str),
            "run_s": np.maximum(jobs["run_s"].to_numpy(float), resolution_s / 2),
            "censored": jobs["censored"].to_numpy(bool),
            "cluster": job_clusters(jobs),
            ANY: ANY,
        }
    )
    finished = ~frame["censored"]
    by_vc = finished.groupby([frame["gang"], frame["vc"]]).transform("sum")
    frame["leaf_vc"] = frame["vc"].where(by_vc >= MIN_VC_JOBS, ANY)
    key = [frame["gang"], frame["leaf_vc"], frame["status"]]
    by_status = finished.groupby(key).transform("sum")
    frame["leaf_status"] = frame["status"].where(by_status >= MIN_STATUS_JOBS, ANY)
    return frame


def normal_scores(frame: pd.DataFrame) -> Floats:
    """Return normal scores of run times in their gang class; if censored, the expected score."""
    score = np.zeros(len(frame))
    for _, jobs in frame.groupby("gang"):
        by_value = jobs.sort_values("run_s", kind="stable")
        x = Lifetimes(by_value["run_s"].to_numpy(), by_value["censored"].to_numpy())
        if x.ended.size:
            score[by_value.index] = x.scores()
    return score


def prior_size(cells: tuple[DurationCell, ...]) -> float:
    """Return the weight of a gang class's distribution, in independent jobs.

    Each conditional distribution is taken as drawn from a Dirichlet process (Ferguson 1973). Its
    squared distance from the base CDF, over the variance of one value, is then 1 / (1 +
    concentration), plus the sampling variance.
    """
    levels = np.linspace(0.05, 0.95, 19)
    base = {c.gang: c.distribution for c in cells if c.vc == c.status == ANY}
    ratios, weights = [], []
    for cell in cells:
        share = cell.distribution.n / base[cell.gang].n
        n = cell.distribution.effective_n or 0.0
        if share < MAX_SHARE and n > 1:
            gap = cell.distribution.cdf(base[cell.gang].ppf(levels)) - levels
            ratio = float((gap**2 / (levels * (1 - levels))).mean()) / (1 - share)
            ratios.append((ratio - 1 / n) / (1 - 1 / n))
            weights.append(n / (1 + n))
    if not ratios:
        return 1.0
    variance = float(np.clip(np.average(ratios, weights=weights), 1e-4, 0.5))
    return round(1 / variance - 1, 2)


def user_effects(jobs: pd.DataFrame, frame: pd.DataFrame, score: Floats) -> Effects | None:
    """Return the effects of users on the normal scores of run times; None if users are unknown."""
    if jobs["user"].isna().all():
        return None
    session = job_clusters(jobs.assign(vc=jobs["user"].fillna(""), user=None))
    residual = score - pd.Series(score).groupby(frame["cluster"]).transform("mean")
    user = jobs["user"].fillna("").to_numpy(str)
    return Effects.fit(score, user, session, intracluster_correlation(residual, session))
