"""Paired effects of one arm of an experiment against another, by seed, with 95 % intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from philly_analysis.results import Paired, change_text, paired

ARM = ["setting", "load", "arm", "seed"]
"""Key of a table of trials: assumptions, offered load, arm, seed of the draw of jobs."""

USUAL = "as assumed"
"""Name of the setting from which all others differ in one assumption."""

_EFFECT = ["effect_pct", "low_pct", "high_pct", "seeds"]
"""Columns of an effect: the fields of :class:`Paired`."""

WHAT = {
    "mean_jct_h": "mean completion time",
    "p99_jct_h": "99th percentile of completion times",
    "wait_h": "mean queueing delay",
    "compute_pct": "GPU compute in use",
    "memory_pct": "GPU memory in use",
    "jct_h": "mean completion time of sound jobs",
    "gang_jct_h": "mean completion time of sound gangs",
    "gpu_h": "GPU hours allocated",
}
"""Measures that arms are compared by, as phrases."""

Pairs = Sequence[tuple[str, str, str]]
"""Arms to compare: (arm, against, label)."""


def effects(table: pd.DataFrame, measure: str, arm: str, against: str) -> pd.DataFrame:
    """Return the percent change of a measure by an arm against another.

    Groups in which one of the two is zero are excluded.

    Returns
    -------
    pandas.DataFrame
        Columns setting, load, effect_pct, low_pct, high_pct (95 % interval over seeds), seeds.
    """
    wide = table[table["arm"].isin((arm, against))].pivot_table(
        index=["setting", "load", "seed"], columns="arm", values=measure, sort=False
    )
    rows = []
    if {arm, against} <= set(wide.columns):
        for (setting, load), pair in wide.dropna().groupby(level=[0, 1], sort=False):
            if (pair > 0).all(axis=None):
                change = paired(pair[arm], pair[against], relative=True)
                rows.append((setting, load, change.effect, change.low, change.high, change.pairs))
    return pd.DataFrame(rows, columns=["setting", "load", *_EFFECT])


def effect(
    table: pd.DataFrame, measure: str, arm: str, against: str, *, setting: str, load: float
) -> Paired:
    """Return one row of :func:`effects`; NaN if there is none."""
    group = table[(table["setting"] == setting) & ((table["load"] - load).abs() < 1e-9)]
    rows = effects(group, measure, arm, against)
    return Paired(np.nan, np.nan, np.nan, 0) if rows.empty else Paired(*rows[_EFFECT].iloc[0])


def contrasts(table: pd.DataFrame, shown: Mapping[str, Pairs]) -> pd.DataFrame:
    """Return the effects of arms on measures.

    Returns
    -------
    pandas.DataFrame
        Columns measure, arm, against, and the columns of :func:`effects`.
    """
    key = ["measure", "arm", "against"]
    tables = [
        effects(table, measure, arm, against).assign(measure=measure, arm=arm, against=against)
        for measure, pairs in shown.items()
        for arm, against, _ in pairs
    ]
    together = pd.concat(tables, ignore_index=True)
    return together[[*key, *together.columns.drop(key)]]


def contrast_tables(contrast_rows: pd.DataFrame, setting: str) -> dict[str, pd.DataFrame]:
    """Return contrasts and intervals under one setting as text, by what changes.

    Parameters
    ----------
    contrast_rows
        Table of :func:`contrasts`.

    Returns
    -------
    dict of str to pandas.DataFrame
        A row per contrast: the name of the contrast, and a column per load.
    """
    tables = {}
    usual = contrast_rows[contrast_rows["setting"] == setting]
    for measure, rows in usual.groupby("measure", sort=False):
        changes = [change_text(Paired(*row)) for row in rows[_EFFECT].itertuples(index=False)]
        named = rows.assign(change=changes, contrast=rows["arm"] + ", over " + rows["against"])
        wide = named.pivot_table(
            index="contrast", columns="load", values="change", aggfunc="first", sort=False
        )
        wide = wide.sort_index(axis=1).rename(columns="load {:g}".format)
        title = f"change of {WHAT[str(measure)]}"
        tables[title] = wide.rename_axis(columns=None).reset_index()
    return tables
