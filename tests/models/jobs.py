"""Job lists and a model that several test modules use."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from philly_analysis.models.observations import Observations
from philly_analysis.models.workload_model import WorkloadModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


def frame(submitted_s: Iterable[float], run_s: Any, **columns: Any) -> pd.DataFrame:
    """Return jobs of one GPU and an unknown user and status, unless given otherwise."""
    n = len(list(submitted_s))
    unknown = pd.Series([None] * n, dtype=object)
    usual = {"vc": "", "user": unknown, "gpus": 1, "status": unknown, "censored": False}
    known = {"submitted_s": submitted_s, "run_s": run_s, "attempts": 1, "last_share": np.nan}
    return pd.DataFrame({**known, **usual, **columns}, index=range(n))


def two_clusters(n: int = 3_000, seed: int = 0) -> pd.DataFrame:
    """Return jobs of two virtual clusters: b's are ten times longer, and large gangs fail more."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 8, 16], n, p=[0.6, 0.1, 0.1, 0.15, 0.05])
    vc = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    failed = rng.random(n) < np.where(gpus > 4, 0.6, 0.2)
    return frame(
        np.sort(rng.integers(0, 30 * 86_400, n)).astype(float),
        vc=vc,
        user=np.where(rng.random(n) < 0.8, "busy", "idle"),
        gpus=gpus,
        status=np.where(failed, "Failed", "Pass"),
        run_s=np.rint(rng.lognormal(5, 1, n) * np.where(vc == "b", 10, 1)) + 1,
        censored=rng.random(n) < 0.01,
        attempts=np.where(failed, rng.integers(1, 4, n), 1),
        last_share=0.4,
    )


def clustered_scores(rng: np.random.Generator, user: Ints, correlation: float) -> Floats:
    """Return normal scores with a correlation within users."""
    shared = rng.standard_normal(int(user.max()) + 1)[user]
    own = rng.standard_normal(user.size)
    return np.asarray(np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)


def observed(jobs: pd.DataFrame, name: str = "two") -> Observations:
    """Return jobs as observations."""
    columns = ("vc", "user", "censored", "attempts")
    return Observations.of_jobs(
        name,
        jobs["submitted_s"] + 4 * 86_400,
        jobs["gpus"],
        jobs["run_s"],
        status=jobs["status"].to_numpy(object),
        **{c: jobs[c] for c in columns},
    )


JOBS = two_clusters()
DATA = observed(JOBS)
MODEL = WorkloadModel.fit(DATA, family="empirical")
