"""Stratified uniforms and repeated scores."""

import numpy as np
import pytest

from philly_analysis.distributions.stratified import repeated_scores, stratified_uniforms


def test_each_stratum_has_one_number_in_the_order_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    score, cell = rng.random(1_000), rng.integers(0, 3, 1_000)
    u = stratified_uniforms(score, rng, cell)
    for c in range(3):
        mine = u[cell == c]
        assert (np.sort(np.floor(mine * mine.size)) == np.arange(mine.size)).all()
        assert (np.argsort(mine) == np.argsort(score[cell == c])).all()


def test_scores_repeat_with_the_probability_within_a_sequence() -> None:
    rng = np.random.default_rng(0)
    sequence = rng.integers(0, 5, 20_000)
    score, run = repeated_scores(0.7, rng, sequence, sequence.size)
    same = []
    for s in range(5):
        mine = run[sequence == s]
        same.append((mine[1:] == mine[:-1]).mean())
    assert np.mean(same) == pytest.approx(0.7, abs=0.02)
    assert len(np.unique(score)) == len(np.unique(run))
    assert all(np.unique(sequence[run == r]).size == 1 for r in np.unique(run)[:200])
