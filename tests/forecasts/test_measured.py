"""Check what the page on forecasts says of its table, and that simulated logs can be repeated."""

from fractions import Fraction
from math import comb
from pathlib import Path

import pandas as pd
import pytest

from data.checks.forecasts import MEASURED, chance_outside, summary
from tests.support.repository import DOCS
from tests.truth.scenarios import Scenario
from tests.truth.schedulers import simulate


@pytest.mark.parametrize(("jobs", "level"), [(100, 50), (115, 90), (196, 50)])
def test_chance_is_an_exact_sum_of_binomial_probabilities(jobs: int, level: int) -> None:
    p = Fraction(level, 100)
    outside = sum(
        comb(jobs, hits) * p**hits * (1 - p) ** (jobs - hits)
        for hits in range(jobs + 1)
        if not Fraction(level - 5, 100) <= Fraction(hits, jobs) <= Fraction(level + 5, 100)
    )
    assert chance_outside(jobs, level / 100) == pytest.approx(float(outside))


def test_the_summary_counts_the_classes_outside_of_the_limits() -> None:
    rows = [
        ("a", "all", 300, 50.0, 90.0, 0.5),
        ("a", "1", 200, 55.0, 95.1, 0.5),
        ("b", "all", 100, 50.0, 90.0, 0.9),
        ("b", "1", 100, 44.9, 85.0, 0.9),
    ]
    columns = ["trace", "gang", "jobs", "covered_50_pct", "covered_90_pct", "loss"]
    losses, half, most = summary(pd.DataFrame(rows, columns=columns))
    assert losses == "Loss over the climatology's, median of 2 logs: 0.70; highest 0.90."
    assert half.startswith("Intervals of 50 %: 1 of 2 classes outside") and "b 1 GPUs" in half
    assert most.startswith("Intervals of 90 %: 1 of 2 classes outside") and "a 1 GPUs" in most


def test_the_page_states_what_the_table_has() -> None:
    page = " ".join((DOCS / "checks/forecasts.md").read_text().split())
    table = pd.read_csv(MEASURED)
    losses = table.loc[table["gang"] == "all", "loss"]
    assert f"{100 * (1 - losses.median()):.0f} % below the climatology on the median" in page
    classes = table[table["gang"] != "all"]
    for level in (50, 90):
        apart = int(((classes[f"covered_{level}_pct"] - level).abs() > 5 + 1e-9).sum())
        assert f"{apart} of {len(classes)} classes of the {level} % intervals" in page


def test_the_log_of_a_simulated_cluster_can_be_repeated(tmp_path: Path) -> None:
    scenario = Scenario(jobs=300, seed=11, load=0.9, failures=20)
    for name in ("a", "b"):
        simulate(scenario, tmp_path / name)
    a, b = ((tmp_path / name / "sacct.txt").read_bytes() for name in ("a", "b"))
    assert a == b
