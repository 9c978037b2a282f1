"""Variation between periods, given the weeks of a site's log."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from philly_analysis.models.between_period import ESTIMATED
from philly_analysis.models.components.sessions import job_sessions
from philly_analysis.models.long_memory import change_variance, correlation, shared_change
from philly_analysis.models.observations import Observations
from philly_analysis.models.sampling import draw_jobs
from philly_analysis.models.site_learning import (
    GRID,
    NEAR_STEADY,
    FittedLog,
    _posterior,
    _restricted,
    learn,
)
from philly_analysis.models.site_variation import LEVELS, SiteVariation
from philly_analysis.models.weekly_jobs import DAY_S, LOG_RUN_S, WEEK_S, WeeklyJobs
from philly_analysis.models.workload_model import WorkloadModel
from tests.models.jobs import DATA, Floats, frame


def steady(days: float, seed: int = 0, *, trend: float = 0.0, monthly: int = 2_000) -> Observations:
    """Return independent jobs, whose rate may grow each week."""
    rng = np.random.default_rng(seed)
    hours = np.arange(int(days * 24))
    jobs = rng.poisson(monthly / 672 * np.exp(trend * hours / 168))
    at = np.sort(3_600 * (np.repeat(hours, jobs) + rng.random(jobs.sum())))
    gpus = rng.choice([1, 2, 4, 8], at.size, p=[0.6, 0.1, 0.1, 0.2])
    run_s = np.rint(rng.lognormal(7, 1.2, at.size)) + 1
    return Observations.of_jobs(
        "steady", at, gpus, run_s, user=[f"u{i}" for i in rng.integers(0, 20, at.size)]
    )


def fitted(data: Observations, days: float) -> WorkloadModel:
    """Return a model of whole days."""
    return WorkloadModel.fit(
        data, family="empirical", windows=[(0, days * DAY_S)], conditional=False
    )


FOUR_WEEKS = fitted(steady(28, monthly=1_000), 28)
LOG = FittedLog.of(FOUR_WEEKS)


def site_of(data: Observations, weeks: int) -> SiteVariation:
    """Return the variation of a site, given some weeks."""
    return learn(LOG, ESTIMATED, WeeklyJobs.of(data.jobs, [(0, weeks * WEEK_S)]))


@pytest.mark.parametrize("hurst", [0.5, 0.74])
def test_variances_of_periods_are_those_of_sums_of_weeks(hurst: float) -> None:
    weekly = correlation(np.arange(12.0), hurst)
    mean = [(np.isin(np.arange(12), w) / len(w)) for w in (range(4), range(4, 8), range(8, 12))]
    past, following, later = mean
    change, next_change = following - past, later - past
    month = float(past @ weekly @ past)  # the variance of four weeks
    assert change @ weekly @ change / month == pytest.approx(change_variance(1, 1, hurst))
    week = np.eye(12)[4] - past
    assert week @ weekly @ week / month == pytest.approx(change_variance(1, 0.25, hurst))
    both = change @ weekly @ next_change
    both /= np.sqrt((change @ weekly @ change) * (next_change @ weekly @ next_change))
    assert both == pytest.approx(shared_change(1, hurst))


def test_the_jobs_of_whole_weeks_by_hand() -> None:
    at = np.array([10, 3 * DAY_S, WEEK_S, WEEK_S + 60.0, 2 * WEEK_S - 1, 2 * WEEK_S + 5])
    jobs = frame(at, [60.0, 60.0, 60.0, 60.0, np.nan, 7_200.0], gpus=[1, 1, 1, 1, 1, 8], user="a")
    weekly = WeeklyJobs.of(jobs, [(0, 2 * WEEK_S)])
    assert weekly.daily.tolist() == [[1, 0, 0, 1, 0, 0, 0], [2, 0, 0, 0, 0, 0, 1]]
    assert weekly.by_class[:, 0, 0].tolist() == [2, 2] and weekly.by_class.sum() == 4
    # sessions of 1, 1, 2 and 2 jobs, since the last two are seconds apart
    assert weekly.sessions == pytest.approx(36 / 10)
    assert weekly.class_sessions[0, 0] == pytest.approx(16 / 6)
    assert weekly.class_demands[2, 3] == pytest.approx(1)
    # weeks end with the observed time
    shifted = WeeklyJobs.of(jobs, [(0, 2 * WEEK_S + DAY_S)])
    assert shifted.start_d.tolist() == [1, 8] and shifted.daily.sum() == 5
    assert WeeklyJobs.of(jobs, [(0, 6 * DAY_S)]).daily.shape == (0, 7)


def test_independent_effects_on_classes_vary_gpu_time_as_its_sessions_do() -> None:
    rng = np.random.default_rng(3)
    at = np.sort(rng.uniform(0, 2 * WEEK_S, 300))
    gpus, run_s = rng.choice([1, 4, 16], 300), rng.lognormal(8, 2.5, 300)
    jobs = frame(at, run_s, gpus=gpus, user=rng.choice(["a", "b", "c"], 300))
    demands = WeeklyJobs.of(jobs, [(0, 2 * WEEK_S)]).class_demands
    gpu_s, total = gpus * run_s, 0.0
    for gang, size in ((0, 1), (1, 4), (3, 16)):
        for k, variance in enumerate(1 / demands[gang]):
            effect = np.interp(np.log(run_s), LOG_RUN_S, np.eye(len(LOG_RUN_S))[k])
            total += variance * float((gpu_s * effect)[gpus == size].sum()) ** 2
    even_s = run_s.copy()  # the longest tenth of each gang class is equally long
    for size in (1, 4, 16):
        mine = np.flatnonzero(gpus == size)
        long = mine[np.argsort(run_s[mine])[-(mine.size // 10) :]]
        even_s[long] = run_s[long].mean()
    by_session = pd.Series(gpus * even_s).groupby(job_sessions(jobs)).sum()
    assert total == pytest.approx(float((by_session**2).sum()))


def test_the_restricted_likelihood_is_that_of_differences() -> None:
    rng = np.random.default_rng(0)
    values, memory = rng.standard_normal((5, 2)), correlation(np.arange(5.0), 0.7)
    sd, sampling = np.array([[0.3, 0.5], [1.0, 2.0]]), np.array([0.1, 0.2])
    made = _restricted(values, np.ones((5, 1), bool), sd, sampling, memory)
    change = np.diff(np.eye(5), axis=0)

    def density(scale: int) -> float:
        covariances = (
            change @ (sd[scale, i] ** 2 * memory + sampling[i] * np.eye(5)) @ change.T
            for i in range(2)
        )
        return float(
            sum(
                multivariate_normal(cov=c).logpdf(change @ v)
                for v, c in zip(values.T, covariances, strict=True)
            )
        )

    assert made[1] - made[0] == pytest.approx(density(1) - density(0))


def test_one_week_leaves_the_distribution_over_sites() -> None:
    site = site_of(steady(7), 1)
    assert site.weeks == 1 and site.weekly_jobs_sd == site.prior_weekly_jobs_sd
    share = ESTIMATED.steady_share.value
    for median, scales, largest in (
        (ESTIMATED.jobs_scale, site.jobs_scale, 0.06),
        (ESTIMATED.class_scale, site.class_scale, NEAR_STEADY),
    ):
        score = (np.log(scales) - np.log(median.value)) / ESTIMATED.scale_sd.value
        expected = share + (1 - share) * norm.cdf(score)
        others = share + 0.05 < LEVELS
        np.testing.assert_allclose(expected[others], LEVELS[others], atol=0.03)
        assert max(np.array(scales)[share - 0.03 > LEVELS]) < largest


def test_more_steady_weeks_make_the_variation_smaller() -> None:
    by_weeks = [site_of(steady(7 * weeks), weeks) for weeks in (1, 2, 4, 12)]
    medians = [np.median(site.jobs_scale) for site in by_weeks]
    upper = [site.jobs_scale[-3] for site in by_weeks]
    assert (np.diff(medians) <= 0.01).all() and medians[0] > 0.5 and medians[2] < 0.1
    assert (np.diff(upper) < 0.01).all() and upper[-1] < 0.2


def test_a_growing_site_is_not_steady() -> None:
    site = site_of(steady(28, trend=0.15), 4)
    assert np.quantile(site.jobs_scale, 0.1) > 0.2
    assert np.median(site.class_scale) < 0.2  # its jobs stay the same


@pytest.mark.parametrize("own", [0.25, 1.0])
def test_many_weeks_give_the_scale_of_the_site(own: float) -> None:
    """Days of half a year with a known scale, of which sampling variance is small."""
    rng = np.random.default_rng(3)
    hurst, day_sd, sampling = ESTIMATED.hurst, 0.6, 0.01
    memory = correlation(np.arange(182.0), hurst)
    weekday = np.tile(np.eye(7, dtype=bool), (26, 1))
    level = np.linalg.cholesky(memory) @ rng.standard_normal(182)
    values = own * day_sd * level + np.sqrt(sampling) * rng.standard_normal(182)
    values += np.tile([1, 1, 1, 1, 1, -1, -2], 26)
    sd = day_sd * np.exp(GRID)[:, None]
    likelihood = _restricted(values[:, None], weekday, sd, np.array([sampling]), memory)
    prior = ESTIMATED.jobs_scale.value
    scales = _posterior(ESTIMATED, ESTIMATED.jobs_scale, likelihood, 26)
    assert np.median(scales) == pytest.approx(own, rel=0.5)
    few = _posterior(ESTIMATED, ESTIMATED.jobs_scale, likelihood / 20, 2)
    # fewer weeks leave the median nearer to the median of all sites
    from_prior = np.abs(np.log([np.median(few), np.median(scales)]) - np.log(prior))
    assert from_prior[0] <= from_prior[1] + 0.1


def ends(model: WorkloadModel, seeds: int) -> Floats:
    """Return the ends of the 90 % intervals of jobs and GPU hours of four weeks."""
    drawn = (draw_jobs(model, days=28, seed=seed)[0] for seed in range(seeds))
    made = [(work.at_s.size, work.gpu_s / 3_600) for work in drawn]
    return np.quantile(made, (0.05, 0.95), axis=0, method="weibull")


@pytest.mark.slow
def test_four_steady_weeks_predict_the_next() -> None:
    covered = []
    for seed in range(8):
        both = steady(56, seed)
        first = both.jobs["submitted_s"] < 28 * DAY_S
        low, high = ends(fitted(both.where(first.to_numpy()), 28), 60)
        jobs = both.jobs[~first]
        real = len(jobs), float((jobs["gpus"] * jobs["run_s"]).sum()) / 3_600
        width = (high / low - 1) / 2
        assert width[0] < 0.15 and width[1] < 0.20
        covered += [(low <= real) & (real <= high)]
    assert np.mean(covered) >= 0.8


def test_the_weeks_change_the_drawn_number_of_jobs() -> None:
    spread = [
        np.std(
            [
                next(
                    ESTIMATED.periods(LOG.jobs, LOG.gpu_s, 28, LOG.daily_change, seed, site=site)
                ).log_total
                for seed in range(100)
            ]
        )
        for site in (FOUR_WEEKS.site, None)
    ]
    assert spread[0] < 0.5 * spread[1]
    assert next(FOUR_WEEKS.periods(3)).arrivals.n != FOUR_WEEKS.arrivals.n


def test_a_model_says_what_the_weeks_weigh() -> None:
    site = FOUR_WEEKS.site
    assert site
    said = site.sentence
    assert f"4 weeks seen: between-week sd of jobs {site.weekly_jobs_sd:.2f}" in said
    assert f"prior {site.prior_weekly_jobs_sd:.2f}" in said
    assert said in repr(FOUR_WEEKS)
    rows = FOUR_WEEKS.summary().query("part == 'another month'")
    assert site.weekly_jobs_sd in rows["value"].tolist()


def test_sites_are_written_and_read() -> None:
    assert WorkloadModel.from_json(FOUR_WEEKS.to_json()).site == FOUR_WEEKS.site


def test_windows_apart_have_weeks_of_their_own() -> None:
    windows = [(0, 8 * DAY_S), (10 * DAY_S, 25 * DAY_S)]
    at = DATA.jobs["submitted_s"] - DATA.jobs["submitted_s"].iloc[0]
    weekly = WeeklyJobs.of(DATA.jobs.assign(submitted_s=at), windows)
    assert weekly.start_d.tolist() == [1, 11, 18]
    day = pd.Series(at // DAY_S)
    assert weekly.daily.ravel().tolist() == [
        (day == start + i).sum() for start in (1, 11, 18) for i in range(7)
    ]
