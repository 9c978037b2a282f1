"""Define measures of daily and weekly cycles, and of burstiness, of submissions."""

import numpy as np
import pandas as pd

from philly_analysis.atlas.measure import Measure, count, parts
from philly_analysis.atlas.resampling import Floats, Resampling, ratio


def cycle_ratio(by: str, period: int, window: int, fold_days: int) -> Measure:
    """Measure the ratio of jobs in the busiest and the quietest window of a cycle.

    The windows are found in every other fold of the calendar and counted in the folds between,
    both ways (geometric mean): otherwise chance alone would find a busy window.

    Parameters
    ----------
    by
        Column of the position in the cycle, from 0.
    period, window
        Positions in the cycle, and adjacent ones in a window.
    fold_days
        Days of a fold, counted from a Monday.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        days = pd.to_datetime(rows["day"]).to_numpy("datetime64[D]").astype(np.int64)
        odd = (days + 3) // fold_days % 2 == 1  # 1970 began on a Thursday
        halves = [
            r.tallies(rows[by], period, rows["jobs"].where(half, 0).to_numpy())
            for half in (odd, ~odd)
        ]
        windows = [np.sum([np.roll(h, -i, axis=1) for i in range(window)], axis=0) for h in halves]
        ratios = []
        for chosen, counted in (windows, windows[::-1]):
            peak, trough = (
                np.take_along_axis(counted, at[:, None], axis=1)[:, 0]
                for at in (np.argmax(chosen, axis=1), np.argmin(chosen, axis=1))
            )
            ratios.append(ratio(peak, trough))
        mean: Floats = np.sqrt(ratios[0] * ratios[1])
        return mean

    def panel(rows: pd.DataFrame) -> pd.DataFrame:
        jobs = rows.groupby(by)["jobs"].sum().reindex(range(period)).fillna(0)
        mean = max(float(jobs.mean()), 1e-300)
        return pd.DataFrame({"x": jobs.index, "y": jobs.to_numpy() / mean, "n": jobs.to_numpy()})

    return Measure(statistic, count("jobs", "jobs"), panel, "cycle", "times")


def dispersion() -> Measure:
    """Measure the variance over the mean of hourly counts, from hour to hour.

    The variance is half the mean squared change against the hour before (von Neumann, Annals of
    Mathematical Statistics 12, 1941), so that slow changes of the load are excluded. The
    measure is one for independent submissions, a Poisson process.
    """

    def statistic(rows: pd.DataFrame, r: Resampling) -> Floats:
        return ratio(r.sums(rows["squared"]), 2 * r.sums(rows["jobs"]))

    levels = {level: level for level in ("0", "1-3", "4-15", ">15")}
    panel = parts("hours", "level", levels, counts="hours")
    return Measure(statistic, count("jobs", "jobs"), panel, "bars", "times")
