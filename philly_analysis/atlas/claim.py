"""A claim: one finding of the study, as a question that any trace can be asked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

import numpy as np
import pandas as pd

from philly_analysis.atlas.resampling import Estimate, Floats, Resampling
from philly_analysis.results import duration, number

FEWEST_ROWS, FEWEST_EVENTS = 30, 5
"""Rows, and events among them, on either side of a comparison, below which nothing is said."""

FEWEST_WITNESSES = 5
"""Blocks (users, weeks) with a row on either side of it, below which nothing is said."""

Sides = Callable[[pd.DataFrame], Mapping[str, "pd.Series[float]"]]
"""How many each row stands for on each side of a comparison, by what they are."""

Unit = Literal["times", "%", "points", "s"]
Shape = Literal["bars", "lengths", "shares", "hours"]


class Verdict(StrEnum):
    """Whether a claim holds of a cluster, as far as its trace can say."""

    HOLDS = "holds"
    DOES_NOT = "does not hold"
    UNSAID = "cannot be said"


@dataclass(frozen=True, slots=True)
class Printed:
    """What the study says: in words, and in the unit of the claim where it prints that.

    Attributes
    ----------
    known
        How it came to us: read from a table, quoted by others, recalled.
    """

    text: str
    source: str
    known: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One finding of the study, as a question that any trace can be asked.

    Attributes
    ----------
    name
        Its name, in the table and as an address on the page.
    title
        The claim, as a sentence without its full stop.
    asked
        What is computed and when the claim counts as holding, in a sentence or two.
    printed
        What the study found.
    relation
        The relation with the rows that it is computed from.
    needs
        Tables, or columns of ``known_columns``, that a trace must have.
    statistic
        The effect, by drawing, from the rows and a resampling of them.
    effect
        What the effect is, as a phrase.
    unit
        Its unit.
    threshold
        Where the claim begins to hold.
    above
        True if it holds above the threshold, False if below.
    sides
        The sides of the comparison; one where it compares nothing.
    panel
        What to draw of one cluster: columns ``x``, ``y`` and ``n``.
    shape, label
        How to draw it, and what the vertical axis is.
    events
        What is counted on each side, where a ratio of two shares needs some on both.
    most
        What the effect cannot exceed, where the drawings do not bound it: then it is the upper end
        of the interval. They know none heavier than the heaviest seen, so a share of the top is
        drawn too low, hardly ever too high.
    of_users
        True if blocks of the resampling are users, where they are known; else weeks.
    spoiled_by
        Samples chosen by one of these cannot be asked.
    bent_by
        Samples chosen by one of these can, and the page says so.
    caveat
        What limits every answer.
    """

    name: str
    title: str
    asked: str
    printed: Printed
    relation: str
    needs: tuple[str, ...]
    statistic: Callable[[pd.DataFrame, Resampling], Floats]
    effect: str
    unit: Unit
    threshold: float
    above: bool
    sides: Sides
    panel: Callable[[pd.DataFrame], pd.DataFrame]
    shape: Shape
    label: str
    of_users: bool
    events: Sides | None = None
    most: float | None = None
    spoiled_by: frozenset[str] = frozenset()
    bent_by: frozenset[str] = frozenset()
    caveat: str = ""

    def judge(self, effect: Estimate) -> Verdict:
        """Return what an effect and its interval say of the claim.

        It holds where the whole interval lies on its side of the threshold, and does not where
        the whole interval lies on the other; otherwise it cannot be said.
        """
        low, high = effect.low, effect.high
        if np.isnan(low) or np.isnan(high):
            return Verdict.UNSAID
        if low > self.threshold:
            return Verdict.HOLDS if self.above else Verdict.DOES_NOT
        if high < self.threshold:
            return Verdict.DOES_NOT if self.above else Verdict.HOLDS
        return Verdict.UNSAID

    def say(self, value: float) -> str:
        """Return a number in the unit of the claim, as people read it."""
        if not np.isfinite(value):
            return "∞" if value > 0 else "–"
        match self.unit:
            case "s":
                return duration(value)
            case "times":
                return f"{number(value)}×"
            case "points":
                return f"{number(value, signed=True)} points".replace("-", "−")
            case "%":
                return f"{number(value)} %"

    @property
    def rule(self) -> str:
        """When it holds, in a phrase."""
        return f"{'above' if self.above else 'below'} {self.say(self.threshold).lstrip('+')}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one trace says of one claim.

    Attributes
    ----------
    effect
        The effect with its interval; NaN where nothing was computed.
    counts
        Rows on each side of the comparison.
    blocks, kind
        How many blocks were resampled, and what they are; zero and empty where none were.
    why
        Why it cannot be said; empty otherwise.
    brief
        The same in a word or two, where nothing was computed.
    notes
        What else a reader must know: how the sample bends the answer.
    panel
        What to draw: columns ``x``, ``y`` and ``n``; empty where there is nothing.
    """

    claim: str
    cluster: str
    verdict: Verdict
    effect: Estimate = Estimate(np.nan, np.nan, np.nan)  # noqa: RUF009 - it is frozen
    counts: Mapping[str, int] = field(default_factory=dict)
    blocks: int = 0
    kind: str = ""
    why: str = ""
    brief: str = ""
    notes: tuple[str, ...] = ()
    panel: pd.DataFrame = field(default_factory=pd.DataFrame)
