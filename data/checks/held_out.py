"""Measure workload models against held-out jobs, trace by trace.

    python -m data.checks.held_out [EXTRACT ...] > docs/measured/held-out.csv
    python -m data.checks.held_out [EXTRACT ...] --markdown

counts the distances within their limits, of the workload model's jobs, of the real jobs that the
model was fitted to (a smoother distribution may be closer by chance), and of the baselines. The
model samples the fitted period again, with automatic families. With ``--markdown`` the script
prints all distances: the section *The fitted month again* of
`philly_analysis/models/shipped/CALIBRATION.md`. It takes some four CPU minutes.
"""

import sys

import numpy as np
import pandas as pd

from data.models.extracts import EXTRACTS, observed
from philly_analysis.errors import ModelError
from philly_analysis.models.validation import REAL_PART, SPLITS, WORKLOAD_MODEL, held_out

MAX_JOBS = 20_000
"""Largest number of jobs of an extract; of a longer extract the latest jobs are used."""

WORDS = {
    "halves": "second half",
    "weeks": "alternate weeks",
    "days": "alternate days",
    "jobs": "random jobs",
    "none": "nothing (the sampling error)",
}
"""What a split holds out, in words."""
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


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """Return the number of distances, and how many are within their limits, by split."""
    limited = table[table["limit"].notna()]
    met = limited.assign(met=limited["distance"] <= limited["limit"])
    within = met.pivot_table(index="split", columns="model", values="met", aggfunc="sum")
    distances = met[met["model"] == WORKLOAD_MODEL].groupby("split").size()
    counts = within[list(COLUMNS)].astype(int)
    counts.insert(0, "distances", distances)
    return counts.loc[list(SPLITS)].rename_axis("held out").rename_axis(columns=None)


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
    """Print the tables of the given extracts, or of all."""
    names = [word for word in sys.argv[1:] if word != "--markdown"]
    table = measured(names or list(EXTRACTS))
    counts = counted(table)
    if "--markdown" not in sys.argv:
        words = {WORKLOAD_MODEL: "this model", REAL_PART: "real, other part"}
        print(counts.rename(columns=words, index=WORDS).to_csv(), end="")
        return
    lines = [
        "| held out | distances | " + " | ".join(COLUMNS) + " |",
        "|---|---:|" + "---:|" * len(COLUMNS),
        *(
            f"| {split} | " + " | ".join(map(str, row)) + " |"
            for split, *row in counts.itertuples()
        ),
    ]
    print("## The fitted month again", "\n".join(lines), markdown(table), sep="\n\n")


if __name__ == "__main__":
    main()
