"""Check the sums of costs, and that history.csv grows and is drawn."""

import os
from pathlib import Path

import pandas as pd

from tests.bench import cores
from tests.bench.costs import Cost, totals
from tests.bench.history import append, draw

COSTS = [
    Cost("scan", 2, 3, 10),
    Cost("ingest", 10, 17, 70),
    Cost("page", 9, 11, 90),
    Cost("join gpu_samples", 4, 6, 80),
    Cost("join host_samples", 1, 1, 20),
    Cost("report", 5, 5, 50),
    Cost("later report", 3, 3, 50),
    Cost("analysis usage", 1, 1, 30),
]


def test_each_sum_counts_each_of_its_steps_once() -> None:
    sums = {t.step: (t.wall_s, t.cpu_s, t.peak_mb) for t in totals(COSTS)}
    assert sums == {
        "ingest": (10, 17, 70),
        "joins": (5, 7, 80),
        "report": (5, 5, 50),
        "raw files to page": (19, 28, 90),
    }
    assert [t.step for t in totals(COSTS[:2])] == ["ingest"]


def test_history_grows_and_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    for commit in ("aaaaaaa", "bbbbbbb+"):
        for archive in ("plain", "hard"):
            append(commit, 0.1, archive, COSTS, path)
    history = pd.read_csv(path)
    assert len(history) == 4 * (len(COSTS) + 2)  # two sums are not steps
    last = history.iloc[-1]
    assert list(last["commit":"step"]) == [
        "bbbbbbb+",
        os.cpu_count(),
        0.1,
        "hard",
        "raw files to page",
    ]
    assert list(last["wall_s":]) == [19, 28, 90, 9.5]
    drawn = draw(history)
    for text in ("plain archive", "hard archive", "aaaaaaa", "bbbbbbb+", "later report"):
        assert f">{text}<" in drawn


def test_speed_up_is_over_the_fewest_cores_and_efficiency_per_core() -> None:
    costs = {
        1: [Cost("scan", 4, 4, 10), Cost("ingest", 12, 12, 10), Cost("report", 8, 8, 10)],
        4: [Cost("scan", 1, 4, 10), Cost("ingest", 4, 15, 10), Cost("report", 4, 9, 10)],
    }
    rows = cores.table(costs).set_index(["step", "cores"])
    assert rows.loc[("ingest", 4), "speed_up"] == 3
    assert rows.loc[("ingest", 4), "efficiency"] == 0.75
    assert rows.loc[("ingest", 4), "times_scan"] == 4
    assert rows.loc[("raw files to page", 4), "speed_up"] == 2.5
    assert rows.loc[("report", 4), "cpu_ratio"] == 1.125
    assert ">efficiency<" in cores.draw(cores.table(costs))
