"""Scores each site's lists by a law of months that was learned without that site.

    python data/left_out.py > table.md

`coverage.py` judges the law that ships on six lists; this asks how such a law does on clusters
elsewhere. For each site, the numbers of the law (`philly_analysis/models/variation.py`) are learned
from the lists of all others, developed on or kept out, beginning at `START`, which no list chose.
Those of `reweighted.REWEIGHTED` are learned together, as `reweighted.py` says, and then kinds once
more from what sites left out of these have; those of users as `turnover.py` says. Each other number
goes where the parabola through the scores at half, once and twice of it is least, and all of these
together that part of the way that scores best. Groups of statistics count alike, and so do lists.
Then the windows of the site are held against months of the law without it. Lists are taken from
when they are in use (`coverage.in_use`). It takes an hour of CPU time.
"""

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import reweighted
import turnover
from coverage import LISTS, SITE, SITES, in_use, judged, listed, markdown
from learn_variation import OF_USERS, PARAMETERS, changed, least, moved, scores
from reweighted import REWEIGHTED

from philly_analysis.models.between_period import LEARNED, Variation
from philly_analysis.models.validation.coverage import STATISTICS

OTHERS = tuple(name for name in PARAMETERS if name not in (*REWEIGHTED, *OF_USERS))
START = {**dict.fromkeys((*OTHERS, *OF_USERS), 0.5), **reweighted.START}
"""Half of what may be: deviations, shares and powers."""
TRIED = (0.5, 2.0)
PARTS = (0.5, 1.0, 1.5, 2.0)
BESIDE = ("user blocks", "jobs one by one")
"""Ways of resampling that stand beside the model: all four would take long."""
Laws = Mapping[str, Variation]
Tables = Mapping[str, pd.DataFrame]


def start() -> Variation:
    """Return the law at which learning begins."""
    return LEARNED.but(**START)


def neighbours() -> dict[str, Variation]:
    """Return the start, and laws with one number more or less."""
    steps = {f"{p} {f:g}": changed(p, f, start()) for p in OTHERS for f in TRIED}
    return {"start": start(), **steps}


def under(name: str, laws: Laws) -> pd.DataFrame:
    """Return the mean score of each statistic of a list (columns) under each law (rows)."""
    found = scores(name, in_use(listed(name)), laws)
    print(name, file=sys.stderr, flush=True)
    by_law = found.pivot_table(index="method", columns="statistic", values="winkler")
    return by_law.reindex(list(laws))


def losses(tables: Iterable[pd.DataFrame], usual: pd.Series) -> pd.DataFrame:
    """Return the score under each law (rows) on each list, all groups of statistics alike."""
    by_group = []
    for table in tables:
        relative = (table / usual).T
        group = relative.index.map(STATISTICS.__getitem__)
        by_group.append(relative.groupby(group).mean().mean())
    return pd.concat(by_group, axis=1)


def others(site: str, tables: Tables) -> list[pd.DataFrame]:
    """Return the tables of all lists but a site's."""
    return [table for name, table in tables.items() if SITE[name] != site and len(table.columns)]


def way(site: str, tables: Tables) -> dict[str, float]:
    """Return by how much each number is to change, as all other sites have it.

    What is tried is charged the standard error of its gain, so that what the lists do not tell
    stays where it was.
    """
    known = others(site, tables)
    loss = losses(known, pd.concat([t.loc["start"] for t in known], axis=1).mean(axis=1))
    gain = loss - loss.loc["start"]
    charged = gain.mean(axis=1) + gain.std(axis=1) / np.sqrt(len(known))
    low, high = TRIED
    return {
        p: least(charged[[f"{p} {low:g}", "start", f"{p} {high:g}"]].to_numpy(), np.log(high))
        for p in OTHERS
    }


def together(pool: Executor) -> dict[str, Variation]:
    """Return the start with the numbers of kinds and users that each site's others have."""
    first, laws = reweighted.first_round(pool, LISTS), {}
    for site in SITES:
        known = [name for name in LISTS if SITE[name] != site]
        tried = reweighted.nearer(pool, first.on(known))
        found = reweighted.numbers(tried.best(), reweighted.wider(pool, tried))
        law = start().but(**found)
        laws[site] = law.but(**turnover.learned(known, law))
        print(site, file=sys.stderr, flush=True)
    return laws


def parts(laws: Laws, ways: Mapping[str, Mapping[str, float]]) -> dict[str, Variation]:
    """Return laws that go parts of the way that each site's others have it, and beyond."""
    return {
        f"{site} {part:g}": moved(laws[site], {p: factor**part for p, factor in way.items()})
        for site, way in ways.items()
        for part in PARTS
    }


def best(site: str, tables: Tables, laws: Laws) -> Variation:
    """Return the law which goes that part of its way that scores best on all other sites."""
    mine = [key for key in laws if key.startswith(f"{site} ")]
    known = [table.loc[mine] for table in others(site, tables)]
    usual = pd.concat([table.mean() for table in known], axis=1).mean(axis=1)
    return laws[str(losses(known, usual).mean(axis=1).idxmin())]


def learned(pool: Executor, near: Tables) -> dict[str, Variation]:
    """Return the law without each site, from scores near the start."""
    laws = parts(together(pool), {site: way(site, near) for site in SITES})
    beside = [
        {key: law for key, law in laws.items() if not key.startswith(f"{SITE[name]} ")}
        for name in LISTS
    ]
    tables = dict(zip(LISTS, pool.map(under, LISTS, beside), strict=True))
    return {site: best(site, tables, laws) for site in SITES}


def numbers(laws: Laws) -> str:
    """Return the numbers of the law without each site, beside those that ship."""
    lines = ["| without | " + " | ".join(PARAMETERS) + " |", "|---|" + "---:|" * len(PARAMETERS)]
    for site, law in {"– (ships)": LEARNED, **laws}.items():
        values = (f"{getattr(law, p).value:.2g}" for p in PARAMETERS)
        lines.append(f"| {site} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the laws and the scores."""
    with ProcessPoolExecutor() as pool:
        near = dict(zip(LISTS, pool.map(under, LISTS, [neighbours()] * len(LISTS)), strict=True))
        laws = learned(pool, near)
        judge = partial(judged, methods=BESIDE, used=LISTS)
        tables = pool.map(judge, LISTS, [laws[SITE[name]] for name in LISTS])
        table = pd.concat(tables, ignore_index=True)
    print(markdown(table), numbers(laws), sep="\n\n")


if __name__ == "__main__":
    main()
