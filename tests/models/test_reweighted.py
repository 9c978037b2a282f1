"""Estimates of the variation of job classes (data/reweighted.py)."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import EMPIRICAL
from philly_analysis.models.between_period import ESTIMATED, Variation
from philly_analysis.models.validation.coverage import (
    STATISTICS,
    Window,
    model_draws,
    statistics,
)
from tests.models.jobs import DATA
from tests.support.scripts import reweighted

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

    def scores(names: list[str], variation: Variation) -> NDArray[np.float64]:
        sd = variation.class_sd.value
        missed = np.array([3 + lists[name] / sd + np.log(sd) for name in names])
        return np.repeat(missed[:, None], len(reweighted.USED), axis=1)

    def covered(names: list[str], variation: Variation) -> NDArray[np.float64]:
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
