"""Compare the steps by which outcomes move the levels of forecasts, on clusters in no other check.

    python -m data.checks.forecast_steps [NAME ...]

The clusters are those of ``tests/truth/schedulers.py`` at other loads and another seed than in
:mod:`data.checks.forecasts`. Forecasts are of past waits, without simulations of the queue. All
clusters take five minutes of CPU time.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from data.checks.forecasts import simulated
from philly_analysis.forecasts import (
    CHOSEN,
    LEAST_JOBS,
    backtest,
    calibration,
    read_queue,
    submission_states,
)

SEED = 31
CLUSTERS: dict[str, dict[str, Any]] = {
    "EASY": {"policy": "easy", "load": 0.9},
    "strict FIFO": {"policy": "strict", "load": 0.75},
    "first fit": {"policy": "first_fit", "load": 0.93},
    "four partitions": {"policy": "easy", "load": 0.8, "partitions": 4},
    "caps": {"policy": "easy", "load": 0.85, "caps": (("a2", 32), ("a1", 36))},
}
STEPS = (0.0, 0.03, 0.06)


def rows(name: str) -> pd.DataFrame:
    """Return the loss and the coverage of each gang class and of all jobs, by step."""
    make = simulated(CLUSTERS[name], SEED)
    with tempfile.TemporaryDirectory() as folder, make(Path(folder) / "trace") as trace:
        queue = read_queue(trace)
    states = submission_states(queue, queue.jobs.assign(ahead=np.arange(len(queue.jobs))))
    deviations = np.sqrt(calibration.LEVELS * (1 - calibration.LEVELS))
    tables = []
    for step in STEPS:
        calibration.STEPS = step * deviations
        table = backtest(queue, states, lambda _: "the queue is not simulated here").table()
        tables.append(table[table["method"] == CHOSEN].assign(cluster=name, step=step))
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    """Print by step how far coverage is from its level, and the loss relative to no steps."""
    table = pd.concat([rows(name) for name in sys.argv[1:] or CLUSTERS], ignore_index=True)
    whole = table[table["gang"].isna()].pivot_table(index="cluster", columns="step", values="ratio")
    losses = np.exp(np.log(whole.div(whole[0.0], axis=0)).mean())
    classes = table[table["gang"].notna() & (table["jobs"] >= LEAST_JOBS)]
    for step, of_step in classes.groupby("step"):
        apart = [np.sqrt(((of_step[f"covered_{n}_pct"] - n) ** 2).mean()) for n in (50, 90)]
        print(
            f"step {step}: coverage is {apart[0]:.1f} points (50 %) and {apart[1]:.1f} points "
            f"(90 %) from its level, loss {losses[step]:.3f}"
        )


if __name__ == "__main__":
    main()
