"""Workload models: fit, samples, files, summaries."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle

from philly_analysis import Trace, fit
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models import load_model, shipped
from philly_analysis.models.parts import Servers
from philly_analysis.models.validation.distances import Jobs, cdf_gap, distances
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import gang_label
from tests.exports.tiny import Row, workload_of
from tests.models.jobs import DATA, JOBS, MODEL, observed
from tests.support.drawn_data import bars, curves, misleading, segments


def test_a_sample_is_a_valid_trace_that_can_be_fitted_again(tmp_path: Path) -> None:
    sample = MODEL.sample(jobs=3_000, seed=1, variation="none")
    sample.to_trace(tmp_path / "t", source="sample")
    with Trace(tmp_path / "t", run_policy="sum") as trace:
        assert trace.manifest.synthetic
        assert any("seed 1" in note for note in trace.manifest.notes)
        again = fit(trace, family="empirical")
    real, ours = Jobs(DATA.jobs), Jobs.of_workload(sample)
    table = distances(real, ours).set_index(["quantity", "gang"])["distance"]
    assert table["gang size"].max() < 0.01
    assert table["run time"].max() < 0.08
    assert table["gang size and run time"].max() < 0.02
    assert again.gang_size.mean() == pytest.approx(MODEL.gang_size.mean(), rel=0.02)
    assert again.duration(1).median() == pytest.approx(MODEL.duration(1).median(), rel=0.1)
    assert again.status and again.status.shares(8)["Failed"] == pytest.approx(0.6, abs=0.06)


@pytest.mark.slow
def test_run_times_are_the_sum_of_attempts_whatever_is_given(tmp_path: Path) -> None:
    # two attempts of 100 s and 300 s with an hour between them: sum 400, span 4,000, last 300
    rows: list[Row] = [
        (f"{i:02}", 1, 900 * i, [(900 * i, 900 * i + 100 + i), (900 * i + 3700, 900 * i + 4000)])
        for i in range(40)
    ]
    folder = workload_of("retried", rows).to_trace(tmp_path / "trace")
    sums = np.sort([400.0 + i for i in range(40)])
    with Trace(folder) as span, Trace(folder, run_policy="last") as last:
        for given in (folder, span, last):
            model = fit(given, family="empirical")
            assert model.run_policy == "sum" and "run time: sum of its attempts" in repr(model)
            assert model.duration().median() == pytest.approx(np.median(sums), abs=2)
            assert "run time: sum of its attempts" in model._repr_html_()
        spans = fit(span, family="empirical", run_policy="span")
        assert spans.run_policy == "span" and spans.duration().median() == pytest.approx(
            4000, abs=2
        )
        assert WorkloadModel.fit(last, run_policy="last").run_policy == "last"
    with pytest.raises(UnknownNameError, match="no run policy named"):
        fit(folder, run_policy="mean")
    with pytest.raises(ModelError, match="have the run policy 'sum', not 'span'"):
        WorkloadModel.fit(DATA, run_policy="span")


def test_attempts_are_successive_and_have_the_run_time() -> None:
    sample = MODEL.sample(jobs=1_000, seed=3)
    attempts = sample.attempts.pl().sort("job_id", "attempt")
    first = attempts.group_by("job_id", maintain_order=True).first()
    jobs = sample.jobs.pl().sort("job_id")
    assert (first["started_at"] == jobs["submitted_at"]).all()
    gap = attempts.select(
        same=pl.col("job_id") == pl.col("job_id").shift(1),
        joined=pl.col("started_at") == pl.col("ended_at").shift(1),
    )
    assert gap.filter(pl.col("same"))["joined"].all()
    assert (attempts["ended_at"] >= attempts["started_at"]).all()
    last = attempts.group_by("job_id", maintain_order=True).last()["end_reason"]
    wanted = jobs["status"].replace_strict({"Pass": "completed", "Failed": "failed"})
    assert (last == wanted).all()
    assert set(attempts.filter(pl.col("attempt") > 1)["job_id"]) <= set(
        jobs.filter(pl.col("status") == "Failed")["job_id"]
    )


def test_virtual_clusters_have_the_fitted_run_times() -> None:
    runs = MODEL.sample(jobs=5_000, seed=2, variation="none")
    frame = Jobs.of_workload(runs).frame.assign(vc=runs.jobs.pl()["vc"].to_numpy())
    real = JOBS.groupby("vc")["run_s"].median()
    ours = frame.groupby("vc")["run_s"].median()
    np.testing.assert_allclose(ours, real, rtol=0.1)


def test_the_cluster_and_the_start_are_those_given() -> None:
    small = MODEL.sample(jobs=500, gpus=8, seed=0)
    assert small.jobs.filter("gpus > 8").shape[0] == 0
    assert small.machines.pl().select("machine_id", "gpus").rows() == [("machine-00001", 8)]
    assert MODEL.sample(jobs=10, gpus=20).frames["machines"]["gpus"].to_list() == [8, 8, 4]
    assert MODEL.sample(jobs=10, gpus=1).frames["machines"]["gpus"].to_list() == [1]
    mixed = replace(MODEL, servers=(Servers(8, 2), Servers(4, 3)))
    assert mixed.cluster_gpus == 28 and MODEL.cluster_gpus is None
    assert mixed.sample(jobs=10).frames["machines"]["gpus"].sum() == 28
    later = MODEL.sample(jobs=10, start=datetime(2024, 1, 1)).jobs.pl()["submitted_at"]
    assert (later >= datetime(2024, 1, 1)).all()


def test_bars_of_gang_sizes_are_their_shares_in_percent() -> None:
    [ax] = MODEL.gang_size.plot().axes
    heights = [bar.get_height() for bar in ax.patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx(100 * np.asarray(MODEL.gang_size.overall.shares))


def test_a_sample_of_no_given_size_spans_28_days() -> None:
    submitted = MODEL.sample(start=datetime(2024, 1, 1)).jobs.pl()["submitted_at"]
    days = set(submitted.dt.date() - date(2024, 1, 1))
    assert days <= {timedelta(days=d) for d in range(28)} and timedelta(days=27) in days


@pytest.mark.parametrize(
    "size",
    [
        {"jobs": 0},
        {"days": -1},
        {"jobs": 5, "gpus": 0},
        {"jobs": 5, "days": 1, "load": 3},
        {"jobs": 5, "start": datetime(2024, 1, 2)},
        {"jobs": 5, "start": datetime(2024, 1, 1, 1)},
        {"jobs": 5, "gpus": 8, "offered": 0},
        {"jobs": 1, "gpus": 8, "offered": 0.5},
    ],
)
def test_impossible_samples_are_errors(size: dict[str, Any]) -> None:
    with pytest.raises(ModelError):
        MODEL.sample(**size)


def test_saving_and_loading(tmp_path: Path) -> None:
    path = MODEL.save(tmp_path / "m.json")
    assert WorkloadModel.load(path) == MODEL == load_model(path)
    with pytest.raises(ModelError, match="no workload model can be read"):
        WorkloadModel.load(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text('{"format": 1, "name": 3}')
    with pytest.raises(ModelError, match=r"bad\.json is not a readable workload model"):
        load_model(tmp_path / "bad.json")
    with pytest.raises(UnknownNameError, match="philly"):
        load_model("phily")


@pytest.mark.parametrize(
    "name",
    [
        n if n in ("philly", "literature") else pytest.param(n, marks=pytest.mark.slow)
        for n in shipped()
    ],
)
def test_every_shipped_model_can_be_sampled_and_plotted(name: str) -> None:
    model = load_model(name)
    work = model.sample(jobs=400, seed=0)
    assert len(work.jobs) == 400
    html = model._repr_html_()
    assert model.name in html and all(s.split("<")[0][:20] in html for s in model.cannot_know[:1])
    assert model.cannot_know and model.sources
    figure = model.plot()
    assert len(figure.axes) == 8 and misleading(figure, cut=True) == []


def test_the_example_of_the_readme() -> None:
    model = load_model("philly")
    assert 0.015 < float(model.gang_size.pmf(8)) < 0.025
    assert model.duration(gpus=8).ppf(0.9) > 86_400
    assert len(model.sample(jobs=10_000, seed=1).jobs) == 10_000
    assert model.failures and model.utilisation and model.locality
    assert model.failures.shares()["CPU out of memory"] == pytest.approx(12_076 / 39_776)
    assert model.utilisation(8, status="Pass").mean() == pytest.approx(49.9, abs=2)
    assert model.locality.of(16).mean() > 2


def test_the_literature_model_is_the_published_distribution() -> None:
    model = load_model("literature")
    assert model.gang_size.pmf([1, 2, 4, 8]).tolist() == [0.70, 0.10, 0.15, 0.05]
    minutes = model.duration(1).ppf([0, 0.4, 0.8, 0.9, 1]) / 60
    np.testing.assert_allclose(np.log10(minutes), [1.5, 2.25, 3, 3.5, 4], atol=1e-4)
    drawn = Jobs.of_workload(model.sample(jobs=20_000, seed=0)).frame
    assert (drawn["run_s"] > 60_000).mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.slow
def test_a_million_jobs_are_sampled() -> None:
    assert load_model("philly").sample(jobs=1_000_000, seed=1).jobs.pl().height == 1_000_000


def test_a_summary_has_units_and_intervals() -> None:
    table = MODEL.summary().set_index(["part", "of", "what"])
    assert table.loc[("arrivals", "", "rate"), "value"] == MODEL.arrivals.rate
    median = table.xs(("run time", "1 GPU", "median"))
    assert median["low"] < median["value"] < median["high"] and median["unit"] == "s"
    assert median["value"] == MODEL.duration(1).median()
    known = table.dropna(subset=["low"])
    assert (known["low"] <= known["value"]).all() and (known["value"] <= known["high"]).all()
    assert table["unit"].notna().all() and table.index.is_unique
    assert ("another month", "", "kinds") in table.index
    for name in shipped():
        assert len(load_model(name).summary()) > 10


@pytest.mark.parametrize("model", [MODEL, load_model("philly")])
def test_the_interval_of_the_rate_is_that_of_a_mean_of_correlated_hours(
    model: WorkloadModel,
) -> None:
    fit = model.arrivals
    correlated = max(1 + 2 * sum(fit.autocorrelation[:168]), 1)
    variance = fit.dispersion * fit.rate * correlated / fit.hours
    table = model.summary()
    rate = table[(table["part"] == "arrivals") & (table["what"] == "rate")]
    low, high = rate["low"].item(), rate["high"].item()
    assert (high - low) / 2 == pytest.approx(1.96 * variance**0.5, rel=1e-3)


def test_a_model_is_compared_with_another_part_by_part() -> None:
    many = JOBS.assign(user=[f"u{i % 60}" for i in range(len(JOBS))])
    model = WorkloadModel.fit(observed(many), family="empirical")
    same = model.compare(model)
    assert (same["distance"] == 0).all()
    twice = many.assign(run_s=many["run_s"] * 2)
    table = model.compare(WorkloadModel.fit(observed(twice), family="empirical"))
    run_time = table[(table["part"] == "run time") & (table["of"] == "1 GPU")].iloc[0]
    assert run_time["other"] == pytest.approx(2 * run_time["value"], rel=0.02)
    real = JOBS.loc[JOBS["gpus"] == 1, "run_s"].to_numpy(float)
    assert run_time["distance"] == pytest.approx(cdf_gap(real, 2 * real), abs=0.02)
    assert run_time["distance"] > run_time["chance"] > 0
    assert table.set_index("part").loc["gang size", "distance"] == 0


@pytest.mark.slow
def test_a_figure_of_a_model_has_a_png_without_inline_plotting() -> None:
    figure = MODEL.plot()
    titles = [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes]
    assert sum("by quantile" in t for t in titles) == 2
    assert sum("by probability" in t for t in titles) == 2
    assert figure.axes[0].collections and figure.axes[1].collections  # bands, and intervals
    assert misleading(figure, cut=True) == []
    runs, by_quantile, by_probability, sizes, week, *_ = figure.axes
    fitted = {gang_label(c.gang): c.distribution for c in MODEL.duration.by_gang}
    levels = np.arange(1, 100)
    named = {label.split("  ")[0]: points for label, points in curves(runs).items()}
    for name, of in fitted.items():
        assert named[name][:, 1] == pytest.approx(100 * of.cdf(named[name][:, 0]))
    named = curves(by_quantile)
    for name, of in fitted.items():
        assert named[name] == pytest.approx(np.column_stack([of.observed, of.ppf(levels / 100)]))
    shown = [points for points in curves(by_probability).values() if len(points) > 2]
    for points, of in zip(shown, fitted.values(), strict=True):
        assert points == pytest.approx(np.column_stack([levels, 100 * of.cdf(of.observed)]))
    dotted = [line for line in runs.lines if line.get_linestyle() == "None"]
    for line, of in zip(dotted, fitted.values(), strict=True):
        every = np.column_stack([of.observed[4::5], levels[4::5]])
        assert np.asarray(line.get_xydata(), float) == pytest.approx(every)
    shares = MODEL.gang_size.overall
    assert bars(sizes)[""] == pytest.approx(
        {str(g): 100 * p for g, p in zip(shares.sizes, shares.shares, strict=True)}
    )
    whiskers = segments(sizes)[0][:, :, 1]
    assert whiskers == pytest.approx(100 * np.column_stack([shares.low, shares.high]))
    [rates] = curves(week).values()
    assert rates == pytest.approx(np.column_stack([range(168), MODEL.arrivals.rate_per_h]))
    drawn = figure._repr_png_()  # type: ignore[attr-defined]
    assert drawn.startswith(b"\x89PNG")
