"""Measure how often a gang size waits a quarter longer by chance, in months of clusters.

    python -m data.checks.advice_harm > docs/measured/advice-harm.csv

The clusters are those with bad servers in :mod:`data.checks.advice_clusters`. Each month is
simulated with and without a change. A change alters which jobs the failures of servers hit, so that
a gang size may wait longer in single months although the change shortens waits.
"""

import csv
import sys
from dataclasses import replace

from data.checks.advice_clusters import (
    BAD,
    LOADS,
    SIZES,
    Log,
    changed,
    cluster_of,
    harms,
    mean_waits,
)
from data.checks.advice_months import ran

MONTHS, FIRST_SEED = 30, 50_001


def main() -> None:
    """Print a row for each load and change."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["change", "load", "months", "with harm", *(f"{n} GPUs" for n in SIZES)])
    servers = tuple(f"n{server:02}" for server in BAD)
    for lever in ("checkpoints", "repair"):
        for load in LOADS:
            cluster = cluster_of(Log("bad servers", "one server", load, 1))
            months = []
            for seed in range(FIRST_SEED, FIRST_SEED + MONTHS):
                now = replace(cluster, scenario=replace(cluster.scenario, seed=seed))
                if then := changed(now, lever, servers):
                    months.append((ran(now), ran(then)))
            waits = [f"{was:.0f} to {now:.0f}" for was, now in mean_waits(months).values()]
            writer.writerow([lever, load, MONTHS, sum(harms([m]) for m in months), *waits])


if __name__ == "__main__":
    main()
