"""Test forecasts of waits on recorded traces, and on clusters simulated apart from the package.

    python -m data.checks.forecasts [NAME ...] > docs/measured/forecasts.csv
    python -m data.checks.forecasts summary

The second command says how many classes of the table are outside of the limits, and how many would
be by chance. The last fifth of each log is forecast. The recorded traces are samples of jobs,
except ThetaGPU's. The simulated clusters are those of ``tests/truth/schedulers.py``. All logs take
ten minutes of CPU time.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

from data.models.extracts import TRACES
from philly_analysis import Trace, ingest
from philly_analysis.forecasts import (
    CHOSEN,
    LEAST_JOBS,
    Believed,
    backtest,
    read_queue,
    submission_states,
)
from tests.truth.scenarios import Scenario
from tests.truth.schedulers import simulate

MEASURED = Path(__file__).parents[2] / "docs/measured/forecasts.csv"
WIDTH = 0.05
"""Width of the limits around the stated coverage, on either side."""
JOBS, SEED = 6_000, 11
CLUSTERS: dict[str, dict[str, Any]] = {
    "EASY, load 0.9": {"policy": "easy", "load": 0.9},
    "strict FIFO, load 0.8": {"policy": "strict", "load": 0.8},
    "first fit, load 0.95": {"policy": "first_fit", "load": 0.95},
    "EASY with caps": {"policy": "easy", "load": 0.85, "caps": (("a0", 48), ("a1", 40))},
    "EASY, four partitions": {"policy": "easy", "load": 0.85, "partitions": 4},
    "EASY, failures": {"policy": "easy", "load": 0.9, "idle": 0.03, "failures": 40},
}


def mapped(folder: str, table_map: str) -> Callable[[Path], Trace]:
    """Return a function that ingests a table of jobs by a bundled map."""
    return lambda out: ingest("table", TRACES / folder, out, map=table_map)


def large_jobs(out: Path) -> Trace:
    """Return Philly's jobs on at least four GPUs, as tables in memory."""
    text = gzip.decompress((TRACES / "philly-large-job-attempts/jobs.json.gz").read_bytes())
    jobs, attempts = [], []
    for job in json.loads(text):
        jobs.append((job["id"], job["num_gpus"], job["submitted_time"], "Pass"))
        for number, attempt in enumerate(job["attempts"], 1):
            attempts.append((job["id"], number, attempt["start_time"], attempt["end_time"]))
    columns = ["job_id", "attempt", "started_at", "ended_at"]
    tables = {
        "jobs": pd.DataFrame(jobs, columns=["job_id", "gpus", "submitted_at", "status"]),
        "attempts": pd.DataFrame(attempts, columns=columns),
    }
    for table, column in (("jobs", "submitted_at"), *(("attempts", c) for c in columns[2:])):
        tables[table][column] = pd.to_datetime(tables[table][column])
    return Trace(tables)


def simulated(rules: dict[str, Any], seed: int = SEED) -> Callable[[Path], Trace]:
    """Return a function that simulates a cluster and ingests its log."""

    def make(out: Path) -> Trace:
        simulate(Scenario(jobs=JOBS, seed=seed, **rules), out.with_name("log"))
        return ingest("slurm", out.with_name("log"), out)

    return make


LOGS: dict[str, Callable[[Path], Trace]] = {
    "MIT SuperCloud": mapped("mit-supercloud-2021", "mit-supercloud-2021"),
    "ThetaGPU": mapped("thetagpu-2023", "thetagpu-2023"),
    "Philly multi-GPU": lambda out: ingest("philly-multigpu", TRACES / "philly-multigpu-jobs", out),
    "Philly large jobs": large_jobs,
    **{name: simulated(rules) for name, rules in CLUSTERS.items()},
}


def rows(name: str) -> Iterator[dict[str, object]]:
    """Yield a row per gang class with enough tested jobs, and a row for all jobs."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        trace = opened.enter_context(LOGS[name](Path(folder) / "trace"))
        queue = read_queue(trace)
        everyone = queue.jobs.assign(ahead=np.arange(len(queue.jobs)))
        states = submission_states(queue, everyone)
        tested = backtest(queue, states, partial(Believed.fit, trace))
    table = tested.table()
    ratios = table.set_index(["gang", "method"])["ratio"]
    for row in table[(table["method"] == CHOSEN) & (table["jobs"] >= LEAST_JOBS)].to_dict(
        "records"
    ):
        numbers = {str(c): f"{row[c]:.1f}" for c in row if str(c).endswith("_pct")}
        whole = not isinstance(row["gang"], str)
        losses = {
            method: f"{ratios[row['gang'], method]:.2f}"
            for method in ("conditional", "replay")
            if (row["gang"], method) in ratios.index
        }
        yield {
            "trace": name,
            "gang": "all" if whole else str(row["gang"]).replace(">", "above "),
            "jobs": row["jobs"],
            **numbers,
            "method": tested.method,
            "loss": f"{row['ratio']:.2f}",
            "loss_conditional": losses.get("conditional"),
            "loss_replay": losses.get("replay"),
        }


def chance_outside(jobs: int, level: float) -> float:
    """Return the probability that the coverage of independent jobs is outside of its limits."""
    inside = [hits for hits in range(jobs + 1) if abs(hits / jobs - level) <= WIDTH + 1e-9]
    return 1 - float(np.sum(binom.pmf(inside, jobs, level)))


def summary(table: pd.DataFrame) -> list[str]:
    """Return the median loss, and the classes outside of the limits, as sentences."""
    losses = table[table["gang"] == "all"].set_index("trace")["loss"]
    classes = table[table["gang"] != "all"]
    sentences = [
        f"Loss over the climatology's, median of {len(losses)} logs: {losses.median():.2f}; "
        f"highest {losses.max():.2f}."
    ]
    for level in (50, 90):
        apart = classes[(classes[f"covered_{level}_pct"] - level).abs() > 100 * WIDTH + 1e-9]
        chance = sum(chance_outside(jobs, level / 100) for jobs in classes["jobs"])
        names = "; ".join(
            f"{row['trace']} {row['gang']} GPUs {row[f'covered_{level}_pct']} % (standard error of "
            f"{row['jobs']} independent jobs "
            f"{(level * (100 - level) / row['jobs']) ** 0.5:.1f})"
            for row in apart.to_dict("records")
        )
        sentences.append(
            f"Intervals of {level} %: {len(apart)} of {len(classes)} classes outside, by chance "
            f"{chance:.1f}. {names}"
        )
    return sentences


def main() -> None:
    """Print the coverage and the loss on the named logs, or on all; or the summary of the table."""
    if sys.argv[1:] == ["summary"]:
        print("\n".join(summary(pd.read_csv(MEASURED))))
        return
    names = sys.argv[1:] or list(LOGS)
    for number, name in enumerate(names):
        table = pd.DataFrame(list(rows(name)))
        print(table.to_csv(index=False, header=number == 0), end="", flush=True)


if __name__ == "__main__":
    main()
