"""Check calls typed as in pandas, DuckDB, seaborn, SciPy, scikit-learn, networkx and simpy.

``familiar_calls.txt`` was written before the API was read. A call works, or, after an exclamation
mark, its error names the call that does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import philly_analysis as philly
from tests.support.repository import SAMPLE

SLOW = (
    *(
        "philly.report(",
        "!philly.report(",
        "philly.sweep(",
        "philly.ingest(",
        "philly.atlas(",
    ),
    *(
        "philly.compare(",
        "model.simulate(",
        "model.sample(20, seeds",
        "trace.simulate(",
        "trace.fit(",
    ),
    *("philly.simulate(", "philly.fit(", "model.compare(", "model.plot(", "philly.analyze("),
    *('result.save(out / "a.pdf"', "result.savefig("),
)
"""Beginnings of calls that take long, or that other tests make."""

CALLS = Path(__file__).with_name("familiar_calls.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Return the names of a session in a notebook."""
    out = tmp_path_factory.mktemp("calls")
    model = philly.load_model("philly")
    path = out / "trace"
    trace = philly.simulate(model.sample(60, seed=1), "fifo", path, gpus=64)
    with philly.simulate(model.sample(300, seed=1), "fifo", out / "large", gpus=64) as large:
        result = philly.analyze(large, "queueing_delay")  # with a panel per virtual cluster
    jobs = trace.sql(
        "select jobs.*, started_at, ended_at from jobs join attempts using (job_id)"
    ).df()
    jobs.to_csv(out / "jobs.csv", index=False)
    log = out / "job.log"
    log.write_text("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\n")
    yield {
        "philly": philly,
        "np": np,
        "trace": trace,
        "path": path,
        "jobs": jobs,
        "csv": out / "jobs.csv",
        "raw": SAMPLE,
        "log": str(log),
        "model": model,
        "work": model.sample(100, seed=2),
        "result": result,
        "ax": plt.figure().subplots(),
        "out": out,
    }
    plt.close("all")


@pytest.mark.parametrize(
    "call",
    [pytest.param(call, marks=pytest.mark.slow if call.startswith(SLOW) else ()) for call in CALLS],
)
def test_a_familiar_call_works_or_names_the_right_one(call: str, names: dict[str, Any]) -> None:
    if call[0] != "!":
        eval(call, names)  # noqa: S307 - the file beside this one
        return
    with pytest.raises(philly.PhillyError, match=r"Use |Did you mean "):
        eval(call[1:], names)  # noqa: S307
