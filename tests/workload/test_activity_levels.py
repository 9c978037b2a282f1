"""Check activity over time against levels summed second by second."""

import numpy as np
import pytest

from philly_analysis.workload.activity_levels import mean_level


def test_levels_are_those_of_every_moment() -> None:
    rng = np.random.default_rng(3)
    start = rng.integers(0, 100, 40).astype(float)
    end = start + rng.integers(1, 50, 40).astype(float)
    weight = rng.integers(1, 9, 40).astype(float)
    edges = np.linspace(-20, 180, 11)
    seconds = np.arange(-20, 180) + 0.5
    level = [(weight * ((start < s) & (s < end))).sum() for s in seconds]
    expected = np.reshape(level, (10, 20)).mean(axis=1)
    assert mean_level(start, end, weight, edges) == pytest.approx(expected)
    assert mean_level(start[:0], end[:0], weight[:0], edges).tolist() == [0.0] * 10
