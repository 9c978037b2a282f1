"""Axes that people read, whatever the range."""

from datetime import datetime, timedelta

import numpy as np
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
