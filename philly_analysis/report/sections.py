"""Define the parts of a page: chapters of findings, cards at the top, and gaps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from philly_analysis.results import Result, Verdict, figures
from philly_analysis.trace import Relation, with_dependencies

_PREVIEW_ROWS = 12
_PERCENTILES = (50, 90)
"""Rows shown of a table of percentiles."""
_ALL_ROWS = 30
"""Rows up to which a table is shown in full."""


@dataclass(frozen=True)
class Section:
    """One finding as the page shows it.

    Attributes
    ----------
    svg
        Figure as SVG text; empty: none.
    shown
        Summary that the page shows in place of the table's first rows; None: none.
    tables
        Tables below the figure, by heading.
    folded
        Tables that are shown when a reader opens them, by heading.
    """

    name: str
    question: str
    result: Result
    svg: str
    shown: pd.DataFrame | None = None
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    folded: Mapping[str, pd.DataFrame] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows of the finding's table."""
        return len(self.result.table)

    @property
    def cut(self) -> bool:
        """Whether the page shows its first rows only."""
        return self.shown is None and self.rows > _ALL_ROWS

    @property
    def csv(self) -> str:
        """Path of the table, relative to the page."""
        return f"tables/{self.name}.csv"

    @property
    def first(self) -> str:
        """Caption on which rows of the table the page shows; empty: all."""
        if self.shown is not None:
            return "Summary; all rows:"
        if not self.cut:
            return ""
        return "Medians and 90th percentiles of" if self._percentiles else "First rows of"

    @property
    def preview(self) -> pd.DataFrame:
        """Rows of the table that the page shows, or its summary."""
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
        """Whether the page lets readers sort the table: only if all of its rows are shown."""
        return self.shown is None and not self.cut

    @property
    def _percentiles(self) -> bool:
        return "percentile" in self.result.table.columns

    @property
    def sql(self) -> list[Relation]:
        """SQL files of the finding, with all that they read."""
        return with_dependencies(self.result.reads)

    @property
    def width(self) -> int:
        """Width of the figure in pixels, on screens that are wide enough."""
        match = re.search(r'<svg[^>]* width="([\d.]+)pt"', self.svg)
        return round(float(match[1]) * 96 / 72) if match else 0

    @property
    def reasons(self) -> list[str]:
        """Reasons why published and measured values differ or are not compared, each once."""
        reasons = (
            f"Why they may differ: {c.reason}" if c.measured is not None else c.reason
            for c in self.result.comparisons
        )
        return list(dict.fromkeys(reason[0].upper() + reason[1:] for reason in reasons))


@dataclass(frozen=True, slots=True)
class Chapter:
    """Findings that belong together."""

    title: str
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A question at the top of the page, with its answer.

    Attributes
    ----------
    section
        Finding that answers the question; None: the trace lacks tables for the finding.
    verdict
        Answer in one number, or what to collect for an answer; None: the finding's first sentence
        is the answer.
    evidence
        Names of the findings with details.
    """

    name: str
    question: str
    section: Section | None
    verdict: Verdict | None = None
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """A question that the trace cannot answer, and the tables or columns that it lacks."""

    question: str
    missing: tuple[str, ...]


def section(
    name: str,
    question: str,
    result: Result,
    *,
    shown: pd.DataFrame | None = None,
    tables: Mapping[str, pd.DataFrame] | None = None,
    folded: Mapping[str, pd.DataFrame] | None = None,
) -> Section:
    """Draw a result, and return its section of a page; see :class:`Section`."""
    svg = ""
    if result.draw and not figures.is_empty(drawn := result.plot()):
        svg = figures.svg(figures.mark_synthetic(drawn, synthetic=result.synthetic))
    return Section(name, question, result, svg, shown, tables or {}, folded or {})
