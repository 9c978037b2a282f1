"""Hold what one analysis returns: a table, headline facts and sentences."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
import pandas as pd

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import NoAttributeError, OutputError, UnknownNameError
from philly_analysis.results.escaping import csv_text, write_csv
from philly_analysis.results.formatting import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TABLES = ("df", "pl", "to_df", "to_pandas", "to_frame", "data", "head", "columns", "rows")
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zip": "zip", ".xz": "xz", ".zst": "zstd"}
"""Compression of a CSV by the suffix of its name."""
_FIGURES = ("figure", "fig", "show", "draw_figure", "savefig")

Value = float | int | str | None


@dataclass(frozen=True, slots=True)
class Fact:
    """One headline number: its name with the unit (``median_wait_s``), value and meaning."""

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
    def text(self) -> str:
        """The value as text, in the unit at the end of its name."""
        return quantity(self.name, self.value)


class Facts(tuple[Fact, ...]):
    """Facts by position or name: ``facts["median_wait_s"]`` is a value."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: str) -> Value: ...
    @overload
    def __getitem__(self, key: SupportsIndex) -> Fact: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Fact, ...]: ...
    def __getitem__(self, key: str | SupportsIndex | slice) -> Value | Fact | tuple[Fact, ...]:
        """Return the fact at a position, or the value of a name."""
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
            f"<tr><td>{escape(f.name)}</td><td style='text-align:right'>{escape(f.text)}</td>"
            f"<td style='text-align:left'>{escape(f.meaning)}</td></tr>"
            for f in self
        )
        return f"<table>{rows}</table>"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A published number beside the same quantity measured on a trace.

    Attributes
    ----------
    what
        The quantity, as a phrase.
    published, measured
        The two values in `unit`; ``measured`` is None if the trace does not have it.
    source
        Source of the published value, e.g. ``ATC'19, Table 6``.
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
    """The answer of one analysis on one trace.

    Attributes
    ----------
    name
        Name of the analysis.
    table
        Tidy table, small enough to draw and to download.
    facts
        Headline numbers for pages, prose and golden tests; ``facts["jobs"]`` is the value of one
        (see :class:`Facts`).
    sentences
        Conclusions from the facts, computed for this trace. Empty ones are dropped.
    caveats
        Limits of the answer on this trace: exclusions with counts, estimates, gaps. Empty ones
        are dropped.
    comparisons
        Published values beside measured ones; empty for other clusters than the study's.
    warnings
        Defects that make other findings doubtful, e.g. wrong clocks; the page opens with them.
    synthetic
        True for a synthetic trace; figures are then marked.
    question
        The question that it answers.
    reads
        Tables and relations that it read, in order.
    headline
        Name of the fact that answers the question in one number, with its unit (``full_pct``);
        its interval is ``full_low_pct`` and ``full_high_pct``. Empty: there is none.
    advice
        Recommendation to the cluster's operator, in a sentence or two; may be empty.
    draw
        Function that draws the result; None: it has no figure.
    """

    name: str
    table: pd.DataFrame
    facts: Sequence[Fact] = ()
    sentences: Sequence[str] = ()
    caveats: Sequence[str] = ()
    comparisons: Sequence[Comparison] = ()
    warnings: tuple[str, ...] = ()
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
        for name in ("sentences", "caveats", "comparisons"):
            object.__setattr__(self, name, tuple(filter(None, getattr(self, name))))

    def __getattr__(self, name: str) -> Value:
        """Raise an error that names the right attribute."""
        where = "a Result has .sentences, .facts, .table, .plot(), .to_csv()"
        if name in _TABLES:
            where = "its table, a pandas DataFrame, is .table"
        elif name in _FIGURES:
            where = "its figure is .plot()"
        elif not name.startswith("_") and any(fact.name == name for fact in self.facts):
            where = f'that number is .facts["{name}"]'
        raise NoAttributeError(f"a Result has no attribute {name!r}: {where}.")

    def fact(self, name: str) -> Value:
        """Return the value of a fact by name."""
        return Facts(self.facts)[name]

    def plot(self) -> "Figure":
        """Draw the figure of the page.

        Raises
        ------
        OutputError
            The result has no figure.
        """
        if self.draw is None:
            raise OutputError(f"{self.name} has no figure, only a table.")
        drawn: Any = self.draw(self)
        figure: Figure = getattr(drawn, "figure", None) or drawn  # of axes, theirs
        return figure

    @overload
    def to_csv(self, path: None = None) -> str: ...
    @overload
    def to_csv(self, path: str | Path) -> Path: ...
    def to_csv(self, path: str | Path | None = None) -> Path | str:
        """Write the table as CSV and return the path; without a path, return the text.

        An apostrophe precedes text that a spreadsheet would evaluate.

        Raises
        ------
        OutputError
            The file cannot be written.
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
                *(f"  {fact.name} = {fact.text}" for fact in self.facts),
                f"  table: {len(self.table):,} rows of {', '.join(map(str, self.table.columns))}",
            ]
        )

    def _repr_html_(self) -> str:
        texts = (*self.warnings, *self.sentences, *self.caveats)
        return (
            f"<h4>{escape(self.question or self.name)}</h4>"
            + "".join(f"<p>{escape(text)}</p>" for text in texts)
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
        alt = escape(" ".join(self.sentences) or self.question, quote=True)
        return f"<p><img alt='{alt}' src='data:image/png;base64,{data}'></p>"


class Results(dict[str, Result]):
    """Results by name, in order, each shown in a notebook."""

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())


def save_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV atomically, compressed by the suffix of its name.

    Raises
    ------
    OutputError
        The file cannot be written.
    """
    try:
        path.parent.stat()  # raises if the folder is missing
        with atomic_write(path) as partial:
            write_csv(table, partial, compression=_PACKED.get(path.suffix))
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}") from None
