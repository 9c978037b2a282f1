"""Draw the pictures of models, what-ifs and statistics that the pages show.

``PYTHONPATH=. python docs/pictures.py`` draws the README's picture of the atlas.
"""

import io
from collections.abc import Callable
from pathlib import Path

import measured
import pandas as pd
import statistics_pictures
from matplotlib.figure import Figure
from PIL import Image

from philly_analysis import Trace, advise, compare, load_model, simulate, sweep
from philly_analysis.atlas import evaluate, shipped_answers
from philly_analysis.results import figures
from tests.bench import history

GPUS = 128
"""GPUs of the simulated cluster."""
_POLICIES = ("fifo", "easy", "srtf")

CAPTIONS = {
    "trace": ("What a trace holds: submissions, allocated GPUs, queueing delay", "python"),
    "workload": ("A month of jobs, sampled from a model", "fit-a-model"),
    "model": ("A workload model beside the data that it was fitted to", "fit-a-model"),
    "job_size": ("Gang sizes of a model, with 95 % intervals", "models"),
    "run_time": ("Run times of 8-GPU jobs: model, data, quantiles", "models"),
    "comparison": ("The same jobs under three policies", "what-if"),
    "sweep": ("Policies and loads compared in pairs, with intervals", "what-if"),
    "advice": ("The gain of each lever, and who loses", "advise"),
    "causes": ("The four states of a wait", "statistics/waits"),
    "clusters": ("Intervals of dependent jobs: naive, and by user", "statistics/intervals"),
    "censoring": ("Run times with jobs that still run", "statistics/run-times"),
    "shrinkage": ("Classes of few jobs, shrunk towards all jobs", "statistics/shrinkage"),
    "rates": ("Intervals of a failure rate, by number of failures", "statistics/rates"),
    "held_out": ("Samples of models beside other real jobs", "checks/models"),
    "coverage": ("Coverage of 90 % intervals for the next window", "checks/variation"),
    "conclusions": ("Published gains on the jobs of other clusters", "checks/conclusions"),
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
    runs = {policy: simulate(month, policy, gpus=GPUS) for policy in _POLICIES}
    drawn: dict[str, Callable[[], Figure]] = {
        "trace": sample.plot,
        "workload": month.plot,
        "model": model.plot,
        "job_size": model.job_size.plot,
        "run_time": model.duration(gpus=8).plot,
        "comparison": compare(runs).plot,
        "sweep": sweep(
            model, list(_POLICIES), gpus=GPUS, loads=[0.8, 1.0], seeds=3, jobs=1_000
        ).plot,
        "advice": advise(sample).plot,
        "causes": statistics_pictures.causes,
        "clusters": statistics_pictures.clusters,
        "censoring": statistics_pictures.censoring,
        "shrinkage": statistics_pictures.shrinkage,
        "rates": statistics_pictures.rates,
        "held_out": measured.held_out,
        "coverage": measured.coverage,
        "conclusions": measured.conclusions,
    }
    for name, draw in drawn.items():
        (folder / f"{name}.svg").write_text(figures.svg(draw()), "utf-8")
    costs = history.draw(pd.read_csv(history.HISTORY, dtype={"commit": str}))
    (folder / "costs.svg").write_text(costs, "utf-8")


def write_atlas(path: Path) -> None:
    """Write the picture of the answers that the package ships, in 64 colours."""
    drawn = io.BytesIO()
    evaluate([], shipped=shipped_answers()).result().plot().savefig(drawn, dpi=200)
    Image.open(drawn).convert("RGB").quantize(64).save(path, optimize=True)


if __name__ == "__main__":
    write_atlas(Path(__file__).parent / "static" / "atlas.png")
