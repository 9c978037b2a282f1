"""Scripts that estimate the variation between periods: lists of jobs, users, job classes."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from data.models.between_period import lists as job_lists
from data.models.between_period import reweighted, turnover
from philly_analysis.distributions.distribution import EMPIRICAL
from philly_analysis.models.between_period import ESTIMATED, Variation
from philly_analysis.models.validation.coverage import STATISTICS, Window, model_draws, statistics
from tests.models.jobs import DATA, Floats

LOG = """\
; Computer: an example
;   18 fields: job, submitted, wait, run time, processors, ..., user (12th)
1 500 3 60 4 -1 -1 4 900 -1 1 7 1 -1 1 -1 -1 -1
2 100 0 30 1 -1 -1 1 900 -1 1 8 1 -1 1 -1 -1 -1
3 200 0 0 2 -1 -1 2 900 -1 5 8 1 -1 1 -1 -1 -1
4 300 9 -1 2 -1 -1 2 900 -1 5 9 1 -1 1 -1 -1 -1
5 500 1 45 -1 -1 -1 8 900 -1 0 9 1 -1 1 -1 -1 -1
6 500 2 90 16 -1 -1 16 900 -1 0 9 1 -1 1 -1 -1 -1
"""


def test_jobs_with_a_run_time_are_read_by_submission(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    jobs = job_lists.standard("log", path).jobs
    assert jobs["submitted_s"].tolist() == [100, 500, 500]
    assert jobs["run_s"].tolist() == [30, 60, 90]
    assert jobs["gpus"].tolist() == [1, 4, 16]
    assert jobs["user"].tolist() == ["8", "7", "9"]
    assert not jobs["censored"].any()


def test_no_two_lists_share_seeds() -> None:
    assert len(set(map(job_lists.first_seed, job_lists.ALL))) == len(job_lists.ALL)
    assert set(job_lists.SITE) == set(job_lists.ALL)


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


@pytest.mark.slow
def test_true_parameters_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    lists = {str(i): [drawn(rng, users) for _ in range(8)] for i, users in enumerate([40, 80] * 8)}
    monkeypatch.setattr(turnover, "windows", lists.__getitem__)
    found = turnover.estimate(list(lists))
    for name, value in TRUTH.items():
        assert found[name] == pytest.approx(value, rel=0.2, abs=0.05), name
    assert turnover.estimate(list(lists)[:1]) != found


START_S = float(DATA.jobs["submitted_s"].iloc[0])
WINDOW = Window(DATA, START_S, int((DATA.jobs["submitted_s"].iloc[-1] - START_S) // 86_400) + 1)
CELLS = reweighted.Cells.of(WINDOW, WINDOW, 0)


def test_periods_without_variation_have_the_statistics_of_the_window() -> None:
    still = ESTIMATED.with_values(
        degrees_of_freedom=1e6, activity_sd=0, class_sd=0, gpu_time_compensation=0, size_sd=0
    )
    many = replace(CELLS, class_jobs=CELLS.class_jobs * 1e6)  # without sampling variance
    own = statistics(DATA.jobs, START_S, WINDOW.days)[: len(reweighted.USED)]
    np.testing.assert_allclose(CELLS.real, own)
    made = np.median(many.drawn(still), axis=0)
    np.testing.assert_allclose(made, own, rtol=0.05, atol=0.01)


@pytest.mark.slow
def test_reweighted_periods_vary_as_sampled_ones() -> None:
    variation = ESTIMATED.with_values(class_sd=1.5)  # more than users and virtual clusters cause
    drawn = model_draws(variation, EMPIRICAL)(WINDOW, 60, 0)
    made = CELLS.drawn(variation)
    for i, name in enumerate(reweighted.USED):
        if name in ("ln jobs", "ln GPU hours", "1 GPU", "jobs of at most 3,600 s"):
            assert list(STATISTICS)[i] == name
            spread = [np.subtract(*np.quantile(x[:, i], (0.9, 0.1))) for x in (made, drawn)]
            assert spread[0] == pytest.approx(spread[1], rel=0.4)


def test_the_extra_deviation_has_nominal_coverage_of_sites_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A site has nominal coverage at its own deviation; sites have equal weights."""
    lists = {"itp-01": 0.3, "itp-02": 0.3, "openb": 1.5, "supercloud": 0.5}

    def scores(names: list[str], variation: Variation) -> Floats:
        sd = variation.class_sd.value
        missed = np.array([3 + lists[name] / sd + np.log(sd) for name in names])
        return np.repeat(missed[:, None], len(reweighted.USED), axis=1)

    def covered(names: list[str], variation: Variation) -> Floats:
        return np.array([0.9 + 0.1 * (variation.class_sd.value - lists[name]) for name in names])

    monkeypatch.setattr(reweighted, "scores", scores)
    monkeypatch.setattr(reweighted, "covered", covered)
    steps = np.linspace(-1.5, 1.5, 3_001)[:, None] * (np.array(reweighted.REWEIGHTED) == "class_sd")
    with ThreadPoolExecutor(1) as pool:
        tried = reweighted.none_tried(list(lists)).more(pool, steps)
        factor = reweighted.extra_deviation(pool, tried)
    # the best deviation of the others, lists with equal weights, without ITP, openb, SuperCloud
    of_others = np.array([(1.5 + 0.5) / 2, (0.3 + 0.3 + 0.5) / 3, (0.3 + 0.3 + 1.5) / 3])
    assert factor == pytest.approx(np.mean([0.3, 1.5, 0.5]) / np.mean(of_others), rel=0.03) != 1


def test_intervals_of_constants_are_excluded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows: all run times are covered, one of two loads, and gang sizes are constant."""
    by_group = {"run time": ([1, 1], [0, 0]), "load": ([1, 0], [0, 2]), "gang size": ([0, 0],) * 2}
    widths, missed = (
        np.array([by_group[group][part] for group in reweighted.GROUP]).T for part in (0, 1)
    )
    monkeypatch.setattr(reweighted, "intervals", lambda *_: list(zip(widths, missed, strict=True)))
    assert reweighted.covered(["itp-01"], ESTIMATED) == pytest.approx([0.75])
