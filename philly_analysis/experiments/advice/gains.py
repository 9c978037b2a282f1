"""Measure the gain of a lever a month: GPU hours, hours of waiting, and who completes later."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray
from scipy import special
from scipy.stats import rankdata

from philly_analysis.distributions import Floats
from philly_analysis.experiments.advice.lever import Assumptions, Change
from philly_analysis.experiments.advice.scenario import Scenario, jobs_in_period, of_jobs
from philly_analysis.results import time_blocks
from philly_analysis.study import GANGS, gang_class

MONTH_D = 30.0
_DAY_S = 86_400.0
BLOCKS = 12
"""Blocks of equal time that the log is divided into."""
_TAIL = 0.05
"""Probability beyond each end of a prediction interval."""
LATER_S = 600.0
"""Seconds by which a job must complete later to count as a loser."""


class Monthly(NamedTuple):
    """A gain a month, and the prediction interval that nine of ten months lie in."""

    mean: float
    low: float
    high: float


FEWEST_OF_SIZE = 20
"""Jobs of a gang size, from which harm to the size is judged (convention)."""


class Gain(NamedTuple):
    """The gain of a lever.

    Attributes
    ----------
    gpu_h
        GPU hours a month that are no longer allocated; hours of added servers are negative.
    wait_h
        Hours a month that jobs wait less; None: not replayed.
    value_h
        GPU hours by the chosen measure, which orders and tests levers: freed, of waiting saved, or
        both. An hour of waiting counts once for each GPU of the job.
    jobs, users
        How many jobs, of how many users, run differently.
    later_jobs, later_users
        How many jobs, of how many users, complete over ten minutes later or lose their work.
    by_gang
        A row per gang bucket: gang, jobs, and the mean, 90th percentile and longest wait before and
        after (mean_before_s, mean_after_s, p90_before_s, …); empty if not replayed.
    value_p
        One-sided p value of `value_h`: see :func:`p_value`.
    months
        Waits in the log, and in each drawn month: the columns of `by_gang`. A row per gang size
        with 20 jobs or more in the month; jobs of rarer sizes are in the row of their gang bucket.
    """

    gpu_h: Monthly
    wait_h: Monthly | None
    value_h: Monthly
    jobs: int
    users: int
    later_jobs: int
    later_users: int
    by_gang: pd.DataFrame
    value_p: float = 1.0
    months: tuple[pd.DataFrame, ...] = ()

    def mean_wait_s(self, when: str) -> float:
        """Return the mean wait (s) of all jobs, `before` or `after`; 0 if not replayed."""
        waits = self.by_gang
        if waits.empty:
            return 0.0
        return float(np.average(waits[f"mean_{when}_s"], weights=waits["jobs"]))

    @property
    def saved_s(self) -> float:
        """Seconds that a job waits less on average."""
        return self.mean_wait_s("before") - self.mean_wait_s("after")

    @property
    def by_size(self) -> pd.DataFrame:
        """Waits over all months: means by job, and the longest of all; empty if not replayed."""
        if not self.months:
            return pd.DataFrame()
        rows = pd.concat(self.months)
        waits = [name for name in map(str, rows) if name.endswith("_s")]
        longest = [name for name in waits if name.startswith("longest")]
        averaged = [name for name in waits if name not in longest]
        weighted = rows.assign(**{name: rows[name] * rows["jobs"] for name in averaged})
        sums = weighted.groupby("gang", sort=False)[["jobs", *averaged]].sum()
        sums[averaged] = sums[averaged].div(sums["jobs"], axis=0)
        return sums.join(rows.groupby("gang")[longest].max()).reset_index()


def p_value(values: Floats, submit_s: Floats) -> float:
    """Return the p value of sums above 0 in blocks of the log.

    The one-sided signed-rank test of Wilcoxon (Biometrics Bulletin 1, 1945) needs no normal sums:
    gains of waiting are skewed, because few busy periods have most gains. The test is exact, with
    ties too, and leaves blocks of 0 out. SciPy's test gives equal values, but is a thousand times
    slower with ties.
    """
    sums = np.bincount(time_blocks(submit_s, BLOCKS), values, BLOCKS)
    sums = sums[sums != 0]
    ranks = np.rint(2 * rankdata(np.abs(sums))).astype(int)  # ranks of ties are halves
    ways = np.zeros(ranks.sum() + 1)
    ways[0] = 1
    for rank in ranks:  # number of choices of signs by the sum of positive ranks
        ways[rank:] += ways[:-rank].copy()
    return float(ways[ranks[sums > 0].sum() :].sum() / ways.sum())


def monthly(values: Floats, submit_s: Floats) -> Monthly:
    """Return the sum of jobs' values a month, with the prediction interval of another month.

    The log is divided into blocks of equal time, which are taken as independent (the block method
    of Künsch, Annals of Statistics 17, 1989). A prediction has the variance of a month's blocks
    plus the variance of the estimate (Hahn and Meeker, Statistical Intervals, 1991, section 4.7).

    Parameters
    ----------
    values, submit_s
        Value and time of submission (s) of each job of the period, shape (n,).
    """
    days = max(float(np.ptp(submit_s)) / _DAY_S, 1e-9)
    sums = np.bincount(time_blocks(submit_s, BLOCKS), values, BLOCKS)
    mean = float(sums.sum()) * MONTH_D / days
    blocks = MONTH_D / (days / BLOCKS)
    variance = float(sums.var(ddof=1)) * blocks * (1 + MONTH_D / days)
    half = _quantile(BLOCKS - 1) * variance**0.5
    return Monthly(mean, mean - half, mean + half)


def pooled(log: Monthly, drawn: Sequence[float]) -> Monthly:
    """Return a gain with the prediction interval of the log's blocks and of drawn months together.

    Blocks and drawn months both estimate the variance of another month's gain. The pooled variance
    weights the estimates by their degrees of freedom. Drawn months vary around the log as another
    month does, and the log itself as much: hence twice the variance of drawn months (Hahn and
    Meeker, Statistical Intervals, 1991, section 4.7).
    """
    of_log, of_drawn = BLOCKS - 1, len(drawn) - 1
    log_variance = ((log.high - log.low) / 2 / _quantile(of_log)) ** 2
    drawn_variance = 2 * float(np.var(drawn, ddof=1))
    freedom = of_log + of_drawn
    variance = (of_log * log_variance + of_drawn * drawn_variance) / freedom
    half = _quantile(freedom) * variance**0.5
    return Monthly(log.mean, log.mean - half, log.mean + half)


def _quantile(freedom: int) -> float:
    """Return the quantile of Student's t that ends a prediction interval."""
    return float(special.stdtrit(freedom, 1 - _TAIL))


def over_drawn(gain: Gain, drawn: Sequence[Gain]) -> Gain:
    """Return a gain with intervals of the log and of drawn months."""
    waits = [month.wait_h.mean for month in drawn if month.wait_h is not None]
    return gain._replace(
        gpu_h=pooled(gain.gpu_h, [month.gpu_h.mean for month in drawn]),
        wait_h=gain.wait_h and pooled(gain.wait_h, waits),
        value_h=pooled(gain.value_h, [month.value_h.mean for month in drawn]),
        months=(*gain.months, *(table for month in drawn for table in month.months)),
    )


def gain_of(
    before: Scenario,
    change: Change,
    waits: tuple[pl.DataFrame, pl.DataFrame] | None,
    assumed: Assumptions,
) -> Gain:
    """Return the gain of a change.

    Parameters
    ----------
    waits
        The outcomes of the replays before and after; None: not replayed.
    assumed
        Measure of the gain, and days of a repair.
    """
    after_of = {spec.job_id: spec for spec in change.scenario.jobs}
    specs = jobs_in_period(before)
    pairs = [(spec, after_of[spec.job_id]) for spec in specs]
    submit_s = np.array([spec.submit_s for spec in specs])
    freed_h = np.array([(a.gpu_s - b.gpu_s) / 3600 for a, b in pairs])
    gpus = np.array([spec.gpus * spec.gpu_frac for spec in specs])
    changed = np.array([a != b for a, b in pairs])
    longer_s = np.array([b.run_s - a.run_s for a, b in pairs])
    saved_h = np.zeros(len(specs))
    by_gang, months = pd.DataFrame(), tuple[pd.DataFrame, ...]()
    if waits is not None:
        was, then = (of_jobs(outcomes, "wait_s", specs) for outcomes in waits)
        saved_h = (was - then) / 3600
        longer_s = longer_s + then - was
        gangs = np.array([spec.gpus for spec in specs])
        by_gang = _waits_by(_buckets(gangs), gangs, was, then)
        months = (_waits_by(_sizes(gangs), gangs, was, then),)
    capacity_h = (change.scenario.gpus - before.gpus) * 24 * MONTH_D
    if waits is None:  # a replay shows what drained servers cost
        period_d = max(float(np.ptp(submit_s)) / _DAY_S, 1e-9)
        begin_s = float(submit_s.min())
        capacity_h += _drained_h(change.scenario, begin_s) * MONTH_D / period_d
    users = np.array([spec.user for spec in specs])
    lost = np.array([spec.job_id in change.losers for spec in specs])
    later = (longer_s > LATER_S) | lost
    measured_h = {"freed": freed_h, "waiting": gpus * saved_h}
    measured_h["total"] = freed_h + gpus * saved_h
    value = measured_h[assumed.value]
    cost_h = 0.0 if assumed.value == "waiting" else capacity_h
    return Gain(
        gpu_h=_less(monthly(freed_h, submit_s), capacity_h),
        wait_h=None if waits is None else monthly(saved_h, submit_s),
        value_h=_less(monthly(value, submit_s), cost_h),
        jobs=int(changed.sum()),
        users=len(set(users[changed])),
        later_jobs=int(later.sum()),
        later_users=len(set(users[later])),
        by_gang=by_gang,
        value_p=1.0 if cost_h else p_value(value, submit_s),
        months=months,
    )


def _less(gain: Monthly, cost_h: float) -> Monthly:
    return Monthly(*(end - cost_h for end in gain))


def _drained_h(scenario: Scenario, begin_s: float) -> float:
    """Return the GPU hours for which servers are drained after the period begins."""
    gpus = {m.machine_id: m.gpus for pool in scenario.pools for m in pool.machines}
    return sum(
        gpus[o.machine_id] * (o.end_s - max(o.start_s, begin_s)) / 3600 for o in scenario.outages
    )


def _buckets(gpus: NDArray[np.int_]) -> NDArray[np.str_]:
    """Return the gang bucket of each gang size."""
    return np.array(GANGS)[gang_class(gpus)]


def _sizes(gpus: NDArray[np.int_]) -> NDArray[np.str_]:
    """Return each gang size as text; the gang bucket of a size with few jobs."""
    _, place, jobs = np.unique(gpus, return_inverse=True, return_counts=True)
    return np.where(jobs[place] >= FEWEST_OF_SIZE, gpus.astype(str), _buckets(gpus))


def _waits_by(
    gangs: NDArray[np.str_], gpus: NDArray[np.int_], was_s: Floats, then_s: Floats
) -> pd.DataFrame:
    """Return mean, 90th percentile and maximum of waits before and after, by gang."""
    waits = pd.DataFrame({"gang": gangs, "gpus": gpus, "before": was_s, "after": then_s})
    rows = []
    for gang, jobs in sorted(waits.groupby("gang"), key=lambda group: int(group[1]["gpus"].min())):
        row: dict[str, object] = {"gang": gang, "jobs": len(jobs)}
        for name, statistic in (
            ("mean", "mean"),
            ("p90", partial(np.quantile, q=0.9)),
            ("longest", "max"),
        ):
            for when in ("before", "after"):
                row[f"{name}_{when}_s"] = float(jobs[when].agg(statistic))
        rows.append(row)
    return pd.DataFrame(rows)
