"""Synthetic users: labels with effects on run times, which do not change jobs."""

from collections import Counter

import numpy as np
import pytest

from philly_analysis.models.components.synthetic_users import USERS, assign_users
from philly_analysis.models.library import load_model


def _within(user: np.ndarray, value: np.ndarray) -> float:
    """Return the correlation of two different jobs of one user, over all pairs."""
    value = (value - value.mean()) / value.std()
    total = pairs = 0.0
    for name in set(user):
        mine = value[user == name]
        total += mine.sum() ** 2 - (mine**2).sum()
        pairs += mine.size * (mine.size - 1)
    return total / pairs


@pytest.mark.parametrize(("correlation", "least", "most"), [(0.0, -0.02, 0.02), (0.8, 0.1, 0.4)])
def test_users_have_correlated_run_times(correlation: float, least: float, most: float) -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    vc = np.repeat(["a", "b"], [n - 2000, 2000])
    gang = rng.choice([1, 2, 4], n)
    streak = np.cumsum(np.diff(gang, prepend=gang[0]) != 0)
    run_s = np.exp(rng.normal(7, 2, streak[-1] + 1)[streak])
    user = assign_users(vc, gang, run_s, correlation=correlation, seed=5)
    assert least < _within(user, np.log(run_s)) < most
    assert {u.partition("-")[0] for u in user} == {"a", "b"}
    counts = Counter(user)
    # in proportion to the roots of 18,000 and 2,000 jobs; each has several streaks
    known = {"a": USERS * 3 // 4, "b": USERS // 4}
    assert set(counts) == {f"{v}-u{i:03d}" for v, n in known.items() for i in range(1, n + 1)}
    # shares of 1 / rank among the users of a: the first of 114 has 19 %
    busiest = max(c for u, c in counts.items() if u.startswith("a")) / (n - 2000)
    assert busiest == pytest.approx(1 / sum(1 / r for r in range(1, 115)), abs=0.05)
    # whole streaks
    assert all(len(set(user[streak == s])) == 1 for s in range(500))


def test_a_single_streak_may_be_of_any_user() -> None:
    """Thirty draws from 152 equally likely users are 27 users on average."""
    one = (np.array(["a"]), np.array([1]), np.array([60.0]))
    drawn = {assign_users(*one, correlation=0.0, seed=seed)[0] for seed in range(30)}
    assert 20 < len(drawn) <= 30


def test_known_users_are_kept_and_unknown_ones_assigned() -> None:
    known = load_model("thetagpu")
    own = set(known.users.by_user)
    assert set(known.sample(jobs=300, seed=2, variation="none").jobs.pl()["user"]) <= own
    made = load_model("philly").sample(jobs=3000, seed=2, variation="none").jobs.pl()
    assert made["user"].n_unique() > 4 * made["vc"].n_unique()
    assert (made["user"].str.split("-u").list.first() == made["vc"]).all()
