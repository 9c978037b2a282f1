"""Check the trend of a share against sums by hand and SciPy, and its limits."""

import math
from datetime import date, timedelta

import numpy as np
import pytest
from scipy import stats

from philly_analysis.results import Trend, share_trend, whole_percent

FIRST = date(2024, 1, 1)
USERS = ("a", "b", "c")


def trend(days: int, *, users: int = 3, skip: frozenset[int] = frozenset()) -> Trend:
    """Trend of users who each wait an hour a day, for half of it for one cause, from day 0 on."""
    rows = [(d, u) for d in range(days) if d not in skip for u in USERS[:users]]
    dates = [FIRST + timedelta(d) for d, _ in rows]
    return share_trend(dates, [0.5] * len(rows), [u for _, u in rows], [1.0] * len(rows), "waits")


@pytest.mark.parametrize(
    ("days", "weeks"), [(13, 0), (14, 1), (27, 1), (28, 2), (55, 3), (56, 4), (400, 4)]
)
def test_periods_are_whole_weeks_up_to_four(days: int, weeks: int) -> None:
    assert trend(days).weeks == weeks


def test_a_trend_that_is_not_known_says_why() -> None:
    assert str(trend(13)) == "Not known: the waits span 13 days; two weeks are needed."
    assert str(trend(1)) == "Not known: the waits span 1 day; two weeks are needed."
    # days 0 and 13 are the ends; the last week needs four days of its seven
    assert trend(14, skip=frozenset({7, 8, 9})).weeks == 1
    few = trend(14, skip=frozenset({7, 8, 9, 10}))
    assert str(few) == "Not known: waits on only 3 of the last 7 days."
    assert trend(14, skip=frozenset({1, 2, 3})).weeks == 1
    few = trend(14, skip=frozenset({1, 2, 3, 4}))
    assert str(few) == "Not known: waits on only 3 of the 7 days before."
    assert str(trend(14, users=2)) == "Not known: fewer than three users."
    none = share_trend([None], [1.0], ["a"], [1.0], "waits")
    assert str(none) == "Not known: the waits have no dates."


def test_the_change_has_the_interval_of_a_difference_of_ratios() -> None:
    # two weeks; the third user waits on the last days only, the day before the first is left out
    rng = np.random.default_rng(5)
    day = [d for d in range(-1, 14) for _ in USERS]
    user = [u for _ in range(-1, 14) for u in USERS]
    hits, weights = rng.random(len(day)), rng.random(len(day)) + 0.1
    weights[:3] = 0.0  # excluded: nobody waited
    weekly = share_trend([FIRST + timedelta(d) for d in day], hits, user, weights, "waits")
    sums = {
        (late, u, what): sum(
            w * (x if what == "hits" else 1)
            for d, who, x, w in zip(day, user, hits, weights, strict=True)
            if (d >= 7) == late and who == u
        )
        for late in (False, True)
        for u in USERS
        for what in ("hits", "all")
    }
    total = {late: sum(sums[late, u, "all"] for u in USERS) for late in (False, True)}
    frac = {late: sum(sums[late, u, "hits"] for u in USERS) / total[late] for late in total}
    parts = [
        sum(
            (1 if late else -1) * (sums[late, u, "hits"] - frac[late] * sums[late, u, "all"])
            / total[late]
            for late in total
        )
        for u in USERS
    ]  # fmt: skip
    error = math.sqrt(3 / 2 * sum(p * p for p in parts))
    half = stats.t.ppf(0.975, 2) * error
    assert weekly.earlier == pytest.approx(frac[False])
    assert weekly.later == pytest.approx(frac[True])
    assert (weekly.low + weekly.high) / 2 == pytest.approx(frac[True] - frac[False])
    assert (weekly.high - weekly.low) / 2 == pytest.approx(half)


@pytest.mark.parametrize(
    ("low", "high", "weeks", "text"),
    [
        (0.01, 0.2, 4, "54.0 % in the last 4 weeks, up from 44.0 % in the 4 weeks before."),
        (-0.2, -0.01, 4, "54.0 % in the last 4 weeks, down from 44.0 % in the 4 weeks before."),
        (
            *(0.0, 0.0, 1),
            "54.0 % in the last week, no clear change from 44.0 % in the week before (too short "
            "to compare months).",
        ),
    ],
)
def test_the_interval_decides_on_the_words(low: float, high: float, weeks: int, text: str) -> None:
    weekly = Trend(0.44, 0.54, low, high, weeks)
    assert str(weekly) == text
    facts = {f.name: f.value for f in weekly.facts()}
    assert facts == pytest.approx(
        {
            "trend_weeks": weeks,
            "trend_before_pct": 44,
            "trend_last_pct": 54,
            "trend_pct": 10,
            "trend_low_pct": 100 * low,
            "trend_high_pct": 100 * high,
        }
    )


def test_equal_shares_are_printed_once() -> None:
    assert str(trend(56)) == "50.0 % in the last 4 weeks and in the 4 weeks before."


@pytest.mark.parametrize(
    ("frac", "text"),
    [
        (0, "0 %"),
        (0.004, "0.4 %"),
        (0.0996, "10.0 %"),
        (0.1, "10 %"),
        (0.546, "55 %"),
        (0.99, "99 %"),
        (0.991, ">99 %"),
        (1, "100 %"),
    ],
)
def test_headlines_have_whole_percents_from_ten_on(frac: float, text: str) -> None:
    assert whole_percent(frac) == text
