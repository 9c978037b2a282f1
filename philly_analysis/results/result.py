"""Hold what one analysis returns: a table, headline facts and sentences."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from philly_analysis.errors import OutputError
from philly_analysis.results.escaping import csv_text
from philly_analysis.results.facts import Comparison, Facts, Value
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
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from philly_analysis.results.facts import FactsField
    from philly_analysis.results.figures import Style

_NO_FACTS: Any = ()

_PAGE_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:right}"
)


def check_path(path: Path) -> None:
    """Check that results can be saved at a path, before they are computed.

    Raises
    ------
    OutputError
        The path has a suffix that no format has.
    """
    kinds = (*FIGURES, "csv", "parquet", "html")
    if path.suffix and path.suffix[1:] not in kinds and ".csv" not in path.suffixes:
        raise OutputError(
            f"{path}: no format {path.suffix}. Give a folder without a suffix, or one of the "
            f"formats: {', '.join(kinds)}."
        )


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
        Headline numbers: ``facts.jobs`` is the value of the fact ``jobs`` (see :class:`Facts`).
    sentences
        Conclusions from the facts, computed for this trace. Empty sentences are dropped.
    caveats
        Limits of the answer on this trace: exclusions with counts, estimates, gaps. Empty
        sentences are dropped.
    comparisons
        Published values beside measured values; empty for other clusters than the study's.
    warnings
        Defects that make other findings doubtful, e.g. wrong clocks; the page opens with them.
    synthetic
        True for a synthetic trace; figures are then marked.
    question
        The question that the analysis answers.
    reads
        Tables and relations that the analysis read, in order.
    verdict
        The answer in words and one number, with its cost, trend and advice; None: the question
        has no such answer.
    draw
        Function that draws the result; None: the result has no figure.
    write_page
        Function that writes the page of the result into a folder; None: the result has no page.
    """

    name: str
    table: "pd.DataFrame"
    facts: "FactsField" = _NO_FACTS
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

    def fact(self, name: str) -> Value:
        """Return the value of a fact by name."""
        return self.facts[name]

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
            Axes of a figure of your own. The panels of the result divide the space of the axes.
        style
            Width and fonts: ``page`` as on the report, ``column`` as one column of a paper,
            ``text`` as the whole width of its text.
        grey
            Whether shades of grey and line styles replace colours, for print without colour.
        figsize
            Width and height of the figure in inches; None: the style has them.

        Raises
        ------
        OutputError
            The result has no figure.
        UnknownNameError
            The style is not known.
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

    def save(self, path: str | Path, *, style: "Style" = "page", grey: bool = False) -> Path:
        """Save the figure, the table or everything, by the suffix of the path.

        Parameters
        ----------
        path
            Path whose suffix says what is written: png, svg, pdf (the figure), csv, csv.gz,
            parquet (the table), html (everything on a page). Without a suffix a folder is written:
            the page of the result, if there is one, else figure.png, table.csv and facts.csv.
        style, grey
            Width and colours of a figure, as in :meth:`plot`: ``column`` is one column of a paper.

        Returns
        -------
        pathlib.Path
            The file, folder or page that was written.

        Raises
        ------
        OutputError
            The file cannot be written, has another suffix, or the result has no figure.
        """
        path = Path(path)
        check_path(path)
        kind = path.suffix.removeprefix(".")
        if kind in FIGURES:
            save_figure(self.plot(style=style, grey=grey), path)
        elif kind == "html":
            save_text(self._html_page(), path)
        elif kind == "parquet" or ".csv" in path.suffixes:
            save_table(self.table, path)
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
