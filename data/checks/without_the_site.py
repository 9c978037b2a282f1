"""Score each site's lists with parameters that were estimated without that site.

    python -m data.checks.without_the_site > docs/measured/without-the-site.csv
    python -m data.checks.without_the_site --markdown

`coverage.py` scores the shipped parameters on six lists; this script estimates how they do on
clusters elsewhere. For each site, the parameters of `Variation` are estimated on the lists of all
other sites, from `START`, which no list determined. The parameters in `reweighted.REWEIGHTED` are
estimated jointly, as in `reweighted.py`, with `class_sd` scaled to cover the sites left out. The
parameters of users are estimated as in `turnover.py`. Each other parameter has the minimum of a
parabola through the scores at half, once and twice its value; the fraction of all these steps with
the best score is taken. Groups of statistics have equal weights, and so do lists. Then the windows
of the site are scored. Lists start with their first week of regular use (`coverage.in_use`). It
takes an hour of CPU time.
"""

import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd

from data.checks.coverage import markdown, score_list, site_shares, summary
from data.models.between_period import reweighted, turnover
from data.models.between_period.lists import LISTS, SITE, SITES, in_use, listed
from data.models.between_period.one_by_one import (
    OF_USERS,
    PARAMETERS,
    all_scaled,
    minimum,
    scaled,
    scores,
)
from data.models.between_period.reweighted import REWEIGHTED
from philly_analysis.models import ESTIMATED, Variation
from philly_analysis.models.validation import STATISTICS, WORKLOAD_MODEL

OTHERS = tuple(name for name in PARAMETERS if name not in (*REWEIGHTED, *OF_USERS))
START = {**dict.fromkeys((*OTHERS, *OF_USERS), 0.5), **reweighted.START}
"""Half of the possible range of deviations, shares and powers."""
TRIED = (0.5, 2.0)
PARTS = (0.5, 1.0, 1.5, 2.0)
BESIDE = ("user blocks", "jobs one by one")
"""The resampling methods to compare with; all four would take long."""
Variations = Mapping[str, Variation]
Tables = Mapping[str, pd.DataFrame]


def start() -> Variation:
    """Return the initial variation."""
    return ESTIMATED.with_values(**START)


def neighbours() -> dict[str, Variation]:
    """Return the initial variation, and ones with a changed parameter."""
    steps = {f"{p} {f:g}": scaled(p, f, start()) for p in OTHERS for f in TRIED}
    return {"start": start(), **steps}


def under(name: str, variations: Variations) -> pd.DataFrame:
    """Return the mean score of each statistic of a list (columns) by variation (rows)."""
    by_method = scores(name, in_use(listed(name)), variations)
    print(name, file=sys.stderr, flush=True)
    by_variation = by_method.pivot_table(index="method", columns="statistic", values="winkler")
    return by_variation.reindex(list(variations))


def losses(tables: Iterable[pd.DataFrame], typical: pd.Series) -> pd.DataFrame:
    """Return the score by variation (rows) and list, groups of statistics with equal weights."""
    by_group = []
    for table in tables:
        relative = (table / typical).T
        group = relative.index.map(STATISTICS.__getitem__)
        by_group.append(relative.groupby(group).mean().mean())
    return pd.concat(by_group, axis=1)


def others(site: str, tables: Tables) -> list[pd.DataFrame]:
    """Return the tables of all lists except a site's."""
    return [table for name, table in tables.items() if SITE[name] != site and len(table.columns)]


def steps(site: str, tables: Tables) -> dict[str, float]:
    """Return the factor on each parameter, from all other sites.

    Each tried value has a penalty of the standard error of its gain, so that parameters the lists
    do not determine keep their values.
    """
    tables_elsewhere = others(site, tables)
    loss = losses(
        tables_elsewhere, pd.concat([t.loc["start"] for t in tables_elsewhere], axis=1).mean(axis=1)
    )
    gain = loss - loss.loc["start"]
    penalised = gain.mean(axis=1) + gain.std(axis=1) / np.sqrt(len(tables_elsewhere))
    low, high = TRIED
    return {
        p: minimum(penalised[[f"{p} {low:g}", "start", f"{p} {high:g}"]].to_numpy(), np.log(high))
        for p in OTHERS
    }


def joint(pool: Executor) -> dict[str, Variation]:
    """Return the initial variation with the joint estimates without each site."""
    first, variations = reweighted.first_round(pool, LISTS), {}
    for site in SITES:
        names_elsewhere = [name for name in LISTS if SITE[name] != site]
        tried = reweighted.refine(pool, first.on(names_elsewhere))
        values = reweighted.parameters(tried.best(), reweighted.extra_deviation(pool, tried))
        variation = start().with_values(**values)
        of_users = turnover.estimate(names_elsewhere, variation)
        variations[site] = variation.with_values(**of_users)
        print(site, file=sys.stderr, flush=True)
    return variations


def fractions(
    variations: Variations, factors: Mapping[str, Mapping[str, float]]
) -> dict[str, Variation]:
    """Return variations with fractions of the steps without each site."""
    return {
        f"{site} {part:g}": all_scaled(variations[site], {p: f**part for p, f in of_site.items()})
        for site, of_site in factors.items()
        for part in PARTS
    }


def best(site: str, tables: Tables, variations: Variations) -> Variation:
    """Return the variation with the fraction of its steps that scores best on all other sites."""
    mine = [key for key in variations if key.startswith(f"{site} ")]
    tables_elsewhere = [table.loc[mine] for table in others(site, tables)]
    typical = pd.concat([table.mean() for table in tables_elsewhere], axis=1).mean(axis=1)
    return variations[str(losses(tables_elsewhere, typical).mean(axis=1).idxmin())]


def estimate(pool: Executor, near: Tables) -> dict[str, Variation]:
    """Estimate the variation without each site, from scores near the initial one."""
    tried = fractions(joint(pool), {site: steps(site, near) for site in SITES})
    beside = [
        {key: variation for key, variation in tried.items() if not key.startswith(f"{SITE[name]} ")}
        for name in LISTS
    ]
    tables = dict(zip(LISTS, pool.map(under, LISTS, beside), strict=True))
    return {site: best(site, tables, tried) for site in SITES}


def parameters(variations: Variations) -> str:
    """Return the parameters without each site, and the shipped ones, as a Markdown table."""
    lines = ["| without | " + " | ".join(PARAMETERS) + " |", "|---|" + "---:|" * len(PARAMETERS)]
    for site, variation in {"– (ships)": ESTIMATED, **variations}.items():
        values = (f"{getattr(variation, p).value:.2g}" for p in PARAMETERS)
        lines.append(f"| {site} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the scores and the parameters."""
    with ProcessPoolExecutor() as pool:
        near = dict(zip(LISTS, pool.map(under, LISTS, [neighbours()] * len(LISTS)), strict=True))
        variations = estimate(pool, near)
        scored = partial(score_list, methods=BESIDE, used=LISTS)
        tables = pool.map(scored, LISTS, [variations[SITE[name]] for name in LISTS])
        table = pd.concat(tables, ignore_index=True)
    if "--markdown" in sys.argv:
        print(markdown(table), parameters(variations), sep="\n\n")
    else:
        shares = site_shares(table).drop(columns="lists").T
        scores = summary(table).pivot_table(index="method", columns="group", values="winkler")
        shares.loc["Winkler score (user blocks; jobs one by one)"] = [
            "{:.3g} ({:.3g}; {:.3g})".format(*scores.loc[[WORKLOAD_MODEL, *BESIDE], group])
            for group in shares.columns
        ]
        print(shares.rename_axis("a distribution without the site").to_csv(), end="")


if __name__ == "__main__":
    main()
