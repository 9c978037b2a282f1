"""What a page is made of: findings in chapters, the questions answered first, and gaps."""

import re
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.results import NOT_KNOWN, Result, figures
from philly_analysis.trace import Relation, with_dependencies

_PREVIEW_ROWS = 12
_PERCENTILES = (50, 90)
"""What the page shows first of a table of percentiles."""
_WHOLE_ROWS = 30
"""Rows up to which a table is shown whole."""


@dataclass(frozen=True)
class Section:
    """One finding as the page shows it.

    Attributes
    ----------
    svg
        Its figure; empty: it has none.
    shown
        What the page shows of its table, where that is not the first rows.
    """

    name: str
    question: str
    result: Result
    svg: str
    shown: pd.DataFrame | None = None

    @property
    def rows(self) -> int:
        """Rows of the finding's table."""
        return len(self.result.table)

    @property
    def cut(self) -> bool:
        """Whether the page shows its first rows only."""
        return self.shown is None and self.rows > _WHOLE_ROWS

    @property
    def csv(self) -> str:
        """Where the table lies, beside the page."""
        return f"tables/{self.name}.csv"

    @property
    def first(self) -> str:
        """Which rows of its table the page shows, or what of it; empty: all of them."""
        if self.shown is not None:
            return "Summed up; row by row:"
        if not self.cut:
            return ""
        return "Medians and 90th percentiles of" if self._percentiles else "First rows of"

    @property
    def preview(self) -> pd.DataFrame:
        """What the page shows of its table."""
        if self.shown is not None:
            return self.shown
        table = self.result.table
        if not self.cut:
            return table
        if self._percentiles:
            table = table[table["percentile"].isin(_PERCENTILES)]
        return table.head(_PREVIEW_ROWS)

    @property
    def sortable(self) -> bool:
        """Whether a reader may sort what is shown: numbers, and all of them."""
        return self.shown is None and not self.cut

    @property
    def _percentiles(self) -> bool:
        return "percentile" in self.result.table.columns

    @property
    def sql(self) -> list[Relation]:
        """The SQL that was asked for the finding, and all that it reads."""
        return with_dependencies(self.result.reads)

    @property
    def width(self) -> int:
        """How wide the figure is unless a screen has less room, in pixels."""
        found = re.search(r'<svg[^>]* width="([\d.]+)pt"', self.svg)
        return round(float(found[1]) * 96 / 72) if found else 0

    @property
    def reasons(self) -> list[str]:
        """Why published and measured values may differ, or are not compared, each reason once."""
        said = (
            f"Why they may differ: {c.reason}" if c.measured is not None else c.reason
            for c in self.result.comparisons
        )
        return list(dict.fromkeys(reason[0].upper() + reason[1:] for reason in said))


@dataclass(frozen=True, slots=True)
class Chapter:
    """Findings that belong together."""

    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A question that the page answers first, and what is needed to answer it where it cannot.

    Attributes
    ----------
    section
        The answer; None: the trace cannot give it.
    evidence
        Names of the findings that say more.
    missing
        Tables that the trace lacks.
    """

    name: str
    question: str
    section: Section | None
    evidence: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def number(self) -> str:
        """The answer in one number; empty: there is none."""
        return self._said(self.section.result.headline) if self.section else ""

    @property
    def interval(self) -> str:
        """The interval of the number, in words; empty: it has none."""
        if self.section is None or not self.number:
            return ""
        stem, unit = self.section.result.headline.rsplit("_", 1)
        low, high = (self._said(f"{stem}_{end}_{unit}") for end in ("low", "high"))
        if {low, high} & {"", NOT_KNOWN}:
            return ""
        return f"95 % interval {low.removesuffix(' %')} to {high}"

    def _said(self, name: str) -> str:
        facts = self.section.result.facts if self.section else ()
        return next((fact.text for fact in facts if fact.name == name), "")


@dataclass(frozen=True, slots=True)
class Gap:
    """A question that the trace cannot answer, and the tables or columns that it lacks."""

    question: str
    missing: tuple[str, ...]


def section(
    name: str,
    question: str,
    result: Result,
    drawn: Figure,
    *,
    shown: pd.DataFrame | None = None,
) -> Section:
    """Make a section of a page from a result and its figure; `shown` stands for its table."""
    return Section(
        name=name,
        question=question,
        result=result,
        svg=""
        if figures.is_empty(drawn)
        else figures.svg(figures.mark_synthetic(drawn, synthetic=result.synthetic)),
        shown=shown,
    )
