"""How jobs that still ran will end, as far as those that ended tell."""

import numpy as np
import pandas as pd

from philly_analysis.study import gang_class


def with_endings(jobs: pd.DataFrame) -> pd.DataFrame:
    """Give running jobs of unknown ending one of those of longer jobs of their gang class.

    An ending is drawn as Efron (1967) shares out a censored value: over the jobs that ran longer
    and ended, each by what the Kaplan-Meier estimate gives it. Without it each ending's law would
    be that of jobs seen to their end, which are the short ones.

    Parameters
    ----------
    jobs
        Columns gpus, status (null: unknown), run_s, censored.

    Returns
    -------
    pandas.DataFrame
        The jobs, with fewer unknown endings; unchanged where no ending is known.
    """
    open_end = jobs["censored"] & jobs["status"].isna() & jobs["run_s"].notna()
    if not open_end.any() or jobs["status"].isna().all():
        return jobs
    rng = np.random.default_rng(0)
    status = jobs["status"].to_numpy(object).copy()
    gang = gang_class(jobs["gpus"])
    run_s, censored = jobs["run_s"].to_numpy(float), jobs["censored"].to_numpy(bool)
    for i in np.unique(gang[open_end]):
        mine = np.flatnonzero((gang == i) & np.isfinite(run_s))
        # by run time; of equal ones, those that ended come first
        mine = mine[np.lexsort((censored[mine], run_s[mine]))]
        ended = ~censored[mine]
        at_risk = np.arange(mine.size, 0, -1)
        left = np.cumprod(np.where(ended, 1 - 1 / at_risk, 1.0))
        mass = np.concatenate(([1.0], left[:-1])) - left
        mass[pd.isna(status[mine])] = 0.0
        if not mass.any():
            continue
        reached, known = np.cumsum(mass), status[mine]
        for k in np.flatnonzero(open_end.to_numpy()[mine]):
            # past the last job that ended, what that one did
            u = reached[k] + (1 - rng.random()) * (reached[-1] - reached[k])
            status[mine[k]] = known[min(int(np.searchsorted(reached, u)), mine.size - 1)]
    return jobs.assign(status=status)
