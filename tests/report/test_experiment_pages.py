"""Check that pages of experiments open with the credited gain, and explain it below."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import experiment
from philly_analysis.experiments import EXPERIMENTS, amoeba
from philly_analysis.experiments.effects import USUAL
from philly_analysis.experiments.experiment import Row


def trials(_: Any, __: str, sweep: Any, seed: int) -> Iterator[Row]:
    """Yield trials in which elastic jobs take 6 h and Tiresias' 8 h, plus an hour per seed."""
    hours = {
        amoeba.TIRESIAS: 8,
        amoeba.STATIC: 12,
        amoeba.GROW: 7,
        amoeba.SHRINK: 9,
        amoeba.BOTH: 6,
    }
    for setting in sweep.settings:
        for load in sweep.loads if setting == USUAL else (sweep.at,):
            for arm, jct_h in hours.items():
                slower = 1.1 if setting == "order SRTF" else 1.0
                yield (setting, load, arm, seed, slower * (jct_h + seed), 2.0, 1.0)


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(EXPERIMENTS, "amoeba", replace(EXPERIMENTS["amoeba"], rows=trials))
    experiment("amoeba", models=["literature", "philly"], seeds=3, out=tmp_path)
    return (tmp_path / "amoeba" / "report.html").read_text("utf-8")


def test_an_experiment_page_answers_first(page: str) -> None:
    body = page.split("</head>")[1]
    front, main = body.split("</header>")
    cards = front.split('<section class="card"')[1:]
    assert ["amoeba-literature" in cards[0], "amoeba-philly" in cards[1]] == [True, True]
    for card in cards:
        words, figure = card.split("<figure")[:2]
        assert words.count("<p") == 1  # one sentence before the figure
        assert "Elasticity lowers mean completion time by" in words
        assert "over “Tiresias”, the strongest arm without it" in words
        assert "Shrinking: mean completion time" in figure and "dotted: published" in figure
        assert "<details><summary>Where this comes from" in card
        assert "Assumed: jobs may use" in card.split("<details>")[1]
    assert main.index("Published beside measured") < main.index(
        "Choices that the paper leaves open"
    )
    assert "Change of mean completion time" in main and "Assumed: jobs may use" not in main
    row = main.split(">order SRTF</td>")[1].split("</tr>")[0]
    assert "+10" in row and "elastic" in row
