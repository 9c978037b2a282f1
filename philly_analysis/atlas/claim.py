"""Define a claim: one finding of the study as a question to any trace."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pandas as pd

from philly_analysis.atlas.measures import Measure
from philly_analysis.atlas.resampling import Estimate
from philly_analysis.results import duration, number

FEWEST_ROWS, FEWEST_EVENTS = 30, 5
"""Fewest observations, and events among them, in each group of a comparison."""

FEWEST_BLOCKS_WITH_ROWS = 5
"""Fewest blocks (users, weeks) with an observation in each group."""


class Verdict(StrEnum):
    """Whether a claim holds for a cluster, as far as its trace shows."""

    HOLDS = "holds"
    REVERSED = "is reversed"
    ABSENT = "is practically absent"
    UNDECIDED = "cannot be said"

    @property
    def word(self) -> str:
        """The verdict in one word: holds, reversed, absent or undecided."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Published:
    """The study's result, in words and, where it is printed, in the unit of the claim.

    Attributes
    ----------
    known
        How the number was obtained: read from a table, quoted by others, recalled.
    """

    text: str
    source: str
    known: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """Effects that are practically absent, in the unit of the claim.

    Attributes
    ----------
    low, high
        Its ends.
    reason
        Why a difference within it does not matter, as a sentence.
    """

    low: float
    high: float
    reason: str


@dataclass(frozen=True, slots=True)
class Claim:
    """One finding of the study, as a question to any trace.

    Attributes
    ----------
    name
        Its name, in the table and as an anchor on the page.
    title
        The claim, as a sentence without its full stop.
    question
        What is computed and when the claim holds, in a sentence or two.
    published
        The study's result.
    needs
        Tables, or columns of ``known_columns``, that a trace must have.
    relation
        Relation with its rows.
    measure
        The computation from these rows.
    effect
        Name of the effect.
    threshold
        Value of the effect from which the claim holds.
    label
        Label of the small figures.
    margin
        Effects that are practically absent; None if no effect is.
    above
        True if it holds above the threshold, False if below.
    of_users
        True if the resampling draws users, where they are known; else weeks.
    invalid_for
        Samples selected by one of these criteria cannot answer it.
    biased_by
        Samples selected by one of these can, with a note on the page.
    caveat
        Limit of every answer.
    """

    name: str
    title: str
    question: str
    published: Published
    needs: tuple[str, ...]
    relation: str
    measure: Measure
    effect: str
    threshold: float
    label: str
    margin: Margin | None = None
    above: bool = True
    of_users: bool = False
    invalid_for: frozenset[str] = frozenset()
    biased_by: frozenset[str] = frozenset()
    caveat: str = ""

    def verdict(self, effect: Estimate) -> Verdict:
        """Return the verdict of an effect and its interval.

        The effect is practically absent if the whole interval is within the margin (an
        equivalence test: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
        Otherwise the claim holds if the whole interval is on its side of the threshold, is
        reversed if the whole interval is on the other side, and is undecided if neither.
        """
        low, high = effect.low, effect.high
        if self.margin and self.margin.low <= low and high <= self.margin.high:
            return Verdict.ABSENT
        if np.isnan(low) or np.isnan(high) or low <= self.threshold <= high:
            return Verdict.UNDECIDED
        return Verdict.HOLDS if (low > self.threshold) == self.above else Verdict.REVERSED

    def format(self, value: float) -> str:
        """Format a value in the unit of the claim."""
        if not np.isfinite(value):
            return "∞" if value > 0 else "–"
        match self.measure.unit:
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
        """When it holds, as a phrase."""
        return f"{'above' if self.above else 'below'} {self.format(self.threshold).lstrip('+')}"

    @property
    def absence(self) -> str:
        """When it is practically absent, as a phrase; empty if it never is."""
        if self.margin is None:
            return ""
        return f"{self.format(self.margin.low)} to {self.format(self.margin.high)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of one trace to one claim.

    Attributes
    ----------
    effect
        The effect with its interval; NaN where nothing was computed.
    counts
        Observations in each group of the comparison.
    blocks, kind
        Number and kind of the resampled blocks; zero and empty without a resampling.
    why
        Why it is undecided; empty otherwise.
    brief
        The same in a word or two, where nothing was computed.
    notes
        Further limits: how the sample biases the answer.
    panel
        Data of the small figure: columns ``x``, ``y`` and ``n``; may be empty.
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
