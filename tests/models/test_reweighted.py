from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from philly_analysis.judging.coverage import STATISTICS, Window, by_model, statistics
from philly_analysis.laws.distribution import EMPIRICAL
from philly_analysis.models.variation import LEARNED
from tests.models.test_workload_model import DATA
from tests.scripts import reweighted

START_S = float(DATA.jobs["submitted_s"].iloc[0])
WINDOW = Window(DATA, START_S, int((DATA.jobs["submitted_s"].iloc[-1] - START_S) // 86_400) + 1)
CELLS = reweighted.Cells.of(WINDOW, WINDOW, 0)


def test_months_as_the_fitted_one_are_the_window() -> None:
    still = LEARNED.but("freedom", 1e6)
    for name in ("activity", "kinds", "trade", "sizes"):
        still = still.but(name, 0.0)
    many = replace(CELLS, kinds=CELLS.kinds * 1e6)  # nothing is luck
    own = statistics(DATA.jobs, START_S, WINDOW.days)[: len(reweighted.TOLD)]
    np.testing.assert_allclose(CELLS.real, own)
    made = np.median(many.drawn(still), axis=0)
    np.testing.assert_allclose(made, own, rtol=0.05, atol=0.01)


def test_reweighted_months_differ_as_drawn_ones_do() -> None:
    drawn = by_model(LEARNED, EMPIRICAL)(WINDOW, 60, 0)
    made = CELLS.drawn(LEARNED)
    for i, name in enumerate(reweighted.TOLD):
        if name in ("ln jobs", "ln GPU hours", "1 GPU", "jobs of at most 3,600 s"):
            assert list(STATISTICS)[i] == name
            spread = [np.subtract(*np.quantile(x[:, i], (0.9, 0.1))) for x in (made, drawn)]
            assert spread[0] == pytest.approx(spread[1], rel=0.4)


def test_kinds_change_as_much_more_as_sites_left_out_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each site's score is least where kinds change as much as there; too little costs more."""
    lists = {"itp-01": 0.3, "openb": 1.5, "supercloud": 0.5}

    def scores(names: list[str], factors: dict[str, float]) -> NDArray[np.float64]:
        kinds = reweighted.START["kinds"] * factors["kinds"]
        missed = np.array([3 + lists[name] / kinds + np.log(kinds) for name in names])
        return np.repeat(missed[:, None], len(reweighted.TOLD), axis=1)

    monkeypatch.setattr(reweighted, "scores", scores)
    steps = np.linspace(-1.5, 1.5, 3_001)[:, None] * (np.array(reweighted.REWEIGHTED) == "kinds")
    with ThreadPoolExecutor(1) as pool:
        tried = reweighted.none_tried(list(lists)).more(pool, steps)
        more = reweighted.wider(pool, tried)
    kinds = np.array(list(lists.values()))
    of_others = (kinds.sum() - kinds) / 2  # where the scores of the other two are least
    assert more == pytest.approx(np.mean(kinds / of_others), rel=0.03) != 1
