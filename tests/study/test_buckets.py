"""Other gang buckets are one changed line of study/terms.py: tables, figures and models follow."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import philly_analysis
from philly_analysis.report.findings import ANALYSES
from tests.support.clusters import frame, random_tables, table_of, write_tables
from tests.support.command_line import output_of

pytestmark = pytest.mark.slow

_LINE = "GANG_BUCKETS = buckets(1, 4, 8)\n"
_OTHER = "GANG_BUCKETS = buckets(1, 4, 8, 16)\n"
_NEW, _GONE = ("9-16", ">16"), ">8"

# Runs with a copy of the package that has the other buckets, and prints which buckets results,
# figures and models have.
_SCRIPT = """
import json, sys
from matplotlib.text import Text
from philly_analysis import Trace, WorkloadModel, fit, load_model
from philly_analysis.results import figures
from philly_analysis.report.findings import ANALYSES
from philly_analysis.errors import ModelError

told = {}
with Trace(sys.argv[1]) as trace:
    for name, analysis in ANALYSES.items():
        result = analysis.compute(trace)
        figure = analysis.plot(result)
        figures.svg(figure)  # adds the labels of ticks
        told[name] = {
            "gangs": sorted(set(result.table.get("gang", ()))),
            "facts": [f.name for f in result.facts],
            "compared": [c.what for c in result.comparisons],
            "texts": [t.get_text() for t in figure.findobj(Text) if t.get_visible()],
        }
    model = fit(trace)
saved = WorkloadModel.load(model.save(sys.argv[2]))
try:
    refused = load_model("philly") and ""
except ModelError as error:
    refused = str(error)
told["model"] = {
    "cells": sorted({c.gang for c in saved.duration.cells}),
    "endings": sorted({c.gang for c in saved.status.cells}),
    "weights": sorted({len(r.weights) for r in saved.failures.reasons}),
    "sampled": saved.sample(jobs=500).jobs.shape[0],
    "refused": refused,
}
json.dump(told, sys.stdout)
"""


def _trace(out: Path) -> Path:
    """Jobs of the study's cluster on gangs of all sizes, with samples and failure output."""
    caps = {f"m{i}": 8 for i in range(8)}
    tables = random_tables(7, 400, tidy=True, caps=caps, gangs=(1, 2, 4, 8, 12, 16, 24, 32))
    rng = np.random.default_rng(0)
    util = rng.choice([0.0, 20.0, 90.0], (600, len(caps), 8)).tolist()
    rows = [(t, m, util[t][j]) for t in range(600) for j, m in enumerate(caps)]
    tables["gpu_samples"] = table_of("gpu_samples", rows)
    tables["host_samples"] = frame(
        "host_samples",
        ("sampled_at", "machine_id", "cpu_pct", "mem_used_gb", "mem_gb"),
        [(t, m, 10.0, 4.0, 64.0) for t, m, _ in rows],
    )
    causes = dict.fromkeys(("start_up_s", "fair_share_s", "fragmentation_s", "other_s"), 1.0)
    tables["known_causes"] = tables["attempts"].select(
        "job_id", "attempt", **{name: pl.lit(seconds) for name, seconds in causes.items()}
    )
    failed = tables["jobs"].filter(pl.col("status") == "Failed")["job_id"]
    tables["failures"] = table_of("failures", [(job, 1, "CUDA failure") for job in failed])
    tables["summaries"] = frame(
        "summaries",
        ("job_id", "attempt", "gpus", "util_pct"),
        [(job, 1, gpus, 50.0) for job, gpus in tables["jobs"].select("job_id", "gpus").iter_rows()],
    )
    return write_tables(out, tables, "philly", synthetic=False)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Results, figures and a model of a trace, by a package with other buckets."""
    folder = tmp_path_factory.mktemp("buckets")
    package = Path(philly_analysis.__file__).parent
    shutil.copytree(
        package, folder / "philly_analysis", ignore=shutil.ignore_patterns("__pycache__")
    )
    study = folder / "philly_analysis" / "study" / "terms.py"
    text = study.read_text("utf-8")
    assert text.count(_LINE) == 1
    study.write_text(text.replace(_LINE, _OTHER), "utf-8")
    command = (sys.executable, "-c", _SCRIPT, _trace(folder / "trace"), folder / "model.json")
    answer: dict[str, dict[str, Any]]
    answer = json.loads(output_of(*command, cwd=folder, PYTHONPATH=str(folder)))
    return answer


def test_every_analysis_answers(told: dict[str, dict[str, Any]]) -> None:
    assert set(told) == {*ANALYSES, "model"}
    assert sum(bool(t.get("gangs")) for t in told.values()) >= 6
    assert sum("9-16" in str(t.get("texts")) for t in told.values()) >= 6


@pytest.mark.parametrize("name", ANALYSES)
def test_table_facts_and_figure_have_the_new_buckets(
    name: str, told: dict[str, dict[str, Any]]
) -> None:
    bucket = told[name]
    gangs = [str(g) for g in bucket["gangs"] if re.fullmatch(r">?\d+(-\d+)?", str(g))]
    if gangs:
        assert {*_NEW} <= {*gangs} and _GONE not in gangs
    for fact in bucket["facts"]:
        assert not re.search(r"over_8(_|$)", fact)
        if "5_8" in fact:
            assert {fact.replace("5_8", word) for word in ("9_16", "over_16")} <= {*bucket["facts"]}
    for text in (*bucket["texts"], *bucket["compared"]):
        assert not re.search(r">8\b", text), text
    drawn = {word for text in bucket["texts"] for word in re.findall(r">?\d+(?:-\d+)?", text)}
    if "5-8" in drawn:
        assert {*_NEW} <= drawn


def test_models_are_fitted_to_the_new_buckets_and_those_of_others_are_refused(
    told: dict[str, dict[str, Any]],
) -> None:
    model = told["model"]
    assert model["cells"] == model["endings"] == sorted(["1", "2-4", "5-8", *_NEW])
    assert model["weights"] == [5]
    assert model["sampled"] == 500
    assert "fitted with other gang buckets than the current ones (1, 2-4, " in model["refused"]
