"""Check what a model's page states against samples of the model and its distributions."""

from pathlib import Path

import numpy as np
import pytest

from philly_analysis import load_model, report
from philly_analysis.errors import InputError
from philly_analysis.models.outlook import month_outlook
from philly_analysis.results import Result

MODEL = load_model("itp-06")


@pytest.fixture(scope="module")
def demand() -> Result:
    return month_outlook(MODEL)[0]


def test_the_fitted_month_has_the_fitted_rate_and_gang_sizes(demand: Result) -> None:
    fitted = demand.table[demand.table["period"] == 0].set_index("gang")
    assert fitted["jobs"].sum() == pytest.approx(MODEL.arrivals.rate * 24 * 28)
    sizes = MODEL.gang_size.overall
    wide = sum(s for g, s in zip(sizes.sizes, sizes.shares, strict=True) if g > 8)
    assert fitted["jobs"][">8"] / fitted["jobs"].sum() == pytest.approx(wide)
    # the run times of classes stand for those of jobs
    drawn = MODEL.sample(days=28, seeds=range(8), variation="none")
    gpu_h = [sum(s.gpus * s.run_s for s in month.specs()) / 3600 for month in drawn]
    assert fitted["gpu_h"].sum() == pytest.approx(float(np.mean(gpu_h)), rel=0.25)


@pytest.mark.slow
def test_drawn_months_have_the_jobs_of_samples(demand: Result) -> None:
    jobs = [len(month) for month in MODEL.sample(days=28, seeds=range(1_000, 1_040))]
    low, high = (demand.facts[f"{end}_jobs"] for end in ("low", "high"))
    assert isinstance(low, float) and isinstance(high, float)
    inside = sum(low <= n <= high for n in jobs)
    assert 30 <= inside < 40  # of a binomial number with mean 36
    assert f"{float(f'{low:.2g}'):,.0f} to {float(f'{high:.2g}'):,.0f} jobs" in demand.sentences[0]


def test_drawn_changes_are_those_of_the_table(demand: Result) -> None:
    jobs = demand.table.groupby("period", sort=False)["jobs"].sum()
    changes = 100 * (jobs[1:] / jobs[0] - 1)
    [left, *_] = demand.plot().axes
    drawn = [np.asarray(line.get_xdata(), float) for line in left.lines]
    [middle] = np.quantile(changes, [0.5])
    assert any(len(x) == 1 and x[0] == pytest.approx(middle) for x in drawn)


@pytest.mark.slow
def test_run_times_and_submissions_are_the_distributions() -> None:
    _, run_times, submissions = month_outlook(MODEL)
    assert run_times.facts.median_run_s == pytest.approx(float(MODEL.duration().median()))
    table = submissions.table.set_index("hour_of_week")["jobs_per_h"]
    days = table.groupby(table.index // 24).mean()
    names = ["Mon", "Tues", "Wednes", "Thurs", "Fri", "Satur", "Sun"]
    most, least = int(days.to_numpy().argmax()), int(days.to_numpy().argmin())
    assert f"submitted on {names[most]}days" in submissions.sentences[0]
    assert f"on {names[least]}days." in submissions.sentences[0]


def test_a_generator_without_variation_and_rhythm() -> None:
    demand, _, submissions = month_outlook(load_model("literature"))
    assert len(demand.table) == 4
    assert demand.sentences[0].startswith("Another month brings 21,000 jobs and")
    assert list(submissions.sentences) == [
        "31.5 jobs are submitted per hour, on every day.",
        "Submissions are independent of each other.",
    ]


def test_the_page_opens_with_three_answers(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "model.json")
    page = report(tmp_path / "model.json", tmp_path / "reports")
    assert page.path == tmp_path / "reports" / "itp-06" / "report.html"
    assert page.html.count('<section class="card"') == 3
    first = page.html.index('<p class="answer">Another month brings')
    assert first < page.html.index("<svg") < page.html.index("predictive distribution")
    assert {f.name for f in (page.path.parent / "tables").iterdir()} == {
        f"{name}.csv" for name in ("demand", "run_times", "submissions", "fit")
    }
    with pytest.raises(InputError, match="is a model"):
        report(MODEL, tmp_path, run_policy="last")
