"""Replay the logs of an independent scheduler, and count the jobs that start in the true second.

    python -m data.checks.replays > docs/measured/replays.csv

The scheduler is ``tests/truth/replays.py``. It takes a minute.
"""

import tempfile
from pathlib import Path

import pandas as pd

from tests.truth.scenarios import Scenario
from tests.truth.test_replays import JOBS, RULES, agreement

COUNT, SEED = 600, 3
LOADS = (0.85,)


def main() -> None:
    """Print a row for each rule and kind of jobs, a column for each load."""
    rows = []
    for rule, rules in RULES.items():
        for kind, settings in JOBS.items():
            row = {"scheduler": rule, "jobs": kind}
            for load in LOADS:
                scenario = Scenario(load=load, jobs=COUNT, seed=SEED, **settings)
                with tempfile.TemporaryDirectory() as folder:
                    share, _ = agreement(scenario, rules, Path(folder))
                row[f"load {load:g}"] = f"{100 * share:.2f} %"
            rows.append(row)
    print(pd.DataFrame(rows).to_csv(index=False), end="")


if __name__ == "__main__":
    main()
