"""Score the coverage of predictive intervals on windows that models were not fitted to.

    python -m data.checks.coverage [LIST ...] > docs/measured/coverage.csv
    python -m data.checks.coverage [LIST ...] --markdown

fits a model to each window of 5 to 28 days of the lists of jobs, draws other periods, and compares
the draws with the next window. Methods that resample the window's jobs are scored likewise. The
parameters in `philly_analysis/models/between_period.toml` were estimated on the lists of
`DEVELOPED_ON`; the lists of `HELD_OUT`, the default, chose no parameter. Four pairs of windows take
a CPU second per method. With ``--markdown`` the script prints the section *Other months* of
`philly_analysis/models/shipped/CALIBRATION.md`.
"""

import sys
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd

from data.models.between_period.lists import (
    HELD_OUT,
    PAIRS,
    SITE,
    first_seed,
    in_use,
    listed,
)
from philly_analysis.models import ESTIMATED, Variation
from philly_analysis.models.validation import (
    DRAWS,
    METHODS,
    NO_VARIATION,
    WORKLOAD_MODEL,
    model_draws,
    score,
)

BOOTSTRAPS = 4_000
SHARES = {
    "covered_pct": "covered by 90 %",
    "below_pct": "PIT < 0.05",
    "middle_pct": "middle half",
    "above_pct": "PIT > 0.95",
}
"""Shares of windows, and how a table calls them."""


def score_list(
    name: str, variation: Variation, methods: Sequence[str], used: Container[str]
) -> pd.DataFrame:
    """Return the scores of a list, by the model with a variation and by other methods.

    Lists in `used` start with their first week of regular use.
    """
    data = in_use(listed(name)) if name in used else listed(name)
    chosen = {
        WORKLOAD_MODEL: model_draws(variation),
        **{method: METHODS[method] for method in methods},
    }
    scores = score(data, methods=chosen, seed=first_seed(name), most=PAIRS)
    print(name, file=sys.stderr, flush=True)
    return scores.assign(data=name)


def measured(names: Iterable[str], methods: Sequence[str], used: Container[str]) -> pd.DataFrame:
    """Return the scores of all lists; progress goes to stderr."""
    with ProcessPoolExecutor() as pool:
        tables = pool.map(
            partial(score_list, variation=ESTIMATED, methods=methods, used=used), names
        )
        return pd.concat(tables, ignore_index=True)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise scores of several clusters (`score`, with a column data) by group.

    Clusters have equal weights, whatever their number of pairs.

    Returns
    -------
    pandas.DataFrame
        Rows by method and group: covered_pct, winkler, width (means), and the percentages of the
        probability integral transform below 0.05, in the middle half, and above 0.95.
    """
    frame = table.assign(
        covered_pct=100.0 * table["covered"],
        below_pct=100.0 * (table["pit"] < 0.05),
        middle_pct=100.0 * table["pit"].between(0.25, 0.75),
        above_pct=100.0 * (table["pit"] > 0.95),
    )
    columns = ["covered_pct", "winkler", "width", "below_pct", "middle_pct", "above_pct"]
    by_cluster = frame.groupby(["method", "group", "data", "statistic"], sort=False)[columns].mean()
    return by_cluster.groupby(["method", "group"], sort=False).mean()


def site_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Return shares of the model's windows, with 90 % ranges over bootstraps of sites, as text.

    Returns
    -------
    pandas.DataFrame
        One row per group of statistics: lists, and the columns of `SHARES`.
    """
    of_model = table[table["method"] == WORKLOAD_MODEL]
    by_list = pd.concat(
        {
            name: summary(rows).loc[WORKLOAD_MODEL]
            for name, rows in of_model.groupby("data", sort=False)
        }
    )
    rng = np.random.default_rng(0)
    rows = {}
    for group, of_group in by_list.groupby(level="group", sort=False):
        shares = of_group[list(SHARES)].droplevel("group")
        site = np.array([SITE[name] for name in shares.index])
        sites = np.unique(site)
        drawn = [
            np.concatenate([np.flatnonzero(site == s) for s in rng.choice(sites, sites.size)])
            for _ in range(BOOTSTRAPS)
        ]
        means = np.array([shares.to_numpy()[index].mean(axis=0) for index in drawn])
        low, high = np.quantile(means, (0.05, 0.95), axis=0)
        rows[group] = [
            f"{len(of_group)} of {sites.size} sites",
            *(
                f"{v:.0f} % ({a:.0f} to {b:.0f})"
                for v, a, b in zip(shares.mean(), low, high, strict=True)
            ),
        ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["lists", *SHARES.values()])


def covered(table: pd.DataFrame) -> pd.DataFrame:
    """Return the share of covered pairs by method and group, and the Winkler score of run time."""
    shares = 100 * table.pivot_table(index="method", columns="group", values="covered", sort=False)
    score = summary(table)["winkler"].xs("run time", level="group")
    percent = shares.map(lambda share: "" if np.isnan(share) else f"{share:.0f} %")
    ordered = percent.assign(**{"Winkler score of run time": score.round(2)})
    return ordered.rename(index={WORKLOAD_MODEL: "this model"}).rename_axis("covered, by pairs")


def markdown(table: pd.DataFrame) -> str:
    """Return scores by method and group, and the model's by list, as Markdown tables."""
    windows = table.groupby(["data", "days", "pair"]).ngroups
    lines = [
        "## Other months\n",
        f"{windows} pairs of windows of {table['data'].nunique()} lists of jobs, {DRAWS} draws "
        "each. In a list's row its pairs count alike; elsewhere each list does.",
        "",
        "| draws | statistics | covered by 90 % | of all pairs | Winkler | width | PIT < 0.05 "
        "| middle half | > 0.95 |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    every = (100 * table.groupby(["method", "group"])["covered"].mean()).to_dict()
    lines += [
        f"| {row.method} | {row.group} | {row.covered_pct:.0f} % | "
        f"{every[row.method, row.group]:.0f} % | {row.winkler:.2f} | "
        f"{row.width:.2f} | {row.below_pct:.0f} % | {row.middle_pct:.0f} % | "
        f"{row.above_pct:.0f} % |"
        for row in summary(table).reset_index().itertuples()
    ]
    of_model = table[table["method"] == WORKLOAD_MODEL]
    cells = 100 * of_model.pivot_table(index="data", columns="group", values="covered", sort=False)
    lines += ["", f"| {WORKLOAD_MODEL}, sites drawn again | lists | covered by 90 % | PIT < 0.05 "]
    lines[-1] += "| middle half | > 0.95 |"
    lines.append("|---|---:|---:|---:|---:|---:|")
    shares = site_shares(table).reset_index()
    lines += [f"| {' | '.join(row)} |" for row in shares.itertuples(index=False)]
    lines += ["", f"| {WORKLOAD_MODEL} on | pairs | " + " | ".join(cells.columns) + " |"]
    lines += ["|---|---:|" + "---:|" * cells.shape[1]]
    for name, row in cells.iterrows():
        pairs = of_model[of_model["data"] == name].groupby(["days", "pair"]).ngroups
        shares_of_list = " | ".join("–" if np.isnan(v) else f"{v:.0f} %" for v in row)
        lines.append(f"| {name} | {pairs} | {shares_of_list} |")
    return "\n".join(lines)


def main() -> None:
    """Print the scores of the given lists, or of the lists held out."""
    names = [word for word in sys.argv[1:] if word != "--markdown"]
    methods = [method for method in METHODS if method not in (WORKLOAD_MODEL, NO_VARIATION)]
    table = measured(names or HELD_OUT, methods, used=())
    print(markdown(table) if "--markdown" in sys.argv else covered(table).to_csv(), end="")


if __name__ == "__main__":
    main()
