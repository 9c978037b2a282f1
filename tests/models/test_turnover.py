import numpy as np
import pytest

from philly_analysis.models.between_period import LEARNED
from tests.support.scripts import turnover

TRUTH = {
    "leaving": 0.4,
    "settled": 0.3,
    "constancy": 0.7,
    "users": 0.8,
    "coming": 1.5,
    "crowd": 0.3,
}


def met(rng: np.random.Generator, users: int) -> turnover.Met:
    """Draw two windows, user by user, as the law says."""
    eventful = np.sqrt(LEARNED.freedom.value / (LEARNED.freedom.value - 2))
    jobs = np.ceil(np.exp(rng.normal(2, 1.5, users)))
    leaves = TRUTH["leaving"] * jobs ** -TRUTH["settled"]
    growth = np.exp(rng.normal(0, 0.3))
    crowd = np.exp(TRUTH["crowd"] * eventful * rng.normal())
    come = rng.poisson(TRUTH["coming"] * leaves.sum() * crowd * growth ** (1 - LEARNED.swell.value))
    like = rng.choice(users, come, p=leaves / leaves.sum())

    def active(before: np.ndarray) -> np.ndarray:
        factor = np.exp(TRUTH["users"] * eventful * rng.normal(size=before.size))
        return np.asarray(before ** TRUTH["constancy"] * factor)

    stay = active(jobs) * (rng.random(users) >= leaves)
    rate = growth * jobs.sum() / stay.sum()
    then = rng.poisson(stay * rate).astype(float)
    came = int((rng.poisson(active(jobs[like]) * rate) > 0).sum())
    return turnover.Met(jobs, then, came, float(growth))


def test_numbers_of_known_truth_are_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lists = {str(i): [met(rng, users) for _ in range(8)] for i, users in enumerate([40, 80] * 8)}
    monkeypatch.setattr(turnover, "windows", lists.__getitem__)
    found = turnover.learned(list(lists))
    for name, value in TRUTH.items():
        assert found[name] == pytest.approx(value, rel=0.2, abs=0.05), name
    assert turnover.learned(list(lists)[:1]) != found
