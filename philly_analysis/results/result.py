"""Hold what one analysis returns: a table, headline facts and sentences."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, cast, overload

import numpy as np

from philly_analysis.errors import (
    NoAttributeError,
    OutputError,
    SuggestsNames,
    UnknownNameError,
)
from philly_analysis.results.escaping import csv_text
from philly_analysis.results.formatting import quantity, unit_of
from philly_analysis.results.saving import (
    FIGURES,
    create_folder,
    save_figure,
    save_table,
    save_text,
)
from philly_analysis.results.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from philly_analysis.results.figures import Style

Value = float | int | str | None
_NO_FACTS: Any = ()

_PAGE_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:right}"
)


@dataclass(frozen=True, slots=True)
class Fact(SuggestsNames):
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

    @property
    def unit(self) -> str:
        """The unit that its name ends with; empty for counts."""
        return unit_of(self.name)


class Facts(tuple[Fact, ...], SuggestsNames):
    """Facts by position, name or attribute: ``facts.median_wait_s`` is a value.

    ``dict(facts)`` has all values by name, ``facts.df()`` names, values, units and meanings.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Value:
        """Return the value of a fact."""
        if name in self.keys():
            return self[name]
        return cast("Value", super().__getattr__(name))  # type: ignore[misc]

    def keys(self) -> list[str]:
        """Return the names."""
        return [fact.name for fact in self]

    def values(self) -> list[Value]:
        """Return the values."""
        return [fact.value for fact in self]

    def items(self) -> list[tuple[str, Value]]:
        """Return the names with their values."""
        return [(fact.name, fact.value) for fact in self]

    def df(self) -> "pd.DataFrame":
        """Return the facts as a table: name, value, unit, meaning."""
        import pandas as pd

        rows = [(fact.name, fact.value, fact.unit, fact.meaning) for fact in self]
        return pd.DataFrame(rows, columns=["name", "value", "unit", "meaning"])

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.keys()]

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
        raise UnknownNameError("fact", key, self.keys())

    _ipython_key_completions_ = keys

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


if TYPE_CHECKING:

    class _FactsField:
        """Tell type checkers that any sequence of facts is stored as Facts."""

        def __get__(self, result: object, kind: object = None) -> Facts: ...
        def __set__(self, result: object, value: Sequence[Fact]) -> None: ...


@dataclass(frozen=True, slots=True)
class Result(SuggestsNames):
    """The answer of one analysis on one trace.

    Attributes
    ----------
    name
        Name of the analysis.
    table
        Tidy table, small enough to draw and to download.
    facts
        Headline numbers for pages, prose and golden tests; ``facts.jobs`` is the value of one
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
    verdict
        The answer in words and one number, with its cost, trend and advice; None: the question
        has no such answer.
    draw
        Function that draws the result; None: it has no figure.
    write_page
        Function that writes the page of the result into a folder; None: it has no page.
    """

    name: str
    table: "pd.DataFrame"
    facts: "_FactsField" = _NO_FACTS
    sentences: Sequence[str] = ()
    caveats: Sequence[str] = ()
    comparisons: Sequence[Comparison] = ()
    warnings: tuple[str, ...] = ()
    synthetic: bool = False
    question: str = ""
    reads: tuple[str, ...] = ()
    verdict: Verdict | None = None
    draw: "Callable[[Result], Figure | Axes] | None" = field(
        default=None, repr=False, compare=False
    )
    write_page: "Callable[[Result, Path], Path] | None" = field(
        default=None, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "facts", Facts(self.facts))
        for name in ("sentences", "caveats", "comparisons"):
            object.__setattr__(self, name, tuple(filter(None, getattr(self, name))))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in dict(self.facts):
                raise NoAttributeError(f"Result has no attribute {name!r}. Use .facts.{name}.")
            if name in self.table.columns:
                return self.table[name]
            return super(Result, self).__getattr__(name)

    def fact(self, name: str) -> Value:
        """Return the value of a fact by name."""
        return self.facts[name]

    def __getitem__(self, name: str) -> Any:
        """Return the value of a fact by name, or a column of the table.

        Raises
        ------
        UnknownNameError
            There is no such fact or column.
        """
        is_column = name in self.table and name not in dict(self.facts)
        return self.table[name] if is_column else self.fact(name)

    def __len__(self) -> int:
        return len(self.table)

    def df(self) -> "pd.DataFrame":
        """Return the table."""
        return self.table

    def pl(self) -> "pl.DataFrame":
        """Return the table as a polars DataFrame."""
        import polars as pl

        return pl.from_pandas(self.table)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        style: "Style" = "page",
        grey: bool = False,
        figsize: tuple[float, float] | None = None,
    ) -> "Figure":
        """Draw the figure.

        Parameters
        ----------
        ax
            Axes to draw into, of a figure of your own. A result of several panels divides their
            space.
        style
            ``page``: as on the report. ``column`` and ``text``: as wide as one column, and as the
            text of a paper in two columns, with fonts of 7 points.
        grey
            Shades of grey and line styles in place of colours, for print without colour.
        figsize
            Width and height of the figure in inches; None: those of its style.

        Raises
        ------
        OutputError
            The result has no figure.
        UnknownNameError
            There is no such style.
        """
        if self.draw is None:
            raise OutputError(f"{self.name} has no figure, only a table.")
        from philly_analysis.results.figures import drawing_into, restyle

        with drawing_into(ax):
            drawn: Any = self.draw(self)
        figure: Figure = getattr(drawn, "figure", None) or drawn  # of axes, theirs
        figure = restyle(figure, style, grey=grey)
        if figsize is not None:
            figure.set_size_inches(figsize)
        return figure

    def save(self, path: str | Path) -> Path:
        """Save the figure, the table, or all of it, by the suffix of the path.

        Parameters
        ----------
        path
            A file: png, svg, pdf (the figure), csv, csv.gz, parquet (the table), html (all of it
            on a page). Or a folder: the page of a report, comparison, sweep or experiment; of
            other results figure.png, table.csv and facts.csv.

        Returns
        -------
        pathlib.Path
            What was written: the page, if there is one.

        Raises
        ------
        OutputError
            The file cannot be written, has another suffix, or the result has no figure.
        """
        path = Path(path)
        kind = path.suffix.removeprefix(".")
        if kind in FIGURES:
            save_figure(self.plot(), path)
        elif kind == "html":
            save_text(self._html_page(), path)
        elif kind == "parquet" or ".csv" in path.suffixes:
            save_table(self.table, path)
        elif path.suffix:
            kinds = ", ".join((*FIGURES, "csv", "parquet", "html"))
            raise OutputError(f"{path}: no format {path.suffix}. There are: {kinds}.")
        elif self.write_page:
            return self.write_page(self, path)
        else:
            create_folder(path)
            save_table(self.table, path / "table.csv")
            save_table(self.facts.df(), path / "facts.csv")
            if self.draw:
                save_figure(self.plot(), path / "figure.png")
        return path

    def _html_page(self) -> str:
        title = escape(self.question or self.name)
        return (
            f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
            f"<style>{_PAGE_STYLE}</style><body>{self._repr_html_()}</body></html>"
        )

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
                *([f"  {self.verdict}"] if self.verdict else []),
                *(f"  {sentence}" for sentence in (*self.warnings, *self.sentences)),
                *(f"  {fact.name} = {fact.text}" for fact in self.facts),
                f"  table: {len(self.table):,} rows of {', '.join(map(str, self.table.columns))}",
            ]
        )

    def _repr_html_(self) -> str:
        texts = (*self.warnings, *self.sentences, *self.caveats)
        answer = f"<p><b>{escape(str(self.verdict))}</b></p>" if self.verdict else ""
        return (
            f"<h4>{escape(self.question or self.name)}</h4>"
            + answer
            + "".join(f"<p>{escape(text)}</p>" for text in texts)
            + self._picture()
            + f"<details><summary>{len(self.facts)} facts</summary>"
            + f"{self.facts._repr_html_()}</details>"
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


class Results(dict[str, Result], SuggestsNames):
    """Results by name, in order, each shown in a notebook.

    Attributes
    ----------
    write_page
        Function that writes the page of the results into a folder; None: they have no page.
    """

    write_page: "Callable[[Path], Path] | None" = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a result by its name: ``results.run_time`` is ``results["run_time"]``."""
            return self[name] if name in self else super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownNameError("result", str(name), self)

    def df(self) -> "pd.DataFrame":
        """Return the facts of all results as a table: result, name, value, unit, meaning."""
        import pandas as pd

        facts = [result.facts.df().assign(result=name) for name, result in self.items()]
        columns = ["result", "name", "value", "unit", "meaning"]
        return (
            pd.concat(facts, ignore_index=True)[columns] if facts else pd.DataFrame(columns=columns)
        )

    def save(self, folder: str | Path) -> Path:
        """Save the page of the results, or each result in a folder of its name.

        Raises
        ------
        OutputError, TraceError
            The folder cannot be written.
        """
        folder = Path(folder)
        if self.write_page:
            return self.write_page(folder)
        create_folder(folder)
        for name, result in self.items():
            result.save(folder / name)
        return folder

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.values()))

    def _repr_html_(self) -> str:
        return "".join(result._repr_html_() for result in self.values())
