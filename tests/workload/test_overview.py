"""Check the overview figure of traces and workloads: its panels, title and mark."""

import pandas as pd
import pytest
from matplotlib.figure import Figure

from philly_analysis import Trace, load_model


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
    assert titles(Trace(jobs(wait_s)).plot()) == shown[:panels]


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
