"""Check that each example works; run in a process that imports the changed package."""

import json
import sys
import traceback
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from philly_analysis import Trace, Workload, analyze, export, policies, simulate, tables
from philly_analysis.atomic import atomic_write, exclusive
from philly_analysis.cli import app
from philly_analysis.distributions import fit_distribution
from philly_analysis.errors import TraceError
from philly_analysis.failures import classify
from philly_analysis.report import CHAPTERS
from philly_analysis.results import figures
from philly_analysis.study import GANGS
from tests.support.small_traces import at, paper_trace


def analysis(folder: Path) -> None:
    result = analyze(paper_trace(folder / "t"), "jobs_by_hour")
    assert result.table.to_numpy().tolist() == [[0, 3]]
    assert result.plot().axes
    assert "jobs_by_hour" in [a.name for a in CHAPTERS["Workload"]]


def policy(folder: Path) -> None:
    workload = Workload.from_trace(paper_trace(folder / "t"))
    simulate(workload, "smallest", folder / "what-if", cluster="1x8")
    with Trace(folder / "what-if") as trace:
        starts = trace.sql("select job_id from attempts order by started_at").fetchall()
    assert starts == [("a",), ("b",), ("b",), ("c",)]
    assert "smallest" in set(policies()["policy"])


def export_format(folder: Path) -> None:
    export(paper_trace(folder / "t"), "tiny", folder / "jobs.csv")
    rows = (folder / "jobs.csv").read_text("utf-8").splitlines()
    assert rows[0] == "id,submit_time,num_gpu,duration"
    assert [row.split(",")[1:] for row in rows[1:]] == [
        ["0", "1", "600"],
        ["60", "2", "600"],
        ["120", "8", "660"],
    ]


def column_of_samples(folder: Path) -> None:
    sample = {"sampled_at": [at(1)], "machine_id": ["m0"], "util_pct": [[50.0]]}
    for known in ({}, {"temperature_c": [[61.5]]}):
        rows = pl.DataFrame(sample | known)
        with Trace(paper_trace(folder / f"t{len(known)}", gpu_samples=rows)) as trace:
            [[read]] = trace.sql("select temperature_c from gpu_samples").fetchall()
            assert read == (known["temperature_c"][0] if known else None)
    wrong = pl.DataFrame(sample | {"temperature_c": [[-300.0]]})
    with pytest.raises(TraceError, match="temperature_c"):
        paper_trace(folder / "wrong", gpu_samples=wrong)
    columns = tables()
    assert "temperature_c" in set(columns.loc[columns["table"] == "gpu_samples", "column"])


def gang_buckets(folder: Path) -> None:
    assert GANGS == ("1", "2", "3-8", "9-16", ">16")
    with Trace(paper_trace(folder / "t")) as trace:
        asked = trace.sql("select gang_bucket(8), gang_bucket(17)").fetchall()
        waits = analyze(trace, "queueing_delay").table
    assert asked == [("3-8", ">16")]
    assert set(waits["gang"]) <= set(GANGS)


def chapter(folder: Path) -> None:
    assert [a.name for a in CHAPTERS["Fairness"]] == ["usage"]
    assert list(CHAPTERS).index("Fairness") + 1 == list(CHAPTERS).index("Users and accounts")


def distribution(folder: Path) -> None:
    u = (np.arange(400) + 0.5) / 400
    sample = 100 * (u / (1 - u)) ** 0.5  # shape 2, scale 100
    fitted = fit_distribution(sample, family="log_logistic")
    assert abs(float(fitted.ppf(0.5)) - 100) < 1


def signature(folder: Path) -> None:
    (folder / "run.log").write_text("fabric manager lost its launcher 17\n")
    assert list(classify(folder / "run.log").table["reason"]) == ["MPI error"]


def option_of_a_verb(folder: Path) -> None:
    shown = CliRunner().invoke(app, ["published", "--unit", "%", "--csv"])
    assert shown.exit_code == 0, shown.output
    assert set(pd.read_csv(StringIO(shown.stdout))["unit"]) == {"%"}
    assert "Unit of the numbers to list" in CliRunner().invoke(app, ["published", "--help"]).output


def lock(folder: Path) -> None:
    with atomic_write(folder / "out") as partial:
        partial.write_text("x")
    assert (folder / "out").read_text() == "x"
    with exclusive(folder / "lock", TraceError("busy")), pytest.raises(TraceError, match="busy"):
        exclusive(folder / "lock", TraceError("busy")).__enter__()


def colour_map(folder: Path) -> None:
    assert figures.GANG_COLORS[GANGS[0]] == "#9fd3a5"


CHECKS: dict[str, Callable[[Path], None]] = {
    "a_chapter_of_the_report": chapter,
    "a_column_of_samples": column_of_samples,
    "a_distribution": distribution,
    "a_failure_signature": signature,
    "a_policy": policy,
    "an_analysis": analysis,
    "an_export_format": export_format,
    "an_option_of_a_verb": option_of_a_verb,
    "another_colour_map": colour_map,
    "another_lock": lock,
    "other_gang_buckets": gang_buckets,
}


def main() -> None:
    """Run every check, and print the traceback of each failure as JSON."""
    failures: dict[str, str | None] = dict.fromkeys(CHECKS)
    for name, check in CHECKS.items():
        with TemporaryDirectory() as folder:
            try:
                check(Path(folder))
            except Exception:  # noqa: BLE001 - reported by the test
                failures[name] = traceback.format_exc()
    sys.stdout.write("\n" + json.dumps(failures))


if __name__ == "__main__":
    main()
