import itertools
import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import Distribution, Parameter
from philly_analysis.distributions.exponential_tilting import tilted
from philly_analysis.distributions.fitting import fit_distribution
from philly_analysis.errors import UnknownNameError
from philly_analysis.models.between_period import LEARNED, MONTH_D, RUN_TIMES_S
from philly_analysis.models.persistence import from_json, to_json
from philly_analysis.models.predictive import _kinds
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.study.terms import GANGS, gang_class
from tests.models.test_workload_model import DATA, MODEL

MANY = np.full((len(GANGS), len(RUN_TIMES_S)), 1e9)
LOGNORMAL = Distribution("lognormal", (Parameter("mu", 6.0), Parameter("sigma", 1.5)))


def test_without_variation_a_seed_moves_who_gets_what_and_no_more() -> None:
    fitted = replace(MODEL, variation=None)
    for seed in (1, 2):
        a = MODEL.sample(days=10, seed=seed, variation="none")
        b = fitted.sample(days=10, seed=seed)
        assert a.jobs.equals(b.jobs) and a.attempts.equals(b.attempts)
    with pytest.raises(UnknownNameError, match="month"):
        MODEL.sample(days=10, variation="year")


def test_each_seed_is_another_month() -> None:
    drawn = [MODEL.sample(days=14, seed=seed) for seed in range(12)]
    counts = [work.jobs.height for work in drawn]
    assert max(counts) > 1.5 * min(counts)
    # about as many come as were fitted, in the median
    expected = 14 * 24 * MODEL.arrivals.mean_per_h
    assert expected / 2 < np.median(counts) < 2 * expected
    assert MODEL.sample(days=14, seed=3).jobs.equals(drawn[3].jobs)
    # a seed is the same month at any load, and on any cluster that takes its gangs
    twice = MODEL.sample(days=14, seed=3, load=2).jobs
    assert twice.height == pytest.approx(2 * counts[3], rel=0.02)
    assert twice["gpus"].mean() == pytest.approx(drawn[3].jobs["gpus"].mean(), rel=0.05)


def test_jobs_and_days_are_granted_over_many_months() -> None:
    assert MODEL.sample(jobs=12_345, seed=1).jobs.height == 12_345
    both = MODEL.sample(jobs=9_000, days=100, seed=1).jobs
    at_s = both["submitted_at"].dt.epoch("s").to_numpy()
    assert at_s.size == 9_000 and (np.diff(at_s) >= 0).all()
    day = (at_s - at_s[0]) // 86_400
    assert day[-1] == 99
    by_month = np.bincount(day // 28, minlength=4)[:3]
    assert by_month.max() > 1.1 * by_month.min()


def test_months_vary_as_much_as_is_said() -> None:
    given = LEARNED.but(freedom=1e6, trade=0)
    log_jobs = np.array(
        [next(given.months(MANY, MANY, MONTH_D, 1.0, s)).log_jobs for s in range(1_500)]
    )
    at = np.log(RUN_TIMES_S)
    told = np.exp(given.fall.value * (at - np.log(3_600)))
    parts = np.array([given.activity.value, given.kinds.value]) ** 2
    np.testing.assert_allclose(
        log_jobs.std(axis=0),
        np.tile(np.sqrt(parts[0] + parts[1] * told**2), (len(GANGS), 1)),
        rtol=0.08,
    )
    cor = np.corrcoef(log_jobs[:, 0, 2], log_jobs[:, 1, 2])[0, 1]
    assert cor == pytest.approx(parts[0] / parts.sum(), abs=0.07)
    near = np.exp(-(at[3] - at[2]) / given.reach.value)
    cor = np.corrcoef(log_jobs[:, 0, 2], log_jobs[:, 0, 3])[0, 1]
    assert cor == pytest.approx((parts[0] + parts[1] * near) / parts.sum(), abs=0.07)
    # half of what is unlike the fitted month is so in all months of a seed
    two = np.array(
        [
            [
                m.log_jobs[0, 0]
                for m in itertools.islice(given.months(MANY, MANY, MONTH_D, 1.0, s), 2)
            ]
            for s in range(1_500)
        ]
    )
    assert np.corrcoef(two.T)[0, 1] == pytest.approx(0.5, abs=0.07)


def test_kinds_change_more_where_days_do() -> None:
    given = LEARNED.but(freedom=1e6, unsteady=0.5, kinds=0.5, activity=0, trade=0, fall=0)
    spread = [
        np.std([next(given.months(MANY, MANY, MONTH_D, days, s)).log_jobs for s in range(300)])
        for days in (1.0, 4.0, 1e9)
    ]
    # the least and the most that days are taken to change: 0.1 and 5
    assert np.divide(spread, spread[0]) == pytest.approx([1, 2, np.sqrt(5)], rel=0.02)


def test_kinds_change_more_between_shorter_periods() -> None:
    given = LEARNED.but(freedom=1e6, brief=0.5, kinds=0.4, activity=0, trade=0, fall=0)
    spread = [
        np.std([next(given.months(MANY, MANY, days, 1.0, s)).log_jobs for s in range(300)])
        for days in (7, MONTH_D, 100)
    ]
    assert spread == pytest.approx([0.8, 0.4, 0.4], rel=0.02)


@pytest.mark.parametrize(("centre", "middle"), [(0, np.median), (1, np.mean)])
def test_the_jobs_of_a_kind_keep_their_median_or_their_mean(
    centre: float, middle: Callable[[NDArray[np.float64]], float]
) -> None:
    given = LEARNED.but(
        freedom=1e6, centre=centre, kinds=0.5, unsteady=0, activity=0, trade=0, fall=0
    )
    drawn = [next(given.months(MANY, MANY, MONTH_D, 1.0, s)).log_jobs for s in range(600)]
    assert middle(np.exp(drawn).ravel()) == pytest.approx(1, abs=0.02)


def test_sizes_of_a_class_change_apart_and_the_class_keeps_its_jobs() -> None:
    still = LEARNED.but(freedom=1e6, activity=0, kinds=0, trade=0, groups=0, unseen=0)
    fitted = MODEL.gang_size.overall
    of = gang_class(fitted.sizes)
    shares = np.array(
        [
            [dict(zip(law.sizes, law.shares, strict=True))[s] for s in fitted.sizes]
            for seed in range(300)
            for law in (next(replace(MODEL, variation=still).months(seed)).gang_size.overall,)
        ]
    )
    # what few jobs say little of is all that changes classes
    before = np.bincount(of, fitted.shares, len(GANGS))
    after = np.median([np.bincount(of, row, len(GANGS)) for row in shares], axis=0)
    np.testing.assert_allclose(after, before, rtol=0.1)
    [pair] = [np.flatnonzero(of == i)[:2] for i in range(len(GANGS)) if (of == i).sum() > 1][:1]
    ratio = np.log(shares[:, pair[0]] / shares[:, pair[1]])
    assert ratio.std() == pytest.approx(np.sqrt(2) * still.sizes.value, rel=0.12)


def test_a_model_saved_before_does_not_know_how_much_its_days_changed() -> None:
    body = json.loads(to_json(MODEL))
    for part, name in (
        ("arrivals", "unsteadiness"),
        ("variation", "unsteady"),
        ("variation", "sizes"),
        ("variation", "brief"),
        ("variation", "centre"),
    ):
        del body[part][name]
    model = from_json(WorkloadModel, json.dumps(body))
    assert model.variation is not None
    assert model.arrivals.unsteadiness == 1
    assert model.variation.of_kinds(7.0, 3.0) == LEARNED.kinds.value
    assert model.variation.sizes.value == model.variation.centre.value == 0


def test_few_jobs_say_little() -> None:
    few = np.ones_like(MANY)
    spread = [
        np.std([next(LEARNED.months(n, n, MONTH_D, 1.0, s)).log_jobs[2, 2] for s in range(300)])
        for n in (few, MANY)
    ]
    assert spread[0] > 1.1 * spread[1]


@pytest.mark.parametrize("empirical", [False, True])
def test_a_tilted_law_is_the_reweighted_sample(empirical: bool) -> None:
    x = LOGNORMAL.rvs(100_000, 1)
    law = fit_distribution(x[:20_000], family="empirical") if empirical else LOGNORMAL
    made, mean = tilted(law, lambda log_x: 0.8 * np.sin(log_x))
    weight = np.exp(0.8 * np.sin(np.log(x)))
    assert mean == pytest.approx(weight.mean(), rel=0.02)
    order = np.argsort(x)
    reached = np.cumsum(weight[order]) / weight.sum()
    at = np.interp([0.05, 0.3, 0.6, 0.9, 0.98], reached, x[order])
    np.testing.assert_allclose(made.cdf(at), [0.05, 0.3, 0.6, 0.9, 0.98], atol=0.015)


def test_the_same_weights_everywhere_change_nothing_but_the_mass() -> None:
    made, mean = tilted(LOGNORMAL, lambda log_x: np.full(log_x.shape, np.log(3)))
    assert mean == pytest.approx(3)
    q = np.array([0.01, 0.2, 0.5, 0.9, 0.985, 0.995, 0.999])
    np.testing.assert_allclose(made.ppf(q), LOGNORMAL.ppf(q), rtol=0.03)


def test_gangs_that_were_not_seen_may_come_but_fit_the_cluster() -> None:
    jobs = DATA.jobs[DATA.jobs["gpus"] <= 2].head(400)
    small = WorkloadModel.fit(replace(DATA, jobs=jobs), family="empirical")
    largest = [max(next(small.months(s)).gang_size.overall.sizes) for s in range(5)]
    assert largest == [16] * 5
    assert (small.sample(jobs=200, gpus=4, seed=1).jobs["gpus"] <= 4).all()
    for month in itertools.islice(small.months(1), 3):
        assert sum(month.gang_size.overall.shares) == pytest.approx(1)


def test_users_come_and_leave_and_keep_their_names() -> None:
    who = np.arange(len(DATA.jobs)) % 40
    frame = DATA.jobs.assign(user=who)
    model = WorkloadModel.fit(replace(DATA, jobs=frame), family="empirical")
    fitted = model.users.by_user
    assert len(fitted) == 40  # each works in both virtual clusters, and is one user
    left = came = 0
    for seed in range(30):
        month = next(model.months(seed)).users
        left += sum(share == 0 for name, share in month.by_user.items() if name in fitted)
        new = set(month.by_user) - set(fitted)
        came += len(new)
        at_home = [set(c.names) & new for c in month.virtual_clusters]
        assert at_home[0] == at_home[1] == new  # as those are whom they are like
    leave = LEARNED.leaving.value * np.bincount(who) ** -LEARNED.settled.value
    assert left / 30 / 40 == pytest.approx(leave.mean(), abs=0.06)
    assert came / 30 / 40 == pytest.approx(LEARNED.coming.value * leave.mean(), rel=0.5)


def test_who_submits_little_comes_and_goes() -> None:
    busy = np.random.default_rng(1).random(len(DATA.jobs)) < 0.7
    who = np.where(busy, 0, 1 + np.arange(len(DATA.jobs)) % 150)
    model = WorkloadModel.fit(replace(DATA, jobs=DATA.jobs.assign(user=who)), family="empirical")
    busiest = max(model.users.by_user, key=model.users.by_user.__getitem__)
    stays, others = [], []
    for seed in range(60):
        share = next(model.months(seed)).users.by_user
        stays.append(share[busiest] > 0)
        others.append(np.mean([share[name] > 0 for name in model.users.by_user]))
    assert np.mean(stays) > np.mean(others) + 0.1


@pytest.mark.parametrize("swell", [0.0, 1.0])
def test_more_jobs_are_larger_bursts_or_more_of_them(swell: float) -> None:
    given = LEARNED.but(swell=swell, burstiness=0, settles=0)
    model = replace(MODEL, variation=given)
    ratio = []
    for seed in range(40):
        month = next(model.months(seed)).arrivals
        more = month.mean_per_h / model.arrivals.mean_per_h
        if more > 1.3:  # an hour of few jobs has the dispersion of few jobs
            ratio.append(np.log(month.dispersion / model.arrivals.dispersion) / np.log(more))
    assert len(ratio) > 5 and ratio == pytest.approx([swell] * len(ratio), abs=1e-3)


@pytest.mark.parametrize("trade", [0.0, 1.0])
def test_of_gpu_time_what_some_kinds_gain_others_lose(trade: float) -> None:
    given = LEARNED.but(freedom=1e6, trade=trade)
    work = MANY * RUN_TIMES_S
    drawn = [next(given.months(MANY, work, MONTH_D, 1.0, s)).log_jobs for s in range(600)]
    total = np.log([(work * np.exp(kinds)).sum() / work.sum() for kinds in drawn])
    if trade:  # GPU time changes with how active all are, and with nothing else
        assert total.std() == pytest.approx(given.activity.value, rel=0.1)
        assert total.mean() == pytest.approx(0, abs=0.05)
    else:
        assert total.std() > 1.2 * given.activity.value


def test_fewer_days_say_less_of_how_bursty_another_month_is() -> None:
    given = LEARNED.but(freedom=1e6)
    spread = [
        np.std([next(given.months(MANY, MANY, days, 1.0, s)).log_burstiness for s in range(800)])
        for days in (7, MONTH_D, 10 * MONTH_D)
    ]
    # the luck of a week has four times the variance of that of the month to come
    assert spread[0] == pytest.approx(given.burstiness.value * np.sqrt((4 + 1) / 2), rel=0.08)
    assert spread[1:] == pytest.approx([given.burstiness.value] * 2, rel=0.08)


def test_kinds_are_of_all_jobs_and_their_gpu_time() -> None:
    jobs, work = _kinds(MODEL)
    frame = DATA.jobs
    assert jobs.sum() == pytest.approx(len(frame), rel=0.01)
    gpu_s = float((frame["gpus"] * frame["run_s"]).sum())
    assert work.sum() == pytest.approx(gpu_s, rel=0.5)  # of six run times each


def test_arrivals_are_as_many_and_as_bursty_as_the_month_says() -> None:
    for month in itertools.islice(MODEL.months(4), 3):
        at = month.arrivals.sample(np.random.default_rng(0), days=28)
        hourly = np.bincount((at // 3_600).astype(int), minlength=28 * 24)
        assert hourly.mean() == pytest.approx(month.arrivals.mean_per_h, rel=0.02)
        assert hourly.var() / hourly.mean() == pytest.approx(month.arrivals.dispersion, rel=0.3)
