"""Check that recalibrated intervals hold under wrong forecasts and drift."""

import numpy as np
import pytest

from philly_analysis.forecasts.calibration import Calibration
from philly_analysis.forecasts.points import POINTS, quantiles

WRONG = np.linspace(0, 100, POINTS)
"""Forecast of a uniform wait up to 100 s."""


def coverage(waits: np.ndarray, first: int) -> dict[float, float]:
    """Return the coverage of intervals of 50 and 90 %, from a job on."""
    calibration = Calibration()
    inside: dict[float, list[bool]] = {0.5: [], 0.9: []}
    for i, wait in enumerate(waits):
        now_s = i * 1_000.0
        masses = calibration.masses(1, now_s)
        for level, hits in inside.items():
            low, high = quantiles(WRONG, masses, [(1 - level) / 2, (1 + level) / 2])
            hits.append(bool(low <= wait <= high))
        calibration.issue(1, WRONG, now_s + wait, float(wait))
    return {level: float(np.mean(hits[first:])) for level, hits in inside.items()}


def test_intervals_of_a_wrong_forecast_hold_after_some_outcomes() -> None:
    waits = np.random.default_rng(1).beta(2, 3, 2_000) * 100
    held = coverage(waits, 500)
    assert held[0.5] == pytest.approx(0.5, abs=0.04)
    assert held[0.9] == pytest.approx(0.9, abs=0.03)


def test_intervals_follow_a_slow_drift() -> None:
    rng = np.random.default_rng(2)
    held = coverage(np.clip(rng.normal(np.linspace(35, 65, 3_000), 20), 0.1, 99.9), 500)
    assert held[0.5] == pytest.approx(0.5, abs=0.04)
    assert held[0.9] == pytest.approx(0.9, abs=0.03)


def test_an_outcome_counts_only_from_the_start_on() -> None:
    calibration = Calibration()
    calibration.issue(0, WRONG, 99.0, 99.0)
    before = calibration.masses(0, 1.0)
    assert before == pytest.approx(np.full(POINTS, 1 / POINTS))
    after = calibration.masses(0, 100.0)
    assert after[-4:].sum() > before[-4:].sum()
    assert calibration.masses(1, 100.0) == pytest.approx(np.full(POINTS, 1 / POINTS))
