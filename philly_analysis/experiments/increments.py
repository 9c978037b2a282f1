"""Credit each mechanism with the gain over the strongest arm that lacks the mechanism."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.experiments.effects import WHAT, effects
from philly_analysis.results import (
    Fact,
    Paired,
    Result,
    change_size,
    change_text,
    count,
    interval_facts,
    is_clear,
    is_zero,
    paired,
)
from philly_analysis.results.figures import Panel, canvas, effect_color, empty, forest_panels


class AtLoad(NamedTuple):
    """A change in percent against the strongest rival at one load."""

    load: float
    against: str
    change: Paired


@dataclass(frozen=True, slots=True)
class Increment:
    """What a mechanism adds to a measure.

    Attributes
    ----------
    mechanism
        The mechanism, as a phrase.
    measure
        Column of the table of trials.
    arm
        Arm that has the mechanism.
    rivals
        Arms that lack the mechanism.
    more
        Whether more of the measure is better.
    published_pct
        Published change; None: none.
    """

    mechanism: str
    measure: str
    arm: str
    rivals: Sequence[str]
    more: bool = False
    published_pct: float | None = None

    @property
    def what(self) -> str:
        """The measure, as a phrase."""
        return WHAT[self.measure]

    def by_load(self, table: pd.DataFrame, setting: str) -> list[AtLoad]:
        """Return the change against the strongest rival at each load, in order.

        The strongest rival leaves the smallest gain. The draws that estimate the gain also choose
        the rival, so that the gain is rather too small than too large.
        """
        changes = [
            AtLoad(float(row[2]), rival, Paired(*row[3:]))
            for rival in self.rivals
            for row in effects(table, self.measure, self.arm, rival).itertuples()
            if row.setting == setting
        ]
        best = 1 if self.more else -1
        changes.sort(key=lambda at: (at.load, best * at.change.effect))
        return [next(rivals) for _, rivals in groupby(changes, attrgetter("load"))]


def sentences(
    increments: Sequence[Increment], table: pd.DataFrame, setting: str, at: float
) -> Iterator[str]:
    """Yield the first increment at one load, as the headline, and at the other loads."""
    first = increments[0]
    changes = first.by_load(table, setting)
    here = [row for row in changes if np.isclose(row.load, at)]
    for row in here:
        over = f"over “{row.against}”, the strongest arm without it"
        mechanism, load = _capital(first.mechanism), f"at a load of {at:g}"
        verb = "raises" if row.change.effect > 0 else "lowers"
        size = f"{verb} {first.what} by {change_size(row.change)}"
        if is_clear(row.change):
            yield f"{mechanism} {size} {load}, {over}."
        elif is_zero(row.change):
            yield f"{mechanism} does not change {first.what} {load}, {over}."
        elif np.isnan(row.change.low):
            draws = count(row.change.pairs, "draw")
            yield f"{mechanism} {size} {load}, {over} ({draws}, without an interval)."
        else:
            yield (
                f"The effect of {first.mechanism} on {first.what} {load} is not "
                f"significant: {change_text(row.change)} {over}."
            )
    if others := [row for row in changes if row not in here]:
        other_changes = "; ".join(f"{change_text(row.change)} at {row.load:g}" for row in others)
        yield f"At other loads: {other_changes}."


def _capital(phrase: str) -> str:
    return phrase[0].upper() + phrase[1:]


def facts(increments: Sequence[Increment], table: pd.DataFrame, setting: str) -> Iterator[Fact]:
    """Yield every increment at every load, with interval."""
    for one in increments:
        for row in one.by_load(table, setting):
            load = f"{row.load:g}".replace(".", "_")
            mechanism = one.mechanism.replace(" ", "_").replace("-", "_").lower()
            name = f"{mechanism}_{one.measure.removesuffix('_h').removesuffix('_pct')}"
            yield from interval_facts(
                f"{name}_at_{load}{{}}_pct",
                (row.change.effect, row.change.low, row.change.high),
                f"{one.mechanism}: change of {one.what} at a load of {row.load:g}, over "
                f"{row.against}, the strongest arm without it",
            )


def draw(increments: Sequence[Increment], setting: str, result: Result) -> Figure:
    """Draw a forest plot: a panel per increment, a row per load."""
    panels = []
    for one in increments:
        changes = one.by_load(result.table, setting)
        rows = [
            (f"{at.load:g}, over {at.against}", at.change, effect_color(at.change, more=one.more))
            for at in changes
        ]
        dotted = "" if one.published_pct is None else " (dotted: published)"
        heading = f"{_capital(one.mechanism)}: {one.what}{dotted}"
        panels += [Panel(heading, rows, one.published_pct)] if rows else []
    if not panels:
        return empty(canvas()[0], "no load has two arms")
    return forest_panels(panels, "change, %, by load and strongest arm without it")


def choice_table(
    increments: Sequence[Increment],
    table: pd.DataFrame,
    usual: str,
    choices: Sequence[str],
    at: float,
) -> pd.DataFrame:
    """Return how much each free choice of a policy moves the completion time, as text.

    Parameters
    ----------
    choices
        Settings that change a choice which the policy's publication leaves open.

    Returns
    -------
    pandas.DataFrame
        A row per choice: the choice, the arm (with a mechanism if possible, else without), the
        change of the measure against the usual setting (paired by draw, with 95 % interval), and
        the largest change on a single draw.
    """
    candidates = [
        *((one, one.arm) for one in increments),
        *((one, rival) for one in increments for rival in one.rivals),
    ]
    here = table[np.isclose(table["load"], at)]
    rows = []
    for choice in choices:
        trial_rows = here[here["setting"] == choice]
        arms = set(trial_rows["arm"])
        moved_arms = ((one, arm) for one, arm in candidates if arm in arms)
        one, arm = next(moved_arms, (increments[0], ""))
        wide = (
            here[here["arm"] == arm]
            .pivot_table(index="seed", columns="setting", values=one.measure)
            .reindex(columns=[usual, choice])
            .dropna()
        )
        if wide.empty:
            continue
        moved = paired(wide[choice], wide[usual], relative=True)
        single = 100 * (wide[choice] / wide[usual] - 1)
        largest = single.iloc[int(single.abs().argmax())]
        on_one_draw = Paired(largest, np.nan, np.nan, 1)
        rows.append((choice, arm, one.what, change_text(moved), change_text(on_one_draw)))
    columns = ["choice", "arm", "measure", "moves it by", "at most, on one draw"]
    return pd.DataFrame(rows, columns=columns)
