"""What one arm of an experiment does against another: paired by seed, with an interval."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from itertools import chain

import pandas as pd

from philly_analysis.parallel import InlineExecutor, map_ordered
from philly_analysis.results import Paired, count, paired

ARM = ["setting", "load", "arm", "seed"]
"""Key of a table of trials: what was set, offered load, what was done, which draw of jobs."""


Row = tuple[object, ...]
"""One trial: its key, and what was measured."""

Shown = Mapping[str, tuple[tuple[str, str, str], ...]]
"""By measure, which arms a page shows against which, and as what."""


def trials(
    of_seed: Callable[[int], list[Row]],
    seeds: Sequence[int],
    measures: Sequence[str],
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Return the table of all trials, those of a seed made in one go, wherever work is done.

    Parameters
    ----------
    of_seed
        Returns the rows of a seed: key and measures.
    executor
        None: here.
    """
    rows = chain.from_iterable(
        map_ordered(executor or InlineExecutor(), of_seed, seeds, ahead=len(seeds))
    )
    return pd.DataFrame(list(rows), columns=[*ARM, *measures])


def effects(table: pd.DataFrame, measure: str, arm: str, against: str) -> pd.DataFrame:
    """Return by how many percent an arm changes a measure against another.

    Where one of them is zero there is no such number, and no row.

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
    """Return one row of :func:`effects`; NaN where there is none."""
    there = table[(table["setting"] == setting) & ((table["load"] - load).abs() < 1e-9)]
    rows = effects(there, measure, arm, against)
    if rows.empty:
        nan = float("nan")
        return Paired(nan, nan, nan, 0)
    return Paired(*rows[["effect_pct", "low_pct", "high_pct", "seeds"]].iloc[0])


def in_words(table: pd.DataFrame, shown: Shown) -> pd.DataFrame:
    """Return effects as a page shows them, with intervals: a row per setting and load."""
    columns = {
        (measure, label): {
            (row.setting, row.load): percent(Paired(*row[3:]))
            for row in effects(table, measure, arm, against).itertuples()
        }
        for measure, pairs in shown.items()
        for arm, against, label in pairs
    }
    at = list(dict.fromkeys(key for column in columns.values() for key in column))
    return pd.DataFrame(
        {
            "setting": [setting for setting, _ in at],
            "load": [load for _, load in at],
            **{
                f"{label}, {measure}": [said.get(key) for key in at]
                for (measure, label), said in columns.items()
            },
        }
    )


def drawn_from(law_name: str, load: float | None, seeds: Sequence[int]) -> str:
    """Say of which jobs effects are."""
    at = "" if load is None else f" at a load of {load:g}"
    return f"On jobs of “{law_name}”{at}, {count(len(seeds), 'draw')}."


def percent(found: Paired) -> str:
    """Say a change in percent, with its interval."""
    said = f"{_signed(found.effect)} %"
    if found.low != found.low:
        return said
    return f"{said} ({_signed(found.low)} to {_signed(found.high)})"


def _signed(value: float) -> str:
    """Write a number of percent: to two digits, but nothing short of −100 as that."""
    digits = 0 if abs(value) >= 10 and not -100 < value < -99 else 1
    rounded = round(value, digits)
    return f"{rounded:+.{digits}f}".replace("-", "\N{MINUS SIGN}") if rounded else "0"


def told_apart(found: Mapping[str, Paired]) -> str:
    """Say changes of arms that are told apart from none, and name the other arms."""
    sure = {arm: change for arm, change in found.items() if change.low > 0 or change.high < 0}
    said = [f"{arm} {percent(change)}" for arm, change in sure.items()]
    if others := [arm for arm in found if arm not in sure]:
        said.append(f"not told apart from no change: {', '.join(others)}")
    return "; ".join(said)
