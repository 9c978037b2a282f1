"""Draw the long jobs of a period from few sources, as sessions and users have them in logs.

A period's long jobs are drawn from a Dirichlet process (Ferguson 1973) around the long jobs of the
log. Long jobs of one source have similar run times, so that periods differ in their longest job.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from scipy.special import ndtr

from philly_analysis.distributions import Floats, Ints
from philly_analysis.models.between_period import Variation
from philly_analysis.models.components.job_classes import long_jobs_of
from philly_analysis.models.components.sessions import job_sessions
from philly_analysis.models.components.users import MAX_DURATION_CORRELATION
from philly_analysis.models.long_memory import change_variance
from philly_analysis.study import gang_class

DAY_S = 86_400
SPANS_D = (1, 2, 4, 7, 14)
"""Days of the spans whose long jobs are compared."""
LEVELS = np.linspace(0.05, 0.95, 19)
SPREAD = 2 * (np.pi**2 - 9) / 3
"""Variance of the Anderson-Darling distance of independent values over its squared mean."""
MAX_SPAN_SHARE = 0.9
"""A span with a larger share of the long jobs is not compared with the others."""
MAX_CORRELATION = 0.9
GRID = np.linspace(-7, -0.05, 140)
"""Natural logarithms of correlations."""
URN = 4_096
"""Jobs whose sources are drawn: each long job of a period has the source of a random one."""
TOP = 3
"""Longest sessions of a gang class whose run times are compared."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Sources of the long jobs of one period.

    Attributes
    ----------
    concentration
        Concentration of the Dirichlet process: large if each long job has a source of its own.
    in_log
        Expected sources of the long jobs of the log that could have shown a longer job. As many
        sources of a period have a job that is longer than all of the log's with a probability of
        one half.
    excess
        Mean relative excess of the first such job over the longest job of the log. The excess is
        exponential, so that the tail beyond the log is not a power law.
    log_s
        Seconds from the first submission of the log to the last end: no job may be longer, unless
        it has a level of the fitted distribution.
    """

    concentration: float
    in_log: float
    excess: float
    log_s: float

    def redraw(
        self, u: Floats, leaf: Ints, long_share: Floats, rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Redraw the levels of long jobs, in their order within each leaf.

        Parameters
        ----------
        u, leaf
            Shape (n,): level of each job in its distribution, and the number of the distribution.
        long_share
            Share of long jobs by number of the distribution.

        Returns
        -------
        tuple
            Levels, and factors on run times: above 1 for the longest job of a leaf if that job is
            longer than all of the log's.
        """
        long = np.flatnonzero(u > 1 - long_share[leaf])
        if not long.size:
            return u, np.ones(u.size)
        long = long[np.lexsort((u[long], leaf[long]))]
        leaves, sizes = np.unique(leaf[long], return_counts=True)
        # the level of the log's longest job: the largest of so many uniform numbers
        bound = rng.beta(max(self.in_log, 1.0), 1.0)
        scores = _source_scores(self.concentration, rng)
        # jobs keep their order, on which users and load depend
        streams = rng.spawn(long_share.size)
        place = np.concatenate(
            [
                np.sort(_levels(scores, int(size), streams[i]))
                for i, size in zip(leaves, sizes, strict=True)
            ]
        )
        longest = np.append(np.diff(leaf[long]) > 0, True)
        record = longest & (place > bound)
        level, factor = u.copy(), np.ones(u.size)
        level[long] = np.where(record, 1.0, 1 - long_share[leaf[long]] * (1 - place))
        beyond = np.maximum((1 - place[record]) / (1 - bound), 1e-9)
        factor[long[record]] = 1 - self.excess * np.log(beyond)
        return np.clip(level, 1e-12, 1 - 1e-12), factor


@dataclass(frozen=True, slots=True)
class LongJobs:
    """Long jobs of a log: the longest tenth of each gang class.

    Attributes
    ----------
    n
        Number of long jobs.
    days
        Days from the first submission of the log to the last.
    log_s
        Seconds from the first submission to the last end.
    daily_correlation
        Correlation of two long jobs of one day, in whether they are longer than a third: the
        intraclass correlation of indicators. Days of independent jobs have 0.
    excess
        Mean relative gap between the longest run times of sessions: see :func:`_mean_gap`.
    at_risk
        Share of jobs submitted early enough to end before the last end of the log if they had run
        as long as the longest of their gang class. A log has ended jobs only.
    """

    n: int
    days: float
    log_s: float
    daily_correlation: float
    excess: float
    at_risk: float = 1.0

    @classmethod
    def fit(cls, jobs: pd.DataFrame, variation: Variation) -> Self:
        """Fit to jobs.

        The Anderson-Darling distance between the long jobs of a span and those of the log has the
        expected value *r* + (1 - *r*) / *n* with *n* jobs of correlation *r*. Correlations of
        longer spans decrease as the variance of levels does (`Variation.hurst`). The correlation is
        the mean of its posterior on a grid: a log-normal prior and a steady share, with a gamma
        quasi-likelihood. Spans of each length have the same weight, since the jobs are the same.

        Parameters
        ----------
        jobs
            Columns submitted_s (ascending), vc, user, gpus, run_s (known).
        variation
            Prior distribution over sites.
        """
        at_d = jobs["submitted_s"].to_numpy(float) / DAY_S
        days = max(float(at_d[-1] - at_d[0]), 1 / 24)
        gang, run_s = gang_class(jobs["gpus"].to_numpy(int)), jobs["run_s"].to_numpy(float)
        long, place = long_jobs_of(gang, run_s)
        memory = 2 * variation.hurst - 2
        correlation = np.append(0.0, np.exp(GRID))
        posterior = np.zeros(correlation.size)
        compared = [_distances(at_d[long] - at_d[0], place, span) for span in SPANS_D]
        compared = [rows for rows in compared if rows[0].size]
        for span, size, distance in compared:
            of_span = correlation[:, None] * span**memory
            expected = of_span + (1 - of_span) / size
            terms = (np.log(expected) + distance / expected) / SPREAD
            posterior -= terms.sum(axis=1) / len(compared)
        weight = np.exp(posterior - posterior.max())
        median, sd = variation.long_job_correlation.value, variation.long_job_sd.value
        prior = np.exp(-(((GRID - np.log(median)) / sd) ** 2) / 2)
        steady = variation.steady_share.value
        weight *= np.append(steady, (1 - steady) * prior / prior.sum())
        end_s = at_d * DAY_S + run_s
        longest_s = np.zeros(gang.max() + 1)
        np.maximum.at(longest_s, gang, run_s)
        would_end_s = at_d * DAY_S + longest_s[gang]
        return cls(
            n=int(long.size),
            days=round(days, 3),
            log_s=round(float(end_s.max() - at_d[0] * DAY_S), 1),
            daily_correlation=round(float(correlation @ weight / weight.sum()), 4),
            excess=round(_mean_gap(jobs.iloc[long], gang[long], variation), 4),
            at_risk=round(float((would_end_s <= end_s.max()).mean()), 4),
        )

    def sources(self, days: float, variation: Variation) -> Sources:
        """Return the sources of the long jobs of a period of some days.

        The correlation is of the change from the log to the period, and includes the sampling
        variance of the log's long jobs.
        """
        hurst = variation.hurst
        daily = variation.long_job_drift.value * self.daily_correlation
        change = daily * change_variance(self.days, max(days, 1 / 24), hurst)
        change += 1 / max(self.n, 1)
        of_log = min(daily * self.days ** (2 * hurst - 2), MAX_CORRELATION)
        in_log = float(self.n)
        if of_log > 0:
            concentration = 1 / of_log - 1
            in_log = concentration * float(np.log1p(self.n / concentration))
        concentration = 1 / min(change, MAX_CORRELATION) - 1
        return Sources(concentration, in_log * self.at_risk, self.excess, self.log_s)


def _source_scores(concentration: float, rng: np.random.Generator) -> Floats:
    """Draw normal scores of many jobs by Blackwell and MacQueen's urn (1973), equal by source."""
    index = np.arange(URN)
    fresh = rng.random(URN) * (concentration + index) <= concentration
    source = np.where(fresh, index, (rng.random(URN) * index).astype(int))
    while (source != source[source]).any():
        source = source[source]
    return np.asarray(rng.standard_normal(URN)[source])


def _levels(scores: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Draw uniform levels of jobs of sources, of which the first do not depend on their number."""
    of_source, of_job = rng.spawn(2)
    shared = MAX_DURATION_CORRELATION
    score = np.sqrt(shared) * scores[of_source.integers(0, scores.size, size)]
    return np.asarray(ndtr(score + np.sqrt(1 - shared) * of_job.standard_normal(size)))


def _distances(at_d: Floats, place: Floats, span_d: float) -> tuple[Floats, Ints, Floats]:
    """Return length, long jobs and Anderson-Darling distance of each span of days."""
    _, index, size = np.unique(at_d // span_d, return_inverse=True, return_counts=True)
    below = np.zeros((size.size, LEVELS.size))
    np.add.at(below, index, place[:, None] <= LEVELS)
    share = size / max(place.size, 1)
    gap = below / size[:, None] - LEVELS
    distance = (gap**2 / (LEVELS * (1 - LEVELS))).mean(axis=1) / np.maximum(1 - share, 1e-9)
    compared = share <= MAX_SPAN_SHARE
    return np.full(int(compared.sum()), float(span_d)), size[compared], distance[compared]


def _mean_gap(jobs: pd.DataFrame, gang: Ints, variation: Variation) -> float:
    """Return the mean relative gap between the longest run times of sessions.

    The i-th gap of logarithms from the top, times i, is exponential with the same mean if the tail
    is a power law (Rényi 1953). The prior counts as one gap. Jobs at a time limit have no gaps.
    """
    gaps = [float(np.log1p(variation.long_job_excess.value))]
    if jobs.empty:
        return variation.long_job_excess.value
    longest = jobs["run_s"].groupby([gang, job_sessions(jobs)]).max()
    for _, of_class in longest.groupby(level=0):
        top = np.sort(of_class.to_numpy(float))[::-1][: TOP + 1]
        gaps += list(np.arange(1, top.size) * np.log(top[:-1] / top[1:]))
    return float(np.expm1(np.mean(gaps)))
