"""Check that recalibrated intervals hold under wrong forecasts and drift."""

import numpy as np
import pytest

from philly_analysis.forecasts.calibration import Calibration
from philly_analysis.forecasts.points import POINTS, quantiles

WRONG = np.linspace(0, 100, POINTS)
"""Forecast of a uniform wait up to 100 s."""


def coverage(waits: np.ndarray, gap_s: float = 1_000.0) -> dict[float, float]:
    """Return the coverage of intervals of 50 and 90 %, job after job."""
    calibration = Calibration()
    inside: dict[float, list[bool]] = {0.5: [], 0.9: []}
    for i, wait in enumerate(waits):
        now_s = i * gap_s
        masses = calibration.masses(1, now_s)
        for level, hits in inside.items():
            low, high = quantiles(WRONG, masses, [(1 - level) / 2, (1 + level) / 2])
            hits.append(bool(low <= wait <= high))
        calibration.issue(1, WRONG, now_s, now_s + wait, float(wait))
    return {level: float(np.mean(hits[100:])) for level, hits in inside.items()}


def test_intervals_of_a_wrong_forecast_hold_after_some_outcomes() -> None:
    waits = np.random.default_rng(1).beta(1, 6, 500) * 100
    held = coverage(waits)
    assert held[0.5] == pytest.approx(0.5, abs=0.06)
    assert held[0.9] == pytest.approx(0.9, abs=0.04)


def test_intervals_follow_a_drift() -> None:
    rng = np.random.default_rng(2)
    middle = np.linspace(10, 90, 600)
    held = coverage(np.clip(rng.normal(middle, 5), 0.1, 99.9))
    assert held[0.9] == pytest.approx(0.9, abs=0.06)
    assert held[0.5] == pytest.approx(0.5, abs=0.1)


def test_an_outcome_counts_only_from_the_start_on() -> None:
    calibration = Calibration()
    calibration.issue(0, WRONG, 0.0, 99.0, 99.0)
    before = calibration.masses(0, 1.0)
    assert before == pytest.approx(np.full(POINTS, 1 / POINTS), abs=1e-4)
    after = calibration.masses(0, 100.0)
    assert after[-4:].sum() > 2 * before[-4:].sum()


def test_an_elapsed_wait_makes_longer_waits_likelier() -> None:
    calibration = Calibration()
    for job in range(20):
        calibration.issue(0, WRONG, float(job), np.inf, np.inf)
    masses = calibration.masses(0, 80.0)
    assert quantiles(WRONG, masses, [0.5])[0] > 70
