"""What the user sees: tables for people, CSV and JSON for programs, errors in one line."""

import csv as csv_format
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand, TyperGroup, TyperOption

from philly_analysis.cli.memory import ran_out
from philly_analysis.errors import PhillyError

if TYPE_CHECKING:  # so that a word is answered before pandas is loaded
    import pandas as pd

    from philly_analysis.results import Result

_PIPE_WIDTH = 160
_out = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
_err = Console(stderr=True, soft_wrap=True)

_CALL = re.compile(r"\b([a-z_]+)\(([^()]*)\)")
_GIVEN = re.compile(r"\b([a-z][a-z_]*)=(True\b|'[^']*'|[A-Z]+\b|)")
"""How an error says what to give: ``force=True``, ``machines='552x8'``, ``map=NAME``, ``gpus=``."""


def say(text: str, *, bold: bool = False) -> None:
    """Print plain text; nothing in it is markup, nor moves the terminal."""
    from philly_analysis.results import printable

    _out.print(
        printable(text, lines=True), markup=False, highlight=False, style="bold" if bold else ""
    )


def as_typed(message: str, app: TyperGroup) -> str:
    """Return an error's words, which are Python's, as they are typed in a shell.

    >>> as_typed("Replace it with force=True.", app)  # doctest: +SKIP
    'Replace it with --force.'
    """
    options = {
        str(p.name): max(p.opts, key=len)
        for verb in app.commands.values()
        for p in verb.params
        if isinstance(p, TyperOption)
    }

    def call(found: re.Match[str]) -> str:
        verb = found[1].replace("_", "-")
        words = found[2].replace(",", "").replace('"', "")
        return f"philly {verb} {words}".rstrip() if verb in app.commands else found[0]

    def given(found: re.Match[str]) -> str:
        if found[1] not in options:
            return found[0]
        value = "" if found[2] == "True" else found[2].strip("'")
        return f"{options[found[1]]} {value}".rstrip()

    return _GIVEN.sub(given, _CALL.sub(call, message))


def show(columns: list[str], rows: list[tuple[Any, ...]], *, csv: bool, as_json: bool) -> None:
    """Print rows as the user asked: a table for people, CSV or JSON for programs."""
    from philly_analysis.results import csv_cell, printable

    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, default=str, indent=2))
    elif csv:
        # a program reads what is there, a person what can be shown
        shown = (lambda v: printable(str(v))) if sys.stdout.isatty() else (lambda v: v)
        writer = csv_format.writer(sys.stdout, lineterminator="\n")
        writer.writerow([shown(csv_cell(column)) for column in columns])
        writer.writerows(
            [shown(csv_cell(v)) if isinstance(v, str) else v for v in row] for row in rows
        )
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, column in enumerate(columns):
            numeric = any(isinstance(row[i], int | float) for row in rows)
            align: Literal["left", "right"] = "right" if numeric else "left"
            table.add_column(
                escape(printable(column)), justify=align, overflow="fold"
            )  # cut nothing off
        for row in rows:
            table.add_row(*(escape(printable(_cell(value))) for value in row))
        _out.print(table)


def frame(table: "pd.DataFrame", *, csv: bool, as_json: bool) -> None:
    """Print a table as :func:`show` does."""
    show([str(c) for c in table.columns], _rows(table), csv=csv, as_json=as_json)


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
            "table": [dict(zip(result.table, row, strict=True)) for row in _rows(result.table)],
        }
        for name, result in results.items()
    }
    typer.echo(json.dumps(found, default=str, indent=2))


def _rows(table: "pd.DataFrame") -> list[tuple[Any, ...]]:
    """Return the rows of a table as plain values, None where one is not known."""
    return [tuple(map(_known, row)) for row in table.astype(object).itertuples(index=False)]


def _known(value: Any) -> Any:
    """Return a value, or None for one that is not known: JSON has no other word for it."""
    import pandas as pd

    missing = value is pd.NA or value != value  # NaN is unlike itself
    return None if missing or value in (float("inf"), float("-inf")) else value


class Verb(TyperCommand):
    """A command whose help ends with what may be chosen, looked up only when it is asked for."""

    def invoke(self, ctx: Any) -> Any:
        """Print an error raised on purpose as one line and exit 1; any other keeps its trace."""
        try:
            return super().invoke(ctx)
        except PhillyError as error:
            if ran_out(error):  # whose words would then mislead
                raise
            from philly_analysis.results import printable

            said = printable(as_typed(str(error), ctx.find_root().command), lines=True)
            _err.print(f"philly: {said}", style="red", markup=False, highlight=False)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the choices of each parameter that completes from a list of names."""
        super().format_epilog(ctx, formatter)
        for param in self.params:
            choices = [(c.value, c.help) for c in param.shell_complete(ctx, "") if c.help]
            if choices:
                named = param.param_type_name == "option"
                with formatter.section(max(param.opts, key=len) if named else param.metavar):
                    formatter.write_dl(choices)


def _cell(value: object) -> str:
    if value is None or value != value:  # NaN is unlike itself
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
