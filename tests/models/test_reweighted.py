from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import EMPIRICAL
from philly_analysis.models.between_period import LEARNED, Variation
from philly_analysis.models.validation.coverage import STATISTICS, Window, by_model, statistics
from tests.models.test_workload_model import DATA
from tests.support.scripts import reweighted

START_S = float(DATA.jobs["submitted_s"].iloc[0])
WINDOW = Window(DATA, START_S, int((DATA.jobs["submitted_s"].iloc[-1] - START_S) // 86_400) + 1)
CELLS = reweighted.Cells.of(WINDOW, WINDOW, 0)


def test_months_as_the_fitted_one_are_the_window() -> None:
    still = LEARNED.but(freedom=1e6, activity=0, kinds=0, trade=0, sizes=0)
    many = replace(CELLS, kinds=CELLS.kinds * 1e6)  # nothing is luck
    own = statistics(DATA.jobs, START_S, WINDOW.days)[: len(reweighted.TOLD)]
    np.testing.assert_allclose(CELLS.real, own)
    made = np.median(many.drawn(still), axis=0)
    np.testing.assert_allclose(made, own, rtol=0.05, atol=0.01)


def test_reweighted_months_differ_as_drawn_ones_do() -> None:
    law = LEARNED.but(kinds=1.5)  # more than users and virtual clusters bring
    drawn = by_model(law, EMPIRICAL)(WINDOW, 60, 0)
    made = CELLS.drawn(law)
    for i, name in enumerate(reweighted.TOLD):
        if name in ("ln jobs", "ln GPU hours", "1 GPU", "jobs of at most 3,600 s"):
            assert list(STATISTICS)[i] == name
            spread = [np.subtract(*np.quantile(x[:, i], (0.9, 0.1))) for x in (made, drawn)]
            assert spread[0] == pytest.approx(spread[1], rel=0.4)


def test_kinds_change_as_much_more_as_it_takes_to_cover_sites_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A site is covered as promised where kinds change as much as there, and sites count alike."""
    lists = {"itp-01": 0.3, "itp-02": 0.3, "openb": 1.5, "supercloud": 0.5}

    def scores(names: list[str], law: Variation) -> NDArray[np.float64]:
        kinds = law.kinds.value
        missed = np.array([3 + lists[name] / kinds + np.log(kinds) for name in names])
        return np.repeat(missed[:, None], len(reweighted.TOLD), axis=1)

    def covered(names: list[str], law: Variation) -> NDArray[np.float64]:
        return np.array([0.9 + 0.1 * (law.kinds.value - lists[name]) for name in names])

    monkeypatch.setattr(reweighted, "scores", scores)
    monkeypatch.setattr(reweighted, "covered", covered)
    steps = np.linspace(-1.5, 1.5, 3_001)[:, None] * (np.array(reweighted.REWEIGHTED) == "kinds")
    with ThreadPoolExecutor(1) as pool:
        tried = reweighted.none_tried(list(lists)).more(pool, steps)
        more = reweighted.wider(pool, tried)
    # where the scores of the others are least, their lists alike, without ITP, openb, SuperCloud
    of_others = np.array([(1.5 + 0.5) / 2, (0.3 + 0.3 + 0.5) / 3, (0.3 + 0.3 + 1.5) / 3])
    assert more == pytest.approx(np.mean([0.3, 1.5, 0.5]) / np.mean(of_others), rel=0.03) != 1


def test_intervals_that_say_nothing_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two windows all run times are held, one of two loads, and no gang has another size."""
    by_group = {"run time": ([1, 1], [0, 0]), "load": ([1, 0], [0, 2]), "gang size": ([0, 0],) * 2}
    widths, missed = (
        np.array([by_group[group][part] for group in reweighted.GROUP]).T for part in (0, 1)
    )
    monkeypatch.setattr(reweighted, "intervals", lambda *_: list(zip(widths, missed, strict=True)))
    assert reweighted.covered(["itp-01"], LEARNED) == pytest.approx([0.75])
