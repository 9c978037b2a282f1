"""Load dependence of run times."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from philly_analysis.models.components.load_dependence import (
    correlate_with_load,
    draw_load_dependent,
    load_correlation,
)
from philly_analysis.models.workload_model import WorkloadModel
from tests.models.jobs import MODEL


def jobs(seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a week of jobs: three in each hour of the night, thirty in each hour of the day."""
    rng = np.random.default_rng(seed)
    count = np.where(np.arange(168) % 24 < 12, 3, 30) + rng.integers(0, 3, 168)
    hour = np.repeat(np.arange(168), count)
    at_s = np.asarray(hour * 3_600.0 + rng.integers(0, 3_600, hour.size), float)
    return at_s, rng.standard_normal(hour.size)


def test_independent_run_times_are_not_correlated_with_load() -> None:
    assert abs(load_correlation(*jobs())) < 0.2


def test_shorter_jobs_in_busy_hours_are_negatively_correlated() -> None:
    at_s, score = jobs()
    busy = at_s // 3_600 % 24 >= 12
    assert load_correlation(at_s, np.where(busy, score - 1, score)) < -0.5
    unknown = np.where(np.arange(score.size) % 2, np.nan, np.where(busy, -1.0, 1.0))
    assert load_correlation(at_s, unknown) == pytest.approx(-0.87, abs=0.05)
    assert load_correlation(at_s[:5], score[:5]) == 0


@pytest.mark.parametrize("target", [-0.6, 0.0, 0.4])
def test_scores_have_the_target_correlation(target: float) -> None:
    at_s, score = jobs(1)
    made = correlate_with_load(at_s, score, target)
    assert load_correlation(at_s, made) == pytest.approx(target, abs=0.02)
    assert made.std() == pytest.approx(1)


def test_the_target_is_raised_by_the_shortfall() -> None:
    at_s, score = jobs(2)
    at_s = np.append(at_s, 200 * 3_600.0)
    score, run_s = np.append(score, 0.0), np.append(-score, 9.0)  # alone in its hour, the longest
    drawn: list[NDArray[np.float64]] = []

    def run_times(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        drawn.append(scores)
        return run_s

    draw_load_dependent(at_s, score, 0.3, run_times)
    reached = load_correlation(at_s, norm.ppf((rankdata(run_s) - 0.5) / run_s.size))
    expected = [correlate_with_load(at_s, score, 0.3 + i * (0.3 - reached)) for i in range(3)]
    np.testing.assert_allclose(np.array(drawn), np.array(expected))


def test_sampled_periods_have_the_fitted_correlation() -> None:
    model: WorkloadModel = replace(MODEL, users=replace(MODEL.users, load_correlation=-0.5))
    again = model.sample(days=20, seed=1, variation="none")
    assert again.attempts.pl().equals(MODEL.sample(days=20, seed=1, variation="none").attempts.pl())
    work = model.sample(days=20, seed=1)
    at_s = work.jobs.pl()["submitted_at"].dt.epoch("s").to_numpy().astype(float)
    last = work.attempts.pl().group_by("job_id", maintain_order=True).last()["ended_at"]
    run_s = (last - work.jobs.pl()["submitted_at"]).dt.total_seconds().to_numpy()
    ranks = (rankdata(run_s) - 0.5) / run_s.size
    assert load_correlation(at_s, norm.ppf(ranks)) == pytest.approx(-0.5, abs=0.05)
