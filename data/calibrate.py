"""Measure workload models against held-out jobs, trace by trace.

    python data/calibrate.py [EXTRACT ...] > table.md

prints, for each extract, quantity and split, the distance of the workload model's jobs, of the
real jobs that it was fitted to (a smoother distribution may be closer by chance), and of the
baselines, and first how many are within their limits. The model samples the fitted period again,
with automatic families; `coverage.py` measures other periods, and `waits.py` queueing delays. Their
output together is `philly_analysis/models/shipped/CALIBRATION.md`. It takes some four CPU minutes.
"""

import sys

import numpy as np
import pandas as pd
from fit_models import EXTRACTS, observed

from philly_analysis.errors import ModelError
from philly_analysis.models.validation.calibration import REAL_PART, WORKLOAD_MODEL, held_out
from philly_analysis.models.validation.splits import SPLITS

MAX_JOBS = 20_000
"""Largest number of jobs of an extract; the last ones are used."""

COLUMNS = (WORKLOAD_MODEL, REAL_PART, "one log-normal, Poisson", "Lublin-Feitelson, refitted")


def measured(names: list[str]) -> pd.DataFrame:
    """Return all distances of all extracts; progress and skipped splits go to stderr."""
    tables = []
    for name in names:
        every = observed(name)
        data = every.where(np.arange(len(every.jobs)) >= len(every.jobs) - MAX_JOBS)
        for split in SPLITS:
            try:
                tables.append(held_out(data, split).assign(extract=name))
            except ModelError as error:
                print(error, file=sys.stderr)
        print(name, file=sys.stderr, flush=True)
    return pd.concat(tables, ignore_index=True)


def counted(table: pd.DataFrame) -> str:
    """Return the number of distances within their limits, by split, as a Markdown table."""
    limited = table[table["limit"].notna()]
    met = limited.assign(met=limited["distance"] <= limited["limit"])
    within = met.groupby(["split", "model"])["met"].sum().to_dict()
    lines = [
        "| held out | distances | " + " | ".join(COLUMNS) + " |",
        "|---|---:|" + "---:|" * len(COLUMNS),
    ]
    for split in SPLITS:
        many = int(((met["split"] == split) & (met["model"] == WORKLOAD_MODEL)).sum())
        cells = " | ".join(f"{within[split, c]:.0f}" for c in COLUMNS)
        lines.append(f"| {split} | {many} | {cells} |")
    return "\n".join(lines)


def markdown(table: pd.DataFrame) -> str:
    """Return the distances as a Markdown table, one row per extract, quantity and split."""
    keys = ["extract", "quantity", "gang", "split", "limit"]
    wide = table.assign(limit=table["limit"].fillna(-1)).pivot_table(
        index=keys, columns="model", values="distance", sort=False
    )
    lines = [
        "| jobs | quantity | held out | limit | " + " | ".join(COLUMNS) + " |",
        "|---|---|---|---:|" + "---:|" * len(COLUMNS),
    ]
    for row in wide.reset_index().to_dict("records"):
        extract, quantity, gang, split, limit = (row[key] for key in keys)
        what = quantity if gang == "all" else f"{quantity}, {gang} GPU"
        bound = f"{limit:.2g}" if limit >= 0 else "–"
        cells = " | ".join(f"{row[c]:.3f}" for c in COLUMNS)
        lines.append(f"| {extract} | {what} | {split} | {bound} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Print the table of the given extracts, or of all."""
    table = measured(sys.argv[1:] or list(EXTRACTS))
    print(f"## The fitted month again\n\n{counted(table)}\n\n{markdown(table)}")


if __name__ == "__main__":
    main()
