"""Score the coverage of predictive intervals on windows that models were not fitted to.

    python data/coverage.py [LIST ...] > table.md
    python data/coverage.py --all > table.md

fits to each window of 5 to 28 days of the lists of jobs, draws other periods, and compares them
with the next window; so do ways of resampling the window's own jobs. The parameters in
`philly_analysis/models/between_period.toml` were estimated on the lists of `DEVELOPED_ON`; no
parameter was chosen by those of `HELD_OUT`, the default. It takes a CPU second for four pairs of
windows and method. ``--all`` scores the model alone on all lists, those of `DEVELOPED_ON` from
their first week of regular use.
"""

import sys
from collections.abc import Container, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from fit_models import EXTRACTS, TRACES, observed

from philly_analysis.models.between_period import ESTIMATED, Variation
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.coverage import (
    DRAWS,
    METHODS,
    NO_VARIATION,
    WORKLOAD_MODEL,
    model_draws,
    score,
)

MORE = {
    "helios-15k": ("helios-2020/helios_data_training.csv.gz", "helios-15k"),
    "bluewaters": ("bluewaters", "blue-waters-15k"),
    "philly-15k": ("philly-first-15k-attempts", "philly-first-15k"),
}
"""Lists of jobs without a shipped model, as `fit_models.EXTRACTS`."""

UNSEEN = {
    "itp-03": ("itp-2021/cluster03.csv.gz", "itp-2021"),
    "itp-09": ("itp-2021/cluster09.csv.gz", "itp-2021"),
    "philly-multigpu": ("philly-multigpu-jobs", ""),
}
ALCF = ("theta", "mira")
"""Supercomputers without GPUs, beside ThetaGPU in DIR-LAB/lumos: gangs are of servers."""
SDSC = "sdsc-1995"
"""A supercomputer without GPUs; gangs are of processors."""
ARCHIVE = {
    "nasa-1993": "NASA-iPSC-1993-3.1-cln.swf",
    "kth-1996": "KTH-SP2-1996-2.1-cln.swf",
    "sdsc-blue-2000": "SDSC-BLUE-2000-4.2-cln.swf",
    "hpc2n-2002": "HPC2N-2002-2.1-cln.swf",
    "thunder-2007": "LLNL-Thunder-2007-1.1-cln.swf",
    "metacentrum-2009": "METACENTRUM-2009-2.swf",
    "ricc-2010": "RICC-2010-2.swf",
    "curie-2011": "CEA-Curie-2011-2.1-cln.swf",
}
"""Lists of supercomputers without GPUs, gzipped: gangs are of processors.

They are of the Parallel Workloads Archive (D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with
using the Parallel Workloads Archive", JPDC 2014).
"""

OF_GPUS = tuple(name for name in {**EXTRACTS, **MORE} if name != "itp-10")
"""No window of cluster 10 has enough jobs."""
HELD_OUT = (*UNSEEN, *ALCF, SDSC)
DEVELOPED_ON = (*OF_GPUS, *ARCHIVE)
ALL = (*OF_GPUS, *HELD_OUT, *ARCHIVE)
"""All lists; the place of a list determines its seeds."""
LISTS = tuple(name for name in ALL if name != "philly-attempts")
"""All lists without duplicates."""
SITES = {
    "ITP": tuple(name for name in ALL if name.startswith("itp-")),
    "Philly": tuple(name for name in ALL if name.startswith("philly-")),
    "ALCF": ("thetagpu", *ALCF),
    "openb": ("openb",),
    "MIT SuperCloud": ("supercloud",),
    "Helios": ("helios-15k",),
    "Blue Waters": ("bluewaters",),
    "SDSC": (SDSC, "sdsc-blue-2000"),
    "NASA": ("nasa-1993",),
    "KTH": ("kth-1996",),
    "HPC2N": ("hpc2n-2002",),
    "LLNL": ("thunder-2007",),
    "METACENTRUM": ("metacentrum-2009",),
    "RICC": ("ricc-2010",),
    "CEA": ("curie-2011",),
}
"""Lists by site; clusters of one site are correlated."""
SITE = {name: site for site, names in SITES.items() for name in names}
BOOTSTRAPS = 4_000
PAIRS = 3
SEEDS = 10_000
"""Distance between the first seeds of lists."""
WEEK_S = 7 * 86_400


def first_seed(name: str) -> int:
    """Return the first seed of a list."""
    return ALL.index(name) * SEEDS


def in_use(data: Observations) -> Observations:
    """Return jobs from the first week with at least half of the mean jobs per week."""
    at = data.jobs["submitted_s"].to_numpy(float)
    week = ((at - at[0]) // WEEK_S).astype(int)
    jobs = np.bincount(week)
    return data.where(week >= np.argmax(jobs >= jobs.mean() / 2))


def standard(name: str, path: Path) -> Observations:
    """Return the jobs with a run time of a list in the Standard Workload Format."""
    fields = {1: "submitted", 3: "run_s", 4: "processors", 11: "user"}
    frame = pd.read_csv(
        path, sep=r"\s+", comment=";", header=None, usecols=list(fields), encoding="latin-1"
    ).rename(columns=fields)
    ran = frame.query("run_s > 0 and processors > 0").sort_values("submitted", kind="stable")
    ran = ran.reset_index(drop=True)
    return Observations.of_jobs(
        name, ran["submitted"], ran["processors"], ran["run_s"], user=ran["user"].astype(str)
    )


def listed(name: str) -> Observations:
    """Return the jobs of a list."""
    if name in ARCHIVE:
        return standard(name, TRACES / "parallel-workloads" / f"{ARCHIVE[name]}.gz")
    if name == SDSC:
        frame = pd.read_csv(TRACES / "gen-parallel-workloads" / "SDSC_95.csv")
        number, run_s = frame["Number_of_Allocated_Processors"], frame["Run_Time"]
        known = run_s.where(run_s >= 0)
        return Observations.of_jobs(name, frame["Interval"].cumsum(), number.astype(int), known)
    if name not in ALCF:
        return observed(name, {**EXTRACTS, **MORE, **UNSEEN})
    frame = pd.read_csv(TRACES / "lumos" / f"data_{name}.csv")
    return Observations.of_jobs(
        name,
        frame["submit_time"],
        frame["node_num"].astype(int),
        frame["run_time"],
        vc=frame["project"].astype(str),
        user=frame["user"].astype(str),
        status=frame["new_status"],
    )


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


def ranges(table: pd.DataFrame) -> list[str]:
    """Return shares of the model's windows, with 90 % ranges over bootstraps of sites."""
    mine = table[table["method"] == WORKLOAD_MODEL]
    by_list = pd.concat(
        {name: summary(rows).loc[WORKLOAD_MODEL] for name, rows in mine.groupby("data", sort=False)}
    )
    rng = np.random.default_rng(0)
    lines = [
        f"| {WORKLOAD_MODEL}, sites drawn again | lists | covered by 90 % | PIT < 0.05 "
        "| middle half | > 0.95 |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for group, rows in by_list.groupby(level="group", sort=False):
        shares = rows[["covered_pct", "below_pct", "middle_pct", "above_pct"]].droplevel("group")
        of = np.array([SITE[name] for name in shares.index])
        sites = np.unique(of)
        drawn = [
            np.concatenate([np.flatnonzero(of == s) for s in rng.choice(sites, sites.size)])
            for _ in range(BOOTSTRAPS)
        ]
        means = np.array([shares.to_numpy()[index].mean(axis=0) for index in drawn])
        low, high = np.quantile(means, (0.05, 0.95), axis=0)
        cells = (
            f"{v:.0f} % ({a:.0f} to {b:.0f})"
            for v, a, b in zip(shares.mean(), low, high, strict=True)
        )
        lines.append(f"| {group} | {len(rows)} of {sites.size} sites | " + " | ".join(cells) + " |")
    return lines


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
    mine = table[table["method"] == WORKLOAD_MODEL]
    cells = 100 * mine.pivot_table(index="data", columns="group", values="covered", sort=False)
    lines += ["", *ranges(table)]
    lines += ["", f"| {WORKLOAD_MODEL} on | pairs | " + " | ".join(cells.columns) + " |"]
    lines += ["|---|---:|" + "---:|" * cells.shape[1]]
    for name, row in cells.iterrows():
        count = mine[mine["data"] == name].groupby(["days", "pair"]).ngroups
        said = " | ".join("–" if np.isnan(v) else f"{v:.0f} %" for v in row)
        lines.append(f"| {name} | {count} | {said} |")
    return "\n".join(lines)


def main() -> None:
    """Print the scores of the given lists, of those held out, or of all."""
    if sys.argv[1:] == ["--all"]:
        table = measured(LISTS, (), used=DEVELOPED_ON)
    else:
        methods = [method for method in METHODS if method not in (WORKLOAD_MODEL, NO_VARIATION)]
        table = measured(sys.argv[1:] or HELD_OUT, methods, used=())
    print(markdown(table))


if __name__ == "__main__":
    main()
