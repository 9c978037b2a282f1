"""The words that a user types: parses, calls, prints."""

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from philly_analysis.errors import PhillyError
from philly_analysis.manifest import Manifest
from philly_analysis.trace import RunPolicy, Trace

P = ParamSpec("P")
R = TypeVar("R")

app = typer.Typer(
    help="GPU-cluster logs in; validated tables, findings, models and what-if answers out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_out = Console(width=None if sys.stdout.isatty() else 160)
_err = Console(stderr=True, soft_wrap=True)

TraceArgument = Annotated[Path, typer.Argument(help="Folder of a trace.", metavar="TRACE")]
OutArgument = Annotated[Path, typer.Argument(help="Folder of the new trace.", metavar="OUT")]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at OUT.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunPolicyOption = Annotated[
    RunPolicy,
    typer.Option(
        help="A job's run time: first start to last end, sum of its attempts, or its last attempt."
    ),
]


def _told(verb: Callable[P, R]) -> Callable[P, R]:
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


def _show(columns: list[str], rows: list[tuple[Any, ...]], *, csv: bool, as_json: bool) -> None:
    """Print rows as the user asked: a table for people, CSV or JSON for programs."""
    if as_json:
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        typer.echo(json.dumps(records, default=str, indent=2))
    elif csv:
        import csv as csv_module

        writer = csv_module.writer(sys.stdout, lineterminator="\n")
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


def _cell(value: object) -> str:
    if value is None or value != value:  # NaN is unlike itself
        return "–"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)


def _account(manifest: Manifest) -> None:
    rows = [
        (
            a.table, a.read, a.kept, a.read - a.kept,
            "; ".join(f"{n:,} {reason}" for reason, n in a.rejected.items()),
        )
        for a in manifest.accounts
    ]  # fmt: skip
    if rows:
        _show(["table", "read", "kept", "rejected", "why"], rows, csv=False, as_json=False)
    for note in manifest.notes:
        _out.print(f"note: {note}", markup=False, highlight=False)


@app.command()
@_told
def ingest(
    source: Annotated[str, typer.Argument(help="Where the logs come from, e.g. philly.")],
    raw: Annotated[Path, typer.Argument(help="Folder or archive of raw logs.")],
    out: OutArgument,
    force: Force = False,
) -> None:
    """Turn raw logs into a trace, with an account of every row."""
    from philly_analysis.ingest import ingest as run

    run(source, raw, out, force=force)
    with Trace(out) as trace:
        _account(trace.manifest)
    _out.print(f"trace written to {out}", markup=False, highlight=False)


@app.command()
@_told
def tables(
    trace: Annotated[Path | None, typer.Argument(help="Folder of a trace.")] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Print the data dictionary; or what a trace holds, and what was rejected."""
    from philly_analysis.schema import TABLES

    if trace is None:
        columns = ["table", "column", "type", "unit", "null", "meaning"]
        rows: list[tuple[Any, ...]] = [
            (t.name, c.name, c.type, c.unit, "yes" if c.nullable else "", c.meaning)
            for t in TABLES.values()
            for c in t.columns
        ]
        _show(columns, rows, csv=csv, as_json=as_json)
        return
    with Trace(trace) as opened:
        held = [
            (t.name, opened.manifest.rows.get(t.name) if t.name in opened.tables else None, t.row)
            for t in TABLES.values()
        ]
        _show(["table", "rows", "one row is"], held, csv=csv, as_json=as_json)
        if not (csv or as_json):
            _account(opened.manifest)


@app.command()
@_told
def query(
    trace: TraceArgument,
    sql: Annotated[str, typer.Argument(help="One SELECT over tables and relations.")],
    csv: AsCsv = False,
    as_json: AsJson = False,
    run_policy: RunPolicyOption = RunPolicy.SPAN,
) -> None:
    """Answer a SELECT over the tables and relations of a trace, read-only."""
    with Trace(trace, run_policy=run_policy) as opened:
        answer = opened.sql(sql)
        _show(answer.columns, answer.fetchall(), csv=csv, as_json=as_json)


@app.command()
@_told
def analyze(
    trace: TraceArgument,
    names: Annotated[list[str] | None, typer.Argument(help="Findings; all when none.")] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
    run_policy: RunPolicyOption = RunPolicy.SPAN,
) -> None:
    """Compute findings on a trace and print them as tables."""
    from philly_analysis.analyses import ANALYSES
    from philly_analysis.analyses import analyze as run

    with Trace(trace, run_policy=run_policy) as opened:
        for name, result in run(opened, names or ()).items():
            plain = result.table.astype(object).where(result.table.notna(), None)
            rows = list(plain.itertuples(index=False, name=None))
            if not (csv or as_json):
                _out.print(f"\n{name}: {ANALYSES[name].QUESTION}", style="bold", markup=False)
                for sentence in (*result.warnings, *result.sentences, *result.caveats):
                    _out.print(f"  {sentence}", markup=False, highlight=False)
            _show([str(c) for c in result.table.columns], rows, csv=csv, as_json=as_json)


@app.command()
@_told
def report(
    traces: Annotated[list[Path], typer.Argument(help="Folders of traces.", metavar="TRACE…")],
    out: Annotated[Path, typer.Option(help="Folder of reports.")] = Path("reports"),
    run_policy: RunPolicyOption = RunPolicy.SPAN,
) -> None:
    """Compute every finding and write a page with figures and tables per trace."""
    from philly_analysis.page import report as run

    for path in traces:
        with Trace(path, run_policy=run_policy) as opened:
            page = run(opened, out)
        _out.print(f"report written to {page}", markup=False, highlight=False)


def main() -> None:
    """Run the command line."""
    app()
