"""Print results: tables for people, CSV and JSON for programs, errors as one line."""

import csv as csv_format
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand, TyperGroup, TyperOption

from philly_analysis import memory
from philly_analysis.errors import PhillyError

if TYPE_CHECKING:  # `--help` does not import pandas
    import pandas as pd

    from philly_analysis.results import Comparison, Fact, Result

_PIPE_WIDTH = 160
_out = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
_err = Console(stderr=True, soft_wrap=True)

_CALL = re.compile(r"\b([a-z_]+)\(([^()]*)\)")
_ARGUMENT = re.compile(r"\b([a-z][a-z_]*)=(True\b|'[^']*'|[A-Z]+\b|)")
"""Arguments in messages: ``force=True``, ``machines='552x8'``, ``map=NAME``, ``gpus=``."""


def print_text(text: str, *, bold: bool = False) -> None:
    """Print plain text, without markup or terminal control sequences."""
    from philly_analysis.results import printable

    style = "bold" if bold else ""
    _out.print(printable(text, lines=True), markup=False, highlight=False, style=style)


def as_typed(message: str, app: TyperGroup) -> str:
    """Translate Python calls and arguments in a message to the command line.

    ``Replace it with force=True.`` becomes ``Replace it with --force.``.
    """
    options = {
        str(p.name): max(p.opts, key=len)
        for command in app.commands.values()
        for p in command.params
        if isinstance(p, TyperOption)
    }

    def call(match: re.Match[str]) -> str:
        verb = match[1].replace("_", "-")
        words = match[2].replace(",", "").replace('"', "")
        return f"philly {verb} {words}".rstrip() if verb in app.commands else match[0]

    def argument(match: re.Match[str]) -> str:
        if match[1] not in options:
            return match[0]
        value = "" if match[2] == "True" else match[2].strip("'")
        return f"{options[match[1]]} {value}".rstrip()

    return _ARGUMENT.sub(argument, _CALL.sub(call, message))


def print_table(table: "pd.DataFrame", *, csv: bool = False, as_json: bool = False) -> None:
    """Print a table for people, or as CSV or JSON."""
    from philly_analysis.results import csv_cell, printable

    columns, rows = [str(c) for c in table.columns], _rows(table)
    if as_json:
        typer.echo(json.dumps(_records(table), default=str, indent=2))
    elif csv:
        # programs get the text as it is, a terminal printable text
        shown = (lambda v: printable(str(v))) if sys.stdout.isatty() else (lambda v: v)
        writer = csv_format.writer(sys.stdout, lineterminator="\n")
        writer.writerow([shown(csv_cell(column)) for column in columns])
        writer.writerows(
            [shown(csv_cell(v)) if isinstance(v, str) else v for v in row] for row in rows
        )
    else:
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, column in enumerate(columns):
            numeric = any(isinstance(row[i], int | float) for row in rows)
            align: Literal["left", "right"] = "right" if numeric else "left"
            grid.add_column(escape(printable(column)), justify=align, overflow="fold")
        for row in rows:
            grid.add_row(*(escape(printable(_cell(value))) for value in row))
        _out.print(grid)


def print_json(results: "Mapping[str, Result]") -> None:
    """Print results as one JSON object, by name."""
    fields = {
        name: {
            "question": result.question,
            "facts": [_fields(fact) for fact in result.facts],
            "sentences": result.sentences,
            "caveats": result.caveats,
            "warnings": result.warnings,
            "comparisons": [_fields(comparison) for comparison in result.comparisons],
            "table": _records(result.table),
        }
        for name, result in results.items()
    }
    typer.echo(json.dumps(fields, default=str, indent=2))


def _fields(item: "Fact | Comparison") -> dict[str, Any]:
    from philly_analysis.results import json_value

    return {name: json_value(value) for name, value in asdict(item).items()}


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    return [dict(zip(map(str, table.columns), row, strict=True)) for row in _rows(table)]


def _rows(table: "pd.DataFrame") -> list[tuple[Any, ...]]:
    """Return the rows of a table as plain values, with None for missing ones."""
    from philly_analysis.results import json_value

    return [tuple(map(json_value, row)) for row in table.astype(object).itertuples(index=False)]


def _cell(value: object) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


class Command(TyperCommand):
    """A command that prints errors as one line, and lists names to choose from in its help."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; print a PhillyError or a lack of memory as one line and exit 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except Exception as error:
            if _out_of_memory(error):
                message = memory.lack()
            elif isinstance(error, PhillyError):
                from philly_analysis.results import printable

                message = printable(as_typed(str(error), ctx.find_root().command), lines=True)
            else:
                raise
        _err.print(f"philly: {message}", style="red", markup=False, highlight=False)
        raise typer.Exit(1)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Give examples, and list the names of each parameter that completes."""
        with formatter.section("Examples"):
            formatter.write(indent(dedent(self.epilog or ""), "  ") + "\n")
        for param in self.params:
            choices = [(c.value, c.help) for c in param.shell_complete(ctx, "") if c.help]
            if choices:
                named = param.param_type_name == "option"
                with formatter.section(max(param.opts, key=len) if named else param.metavar):
                    formatter.write_dl(choices)


class Group(TyperGroup):
    """The group of all commands, whose help lists the commands by topic."""

    topics: ClassVar[dict[str, list[str]]] = {}
    """Names of commands by topic, in the order of the help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section per topic."""
        width = formatter.width - 6 - max(map(len, self.commands))
        for topic, names in self.topics.items():
            with formatter.section(topic):
                formatter.write_dl(
                    [(name, self.commands[name].get_short_help_str(width)) for name in names]
                )


def _out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error is a lack of memory, or was raised while handling one."""
    while error is not None:
        names = {kind.__name__ for kind in type(error).__mro__}
        if names & {"MemoryError", "OutOfMemoryException"}:
            return True
        error = error.__cause__ or error.__context__
    return False
