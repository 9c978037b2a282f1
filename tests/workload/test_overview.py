"""Check the overview figure of traces and workloads: its panels, title and mark."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from philly_analysis import Trace, load_model
from tests.support.drawn_data import curves, misleading, steps


def titles(figure: Figure) -> list[str]:
    return [ax.get_title(loc="left").split("  ")[0] for ax in figure.axes]


def jobs(wait_s: float) -> pd.DataFrame:
    """Return ten jobs of 8 GPUs, a day apart, that wait for these seconds and run for an hour."""
    submitted = pd.date_range("2026-01-05", periods=10, freq="D")
    started = submitted + pd.Timedelta(seconds=wait_s)
    return pd.DataFrame(
        {
            "job_id": [str(i) for i in range(10)],
            "gpus": 8,
            "submitted_at": submitted,
            "started_at": started,
            "ended_at": started + pd.Timedelta(hours=1),
        }
    )


@pytest.mark.parametrize(("wait_s", "panels"), [(0, 2), (1, 3)])
def test_a_trace_without_waits_has_no_panel_of_waits(wait_s: float, panels: int) -> None:
    shown = ["Jobs submitted", "GPUs allocated, daily mean", "Queueing delay by gang size"]
    figure = Trace(jobs(wait_s)).plot()
    assert titles(figure) == shown[:panels]
    assert misleading(figure) == []
    submitted, allocated, *waits = figure.axes
    assert steps(submitted)["0"].tolist() == [1] * 10
    assert steps(allocated)["0"] == pytest.approx([8 / 24] * 10)
    for ax in waits:
        [line] = curves(ax).values()
        assert line[:, 0] == pytest.approx(1) and line[[0, -1], 1].tolist() == [0, 100]


def test_the_capacity_is_a_line_within_the_panel() -> None:
    machines = pd.DataFrame({"machine_id": ["m"], "gpus": [16]})
    log = jobs(0).assign(attempt=1)
    attempts = log[["job_id", "attempt", "started_at", "ended_at"]]
    submitted = log[["job_id", "gpus", "submitted_at"]]
    figure = Trace({"jobs": submitted, "attempts": attempts, "machines": machines}).plot()
    allocated = figure.axes[1]
    assert [line[:, 1].tolist() for line in curves(allocated).values()] == [[16, 16]]
    assert [text.get_text() for text in allocated.texts] == ["16 GPUs"]
    assert 16 < allocated.get_ylim()[1] < 20


def test_too_few_waits_of_a_gang_are_not_drawn() -> None:
    few = Trace(jobs(60).head(4)).plot()
    assert len(few.axes) == 2
    assert len(Trace(jobs(60).head(5)).plot().axes) == 3


def test_a_sampled_workload_has_its_name_and_the_mark_of_synthetic_data() -> None:
    work = load_model("philly").sample(100, gpus=64, offered=0.5, seed=1)
    texts = [text.get_text() for text in work.plot().texts]
    assert work.name in texts
    assert "synthetic data" in texts
    assert len(work.plot().axes) == 2
