"""Arrivals: hourly counts, gaps, samples."""

import itertools
import math

import numpy as np
import pytest
import scipy.signal as sps
import scipy.stats as sp
from numpy.typing import ArrayLike, NDArray

from philly_analysis.errors import ModelError
from philly_analysis.models import load_model
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.components.hourly_counts import HourlyCounts, hour_of_week
from philly_analysis.models.components.intrahour import (
    IntrahourGaps,
    fit_intrahour_gaps,
    place_arrivals,
)
from philly_analysis.models.validation.distances import cdf_gap

MONDAY_S = 4 * 86_400  # 1970-01-05 was a Monday


def bursty(weeks: int, seed: int) -> np.ndarray:
    """Return submissions with a working day, autocorrelated hours and same-second batches."""
    rng = np.random.default_rng(seed)
    hours = weeks * 168
    level = np.zeros(hours)
    for h in range(1, hours):
        level[h] = 0.8 * level[h - 1] + 0.6 * rng.standard_normal()
    day = 1 + 2 * ((np.arange(hours) % 24 >= 9) & (np.arange(hours) % 24 < 18))
    batches = rng.poisson(2 * day * np.exp(level - 0.5))
    at = np.repeat(np.arange(hours) * 3_600.0, batches)
    at = np.floor(at + rng.random(at.size) * 3_600)
    return np.sort(np.repeat(at, rng.geometric(0.4, at.size))) + MONDAY_S


AT = bursty(8, 1)
MODEL = Arrivals.fit(AT)


def test_the_hour_of_the_week_counts_from_monday() -> None:
    assert hour_of_week(np.array([0])) == 72  # the Unix epoch was a Thursday, 00:00
    assert hour_of_week(np.array([MONDAY_S // 3_600])) == 0


def test_counts_dispersion_and_autocorrelation_by_hand() -> None:
    """Hours of 2, 0, 4, 2 jobs: mean 2, variance 2, so dispersion 1; lag 1: -0.75 / 2 of pairs."""
    counts = HourlyCounts.of([0, 10, 7_200, 7_201, 7_202, 9_000, 10_800, 14_399])
    assert counts.count.tolist() == [2, 0, 4, 2]
    assert counts.dispersion == pytest.approx(1.0)
    # deviations 0, -2, 2, 0: products 0, -4, 0 over 3 pairs; variance 2
    assert counts.autocorrelation(1)[0] == pytest.approx(-4 / 3 / 2)


@pytest.mark.parametrize(
    "hour",
    [
        np.delete(np.arange(1_000, 1_040), [7, 20]),
        # of 40 observed hours 10 are 3 h apart, none 4 h, and 9 are 5 h apart
        np.array([h for h in range(1_000, 1_080) if h % 8 < 4]),
    ],
)
def test_autocorrelation_is_that_of_pairs_of_observed_hours(hour: NDArray[np.int_]) -> None:
    """A quarter of the hours are lags; those with pairs for under a quarter are interpolated."""
    at = np.repeat(hour * 3_600, np.random.default_rng(1).integers(1, 9, hour.size))
    counts = HourlyCounts.of(at, [[h * 3_600, (h + 1) * 3_600] for h in hour])
    off = dict(zip(hour.tolist(), counts.count - counts.count.mean(), strict=True))
    lags = range((max(off) - min(off) + 1) // 4 + 1)
    products = {lag: [off[h] * off[h + lag] for h in off if h + lag in off] for lag in lags}
    known = {lag: np.mean(p) for lag, p in products.items() if len(p) >= len(off) / 4}
    expected = np.interp(lags, list(known), list(known.values())) / known[0]
    assert counts.autocorrelation(24) == pytest.approx(expected[1:])


@pytest.mark.parametrize(("days", "known"), [(5, False), (6, True)])
def test_change_is_that_of_consecutive_whole_days(days: int, known: bool) -> None:
    """One hour of the fourth day was not observed: three changes are lost with it."""
    hour = np.delete(np.arange(1_000, 1_000 + 24 * days), 75)
    per_hour = np.random.default_rng(2).integers(1, 9, hour.size)
    windows = [[h * 3_600, (h + 1) * 3_600] for h in hour]
    counts = HourlyCounts.of(np.repeat(hour * 3_600, per_hour), windows)
    day = (hour - 1_000) // 24
    jobs = [int(per_hour[day == d].sum()) for d in range(days)]
    changes = [
        np.log((1 + jobs[d + 1]) / (1 + jobs[d])) for d in range(days - 1) if d not in (2, 3)
    ]
    assert len(changes) == days - 3
    expected = float(np.sqrt(np.mean(np.square(changes)))) if known else 1.0
    assert counts.daily_change == pytest.approx(expected)


def test_unobserved_hours_are_no_hours_without_jobs() -> None:
    windows = [[0, 3_600], [7_200, 10_800]]
    counts = HourlyCounts.of([10, 20, 5_000, 7_300, 7_310], windows)
    assert counts.count.tolist() == [2, 2]
    assert counts.gaps_s().tolist() == [10, 10]


def test_a_sample_has_the_fitted_dispersion_autocorrelation_and_gaps() -> None:
    real = HourlyCounts.of(AT)
    for seed in range(3):
        sample = HourlyCounts.of(MODEL.sample(np.random.default_rng(seed), days=56))
        assert sample.dispersion == pytest.approx(real.dispersion, rel=0.1)
        for lag in (0, 5, 23):
            ours, theirs = sample.autocorrelation(24)[lag], real.autocorrelation(24)[lag]
            assert ours == pytest.approx(theirs, abs=0.06)
        assert cdf_gap(sample.gaps_s(), real.gaps_s()) < 0.05


def test_the_correlation_of_successive_gaps_is_estimated() -> None:
    """800 hours of eight jobs, whose log gaps have a lag-1 correlation of 0.6."""
    rng = np.random.default_rng(0)
    level = sps.lfilter([0.8], [1, -0.6], rng.standard_normal((800, 50)))[:, -8:]
    at = np.cumsum(60 * np.exp(level / 2), axis=1) + 3_600 * np.arange(800)[:, None]
    assert fit_intrahour_gaps(np.asarray(at.ravel(), float))[1] == pytest.approx(0.6, abs=0.03)


def test_gaps_within_hours_by_hand() -> None:
    """Submissions at 10 and 30 min of one hour, 15 and 50 min of the next, 5 min of a third.

    In a fourth hour there are three: at 0, 1 and 59 min.
    """
    at = np.array([600.0, 1800, 3600 + 900, 3600 + 3000, 7200 + 300])
    at = np.append(at, [10_800.0, 10_860, 14_340])
    (one, gaps, three), _ = fit_intrahour_gaps(at)
    assert (one.arrivals, *one.outer[::100]) == (1, 300, 1800, 3300)
    assert (gaps.arrivals, gaps.inner[0], gaps.inner[-1]) == (2, 1200, 2100)
    outer = np.quantile(gaps.outer, [0, 1 / 3, 2 / 3, 1])
    assert outer == pytest.approx([600, 600, 900, 1800], abs=5)
    assert (three.arrivals, *three.inner[::100]) == (3, 60, 1770, 3480)
    assert three.outer[::200] == (0, 60)


@pytest.mark.parametrize(("gap", "at"), [(30, [1770, 1800, 1830]), (31, [1374, 1800, 2226])])
def test_gaps_of_at_most_half_a_minute_keep_their_length_in_a_sample(
    gap: float, at: list[int]
) -> None:
    """Gaps of 100, 30, 30, 100 s: the outer ones fill the hour; of 31 s all grow by 3600 / 262."""
    gaps = [IntrahourGaps(1, (gap, gap), (100, 100))]
    placed = place_arrivals(np.array([3]), gaps, 0.0, 3600, np.random.default_rng(0))
    assert placed.tolist() == at


def test_the_last_hour_may_be_short() -> None:
    """Two gaps of 30 s in 3600 and in 660 s: 1770 and 300 s are left before and after."""
    gaps = [IntrahourGaps(1, (30, 30), (100, 100))]
    placed = place_arrivals(np.array([3, 0, 3]), gaps, 0.0, 660, np.random.default_rng(0))
    assert placed.tolist() == [1770, 1800, 1830, 7500, 7530, 7560]
    even = place_arrivals(np.array([500, 0, 500]), [], 0.0, 660, np.random.default_rng(0))
    assert 3500 < even[499] < 3600 and even[500] >= 7200 and 7840 < even[-1] < 7860


def test_a_sample_has_the_working_day() -> None:
    at = MODEL.sample(np.random.default_rng(0), days=56)
    hour = (at % 86_400) // 3_600
    day, night = ((hour >= 9) & (hour < 18)).mean() / 9, ((hour < 9) | (hour >= 18)).mean() / 15
    real = ((AT % 86_400) // 3_600 >= 9) & ((AT % 86_400) // 3_600 < 18)
    assert day / night == pytest.approx((real.mean() / 9) / ((1 - real.mean()) / 15), rel=0.25)


def test_the_mean_of_weekly_rates_is_the_rate() -> None:
    assert np.mean(MODEL.rate_per_h) == pytest.approx(MODEL.rate, rel=1e-3)


@pytest.mark.parametrize("jobs", [1, 2, 7, 100, 12_345])
def test_a_number_of_jobs_is_drawn_in_order_and_whole_seconds(jobs: int) -> None:
    at = MODEL.sample(np.random.default_rng(3), jobs=jobs)
    assert at.size == jobs
    assert (np.diff(at) >= 0).all() and (at >= 0).all() and (at == np.floor(at)).all()


def test_days_load_and_both() -> None:
    rng = np.random.default_rng
    week = MODEL.sample(rng(0), days=7)
    assert week[-1] < 7 * 86_400
    assert week.size == pytest.approx(7 * 24 * MODEL.rate, rel=0.02)
    assert MODEL.sample(rng(0), days=7, load=3).size == pytest.approx(3 * week.size, rel=0.02)
    both = MODEL.sample(rng(0), jobs=500, days=2)
    assert both.size == 500 and both[-1] < 2 * 86_400
    half = MODEL.sample(rng(0), jobs=2_000, load=0.5)[-1]
    assert half == pytest.approx(2 * MODEL.sample(rng(0), jobs=2_000)[-1], rel=0.1)


def test_poisson_arrivals_are_poisson() -> None:
    arrivals = load_model("literature").arrivals
    at = arrivals.sample(np.random.default_rng(0), days=100)
    counts = HourlyCounts.of(at)
    assert counts.dispersion == pytest.approx(1, abs=0.25)
    assert abs(counts.autocorrelation(1)[0]) < 0.05
    assert sp.kstest(np.diff(at) + 0.5, sp.expon(scale=3_600 / arrivals.rate).cdf).statistic < 0.02


@pytest.mark.parametrize(
    ("at", "words"),
    [([], "no submissions"), ([5.0] * 9, "9 submissions"), (np.arange(20.0), "one hour")],
)
def test_too_few_submissions_are_an_error(at: ArrayLike, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        Arrivals.fit(at)


def test_dispersion_from_one_day_has_a_large_standard_error() -> None:
    rng = np.random.default_rng(2)
    calm = rng.uniform(0, 20 * 86_400, 4_000)
    burst = rng.uniform(5 * 86_400, 5 * 86_400 + 7_200, 800)
    steady, lucky = (Arrivals.fit(np.sort(a)) for a in (calm, np.concatenate((calm, burst))))
    assert 0 < steady.log_dispersion_se < 0.3 and lucky.log_dispersion_se > 1
    # delete-a-day jackknife
    hours = np.bincount((calm // 3_600).astype(int), minlength=480)
    left = [
        np.log(np.var(kept) / np.mean(kept))
        for day in range(20)
        if (kept := np.delete(hours, np.arange(24 * day, 24 * day + 24))).size
    ]
    assert steady.log_dispersion_se == pytest.approx(np.sqrt(19 / 20 * 20 * np.var(left)), rel=0.02)


def test_daily_change_is_the_root_mean_square_change_of_logarithms() -> None:
    day_s, rng = 86_400, np.random.default_rng(3)
    jobs = [40, 5, 300, 0, 80, 80, 7]
    at = np.concatenate([d * day_s + rng.uniform(0, day_s, n) for d, n in enumerate(jobs)])
    windows = [[0, len(jobs) * day_s]]
    change = [math.log((b + 1) / (a + 1)) for a, b in itertools.pairwise(jobs)]
    expected = math.sqrt(sum(c**2 for c in change) / len(change))
    assert Arrivals.fit(at, windows).daily_change == pytest.approx(expected, rel=1e-4)
    # an unobserved day is no day without jobs
    seen = [[0, 3 * day_s], [4 * day_s, len(jobs) * day_s]]
    kept = [c for i, c in enumerate(change) if 3 not in (i, i + 1)]
    expected = math.sqrt(sum(c**2 for c in kept) / len(kept))
    assert Arrivals.fit(at, seen).daily_change == pytest.approx(expected, rel=1e-4)
    # unknown from three days
    assert Arrivals.fit(at, [[0, 3 * day_s]]).daily_change == 1
