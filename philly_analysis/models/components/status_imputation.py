"""Impute the final status of running jobs from longer jobs (Efron's redistribution)."""

import numpy as np
import pandas as pd

from philly_analysis.study import gang_class


def impute_status(jobs: pd.DataFrame) -> pd.DataFrame:
    """Draw a status for running jobs from longer, finished jobs of the same gang class.

    Each finished job has its Kaplan-Meier probability (Efron 1967). Without imputation, only
    finished jobs would have run times given a status, and finished jobs are short.

    Parameters
    ----------
    jobs
        Columns gpus, status (null: unknown), run_s, censored.

    Returns
    -------
    pandas.DataFrame
        The jobs with fewer unknown statuses; unchanged if no status is known.
    """
    unknown = jobs["censored"] & jobs["status"].isna() & jobs["run_s"].notna()
    if not unknown.any() or jobs["status"].isna().all():
        return jobs
    rng = np.random.default_rng(0)
    status = jobs["status"].to_numpy(object).copy()
    gang = gang_class(jobs["gpus"])
    run_s, censored = jobs["run_s"].to_numpy(float), jobs["censored"].to_numpy(bool)
    for i in np.unique(gang[unknown]):
        mine = np.flatnonzero((gang == i) & np.isfinite(run_s))
        # by run time; of equal run times, finished jobs first
        mine = mine[np.lexsort((censored[mine], run_s[mine]))]
        at_risk = np.arange(mine.size, 0, -1)
        survival = np.cumprod(np.where(~censored[mine], 1 - 1 / at_risk, 1.0))
        mass = np.concatenate(([1.0], survival[:-1])) - survival
        mass[pd.isna(status[mine])] = 0.0
        if not mass.any():
            continue
        reached, statuses = np.cumsum(mass), status[mine]
        for k in np.flatnonzero(unknown.to_numpy()[mine]):
            # jobs that run longer than all finished jobs get the status of the longest finished job
            u = reached[k] + (1 - rng.random()) * (reached[-1] - reached[k])
            status[mine[k]] = statuses[min(int(np.searchsorted(reached, u)), mine.size - 1)]
    return jobs.assign(status=status)
