"""What the user sees: tables for people, CSV and JSON for programs, errors in one line."""

import csv as csv_format
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from philly_analysis.errors import OutputError, PhillyError

if TYPE_CHECKING:  # so that a word is answered before pandas is loaded
    import pandas as pd

    from philly_analysis.result import Result

P = ParamSpec("P")
R = TypeVar("R")

_PIPE_WIDTH = 160
_out = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
_err = Console(stderr=True, soft_wrap=True)


def say(text: str, *, bold: bool = False) -> None:
    """Print a line of plain text; nothing in it is markup."""
    _out.print(text, markup=False, highlight=False, style="bold" if bold else "")


def told(verb: Callable[P, R]) -> Callable[P, R]:
    """Print an error raised on purpose as one line and exit 1; anything else keeps its trace."""

    @wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return verb(*args, **kwargs)
        except PhillyError as error:
            _err.print(f"philly: {error}", style="red", markup=False, highlight=False)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return run


def show(columns: list[str], rows: list[tuple[Any, ...]], *, csv: bool, as_json: bool) -> None:
    """Print rows as the user asked: a table for people, CSV or JSON for programs."""
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, default=str, indent=2))
    elif csv:
        writer = csv_format.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, column in enumerate(columns):
            numeric = any(isinstance(row[i], int | float) for row in rows)
            table.add_column(escape(column), justify="right" if numeric else "left")
        for row in rows:
            table.add_row(*(escape(_cell(value)) for value in row))
        _out.print(table)


def frame(table: "pd.DataFrame", *, csv: bool, as_json: bool) -> None:
    """Print a table of a result as :func:`show` does."""
    rows = list(_plain(table).itertuples(index=False, name=None))
    show([str(c) for c in table.columns], rows, csv=csv, as_json=as_json)


def document(results: "Mapping[str, Result]") -> None:
    """Print results as one JSON object, by name."""
    found = {
        name: {
            "question": result.question,
            "facts": [asdict(fact) for fact in result.facts],
            "sentences": result.sentences,
            "caveats": result.caveats,
            "warnings": result.warnings,
            "comparisons": [asdict(comparison) for comparison in result.comparisons],
            "table": _plain(result.table).to_dict("records"),
        }
        for name, result in results.items()
    }
    typer.echo(json.dumps(found, default=str, indent=2))


def write_tables(results: "Mapping[str, Result]", out: Path) -> int:
    """Write the table of each result to ``out/<name>.csv`` and return how many there are."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, result in results.items():
            result.table.to_csv(out / f"{name}.csv", index=False)
    except OSError as error:
        raise OutputError(f"{out} cannot be written: {error.strerror or error}") from None
    return len(results)


def _plain(table: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table of plain values, None where one is not known."""
    unknown = table.isna() | table.isin([float("inf"), float("-inf")])
    return table.astype(object).mask(unknown, None)


def _cell(value: object) -> str:
    if value is None or value != value:  # NaN is unlike itself
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
