"""Define a claim: one finding of the study as a question to any trace."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import pandas as pd

from philly_analysis.atlas.measure import Measure
from philly_analysis.atlas.resampling import Estimate
from philly_analysis.results import duration, number

FEWEST_ROWS, FEWEST_EVENTS = 30, 5
"""Fewest observations and events in each group of a comparison."""

FEWEST_BLOCKS_WITH_ROWS = 5
"""Fewest blocks (users, weeks) with an observation in each group."""


BOUNDS, CLEARANCE = "bounds", "clearance"
"""Kinds of an interval without a resampling: limits that the data imply, and the claim's own."""


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


class Evidence(StrEnum):
    """What an answer rests on, the strongest first."""

    ROWS = "rows"
    AGGREGATES = "aggregates"
    PRINTED = "printed"


@dataclass(frozen=True, slots=True)
class Published:
    """The study's result, in words and, where it is printed, in the unit of the claim.

    Attributes
    ----------
    obtained
        How the number was obtained: read from a table, quoted by others, recalled.
    """

    text: str
    source: str
    obtained: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Margin:
    """Effects that are practically absent, in the unit of the claim.

    Attributes
    ----------
    low, high
        Ends of the margin.
    reason
        Why a difference within the margin does not matter, as a sentence.
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
        Name of the claim, in the table and as an anchor on the page.
    title
        The claim, as a sentence without its full stop.
    question
        What is computed and when the claim holds, in a sentence or two.
    published
        The study's result.
    needs
        Tables, or columns of ``known_columns``, that a trace must have.
    relation
        Relation with the claim's rows.
    measure
        Computation of the effect from the rows.
    effect
        Name of the effect.
    threshold
        Value of the effect from which the claim holds.
    label
        Label of the small figures.
    margin
        Effects that are practically absent; None: no effect is practically absent.
    above
        True if the claim holds above the threshold, False if below.
    of_users
        True if the resampling draws users, where users are recorded; False if weeks.
    invalid_for
        Criteria of selection: samples selected by them cannot answer the claim.
    biased_by
        Criteria of selection: samples selected by them answer the claim with a note on the page.
    caveat
        Limit of every answer.
    clearance
        Distance from the threshold at which a number without an interval decides: a factor for
        durations and ratios, else in the unit of the claim. The clearance is at least as wide as
        the interval of every public log with all its rows. None: no printed number decides.
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
    clearance: float | None = None

    @property
    def of_effect(self) -> bool:
        """True for a claim of an effect, whose threshold is no effect; False for one of a level."""
        return self.measure.unit in ("times", "points")

    def assumed(self, value: float) -> Estimate:
        """Return a number without an interval, with one as wide as the clearance."""
        if self.clearance is None:
            return Estimate(value, np.nan, np.nan)
        if self.measure.unit in ("times", "s"):
            return Estimate(value, value / self.clearance, value * self.clearance)
        return Estimate(value, value - self.clearance, value + self.clearance)

    def verdict(self, effect: Estimate) -> Verdict:
        """Return the verdict of an effect and its interval.

        The effect is practically absent if the whole interval is within the margin (an
        equivalence test: Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
        Otherwise the claim holds if the whole interval is on its side of the threshold, is
        reversed if the whole interval is on the other side, and else is undecided.
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
            case "rate":
                return number(value)

    def format_interval(self, effect: Estimate) -> str:
        """Format an effect with its interval; empty if there is no effect."""
        if np.isnan(effect.value):
            return ""
        ends = f" [{self.format(effect.low)}, {self.format(effect.high)}]"
        return self.format(effect.value) + ("" if np.isnan(effect.low) else ends)

    def shown(self, finding: "Finding", *, short: bool = False) -> str:
        """Format the effect of an answer, as a limit if it is the lower of two bounds.

        Parameters
        ----------
        short
            True for two significant digits of a long text.
        """
        effect = finding.effect
        limit = finding.kind == BOUNDS and effect.value == effect.low < effect.high
        text = self.format(effect.value)
        text = text.replace("points", "pt") if short else text
        if short and len(text) > 5 and (digits := re.search(r"\d+\.\d+", text)):
            value = float(digits[0])
            text = text.replace(digits[0], f"{value:.0f}" if value >= 9.95 else f"{value:.2g}")
        return f"{'≥ ' if limit else ''}{text}"

    @property
    def rule(self) -> str:
        """When the claim holds, as a phrase."""
        return f"{'above' if self.above else 'below'} {self.format(self.threshold).lstrip('+')}"

    @property
    def absence(self) -> str:
        """When the effect is practically absent, as a phrase; empty if never."""
        if self.margin is None:
            return ""
        return f"{self.format(self.margin.low)} to {self.format(self.margin.high)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer to a claim: of a trace, of a publisher's aggregate, or printed.

    Attributes
    ----------
    cluster
        Name of the cluster that the answer is about.
    evidence, source
        Kind of evidence; name of the trace, or the place where the number is published.
    effect
        The effect with its interval; NaN where nothing was computed.
    counts
        Observations in each group of the comparison.
    blocks, kind
        Number and kind of the resampled blocks; zero and empty without a resampling.
    why
        Why it is undecided; empty otherwise.
    brief
        Reason in a word or two, where nothing was computed.
    notes
        Further limits: how the sample biases the answer, what a number counts otherwise.
    panel
        Data of the small figure: columns ``x``, ``y`` and ``n``; may be empty.
    """

    claim: str
    cluster: str
    verdict: Verdict
    evidence: Evidence = Evidence.ROWS
    source: str = ""
    effect: Estimate = Estimate(np.nan, np.nan, np.nan)  # noqa: RUF009 - it is frozen
    counts: Mapping[str, int] = field(default_factory=dict)
    blocks: int = 0
    kind: str = ""
    why: str = ""
    brief: str = ""
    notes: tuple[str, ...] = ()
    panel: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def decided(self) -> bool:
        """True if it has a verdict other than that it cannot be said."""
        return self.verdict is not Verdict.UNDECIDED

    @property
    def strength(self) -> tuple[bool, bool, int, bool, int]:
        """Sorting key, the strongest first: an effect, an interval, rows, no bias, large counts."""
        kinds = list(Evidence)
        return (
            bool(np.isnan(self.effect.value)),
            bool(np.isnan(self.effect.low)),
            kinds.index(self.evidence),
            bool(self.notes),
            -min(self.counts.values(), default=0),
        )


def agreement(findings: Iterable[Finding]) -> str:
    """Return whether decided answers agree; empty for fewer than two."""
    verdicts = [f.verdict for f in findings if f.decided]
    if len(verdicts) < 2:
        return ""
    return "agree" if len(set(verdicts)) == 1 else "disagree"
