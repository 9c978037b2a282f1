"""Draw the pictures of models, what-ifs and statistics that the pages show.

``PYTHONPATH=. python docs/pictures.py`` draws the pictures of the README, after ``make reports``.
"""

import io
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

from docs import measured, statistics_pictures
from philly_analysis import (
    Trace,
    advise,
    compare,
    forecast,
    load_model,
    simulate,
    sweep,
)
from philly_analysis.atlas import evaluate, shipped_answers
from philly_analysis.atlas.overview import PHONE, Layout, order
from philly_analysis.atlas.overview import plot as plot_atlas
from philly_analysis.models import month_outlook
from philly_analysis.results import Result, figures
from tests.bench import history

GPUS = 128
"""GPUs of the simulated cluster."""
_POLICIES = ("fifo", "easy", "srtf")

CAPTIONS = {
    "trace": ("What a trace holds: submissions, allocated GPUs, queueing delay", "python"),
    "gantt": ("Servers through the busiest day, by virtual cluster", "python"),
    "workload": ("A month of jobs, sampled from a model", "fit-a-model"),
    "outlook": ("Jobs and GPU hours of another month", "fit-a-model"),
    "model": ("A workload model beside the data that it was fitted to", "fit-a-model"),
    "job_size": ("Gang sizes of a model, with 95 % intervals", "models"),
    "run_time": ("Run times of 8-GPU jobs: model, data, quantiles", "models"),
    "comparison": ("The same jobs under three policies", "what-if"),
    "sweep": ("Policies and loads compared in pairs, with intervals", "what-if"),
    "forecast": ("When a job starts, by gang size", "forecast"),
    "advice": ("The gain of each lever, and who loses", "advise"),
    "causes": ("The four states of a wait", "statistics/waits"),
    "clusters": ("Intervals of dependent jobs: naive, and by user", "statistics/intervals"),
    "censoring": ("Run times with jobs that still run", "statistics/run-times"),
    "shrinkage": ("Classes of few jobs, shrunk towards all jobs", "statistics/shrinkage"),
    "rates": ("Intervals of a failure rate, by number of failures", "statistics/rates"),
    "percentiles": ("The interval of a percentile", "statistics/percentiles"),
    "verdicts": ("Intervals and verdicts", "statistics/resampling"),
    "held_out": ("Samples of models beside other real jobs", "checks/models"),
    "coverage": ("Coverage of 90 % intervals for the next window", "checks/variation"),
    "forecasts": ("Coverage of forecast intervals, by log", "checks/forecasts"),
    "switch": ("Predicted and realised gains of backfilling", "checks/advice"),
    "conclusions": ("Published gains on the jobs of other clusters", "checks/conclusions"),
    "stated_reasons": ("Reasons of waiting that Slurm states", "checks/slurm-lab"),
    "costs": ("Costs of the benchmark, by commit", "cost"),
}
"""Caption of each picture, and the page that it belongs to."""


def write(folder: Path, sample: Trace) -> None:
    """Write every picture as SVG into a folder, named as in `CAPTIONS`.

    Parameters
    ----------
    sample
        The bundled sample; the model is the one of Philly's jobs that the package ships.
    """
    model = load_model("philly")
    month = model.sample(1_000, gpus=GPUS, offered=0.8, seed=1)
    runs = {policy: simulate(month, policy, cluster=GPUS) for policy in _POLICIES}
    drawn: dict[str, Callable[[], Figure]] = {
        "trace": sample.plot,
        "gantt": lambda: sample.gantt(by="vc"),
        "workload": month.plot,
        "outlook": month_outlook(model)[0].plot,
        "model": model.plot,
        "job_size": model.job_size.plot,
        "run_time": model.duration(gpus=8).plot,
        "comparison": compare(runs).plot,
        "sweep": sweep(
            model, list(_POLICIES), cluster=GPUS, loads=[0.8, 1.0], seeds=range(3), jobs=1_000
        ).plot,
        "forecast": lambda: forecast(sample, gpus=4).result.plot(),
        "advice": advise(sample).plot,
        "causes": statistics_pictures.causes,
        "clusters": statistics_pictures.clusters,
        "censoring": statistics_pictures.censoring,
        "shrinkage": statistics_pictures.shrinkage,
        "rates": statistics_pictures.rates,
        "percentiles": statistics_pictures.percentiles,
        "verdicts": statistics_pictures.verdicts,
        "held_out": measured.held_out,
        "coverage": measured.coverage,
        "conclusions": measured.conclusions,
        "forecasts": measured.forecasts,
        "switch": measured.switch,
        "stated_reasons": measured.stated_reasons,
    }
    for name, draw in drawn.items():
        (folder / f"{name}.svg").write_text(figures.svg(draw()), "utf-8")
    costs = history.draw(pd.read_csv(history.HISTORY, dtype={"commit": str}))
    (folder / "costs.svg").write_text(costs, "utf-8")


def write_readme(folder: Path, page: Path) -> None:
    """Write the README's pictures as PNG in 64 colours, each for a light and a dark page.

    Parameters
    ----------
    page
        The sample's report, whose first screen Chromium draws.
    """
    atlas = evaluate([], shipped=shipped_answers())
    drawn = {
        "atlas": atlas.result().plot(),
        "atlas-phone": plot_atlas(atlas.table, atlas.result(), PHONE),
        "atlas-excerpt": _excerpt(atlas.table, atlas.result()),
    }
    for name, figure in drawn.items():
        written = io.BytesIO()
        figure.savefig(written, dpi=200)
        light = Image.open(written).convert("RGB")
        _save(light, folder / f"{name}.png")
        _save(_dark(light), folder / f"{name}-dark.png")
    for name, scheme in (("page", 1), ("page-dark", 0)):
        with TemporaryDirectory() as profile:
            shot = Path(profile, "shot.png")
            words = [f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={shot}"]
            words += ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1200,770"]
            words += ["--force-device-scale-factor=1.5", f"--user-data-dir={profile}"]
            command = ["chromium", *words, page.resolve().as_uri()]
            subprocess.run(command, check=True)  # noqa: S603 - our own page
            _save(Image.open(shot).convert("RGB"), folder / f"{name}.png")


def _excerpt(table: pd.DataFrame, result: Result) -> Figure:
    """Draw the claims and clusters of most verdicts, which a page can show at a readable size."""
    answers = table.dropna(subset=["effect"])
    claims, clusters = order(answers, "claim")[:12], order(answers, "cluster")[:10]
    some = answers[answers["claim"].isin(claims) & answers["cluster"].isin(clusters)]
    figure = plot_atlas(some, result, Layout(row=0.27, column=0.36, labels=2.7, edges=1.35))
    [ax] = figure.axes
    ax.set_xlabel("")
    return figure


def _dark(picture: Image.Image) -> Image.Image:
    """Return a picture for a dark page: inverted, with hues kept, as `custom.css` does."""
    inverted = 0.05 + 0.9 * (1 - np.asarray(picture) / 255)
    grey = inverted @ (0.213, 0.715, 0.072)
    turned = np.clip(2 * grey[..., None] - inverted, 0, 1)
    return Image.fromarray((255 * turned).round().astype(np.uint8))


def _save(picture: Image.Image, path: Path) -> None:
    picture.quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    report = root / "reports" / "sample" / "report.html"
    write_readme(Path(__file__).parent / "static", report)
