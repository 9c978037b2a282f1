"""Scales of a site's variation between periods, given the weeks of its log."""

from dataclasses import dataclass

import numpy as np

from philly_analysis.distributions import Floats

QUANTILES = 40
LEVELS = (np.arange(QUANTILES) + 0.5) / QUANTILES


@dataclass(frozen=True, slots=True)
class SiteVariation:
    """Posterior distribution of a site's variation, relative to the variation of all sites.

    Attributes
    ----------
    weeks
        Whole weeks of the log.
    jobs_scale, class_scale
        Quantiles (at `LEVELS`) of the factor on the standard deviations of the number of jobs, and
        of the jobs of each class.
    weekly_jobs_sd, prior_weekly_jobs_sd
        Standard deviation of the natural logarithm of a week's jobs, without sampling variance:
        median given the weeks, and median of all sites.
    sessions, class_demands
        Effective number of sessions: see :class:`WeeklyJobs`.
    """

    weeks: int
    jobs_scale: tuple[float, ...]
    class_scale: tuple[float, ...]
    weekly_jobs_sd: float
    prior_weekly_jobs_sd: float
    sessions: float
    class_demands: tuple[tuple[float, ...], ...]

    @property
    def sentence(self) -> str:
        """Phrase: how much the site's own weeks weigh."""
        weeks = "1 week" if self.weeks == 1 else f"{self.weeks} weeks"
        return (
            f"{weeks} seen: between-week sd of jobs {self.weekly_jobs_sd:.2f} "
            f"(prior {self.prior_weekly_jobs_sd:.2f}), job classes vary "
            f"{np.median(self.class_scale):.2f} times as much as at other sites"
        )

    def scales(self, level: float) -> tuple[float, float]:
        """Return both scales at one level of their distributions.

        Both are large or small together, so that GPU time gained by some job classes is lost by
        others, as at other sites.
        """
        jobs_scale, class_scale = (
            float(np.interp(level, LEVELS, scale)) for scale in (self.jobs_scale, self.class_scale)
        )
        return jobs_scale, class_scale

    def sessions_of(self, jobs: Floats) -> tuple[float, Floats]:
        """Return the effective sessions in all, and the effective sessions of job classes.

        A class without jobs in the log has its expected jobs.
        """
        demands = np.asarray(self.class_demands)
        return self.sessions, np.where(demands > 0, demands, np.minimum(jobs, 1.0))
