"""Axes that people read, whatever the range; and no group of a table left out."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from philly_analysis import figures


@pytest.mark.parametrize("days", [0, 0.1, 1, 2, 3, 4, 4.5, 4.99, 5, 9, 30, 45, 137, 400, 4_000])
def test_days_are_ticked_without_a_warning(days: float) -> None:
    fig, [ax] = figures.canvas()
    first = datetime(2017, 10, 3)
    ax.plot(np.array([first, first + timedelta(days=days)], "M8[us]"), [0, 1])
    figures.day_axis(ax)
    assert "<svg" in figures.svg(fig)
    assert 2 <= len(ax.get_xticks()) <= 10


def test_a_group_without_a_colour_gets_a_curve_of_its_own() -> None:
    fig, [ax] = figures.canvas()
    table = pd.DataFrame(
        {"gang": ["1"] * 2 + ["new"] * 2, "percentile": [0, 100] * 2, "wait_s": [1, 2, 3, 4]}
    )
    figures.cdf(ax, table, value="wait_s", by="gang", colors={"2-4": "#111111", "1": "#222222"})
    assert [line.get_label() for line in ax.lines] == ["1", "new"]
    assert len({line.get_color() for line in ax.lines}) == 2
    assert "<svg" in figures.svg(fig)
