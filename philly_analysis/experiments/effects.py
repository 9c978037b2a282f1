"""Paired effects of one arm of an experiment against another, by seed, with 95 % intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from philly_analysis.results import Paired, paired

ARM = ["setting", "load", "arm", "seed"]
"""Key of a table of trials: assumptions, offered load, arm, seed of the draw of jobs."""

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
                found = paired(pair[arm], pair[against], relative=True)
                rows.append((setting, load, found.effect, found.low, found.high, found.pairs))
    columns = ["setting", "load", "effect_pct", "low_pct", "high_pct", "seeds"]
    return pd.DataFrame(rows, columns=columns)


def effect(
    table: pd.DataFrame, measure: str, arm: str, against: str, *, setting: str, load: float
) -> Paired:
    """Return one row of :func:`effects`; NaN if there is none."""
    group = table[(table["setting"] == setting) & ((table["load"] - load).abs() < 1e-9)]
    rows = effects(group, measure, arm, against)
    columns = ["effect_pct", "low_pct", "high_pct", "seeds"]
    return Paired(np.nan, np.nan, np.nan, 0) if rows.empty else Paired(*rows[columns].iloc[0])


def effect_table(table: pd.DataFrame, shown: Mapping[str, Pairs]) -> pd.DataFrame:
    """Return effects and intervals as text for a page: a row per setting and load."""
    columns = {
        f"{label}, {measure}": {
            (row.setting, row.load): percent(Paired(*row[3:]))
            for row in effects(table, measure, arm, against).itertuples()
        }
        for measure, pairs in shown.items()
        for arm, against, label in pairs
    }
    keys = list(dict.fromkeys(key for column in columns.values() for key in column))
    return pd.DataFrame(
        {
            "setting": [setting for setting, _ in keys],
            "load": [load for _, load in keys],
            **{name: [texts.get(key) for key in keys] for name, texts in columns.items()},
        }
    )


def percent(change: Paired) -> str:
    """Return a percent change with its interval as text."""
    text = f"{_signed(change.effect)} %"
    if change.low != change.low:
        return text
    return f"{text} ({_signed(change.low)} to {_signed(change.high)})"


def _signed(value: float) -> str:
    """Return a percentage with two digits; values just above −100 are not rounded to it."""
    digits = 0 if abs(value) >= 10 and not -100 < value < -99 else 1
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "\N{MINUS SIGN}") if rounded else "0"


def significant(changes: Mapping[str, Paired]) -> str:
    """Return the changes whose interval excludes zero, and the names of the other arms."""
    clear = {arm: change for arm, change in changes.items() if change.low > 0 or change.high < 0}
    parts = [f"{arm} {percent(change)}" for arm, change in clear.items()]
    if others := [arm for arm in changes if arm not in clear]:
        parts.append(f"no significant change: {', '.join(others)}")
    return "; ".join(parts)
