"""Scores how well models know what they do not know, on windows that they were not fitted to.

    python data/coverage.py [EXTRACT ...] > table.md

fits to each window of 5 to 28 days of the extracts, draws other months, and holds the next window
against them: beside the workload model stand ways of resampling the window's own jobs. What
`philly_analysis/models/variation.py` holds was first learned without the extracts of `KEPT_OUT`,
which are scored when none is named. It takes a CPU second for four pairs of windows and method.
"""

import sys

import pandas as pd
from fit_models import EXTRACTS, observed

from philly_analysis.judging.coverage import DRAWS, FITTED, METHODS, scored, summary

MORE = {
    "helios-15k": ("helios-2020/helios_data_training.csv.gz", "helios-15k"),
    "bluewaters": ("bluewaters", "blue-waters-15k"),
    "philly-15k": ("philly-first-15k-attempts", "philly-first-15k"),
}
KEPT_OUT = ("itp-02", "itp-05", "itp-08", "helios-15k", "thetagpu", "bluewaters")
PAIRS = 3


def measured(names: list[str]) -> pd.DataFrame:
    """Return all scores; progress goes to stderr."""
    EXTRACTS.update(MORE)
    tables = []
    for name in names:
        methods = [m for m in METHODS if m != FITTED]
        tables.append(scored(observed(name), methods=methods, most=PAIRS).assign(data=name))
        print(name, file=sys.stderr, flush=True)
    return pd.concat(tables, ignore_index=True)


def markdown(table: pd.DataFrame) -> str:
    """Return scores by method and group as a Markdown table."""
    windows = table.groupby(["data", "days", "pair"]).ngroups
    lines = [
        f"{windows} pairs of windows of {table['data'].nunique()} clusters, {DRAWS} draws each.",
        "",
        "| draws | statistics | covered by 90 % | Winkler | width | PIT < 0.05 | middle half "
        "| > 0.95 |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.method} | {row.group} | {row.covered_pct:.0f} % | {row.winkler:.2f} | "
        f"{row.width:.2f} | {row.below_pct:.0f} % | {row.middle_pct:.0f} % | "
        f"{row.above_pct:.0f} % |"
        for row in summary(table).reset_index().itertuples()
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the scores of the extracts named, or of those kept out."""
    print(markdown(measured(sys.argv[1:] or list(KEPT_OUT))))


if __name__ == "__main__":
    main()
