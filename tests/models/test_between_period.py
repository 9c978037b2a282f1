"""Variation between periods: effects, predictive models, tilting."""

import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from philly_analysis.distributions.distribution import Distribution, Parameter
from philly_analysis.distributions.exponential_tilting import tilt
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.errors import UnknownNameError
from philly_analysis.models.between_period import ESTIMATED, PERIOD_D, Variation
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.predictive import _status, jobs_and_gpu_s
from philly_analysis.models.weekly_jobs import RUN_TIMES_S
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.study.terms import GANGS, gang_class
from tests.models.jobs import DATA, MODEL, Floats

MANY = np.full((len(GANGS), len(RUN_TIMES_S)), 1e9)
LOGNORMAL = Distribution("lognormal", (Parameter("mu", 6.0), Parameter("sigma", 1.5)))
VARIED = replace(MODEL, site=None)
"""A site that varies as others do."""
NORMAL = ESTIMATED.with_values(degrees_of_freedom=1e6)
CLASSES_ONLY = NORMAL.with_values(activity_sd=0, gpu_time_compensation=0, class_sd_slope=0)


def effects(
    variation: Variation,
    seeds: int,
    *,
    jobs: Floats = MANY,
    gpu_time: Floats = MANY,
    days: float = PERIOD_D,
    daily_change: float = 1.0,
) -> tuple[Floats, Floats]:
    """Return the effects on jobs and on dispersion of the first period of some seeds."""
    drawn = [
        next(variation.periods(jobs, gpu_time, days, daily_change, seed)) for seed in range(seeds)
    ]
    return np.array([e.log_jobs for e in drawn]), np.array([e.log_dispersion for e in drawn])


def test_without_variation_all_seeds_have_the_fitted_period() -> None:
    fitted = replace(MODEL, variation=None)
    for seed in (1, 2):
        a = MODEL.sample(days=10, seed=seed, variation="none")
        b = fitted.sample(days=10, seed=seed)
        assert a.jobs.pl().equals(b.jobs.pl()) and a.attempts.pl().equals(b.attempts.pl())
    with pytest.raises(UnknownNameError, match="month"):
        MODEL.sample(days=10, variation="year")


def test_each_seed_is_another_period() -> None:
    drawn = [VARIED.sample(days=14, seed=seed) for seed in range(12)]
    counts = [len(work.jobs) for work in drawn]
    assert max(counts) > 1.5 * min(counts)
    expected = 14 * 24 * VARIED.arrivals.rate
    assert expected / 2 < np.median(counts) < 2 * expected
    assert VARIED.sample(days=14, seed=3).jobs.pl().equals(drawn[3].jobs.pl())
    # a seed is the same period at any load
    twice = VARIED.sample(days=14, seed=3, load=2).jobs.pl()
    assert twice.height == pytest.approx(2 * counts[3], rel=0.02)
    assert twice["gpus"].mean() == pytest.approx(drawn[3].jobs.pl()["gpus"].mean(), rel=0.05)


def test_samples_of_many_periods_have_the_given_jobs_and_days() -> None:
    assert len(MODEL.sample(jobs=12_345, seed=1).jobs) == 12_345
    both = VARIED.sample(jobs=9_000, days=100, seed=1).jobs.pl()
    at_s = both["submitted_at"].dt.epoch("s").to_numpy()
    assert at_s.size == 9_000 and (np.diff(at_s) >= 0).all()
    day = (at_s - at_s[0]) // 86_400
    assert day[-1] == 99
    by_period = np.bincount(day // 28, minlength=4)[:3]
    assert by_period.max() > 1.1 * by_period.min()


def test_effects_have_the_given_deviations_and_correlations() -> None:
    given = NORMAL.with_values(gpu_time_compensation=0)
    log_jobs, _ = effects(given, 1_500)
    log_run = np.log(RUN_TIMES_S)
    slope = np.exp(given.class_sd_slope.value * (log_run - np.log(3_600)))
    parts = np.array([given.activity_sd.value, given.class_sd.value]) ** 2
    expected = np.tile(np.sqrt(parts[0] + parts[1] * slope**2), (len(GANGS), 1))
    np.testing.assert_allclose(log_jobs.std(axis=0), expected, rtol=0.08)
    between_gangs = np.corrcoef(log_jobs[:, 0, 2], log_jobs[:, 1, 2])[0, 1]
    assert between_gangs == pytest.approx(parts[0] / parts.sum(), abs=0.07)
    near = np.exp(-(log_run[3] - log_run[2]) / given.correlation_length.value)
    between_run_times = np.corrcoef(log_jobs[:, 0, 2], log_jobs[:, 0, 3])[0, 1]
    assert between_run_times == pytest.approx((parts[0] + parts[1] * near) / parts.sum(), abs=0.07)
    # two periods of a seed have the deviation of the fitted period in common
    power = 2 - 2 * given.short_window_power.value
    next_r, second_r = ((k + 1) ** power / 2 - k**power + (k - 1) ** power / 2 for k in (1, 2))
    shared = (1 - second_r) / np.sqrt((2 - 2 * next_r) * (2 - 2 * second_r))
    both = [
        [e.log_jobs[0, 0] for e in itertools.islice(periods, 2)]
        for periods in (given.periods(MANY, MANY, PERIOD_D, 1.0, s) for s in range(1_500))
    ]
    assert np.corrcoef(np.transpose(both))[0, 1] == pytest.approx(shared, abs=0.07)


def test_the_weekly_rates_of_a_period_have_the_mean_of_its_rate() -> None:
    for seed in range(5):
        arrivals = next(MODEL.periods(seed)).arrivals
        assert np.mean(arrivals.rate_per_h) == pytest.approx(arrivals.rate, rel=0.01)


def test_periods_vary_more_after_changing_days_and_short_windows() -> None:
    given = NORMAL.with_values(
        class_sd=0.5, daily_change_power=0.5, short_window_power=0.5, dispersion_sd=0.4
    )
    # the daily change is limited to 0.1 to 5
    for change, factor in {1: 1, 4: 2, 9: 5**0.5, 0: 0.1**0.5}.items():
        assert given.class_deviation(change) == pytest.approx(0.5 * factor)
    # with this power, periods are independent: variances are sums of inverse lengths
    assert given.hurst == 0.5
    for days, length_d in ((28, 28), (7, 28), (7, 7), (280, 28)):
        assert given.change_deviation(days, length_d) ** 2 == pytest.approx(
            14 / days + 14 / length_d
        )
    # the sampling variance of a week is four times that of the next period
    deviations = [given.dispersion_deviation(days) for days in (7, 28, 99)]
    assert deviations == pytest.approx([0.4 * 2.5**0.5, 0.4, 0.4])
    only = given.with_values(activity_sd=0, gpu_time_compensation=0, class_sd_slope=0)
    log_jobs, log_dispersion = effects(only, 600, days=7, daily_change=4)
    spread = log_jobs.std(), log_dispersion.std()
    assert spread == pytest.approx((0.5 * 2 * 2.5**0.5, deviations[0]), rel=0.08)


@pytest.mark.parametrize(("correction", "middle"), [(0, np.median), (1, np.mean)])
def test_the_jobs_of_a_class_keep_their_median_or_their_mean(
    correction: float, middle: Callable[[Floats], float]
) -> None:
    given = CLASSES_ONLY.with_values(mean_correction=correction, class_sd=0.5, daily_change_power=0)
    log_jobs, _ = effects(given, 600)
    assert middle(np.exp(log_jobs).ravel()) == pytest.approx(1, abs=0.02)


@pytest.mark.slow
def test_gang_sizes_vary_within_a_class_of_constant_jobs() -> None:
    given = CLASSES_ONLY.with_values(class_sd=0, vc_sd=0, unseen_class_jobs=0)
    fitted = MODEL.gang_size.overall
    classes = gang_class(fitted.sizes)
    drawn = (
        next(replace(VARIED, variation=given).periods(seed)).gang_size.overall
        for seed in range(300)
    )
    shares = np.array([d.pmf(fitted.sizes) for d in drawn])
    # only the sampling variance of few jobs changes classes
    before = np.bincount(classes, fitted.shares, len(GANGS))
    after = np.median([np.bincount(classes, row, len(GANGS)) for row in shares], axis=0)
    np.testing.assert_allclose(after, before, rtol=0.1)
    [pair] = [np.flatnonzero(classes == i)[:2] for i in range(4) if (classes == i).sum() > 1][:1]
    ratio = np.log(shares[:, pair[0]] / shares[:, pair[1]])
    assert ratio.std() == pytest.approx(np.sqrt(2) * given.size_sd.value, rel=0.12)


def test_a_class_without_jobs_has_the_jobs_of_such_a_class() -> None:
    seen = MODEL.gang_size.overall.up_to(4)  # none of the classes of 8 and of 16 GPUs
    gang_size = replace(MODEL.gang_size, overall=seen, by_vc=())
    given = CLASSES_ONLY.with_values(
        class_sd=0, vc_sd=0, size_sd=0, mean_correction=0, unseen_class_jobs=50
    )
    model = replace(VARIED, gang_size=gang_size, variation=given)
    drawn = [next(model.periods(seed)).gang_size.overall for seed in range(160)]
    unseen = np.median([d.pmf([8, 16]) for d in drawn], axis=0)
    # few jobs vary more: within a factor of two
    np.testing.assert_array_less(np.abs(np.log2(unseen * (seen.n + 100) / 50)), 1)


def test_models_of_older_versions_have_default_parameters() -> None:
    body = json.loads(to_json(MODEL))
    for part, name in (
        ("arrivals", "unsteadiness"),
        ("variation", "unsteady"),
        ("variation", "sizes"),
        ("variation", "brief"),
        ("variation", "centre"),
        ("variation", "steady_share"),
    ):
        del body[part][name]
    del body["site"]
    model = from_json(WorkloadModel, json.dumps(body))
    assert model.variation is not None
    assert model.arrivals.daily_change == 1 and model.site is None
    assert model.variation.class_deviation(3.0) == ESTIMATED.class_sd.value
    assert model.variation.size_sd.value == model.variation.mean_correction.value == 0


def test_few_jobs_have_a_larger_sampling_variance() -> None:
    few, many = (
        effects(ESTIMATED, 300, jobs=n, gpu_time=n)[0][:, 2, 2].std()
        for n in (np.ones_like(MANY), MANY)
    )
    assert few > 1.1 * many


@pytest.mark.parametrize("empirical", [False, True])
def test_a_tilted_distribution_is_the_reweighted_sample(empirical: bool) -> None:
    x = LOGNORMAL.rvs(100_000, 1)
    original = fit_distribution(x[:20_000], family="empirical") if empirical else LOGNORMAL
    made, mean = tilt(original, lambda log_x: 0.8 * np.sin(log_x))
    weight = np.exp(0.8 * np.sin(np.log(x)))
    assert mean == pytest.approx(weight.mean(), rel=0.02)
    order = np.argsort(x)
    reached = np.cumsum(weight[order]) / weight.sum()
    at = np.interp([0.05, 0.3, 0.6, 0.9, 0.98], reached, x[order])
    np.testing.assert_allclose(made.cdf(at), [0.05, 0.3, 0.6, 0.9, 0.98], atol=0.015)


@pytest.mark.parametrize("shape", [0.0, 0.4])
def test_the_tail_has_the_mean_weight_of_its_gpu_time(shape: float) -> None:
    knots = np.geomspace(1, 1_000, 51)
    original = Distribution.of_quantiles(knots, 0.96, shape, 250.0, LOGNORMAL)
    made, mean = tilt(original, lambda log_x: np.where(log_x > np.log(1_200.0), np.log(3.0), 0.0))
    x = original.isf((np.arange(200_000) + 0.5) / 200_000)
    total = float(np.where(x > 1_200.0, 3 * x, x).mean())
    assert mean * made.mean() == pytest.approx(total, rel=0.01)


def test_a_constant_weight_changes_the_mean_weight_only() -> None:
    made, mean = tilt(LOGNORMAL, lambda log_x: np.full(log_x.shape, np.log(3)))
    assert mean == pytest.approx(3)
    q = np.array([0.01, 0.2, 0.5, 0.9, 0.985, 0.995, 0.999])
    np.testing.assert_allclose(made.ppf(q), LOGNORMAL.ppf(q), rtol=0.03)


def test_unobserved_gang_classes_occur_but_fit_the_cluster() -> None:
    jobs = DATA.jobs[DATA.jobs["gpus"] <= 2].head(400)
    small = WorkloadModel.fit(replace(DATA, jobs=jobs), family="empirical")
    largest = [max(next(small.periods(s)).gang_size.overall.sizes) for s in range(5)]
    assert largest == [16] * 5
    assert (small.sample(jobs=200, gpus=4, seed=1).jobs.pl()["gpus"] <= 4).all()
    for period in itertools.islice(small.periods(1), 3):
        assert sum(period.gang_size.overall.shares) == pytest.approx(1)


def test_users_leave_and_join_and_keep_their_names() -> None:
    user = np.arange(len(DATA.jobs)) % 40
    model = WorkloadModel.fit(replace(DATA, jobs=DATA.jobs.assign(user=user)), family="empirical")
    fitted = model.users.by_user
    assert len(fitted) == 40  # each works in both virtual clusters, and is one user
    left = joined = 0
    for seed in range(30):
        period = next(model.periods(seed)).users
        left += sum(share == 0 for name, share in period.by_user.items() if name in fitted)
        new = set(period.by_user) - set(fitted)
        joined += len(new)
        # new users have the virtual clusters of similar ones
        assert all(set(c.names) & new == new for c in period.virtual_clusters)
    leave = ESTIMATED.leave_probability.value * np.bincount(user) ** -ESTIMATED.leave_power.value
    assert left / 30 / 40 == pytest.approx(leave.mean(), abs=0.06)
    assert joined / 30 / 40 == pytest.approx(ESTIMATED.new_user_ratio.value * leave.mean(), rel=0.5)


def test_users_of_few_jobs_leave_more_often() -> None:
    busy = np.random.default_rng(1).random(len(DATA.jobs)) < 0.7
    user = np.where(busy, 0, 1 + np.arange(len(DATA.jobs)) % 150)
    model = WorkloadModel.fit(replace(DATA, jobs=DATA.jobs.assign(user=user)), family="empirical")
    busiest = max(model.users.by_user, key=model.users.by_user.__getitem__)
    shares = [next(model.periods(seed)).users.by_user for seed in range(60)]
    others = np.mean([[share[name] > 0 for name in model.users.by_user] for share in shares])
    assert np.mean([share[busiest] > 0 for share in shares]) > others + 0.1


def test_shares_of_statuses_vary_with_the_scale_of_job_classes() -> None:
    effect = next(ESTIMATED.periods(MANY, MANY, PERIOD_D, 1.0, 1))
    rng = np.random.default_rng(1)
    assert MODEL.status
    cell = replace(MODEL.status.cells[0], shares=(0.6, 0.3, 0.1))
    fitted = replace(MODEL.status, cells=(cell,))
    for scale in (0.5, 2.0):
        drawn = [
            _status(fitted, ESTIMATED, replace(effect, class_scale=scale), rng) for _ in range(500)
        ]
        log_odds = [np.log(s.cells[0].shares[0] / s.cells[0].shares[1]) for s in drawn]
        expected = 2**0.5 * ESTIMATED.status_sd.value * scale
        assert np.std(log_odds) == pytest.approx(expected, rel=0.12)


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_dispersion_grows_with_a_power_of_the_jobs(power: float) -> None:
    given = ESTIMATED.with_values(dispersion_power=power, dispersion_sd=0, dispersion_reversion=0)
    model = replace(VARIED, variation=given)
    ratio = []
    for seed in range(40):
        period = next(model.periods(seed)).arrivals
        more = period.rate / model.arrivals.rate
        if more > 1.3:  # the dispersion of few jobs has a lower bound
            ratio.append(np.log(period.dispersion / model.arrivals.dispersion) / np.log(more))
    assert len(ratio) > 5 and ratio == pytest.approx([power] * len(ratio), abs=1e-3)


@pytest.mark.parametrize("compensation", [0.0, 1.0])
def test_gpu_time_gained_by_some_classes_is_lost_by_others(compensation: float) -> None:
    given = NORMAL.with_values(gpu_time_compensation=compensation)
    gpu_time = MANY * RUN_TIMES_S
    log_jobs, _ = effects(given, 600, gpu_time=gpu_time)
    total = np.log((gpu_time * np.exp(log_jobs)).sum(axis=(1, 2)) / gpu_time.sum())
    if compensation:
        assert total.std() == pytest.approx(given.activity_sd.value, rel=0.1)
        assert total.mean() == pytest.approx(0, abs=0.05)
    else:
        assert total.std() > 1.2 * given.activity_sd.value


def test_job_classes_partition_jobs_and_gpu_time() -> None:
    jobs, gpu_s = jobs_and_gpu_s(MODEL)
    assert jobs.sum() == pytest.approx(len(DATA.jobs), rel=0.01)
    expected = float((DATA.jobs["gpus"] * DATA.jobs["run_s"]).sum())
    assert gpu_s.sum() == pytest.approx(expected, rel=0.5)  # of six run times only


def test_sampled_arrivals_have_the_rate_and_dispersion_of_the_period() -> None:
    for period in itertools.islice(MODEL.periods(4), 3):
        at = period.arrivals.sample(np.random.default_rng(0), days=28)
        hourly = np.bincount((at // 3_600).astype(int), minlength=28 * 24)
        assert hourly.mean() == pytest.approx(period.arrivals.rate, rel=0.02)
        assert hourly.var() / hourly.mean() == pytest.approx(period.arrivals.dispersion, rel=0.3)
