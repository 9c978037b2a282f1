"""The test of direction: right numbers, and intervals that keep their promise."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from philly_analysis.inference import rank_association


def test_the_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, 300)
    y = x + rng.normal(0, 3, 300)
    found = rank_association(x, y)
    assert found.rho == pytest.approx(spearmanr(x, y).statistic)
    assert found.low < found.rho < found.high
    assert found.n == found.clusters == 300


@pytest.mark.parametrize("clustered", [True, False])
def test_the_interval_covers_no_association_nineteen_times_in_twenty(clustered: bool) -> None:
    rng = np.random.default_rng(2)
    users = np.repeat(np.arange(60), 20)
    covered = naive = 0
    trials = 400
    for _ in range(trials):
        x, y = (
            (rng.normal(size=60)[users] + 0.3 * rng.normal(size=1200) for _ in "xy")
            if clustered
            else (rng.normal(size=1200) for _ in "xy")
        )
        one = rank_association(x, y, users)
        covered += one.low <= 0 <= one.high
        other = rank_association(x, y)
        naive += other.low <= 0 <= other.high
    assert 0.91 <= covered / trials <= 0.985
    # counting repeated users as so many witnesses would be wrong most of the time
    assert naive / trials < 0.6 if clustered else naive / trials > 0.91


def test_directions_and_their_words() -> None:
    x = np.arange(50)
    words = {"rises": "up", "falls": "down", "unclear": "?"}
    noise = np.random.default_rng(3).normal(size=50)
    assert rank_association(x, x + noise).say(**words).startswith("up (rank correlation +")
    assert rank_association(x, -x + noise).say(**words).startswith("down (rank correlation -")
    assert rank_association(x, noise).direction == "unclear"


def test_missing_values_and_users_stand_alone() -> None:
    users = np.array(["a", None, "b", None, "a"], dtype=object)
    found = rank_association([1, 2, np.nan, 4, 5], [1, 2, 3, 4, np.nan], users)
    assert (found.n, found.clusters) == (3, 3)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_to_say(n: int) -> None:
    found = rank_association(range(n), range(n))
    assert found.direction == "unclear" and np.isnan(found.rho)
    assert "too few to say" in found.say(rises="up", falls="down", unclear="unclear")


def test_one_user_is_one_witness() -> None:
    found = rank_association(range(100), range(100), ["same"] * 100)
    assert found.rho == pytest.approx(1) and found.direction == "unclear"


def test_nothing_that_varies_is_associated() -> None:
    assert rank_association([1] * 10, range(10)).direction == "unclear"
