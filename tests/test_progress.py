"""Check that long steps show their progress in Jupyter, and leave nothing behind."""

import time
from typing import Any

import duckdb
import pytest
from rich.console import Console
from rich.progress import Progress

from philly_analysis import progress


class Output(list[Any]):
    """What one output of a cell showed, in order."""

    def update(self, shown: Any) -> None:
        self.append(shown)


@pytest.mark.parametrize("sleep_s", [0.0, 0.3])
def test_a_long_step_is_shown_below_the_cell(
    sleep_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: list[Output] = []

    def display(shown: Progress) -> Output:
        outputs.append(Output([shown.tasks[0].description]))
        return outputs[-1]

    monkeypatch.setattr(progress, "_TERMINAL", Console(force_jupyter=True))
    monkeypatch.setattr(progress, "_JUPYTER_S", 0.05)
    monkeypatch.setattr(progress, "_display", display)
    with progress.step("fitting"):
        time.sleep(sleep_s)
    assert len(outputs) == (sleep_s > 0)
    for output in outputs:
        assert output[0] == "fitting" and str(output[-1]) == ""


def test_the_engine_draws_no_bar_of_its_own() -> None:
    with duckdb.connect() as con:
        con.execute("set enable_progress_bar = true")
        progress.silence(con)
        [(drawn,)] = con.sql("select current_setting('enable_progress_bar')").fetchall()
    assert not drawn
