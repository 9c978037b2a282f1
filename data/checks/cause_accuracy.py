"""Measure how well the causes of waits are found at several loads, on clusters of known truth.

    python -m data.checks.cause_accuracy > docs/measured/cause-accuracy.csv

generates clusters like the sample at each load, ingests their logs, and compares the computed
causes with the causes that the simulation recorded. The script takes two CPU minutes.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from data.sample.generator.archive import generate
from data.sample.generator.plan import Plan
from philly_analysis import analyze, ingest

LOADS = (0.5, 0.75, 1.0)
"""Offered loads; the sample's is the second."""
DAYS, SEEDS = 14, range(1, 4)
"""Days of each cluster, and a seed for each cluster at a load."""
_CAUSES = {"fair_share": "fair share", "fragmentation": "fragmentation", "start_up": "start-up"}


def found_causes(load: float, seed: int, folder: Path) -> pd.DataFrame:
    """Return the table of ``cause_accuracy`` on a cluster: cause, found, waits, wait_s."""
    usual = Plan()
    jobs = usual.jobs * DAYS / usual.days * load / usual.load
    generate(Plan(seed, DAYS, round(jobs), usual.machines, load), folder / "raw")
    ingest("philly", folder / "raw", folder / "trace", quotas=folder / "raw" / "quotas.csv")
    return analyze(folder / "trace", ["cause_accuracy"])["cause_accuracy"].table


def row(causes: pd.DataFrame) -> dict[str, object]:
    """Return percent of waiting time with the right cause, and of waits for start-up."""
    right = causes["cause"] == causes["found"]
    start_up = causes["cause"] == "start_up", causes["found"] == "start_up"

    def pct(part: "pd.Series[bool]", whole: "pd.Series[bool]", of: str) -> int | None:
        total = float(causes.loc[whole, of].sum())
        return round(100 * float(causes.loc[part & whole, of].sum()) / total) if total else None

    every = right | ~right
    return {
        "waits": int(causes["waits"].sum()),
        "days waited": round(causes["wait_s"].sum() / 86_400, 1),
        "right": pct(right, every, "wait_s"),
        **{
            label: pct(right, causes["cause"] == cause, "wait_s")
            for cause, label in _CAUSES.items()
        },
        "not explained": pct(causes["found"] == "other", every, "wait_s"),
        "start-up: recall": pct(right, start_up[0], "waits"),
        "start-up: precision": pct(right, start_up[1], "waits"),
    }


def measured() -> pd.DataFrame:
    """Return the table: a row per load, over all clusters at it."""
    rows = []
    for load in LOADS:
        with TemporaryDirectory() as folder:
            tables = [found_causes(load, seed, Path(folder, str(seed))) for seed in SEEDS]
        rows.append({"load": load, **row(pd.concat(tables))})
    return pd.DataFrame(rows)


if __name__ == "__main__":
    print(measured().to_csv(index=False, lineterminator="\n"), end="")
