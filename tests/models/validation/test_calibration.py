"""Distances of samples from held-out jobs, and the findings on them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis import Trace
from philly_analysis.errors import ModelError
from philly_analysis.models import load_model
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation import calibration, philly_like
from philly_analysis.models.validation.baselines import lublin_feitelson
from philly_analysis.models.validation.calibration import (
    REAL_PART,
    WORKLOAD_MODEL,
    calibrate,
    held_out,
    plot,
)
from philly_analysis.models.validation.distances import Jobs, cdf_gap, distances
from philly_analysis.models.validation.splits import SPLITS
from philly_analysis.models.workload_model import WorkloadModel
from tests.models.jobs import DATA, JOBS, observed
from tests.support.drawn_data import curves, misleading
from tests.support.facts import number


def test_the_older_model_makes_run_times_longer_with_the_gang_as_fitted() -> None:
    rng = np.random.default_rng(1)
    gpus = 2 ** rng.integers(0, 5, 4_000)
    is_short = rng.random(gpus.size) < 0.9 - 0.05 * gpus
    run_s = np.where(is_short, rng.lognormal(3, 0.4, gpus.size), rng.lognormal(9, 0.4, gpus.size))
    at = np.sort(rng.uniform(0, 30 * 86_400, gpus.size))
    jobs = pd.DataFrame({"submitted_s": at, "gpus": gpus, "run_s": run_s})
    drawn = lublin_feitelson(jobs, 30 * 86_400)(20_000, np.random.default_rng(2))
    for size in (1, 4, 16):
        long = (drawn.loc[drawn["gpus"] == size, "run_s"] > 400).mean()
        assert long == pytest.approx(0.1 + 0.05 * size, abs=0.05), size
    log_run = np.log(drawn["run_s"])
    for part, mean in ((log_run[log_run < 6], 3), (log_run[log_run >= 6], 9)):
        assert part.mean() == pytest.approx(mean, abs=0.03)
        assert part.std() == pytest.approx(0.4, rel=0.1)


def test_distances_by_hand() -> None:
    assert cdf_gap(np.array([1.0, 2.0]), np.array([1.0, 3.0])) == 0.5
    assert cdf_gap(np.array([1.0, 2.0]), np.array([5.0])) == 1.0
    same = distances(Jobs(DATA.jobs), Jobs(DATA.jobs))
    assert (same["distance"] == 0).all()
    half = DATA.jobs.assign(gpus=np.where(np.arange(len(DATA.jobs)) % 2, 1, DATA.jobs["gpus"]))
    moved = distances(Jobs(DATA.jobs), Jobs(half)).set_index("quantity")["distance"]
    wanted = (half["gpus"] == 1).mean() - (DATA.jobs["gpus"] == 1).mean()
    assert moved["gang size"] == pytest.approx(wanted)
    few = distances(Jobs(DATA.jobs.assign(gpus=1).head(30)), Jobs(DATA.jobs.assign(gpus=1)))
    assert few["jobs"].iloc[0] == 30 and few["quantity"].iloc[0] == "run time"
    fewer = distances(Jobs(DATA.jobs.assign(gpus=1)), Jobs(DATA.jobs.assign(gpus=1).head(29)))
    assert "run time" not in set(fewer["quantity"])


@pytest.mark.parametrize("split", [s for s in SPLITS if s != "none"])
def test_splits_partition_the_jobs(split: str) -> None:
    a, b, part = SPLITS[split].parts(DATA)
    assert len(a.frame) + len(b.frame) == len(DATA.jobs)
    assert len(part.jobs) == len(a.frame) > 0
    for half in (a, b):
        if half.windows is not None:
            at = half.frame["submitted_s"].to_numpy()[:, None]
            inside = (at >= half.windows[:, 0]) & (at < half.windows[:, 1])
            assert (inside.sum(axis=1) == 1).all()


def test_held_out_distances_of_a_stationary_process_are_those_of_real_jobs() -> None:
    table = held_out(DATA, "jobs", family="empirical").set_index(["model", "quantity", "gang"])
    ours, real = table.loc[WORKLOAD_MODEL]["distance"], table.loc[REAL_PART]["distance"]
    assert (ours <= real + 0.05).all() and len(ours) >= 5
    assert ours["gang size", "all"] < 0.04
    lognormal = table.loc["one log-normal, Poisson"]["distance"]
    joint = ("gang size and run time", "all")
    assert ours[joint] < lognormal[joint]


NO_JOBS = "0 jobs with a known gang and run time"
HALF = JOBS["run_s"].where(JOBS["submitted_s"] < JOBS["submitted_s"].median())


@pytest.mark.parametrize(
    ("frame", "words", "caveat"),
    [
        (JOBS.head(0), "has 0 jobs", NO_JOBS),
        (JOBS.head(1), "has 1 job with", "1 job with a known gang and run time"),
        (JOBS.head(40), "", "jobs with a run time to fit to"),
        (JOBS.assign(run_s=HALF), "", "Not measured by halves"),
        (JOBS.assign(gpus=0), r"has 0 jobs.*no GPUs", NO_JOBS),
        (JOBS.assign(censored=True), "0 of 3000 jobs", "jobs have a known end"),
        (JOBS.assign(run_s=0.0), "all 3000 run times are zero", "run times are zero"),
        (JOBS.assign(run_s=np.nan), "no jobs with a known gang and run time", NO_JOBS),
        (JOBS.assign(submitted_s=5.0), *["all submissions fall in one hour"] * 2),
    ],
)
def test_jobs_that_cannot_be_fitted_or_held_out_are_errors(
    frame: pd.DataFrame, words: str, caveat: str
) -> None:
    if words:
        with pytest.raises(ModelError, match=words):
            WorkloadModel.fit(observed(frame), family="empirical")
    result = calibrate(observed(frame), family="empirical", splits=("halves", "jobs"))
    assert any(caveat in text for text in result.caveats), result.caveats
    if caveat != "Not measured by halves":  # a random half has known run times
        assert result.table.empty and not result.facts
        assert "No part of these jobs" in result.sentences[0]
        assert len(plot(result).axes) == 1


@pytest.mark.slow
def test_the_calibration_result_and_its_figure() -> None:
    result = calibrate(observed(JOBS.head(900)), family="empirical")
    assert set(result.table["split"]) == set(SPLITS)
    assert 0 < number(result, "distances_within_limit") <= number(result, "distances_limited")
    assert len(plot(result).axes) == len(SPLITS)


@pytest.mark.slow
def test_the_page_measures_on_the_latest_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = load_model("philly").sample(jobs=500, seed=1).to_trace(tmp_path / "t", source="sample")
    monkeypatch.setattr(calibration, "MAX_JOBS", 300)
    with Trace(path) as trace:
        result, data = calibration.compute(trace), Observations.of_trace(trace)
    cut = data.jobs["submitted_s"].sort_values().iloc[-300]
    latest = data.where(data.jobs["submitted_s"] >= cut)
    assert len(latest.jobs) == 300
    expected = calibrate(latest, splits=("halves", "jobs"))
    pd.testing.assert_frame_equal(result.table, expected.table)
    assert result.caveats == ("Measured on the last 300 jobs of 500.", *expected.caveats)


def test_the_generator_is_far_from_philly_and_the_fitted_model_is_not() -> None:
    result = philly_like.compare()
    assert number(result, "philly_run_time_gap_1") < 0.03
    assert number(result, "literature_run_time_gap_1") > 0.5
    assert result.fact("philly_gang_size_variation") == 0
    assert number(result, "literature_hourly_dispersion") < 2
    assert number(result, "real_hourly_dispersion") > 2
    figure = philly_like.plot(result)
    assert misleading(figure, cut=True) == []
    *runs, sizes, gaps = figure.axes
    of = dict(iter(result.table.groupby("what", sort=False)))
    panels = [rows for _, rows in of["run time"].groupby("gang", sort=False)]
    panels += [of["gang size"], of["gap between arrivals"]]
    least = [0.0] * len(runs) + [0.0, 0.5]
    for ax, rows, shortest in zip((*runs, sizes, gaps), panels, least, strict=True):
        drawn = curves(ax)
        assert drawn.keys() == set(rows["source"])
        for source, own in rows.groupby("source"):
            points = own[["value", "percentile"]].to_numpy(float)
            assert drawn[str(source)][:, 1] == pytest.approx(points[:, 1])
            assert drawn[str(source)][:, 0] == pytest.approx(points[:, 0].clip(shortest))
