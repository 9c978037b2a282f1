"""Check headlines by source of jobs: the simulations, the verdicts and the page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis import experiment, load_model
from philly_analysis.errors import InputError
from philly_analysis.experiments import conclusions
from philly_analysis.experiments.effects import ARM
from philly_analysis.experiments.headlines import GPUS, HEADLINES, MEASURES, outcomes
from philly_analysis.experiments.job_sources import EnsembleJobs, ModelJobs, TraceJobs
from philly_analysis.workload import JobSpec
from philly_analysis.workload.load import load_of, stretch_to_load
from tests.experiments.test_increments import interval
from tests.experiments.test_systems import queue_jct_h
from tests.simulator.drawn import job
from tests.simulator.literature import literature


def test_months_of_every_source_offer_the_load() -> None:
    months = load_model("literature").sample(jobs=80, gpus=64, seeds=(3,))
    sources = (
        ModelJobs(load_model("itp-01").sample),
        EnsembleJobs(months),
        TraceJobs(literature(200, 64, 1)),
    )
    drawn = sources[0](500, 64, 1)
    assert len(drawn) == 500 and load_of(drawn, 64) == pytest.approx(1, rel=0.001)
    for source in sources:
        month = source.month(64, 0.7, 3)
        assert load_of(month, 64) == pytest.approx(0.7, rel=0.001)
        assert max(s.gpus for s in month) <= 64
    assert len(sources[1].month(64, 0.7, 3)) == 80


def test_arms_run_the_same_jobs_and_fifo_is_a_queue() -> None:
    month = stretch_to_load(
        [job(s.job_id, s.submit_s, 1, s.run_s) for s in literature(600, 64, 2)], 1.1, GPUS
    )
    found = outcomes(month, seed=2)
    assert {m[0] for m in found.values()} == {600}
    jct_h = {arm: values[MEASURES.index("mean_jct_h")] for arm, values in found.items()}
    assert jct_h["FIFO"] == pytest.approx(queue_jct_h(month, lambda _: 1.0, GPUS, (0, 600)))
    # jobs of one GPU never block, and shortest remaining time first minimises the mean
    assert jct_h["FIFO with backfill"] == pytest.approx(jct_h["FIFO"])
    assert jct_h["SRTF"] <= min(jct_h["FIFO"], jct_h["LAS"]) * (1 + 1e-9)
    assert np.mean([s.run_s for s in month]) / 3600 <= jct_h["SRTF"] * (1 + 1e-9)


def table(gains: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return trials in which every headline has the given gains, by source and month."""
    rows = []
    for setting, months in gains.items():
        for seed, gain in enumerate(months):
            for headline in HEADLINES.values():
                better = gain if headline.more else 1 / gain
                # headlines with a common baseline: its measures are 1
                for arm, value in ((headline.arm, better), (headline.against, 1.0)):
                    rows.append((setting, 0.9, arm, seed, 10, value, value, value))
    return pd.DataFrame(rows, columns=[*ARM, *MEASURES]).drop_duplicates([*ARM])


def test_verdicts_and_intervals_over_months() -> None:
    gains = {
        "literature": [1.9, 2.0, 2.1, 2.0],
        "same": [2.1, 1.9, 2.0, 2.02],
        "more": [8.0, 9.0, 8.5, 9.5],
        "less": [1.2, 1.25, 1.3, 1.22],
        "other way": [0.7, 0.8, 0.75, 0.72],
        "either": [0.6, 1.9, 0.8, 1.4],
    }
    # headlines without arms in common
    found = conclusions.verdicts(table(gains)).set_index(["headline", "jobs_of"])
    for name in ("Synergy", "Amoeba", "Tiresias' LAS"):
        assert found.loc[name]["verdict"].to_dict() == {
            "literature": conclusions.BASELINE,
            "same": "survives",
            "more": "survives, larger",
            "less": "shrinks",
            "other way": "turns",
            "either": "cannot be said",
        }
        expected = [1 + pct / 100 for pct in interval(gains["less"], [1, 1, 1, 1])]
        rows = found.loc[name]
        assert list(rows.loc["less", ["gain", "low", "high"]]) == pytest.approx(expected)
        assert (
            rows["better_months"].to_dict() | {"less": 4, "either": 2}
            == rows["better_months"].to_dict()
        )


@pytest.mark.parametrize(("months", "said"), [(3, "3 months"), (2, "2 to 3 months")])
def test_the_first_sentence_counts_the_months_of_each_source(months: int, said: str) -> None:
    trials = table({"literature": [2.0, 2.1, 2.2], "philly": [1.0, 9.0, 2.0][:months]})
    assert f"at a load of 0.9, {said} of each)" in conclusions.result_of(trials).sentences[0]


def test_two_months_have_no_verdict() -> None:
    found = conclusions.verdicts(table({"literature": [2.0, 2.1], "philly": [1.0, 9.0]}))
    assert found["low"].isna().all()
    assert set(found["verdict"]) == {conclusions.BASELINE, "cannot be said"}


def test_cells_of_the_table_have_the_gain_its_interval_and_the_verdict() -> None:
    found = conclusions.verdicts(table({"literature": [2.0] * 3, "philly": [1.5] * 3}))
    shown = conclusions.verdict_table(found)
    assert set(shown["the generator"]) == {"2.00 times (2.00 to 2.00)"}
    assert set(shown["philly"]) == {"1.50 times (1.50 to 1.50): shrinks"}


def test_printed_gains_have_a_source() -> None:
    for headline in HEADLINES.values():
        assert (headline.printed is None) == (headline.source == "")
        assert headline.printed is None or headline.printed > 1


@pytest.mark.slow
def test_the_page_has_a_row_per_headline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def quick(month: Sequence[JobSpec], seed: int) -> dict[str, tuple[float, ...]]:
        asked.append((len(month), seed))
        arms = {a for h in HEADLINES.values() for a in (h.arm, h.against)}
        return {
            arm: (len(month), 1.0 + seed + i, 30.0 + i, 40.0) for i, arm in enumerate(sorted(arms))
        }

    monkeypatch.setattr(conclusions, "outcomes", quick)
    months = load_model("itp-01").sample(jobs=20, gpus=64, seeds=(4, 7, 5))
    experiment(["conclusions"], models=[months], seeds=3, out=tmp_path)
    page = tmp_path / "conclusions" / "report.html"
    assert [seed for _, seed in asked] == [1, 2, 3, 4, 7, 5]
    assert {n for n, seed in asked[3:]} == {20}
    text = page.read_text("utf-8")
    for headline in HEADLINES.values():
        assert headline.phrase in text
    assert text.count("No printed number") >= 3
    found = pd.read_csv(page.parent / "verdicts.csv")
    assert list(found.groupby("headline", sort=False).size()) == [2] * len(HEADLINES)
    assert len(pd.read_csv(page.parent / "tables" / "conclusions.csv")) == len(asked) * 10
    with pytest.raises(InputError, match="alone"):
        experiment(["conclusions", "amoeba"], out=tmp_path)
