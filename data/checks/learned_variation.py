"""Score the variation learned from a window's weeks on the next window, by list and group.

    python -m data.checks.learned_variation [LIST ...] > docs/measured/learned-variation.csv

Periods have the jobs of the window with the factors of `Variation.periods` on job classes, as in
`data/models/between_period/reweighted.py`; no models are fitted, and no jobs are drawn. Lists have
equal weights. Ranges of the coverage are over bootstraps of sites.
"""

import sys

import numpy as np
import pandas as pd

from data.models.between_period.lists import (
    DEVELOPED_ON,
    OF_GPUS,
    SITE,
    first_seed,
    in_use,
    listed,
)
from data.models.between_period.reweighted import DRAWS, USED, Cells
from data.models.between_period.site_scales import class_jobs
from philly_analysis.models import ESTIMATED
from philly_analysis.models.long_jobs import LongJobs
from philly_analysis.models.site_learning import FittedLog, learn
from philly_analysis.models.validation import (
    METHODS,
    MISS_COST,
    STATISTICS,
    Window,
    width_and_miss,
    window_pairs,
)
from philly_analysis.models.weekly_jobs import WeeklyJobs

LISTS = (*(name for name in OF_GPUS if name != "philly-attempts"), "philly-multigpu")
"""Lists of GPU clusters; philly-attempts repeats philly-passed."""
LENGTHS_D = (7, 14, 28)
PAIRS = 2
BLOCKS = ("user blocks", "day blocks")
BOOTSTRAPS = 2_000


def scores(name: str, first: Window, second: Window, seed: int) -> pd.DataFrame:
    """Return the scores of a pair of windows by method and statistic."""
    cells = Cells.of(first, second, seed)
    jobs = first.data.jobs
    vc_shares = tuple(jobs["vc"].value_counts(normalize=True))
    demand = class_jobs(first), class_jobs(first, by_gpu_time=True)
    log = FittedLog(*demand, cells.daily_change, vc_shares)
    site = learn(log, ESTIMATED, WeeklyJobs.of(jobs, [first.span_s]))
    long_jobs = LongJobs.fit(first.data.timed, ESTIMATED)
    made = {
        "learned from the weeks": cells.drawn(ESTIMATED, site, long_jobs),
        "variation of other sites": cells.drawn(ESTIMATED),
    }
    made |= {block: METHODS[block](first, DRAWS, seed)[:, : len(USED)] for block in BLOCKS}
    rows = []
    for method, drawn in made.items():
        width, missed = width_and_miss(drawn, cells.real)
        rows.append(
            pd.DataFrame(
                {
                    "method": method,
                    "group": [STATISTICS[name] for name in USED],
                    "statistic": USED,
                    "covered": missed < 1e-9,
                    "winkler": width + MISS_COST * missed,
                }
            )
        )
    return pd.concat(rows).assign(list=name, site=SITE[name], days=first.days)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return coverage with its range, and Winkler scores over those of other sites' variation."""
    keys = ["group", "method", "site", "list", "statistic"]
    by_list = table.groupby(keys, sort=False)[["covered", "winkler"]].mean()
    other = by_list["winkler"].xs("variation of other sites", level="method")
    typical = other.groupby("statistic").mean()
    relative = by_list["winkler"] / typical.reindex(by_list.index, level="statistic")
    of_list = (
        by_list.assign(winkler=relative).groupby(["group", "method", "site", "list"], sort=False)
    ).mean()
    rng = np.random.default_rng(0)
    rows = []
    for (group, method), part in of_list.groupby(level=["group", "method"], sort=False):
        by_site = part.groupby(level="site").agg(["sum", "count"])["covered"]
        drawn = rng.integers(0, len(by_site), (BOOTSTRAPS, len(by_site)))
        total, count = (by_site[column].to_numpy()[drawn].sum(axis=1) for column in by_site)
        low, high = 100 * np.quantile(total / count, (0.05, 0.95))
        covered = 100 * part["covered"].mean()
        rows.append(
            {
                "statistics": group,
                "method": method,
                "covered by 90 %": f"{covered:.0f} % ({low:.0f} to {high:.0f})",
                "Winkler score": f"{part['winkler'].mean():.2f}",
                "lists": f"{len(part)} of {len(by_site)} sites",
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    """Print the scores of the given lists, or of all lists."""
    tables = []
    for name in sys.argv[1:] or LISTS:
        data = in_use(listed(name)) if name in DEVELOPED_ON else listed(name)
        for i, pair in enumerate(window_pairs(data, lengths_d=LENGTHS_D, most=PAIRS)):
            tables.append(scores(name, *pair, first_seed(name) + DRAWS * i))
        print(name, file=sys.stderr, flush=True)
    print(summary(pd.concat(tables, ignore_index=True)).to_csv(index=False), end="")


if __name__ == "__main__":
    main()
