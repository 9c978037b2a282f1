"""Check the block bootstrap of a change of means: estimates, blocks, coverage."""

import numpy as np
import pytest

from philly_analysis.results import mean_change, time_blocks


def test_blocks_have_equal_length() -> None:
    blocks = time_blocks([0, 9.9, 10, 295, 300])
    assert blocks.tolist() == [0, 0, 1, 29, 29]
    assert time_blocks([]).tolist() == [] and time_blocks([5, 5]).tolist() == [29, 29]


def test_the_estimate_is_the_change_of_the_mean() -> None:
    blocks = np.repeat(np.arange(5), 2)
    before, after = np.arange(1.0, 11), np.arange(1.0, 11)[::-1] * 1.5
    same = mean_change(after, before, blocks)
    assert same.effect == pytest.approx(50) and same.pairs == 5
    assert same.low < 50 < same.high
    other = mean_change(after[:8], before, blocks[:8], blocks)
    assert other.effect == pytest.approx(100 * (after[:8].mean() / 5.5 - 1))
    assert other.pairs == 4 and np.isnan(other.low)


def test_equal_changes_of_the_same_jobs_leave_no_interval() -> None:
    rng = np.random.default_rng(1)
    before, blocks = rng.lognormal(0, 2, 200), np.repeat(np.arange(10), 20)
    change = mean_change(0.6 * before, before, blocks)
    assert (change.effect, change.low, change.high) == pytest.approx((-40, -40, -40))
    apart = mean_change(0.6 * before, before, blocks, blocks)
    assert apart.effect == pytest.approx(-40) and apart.low < -50 and apart.high > -25


def test_no_estimate_without_positive_means() -> None:
    for after, before in (([], []), ([0.0], [1.0]), ([1.0], [0.0])):
        change = mean_change(after, before, np.zeros(len(after)))
        assert np.isnan([change.effect, change.low, change.high]).all()


@pytest.mark.slow
def test_the_interval_covers_the_truth_where_jobs_of_a_block_are_alike() -> None:
    rng = np.random.default_rng(2)
    blocks = np.repeat(np.arange(30), 10)
    covered = naive = 0
    for _ in range(100):
        before = rng.lognormal(0, 0.3, 300)
        after = before * np.repeat(rng.lognormal(0, 0.4, 30), 10)  # a block has one change
        truth = 100 * (np.exp(0.4**2 / 2) - 1)
        block, alone = (
            mean_change(after, before, blocks),
            mean_change(after, before, np.arange(300)),
        )
        covered += block.low <= truth <= block.high
        naive += alone.low <= truth <= alone.high
    assert covered >= 86 and naive < 70
