"""Long jobs of few sources: their correlation, the urn, and jobs longer than all of the log."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from philly_analysis.models.between_period import ESTIMATED
from philly_analysis.models.long_jobs import DAY_S, LongJobs, Sources, _levels, _source_scores
from philly_analysis.models.sampling import draw_jobs
from tests.models.jobs import MODEL, Floats, frame

INDEPENDENT_DAYS = ESTIMATED.with_values(short_window_power=0.5, steady_share=0.0, long_job_sd=3.0)


def jobs_of(level: Floats, day: Floats) -> pd.DataFrame:
    """Return jobs of one gang size, long ones with given levels, and nine times as many short."""
    at = np.repeat(day, 10) * DAY_S + np.tile(3_600.0 * np.arange(10), level.size)
    run_s = np.full(at.size, 60.0)
    run_s[::10] = 100 + 1_000 * level
    order = np.argsort(at, kind="stable")
    return frame(at[order], run_s[order], gpus=1, user="a")


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5])
def test_the_correlation_of_the_long_jobs_of_a_day_is_estimated(correlation: float) -> None:
    rng = np.random.default_rng(1)
    days, size = 150, 8
    level = rng.random((days, size))
    # with this probability both jobs of any pair have the level of the day
    shared = rng.random((days, size)) < np.sqrt(correlation)
    level = np.where(shared, rng.random((days, 1)), level).ravel()
    fitted = LongJobs.fit(jobs_of(level, np.repeat(np.arange(days), size)), INDEPENDENT_DAYS)
    assert fitted.n == days * size
    assert fitted.daily_correlation == pytest.approx(correlation, abs=0.02 + correlation / 5)


def test_the_urn_draws_uniform_numbers_with_the_correlation_of_a_dirichlet_process() -> None:
    rng = np.random.default_rng(2)
    drawn = np.array([_levels(_source_scores(3.0, rng), 12, rng) for _ in range(400)])
    assert np.quantile(drawn, [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.02)
    below = drawn < 0.5
    # two jobs have one source with a probability of 1 / 4, and then nearly equal levels
    within = 2 / np.pi * np.arcsin(0.95)
    pairs = np.corrcoef(below[:, 3], below[:, 9])[0, 1]
    assert pairs == pytest.approx(within / 4, abs=0.12)


def test_the_order_of_long_jobs_and_all_short_jobs_stay() -> None:
    rng = np.random.default_rng(3)
    u, leaf = rng.random(2_000), rng.integers(0, 2, 2_000)
    share = np.array([0.1, 0.3])
    level, factor = Sources(4.0, 50.0, 0.3, 1e9).redraw(u, leaf, share, rng)
    for i in (0, 1):
        mine = leaf == i
        short = mine & (u <= 1 - share[i])
        assert (level[short] == u[short]).all() and (factor[short] == 1).all()
        ascending = np.argsort(u[mine])
        assert (np.diff((level * factor)[mine][ascending]) >= 0).all()
        assert (level[mine & ~short] > 1 - share[i]).all()


@pytest.mark.parametrize("sources", [40, 160])
def test_records_are_as_frequent_as_among_exchangeable_jobs(sources: int) -> None:
    rng = np.random.default_rng(4)
    u = (np.arange(40) + 0.5) / 40
    made = Sources(1e9, float(sources), 0.5, 1e9)
    factors = [made.redraw(u, np.zeros(40, int), np.ones(1), rng)[1].max() for _ in range(400)]
    higher = np.array(factors)[np.array(factors) > 1]
    assert higher.size / 400 == pytest.approx(40 / (40 + sources), abs=0.07)


@pytest.mark.parametrize(
    ("median_d", "sd", "least"), [(0.05, 1.5, 0.5), (0.5, 1.5, 0.62), (2.0, 1.0, 0.62)]
)
def test_logs_of_ended_jobs_have_longer_jobs_after_them(
    median_d: float, sd: float, least: float
) -> None:
    """The next period of as many jobs has a longer one in half of the cases if all jobs ended."""
    rng = np.random.default_rng(6)
    longer, expected = [], []
    for repetition in range(400):
        at = np.sort(rng.uniform(0, 28, 300)) * DAY_S
        run_s, following = median_d * DAY_S * np.exp(sd * rng.standard_normal((2, 300)))
        ended = at + run_s <= 28 * DAY_S
        longer.append(following.max() > run_s[ended].max())
        if repetition < 5:
            log = frame(at[ended], run_s[ended], gpus=1, user="a")
            fitted = replace(LongJobs.fit(log, ESTIMATED), daily_correlation=0.0)
            expected.append(1 / (1 + fitted.sources(28.0, ESTIMATED).in_log / fitted.n))
    assert least <= np.mean(expected) < np.mean(longer) + 0.05


def test_independent_jobs_each_have_a_source_of_their_own() -> None:
    fitted = LongJobs(500, 28.0, 1e9, 0.0, 0.3)
    sources = fitted.sources(28.0, ESTIMATED)
    assert sources.in_log == 500 and sources.concentration == pytest.approx(499)


def test_the_longest_job_varies_more_if_long_jobs_have_few_sources() -> None:
    rng = np.random.default_rng(5)
    u, leaf = (np.arange(1_000) + 0.5) / 1_000, np.zeros(1_000, int)
    spreads, means = [], []
    for concentration in (2.0, 1e9):
        sources = Sources(concentration, 1e9, 0.0, 1e9)
        levels = [sources.redraw(u, leaf, np.full(1, 0.1), rng)[0] for _ in range(120)]
        spreads.append(np.std(np.max(levels, axis=1)))
        means.append(np.mean(levels))
    assert spreads[0] > 3 * spreads[1]
    assert means == pytest.approx([0.5, 0.5], abs=0.006)


def test_samples_redraw_the_long_jobs_of_other_periods_only() -> None:
    without = replace(MODEL, long_jobs=None)
    same, other = (
        [draw_jobs(m, jobs=500, seed=1, variation=v)[0].run_s for m in (MODEL, without)]
        for v in ("none", "month")
    )
    assert (same[0] == same[1]).all() and (other[0] != other[1]).any()
