"""A Result is one small table that answers one question, with its headline facts."""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import pandas as pd

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import AskedElsewhereError, OutputError, UnknownNameError
from philly_analysis.results.escaping import csv_text, write_csv
from philly_analysis.results.formatting import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TABLES = ("df", "pl", "to_df", "to_pandas", "to_frame", "data", "head", "columns", "rows")
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz", ".zst": "zstd"}
"""How a CSV is compressed, by how its name ends."""
_FIGURES = ("figure", "fig", "show", "draw_figure", "savefig")

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


class Facts(tuple[Fact, ...]):
    """Headline numbers, by place or by name: ``facts["median_wait_s"]`` is its value."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: str) -> Value: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Fact: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Fact, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Value | Fact | tuple[Fact, ...]:
        """Return a fact by its place, or the value of one by its name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        for fact in self:
            if fact.name == key:
                return fact.value
        raise UnknownNameError("fact", key, [fact.name for fact in self])

    def _ipython_key_completions_(self) -> list[str]:
        return [fact.name for fact in self]

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(f.name)}</td><td style='text-align:right'>{escape(f.said)}</td>"
            f"<td style='text-align:left'>{escape(f.meaning)}</td></tr>"
            for f in self
        )
        return f"<table>{rows}</table>"


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
        Headline numbers that the page, the prose and the golden tests quote; ``facts["jobs"]``
        is the value of one (see :class:`Facts`).
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
    draw: "Callable[[Result], Figure | Axes] | None" = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", Facts(self.facts))

    def __getattr__(self, name: str) -> Value:
        """Say where that stands which is asked of it by another name."""
        where = "a Result has .sentences, .facts, .table, .plot(), .to_csv()"
        if name in _TABLES:
            where = "its table, a pandas DataFrame, is .table"
        elif name in _FIGURES:
            where = "its figure is .plot()"
        elif not name.startswith("_") and any(fact.name == name for fact in self.facts):
            where = f'that number is .facts["{name}"]'
        raise AskedElsewhereError(f"a Result has no attribute {name!r}: {where}.")

    def fact(self, name: str) -> Value:
        """Return the value of a fact by name."""
        return Facts(self.facts)[name]

    def plot(self) -> "Figure":
        """Draw it, as on the page.

        Raises
        ------
        OutputError
            It is one that is not drawn.
        """
        if self.draw is None:
            raise OutputError(f"{self.name} has no figure; its table has all that it says.")
        drawn: Any = self.draw(self)
        figure: Figure = getattr(drawn, "figure", None) or drawn  # of axes, theirs
        return figure

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | Path) -> Path: ...
    def to_csv(self, path: str | Path | None = None) -> Path | str:
        """Write its table as CSV, and return where; without a path, return the text.

        A text that a spreadsheet would take for a formula begins with an apostrophe.

        Raises
        ------
        OutputError
            It cannot be written there.
        """
        if path is None:
            return csv_text(self.table)
        save_table(self.table, Path(path))
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
        return (
            f"<h4>{escape(self.question or self.name)}</h4>"
            + "".join(f"<p>{escape(sentence)}</p>" for sentence in said)
            + self._picture()
            + f"<details><summary>{len(self.facts)} facts</summary>"
            + f"{Facts(self.facts)._repr_html_()}</details>"
            + str(self.table.to_html(max_rows=20, index=False, border=0, escape=True))
        )

    def _picture(self) -> str:
        if self.draw is None:
            return ""
        png = BytesIO()
        self.plot().savefig(png, format="png")
        data = b64encode(png.getvalue()).decode()
        said = escape(" ".join(self.sentences) or self.question, quote=True)
        return f"<p><img alt='{said}' src='data:image/png;base64,{data}'></p>"


class Results(dict[str, Result]):
    """Results by name, in order; a notebook shows each of them."""

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())


def save_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, which appears whole, packed if its name says so.

    Raises
    ------
    OutputError
        It cannot be written there.
    """
    try:
        path.parent.stat()  # no folder is made for it
        with atomic_write(path) as partial:
            write_csv(table, partial, compression=_PACKED.get(path.suffix))
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from None
