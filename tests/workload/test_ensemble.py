"""Check ensembles: draws by seed, offered loads, what-ifs of every draw."""

import pickle
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from philly_analysis import Ensemble, Trace, load_model, simulate
from philly_analysis.errors import ModelError, WorkloadError
from philly_analysis.models.library import shipped
from philly_analysis.parallel import open_executor
from philly_analysis.workload import Workload, seeds_of
from philly_analysis.workload.outcomes import measures
from tests.support.slow import quick_first

MODEL = load_model("itp-01")


def span_s(drawn: Workload) -> float:
    since = drawn.jobs.pl()["submitted_at"] - drawn.jobs.pl()["submitted_at"].min()
    return float(since.dt.total_seconds().max())


def test_equal_seeds_give_equal_workloads() -> None:
    months = MODEL.sample(jobs=40, gpus=64, seeds=range(3, 6))
    assert len(months) == 3 and months.seeds == (3, 4, 5) and months.name == "itp-01"
    alone = [MODEL.sample(jobs=40, gpus=64, seed=seed) for seed in (3, 4, 5)]
    again = pickle.loads(pickle.dumps(months))  # noqa: S301 - our own bytes
    for drawn in (list(months), list(again), [months.of_seed(s) for s in months.seeds]):
        assert all(
            a.attempts.pl().equals(b.attempts.pl()) for a, b in zip(drawn, alone, strict=True)
        )
    assert isinstance(months[1:], Ensemble) and months[1:].seeds == (4, 5)
    assert months[-1].jobs.pl().equals(alone[-1].jobs.pl())
    assert not alone[0].attempts.pl().equals(alone[1].attempts.pl())
    assert repr(months).startswith("Ensemble('itp-01', 3 seeds from 3, jobs=40, load=1.0, gpus=64,")


def test_a_draw_has_28_days_by_default() -> None:
    [month] = load_model("philly-attempts").sample(seeds=(1,))
    assert 25 < span_s(month) / 86_400 <= 28


def test_a_number_of_seeds_is_the_first_seeds() -> None:
    assert MODEL.sample(jobs=10, seeds=3).seeds == (0, 1, 2)
    assert seeds_of(np.int64(1)) == (0,) and seeds_of(np.array([4, 2])) == (4, 2)
    assert seeds_of(n for n in (7,)) == (7,)


@pytest.mark.parametrize("seeds", [(), (1, 2, 1), 0, -1, [-1], "3", 1.5, [1.5], [True, None]])
def test_missing_repeated_or_other_seeds_raise(seeds: Any) -> None:
    with pytest.raises(WorkloadError, match=r"different integers of 0 or more .* not"):
        seeds_of(seeds)
    with pytest.raises(WorkloadError, match="different integers"):
        MODEL.sample(jobs=10, seeds=seeds)


@pytest.mark.parametrize("name", quick_first(shipped()))
def test_draws_offer_the_requested_load(name: str) -> None:
    sizes: tuple[tuple[float, dict[str, Any]], ...] = ((1.2, {"jobs": 400}), (0.8, {"days": 7}))
    for offered, size in sizes:
        begin = datetime(2026, 1, 5)
        drawn = load_model(name).sample(gpus=64, offered=offered, seed=2, start=begin, **size)
        # GPU-seconds of the jobs over GPU-seconds of 64 GPUs from the first submission to the last
        ran = (
            drawn.attempts.pl()
            .select(
                s=((pl.col("ended_at") - pl.col("started_at")).dt.total_seconds() * pl.col("gpus"))
            )["s"]
            .sum()
        )
        assert float(ran) / (64 * span_s(drawn)) == pytest.approx(offered, abs=0.005)
        at = drawn.jobs.pl()["submitted_at"]
        assert at.is_sorted() and at[0] >= begin
        assert size.get("jobs", len(drawn.jobs)) == len(drawn.jobs)
        if "days" in size and name != "thetagpu":  # where there are days without a job
            assert span_s(drawn) / 86_400 == pytest.approx(7, rel=0.35)


def test_conflicting_or_undefined_loads_raise() -> None:
    literature = load_model("literature")
    sizes: tuple[dict[str, Any], ...] = ({"jobs": 10, "days": 1}, {"jobs": 10, "load": 2.0})
    for size in sizes:
        with pytest.raises(ModelError, match="leave one out"):
            literature.sample(gpus=8, offered=0.5, **size)
    with pytest.raises(ModelError, match="does not know its cluster"):
        literature.sample(jobs=10, offered=0.5)
    with pytest.raises(ModelError, match="above 0"):
        literature.sample(jobs=10, gpus=8, offered=-1)


@pytest.mark.slow
def test_a_what_if_of_an_ensemble_is_that_of_each_draw(tmp_path: Path) -> None:
    months = load_model("literature").sample(jobs=60, gpus=16, offered=1.1, seeds=(5, 2, 8))
    simulated = simulate(months, "fifo", tmp_path / "all", cluster=16)
    mean_s = []
    for seed in months.seeds:
        with Trace(tmp_path / "all" / f"seed-{seed}") as trace:
            mean_s.append(measures(trace)["mean_wait_s"])
    alone = simulate(months[1], "fifo", tmp_path / "alone", cluster=16, seed=2)
    for table in ("jobs", "attempts", "placements"):
        one, other = (
            pl.read_parquet(f / f"{table}.parquet") for f in (alone.path, tmp_path / "all/seed-2")
        )
        assert one.equals(other)
    [row] = simulated.table[simulated.table["measure"] == "mean_wait_s"].to_dict("records")
    half = t.ppf(0.975, 2) * np.std(mean_s, ddof=1) / np.sqrt(3)
    mean = np.mean(mean_s)
    expected = [mean * np.exp(d / mean) for d in (0, -half, half)]  # positive, whatever the width
    assert [row[c] for c in ("mean", "low", "high")] == pytest.approx(expected)
    assert [row["p5"], row["p95"]] == pytest.approx(np.quantile(mean_s, [0.05, 0.95]))
    assert simulated.fact("mean_wait_s") == pytest.approx(np.mean(mean_s))
    assert "3 months" in simulated.sentences[1]


@pytest.mark.slow
def test_processes_give_the_same_draws(tmp_path: Path) -> None:
    months = MODEL.sample(jobs=60, gpus=64, offered=0.9, seeds=(1, 2, 3))
    here = simulate(months, "las", tmp_path / "here", cluster=64)
    with open_executor(2) as executor:
        there = simulate(months, "las", tmp_path / "there", cluster=64, executor=executor)
    assert there.table.equals(here.table)
    files = sorted(p.relative_to(tmp_path / "here") for p in tmp_path.glob("here/*/*.parquet"))
    assert files
    for file in files:
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()
