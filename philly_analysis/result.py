"""A Result is one small table that answers one question, with its headline facts."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from philly_analysis.errors import OutputError, UnknownNameError
from philly_analysis.prose import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """One headline number, named with its unit (``median_wait_s``), and what it says."""

    name: str
    value: Value
    meaning: str

    def __post_init__(self) -> None:
        value: object = self.value
        if isinstance(value, np.generic):
            value = value.item()
        if value != value:  # NaN: not known
            value = None
        object.__setattr__(self, "value", value)

    @property
    def said(self) -> str:
        """The value as people read it, in the unit that the name carries."""
        return quantity(self.name, self.value)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A number that was printed elsewhere beside the same thing measured here.

    Attributes
    ----------
    what
        What is compared, as a phrase.
    published, measured
        The two values in `unit`; ``measured`` is None where this trace cannot say.
    source
        Where the published value stands, e.g. ``ATC'19, Table 6``.
    reason
        Why the two may differ.
    """

    what: str
    published: float
    measured: float | None
    unit: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Result:
    """What one analysis found on one trace.

    Attributes
    ----------
    name
        Name of the analysis.
    table
        Tidy table, small enough to draw from and to download.
    facts
        Headline numbers that the page, the prose and the golden tests quote.
    sentences
        What the facts support, in words; computed, never boilerplate.
    caveats
        What limits the answer on this trace: exclusions with counts, estimates, gaps.
    warnings
        What makes other findings doubtful, e.g. clocks that disagree; the page opens with them.
    comparisons
        Published values beside measured ones; empty unless the trace is the study's cluster.
    synthetic
        True when the trace is synthetic; figures then say so.
    question
        The question that it answers.
    reads
        The tables and relations that were asked for it, in order.
    headline
        Name of the fact that answers the question in one number, which ends in its unit
        (``full_pct``); the ends of its interval are ``full_low_pct`` and ``full_high_pct``. Empty:
        no single one does.
    advice
        What follows for whoever runs the cluster, in a sentence or two; empty: nothing does.
    draw
        What draws it, given itself; None: nothing does.
    """

    name: str
    table: pd.DataFrame
    facts: tuple[Fact, ...] = ()
    sentences: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    synthetic: bool = False
    question: str = ""
    reads: tuple[str, ...] = ()
    headline: str = ""
    advice: str = ""
    draw: "Callable[[Result], Figure] | None" = field(default=None, repr=False, compare=False)

    def fact(self, name: str) -> Value:
        """Return the value of a fact by name."""
        for fact in self.facts:
            if fact.name == name:
                return fact.value
        raise UnknownNameError(f"fact of {self.name}", name, [f.name for f in self.facts])

    def plot(self) -> "Figure":
        """Draw it, as on the page.

        Raises
        ------
        OutputError
            It is one that is not drawn.
        """
        if self.draw is None:
            raise OutputError(f"{self.name} has no figure; its table has all that it says.")
        return self.draw(self)

    def to_csv(self, path: str | Path) -> Path:
        """Write its table as CSV, and return where.

        Raises
        ------
        OutputError
            It cannot be written there.
        """
        try:
            self.table.to_csv(path, index=False)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror or error}") from None
        return Path(path)

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.name}: {self.question or 'a result'}",
                *(f"  {sentence}" for sentence in (*self.warnings, *self.sentences)),
                *(f"  {fact.name} = {fact.said}" for fact in self.facts),
                f"  table: {len(self.table):,} rows of {', '.join(map(str, self.table.columns))}",
            ]
        )

    def _repr_html_(self) -> str:
        said = (*self.warnings, *self.sentences, *self.caveats)
        facts = "".join(
            f"<tr><td>{escape(f.name)}</td><td style='text-align:right'>{escape(f.said)}</td>"
            f"<td style='text-align:left'>{escape(f.meaning)}</td></tr>"
            for f in self.facts
        )
        return (
            f"<h4>{escape(self.question or self.name)}</h4>"
            + "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
            + self._picture()
            + f"<details><summary>{len(self.facts)} facts</summary><table>{facts}</table></details>"
            + str(self.table.to_html(max_rows=20, index=False, border=0, escape=True))
        )

    def _picture(self) -> str:
        if self.draw is None:
            return ""
        png = BytesIO()
        self.draw(self).savefig(png, format="png")
        data = b64encode(png.getvalue()).decode()
        said = escape(" ".join(self.sentences) or self.question, quote=True)
        return f"<p><img alt='{said}' src='data:image/png;base64,{data}'></p>"
