"""Compare the weights of combined forecasts with losses that are summed job by job."""

from itertools import product

import numpy as np
import pytest

from philly_analysis.forecasts.combination import Combination
from philly_analysis.forecasts.points import POINTS

LEVELS = [0.05 * k for k in range(1, 20)]


def loss(points: np.ndarray, wait: float) -> float:
    """Return the mean pinball loss of a sample's quantiles."""
    values = np.quantile(points, LEVELS, method="inverted_cdf")
    return float(
        np.mean(
            [
                level * (wait - value) if wait >= value else (1 - level) * (value - wait)
                for level, value in zip(LEVELS, values, strict=True)
            ]
        )
    )


def test_the_weights_had_the_least_loss_on_known_outcomes() -> None:
    rng = np.random.default_rng(4)
    combination = Combination(("a", "b"))
    issued = []
    for job in range(40):
        wait = float(rng.exponential(100))
        forecasts = {
            "a": np.sort(rng.exponential(60, POINTS)),
            "b": np.sort(rng.exponential(180, POINTS)),
        }
        issued.append((job + wait, forecasts, wait))
        combination.issue(forecasts, job + wait, wait)
    for now_s in (50.0, 120.0, 1e9):
        known = [(forecasts, wait) for at_s, forecasts, wait in issued if at_s < now_s]
        weights = combination.weights(now_s)
        if len(known) < 20:
            assert weights == pytest.approx([0.5, 0.5])
            continue
        grid = [(a / 4, b / 4) for a, b in product(range(5), repeat=2) if a + b == 4]
        losses = [sum(loss(a * f["a"] + b * f["b"], wait) for f, wait in known) for a, b in grid]
        assert tuple(weights) == grid[int(np.argmin(losses))]


def test_quantiles_are_averaged() -> None:
    combination = Combination(("a", "b"))
    forecasts = {"a": np.zeros(POINTS), "b": np.arange(POINTS, dtype=float)}
    assert combination.points(forecasts, 0.0) == pytest.approx(np.arange(POINTS) / 2)


def test_a_useless_forecast_gets_no_weight() -> None:
    rng = np.random.default_rng(5)
    combination = Combination(("climatology", "other"))
    climatology = np.quantile(rng.exponential(100, 2_000), (np.arange(POINTS) + 0.5) / POINTS)
    for job in range(200):
        wait = float(rng.exponential(100))
        other = np.sort(rng.exponential(2_000 * rng.random(), POINTS))
        combination.issue({"climatology": climatology, "other": other}, job, wait)
    assert combination.weights(1e9).tolist() == [1.0, 0.0]
