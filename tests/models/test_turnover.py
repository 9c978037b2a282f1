"""Estimates of the turnover of users (data/turnover.py)."""

import numpy as np
import pytest

from philly_analysis.models.between_period import ESTIMATED
from tests.support.scripts import turnover

TRUTH = {
    "leave_probability": 0.4,
    "leave_power": 0.3,
    "user_persistence": 0.7,
    "user_sd": 0.8,
    "new_user_ratio": 1.5,
    "new_user_sd": 0.3,
}


def drawn(rng: np.random.Generator, users: int) -> turnover.Turnover:
    """Draw the users of two windows from the model."""
    scale = np.sqrt(ESTIMATED.degrees_of_freedom.value / (ESTIMATED.degrees_of_freedom.value - 2))
    jobs = np.ceil(np.exp(rng.normal(2, 1.5, users)))
    leaves = TRUTH["leave_probability"] * jobs ** -TRUTH["leave_power"]
    growth = np.exp(rng.normal(0, 0.3))
    crowd = np.exp(TRUTH["new_user_sd"] * scale * rng.normal())
    come = rng.poisson(
        TRUTH["new_user_ratio"]
        * leaves.sum()
        * crowd
        * growth ** (1 - ESTIMATED.dispersion_power.value)
    )
    like = rng.choice(users, come, p=leaves / leaves.sum())

    def active(before: np.ndarray) -> np.ndarray:
        factor = np.exp(TRUTH["user_sd"] * scale * rng.normal(size=before.size))
        return np.asarray(before ** TRUTH["user_persistence"] * factor)

    stay = active(jobs) * (rng.random(users) >= leaves)
    rate = growth * jobs.sum() / stay.sum()
    then = rng.poisson(stay * rate).astype(float)
    came = int((rng.poisson(active(jobs[like]) * rate) > 0).sum())
    return turnover.Turnover(jobs, then, came, float(growth))


def test_true_parameters_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lists = {str(i): [drawn(rng, users) for _ in range(8)] for i, users in enumerate([40, 80] * 8)}
    monkeypatch.setattr(turnover, "windows", lists.__getitem__)
    found = turnover.estimate(list(lists))
    for name, value in TRUTH.items():
        assert found[name] == pytest.approx(value, rel=0.2, abs=0.05), name
    assert turnover.estimate(list(lists)[:1]) != found
