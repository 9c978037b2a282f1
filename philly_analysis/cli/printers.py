"""Print what the functions of the API return."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import typer

import philly_analysis as library
from philly_analysis.cli.console import print_json, print_table, print_text

if TYPE_CHECKING:  # `--help` does not import pandas
    import pandas as pd

    from philly_analysis.exports import Exported
    from philly_analysis.forecasts import Forecast
    from philly_analysis.models import WorkloadModel
    from philly_analysis.report import Summary
    from philly_analysis.results import Result, Results
    from philly_analysis.trace import Trace
    from philly_analysis.workload import Workload

Arguments = SimpleNamespace
"""Arguments of a command by name, with defaults."""


_URGENT = ("WARNING", "Nothing new")
"""How notes begin that are printed without --verbose."""
_ADDS = {
    ("placements",): "whether free GPUs were fragmented",
    ("gpu_samples", "summaries"): "how busy GPUs are, and whose are idle (--telemetry)",
    ("failures",): "why jobs fail (--failures FOLDER of their output)",
}
"""What tables of a trace would add, by the tables of which one suffices."""


def _notes(texts: Iterable[str]) -> None:
    for text in texts:
        print_text(f"note: {text}")


def _sentences(result: "Result") -> None:
    for sentence in (*result.warnings, *result.sentences, *result.caveats):
        print_text(f"  {sentence}")


def _show_table(table: "pd.DataFrame", arguments: Arguments) -> None:
    print_table(table, csv=arguments.csv, as_json=arguments.as_json)


def _show_result(
    result: "Result", arguments: Arguments, table: "pd.DataFrame | None" = None
) -> None:
    _show_table(result.table if table is None else table, arguments)
    if not (arguments.csv or arguments.as_json):
        _sentences(result)
        if getattr(arguments, "out", None):
            print_text(f"page written to {arguments.out}")


def _show_tables(tables: "pd.DataFrame", arguments: Arguments) -> None:
    _show_table(tables, arguments)
    if arguments.trace and not (arguments.csv or arguments.as_json):
        with library.Trace(arguments.trace) as trace:
            _notes(trace.manifest.notes)


def _show_verified(files: "pd.DataFrame", arguments: Arguments) -> None:
    _show_table(files, arguments)
    if files["state"].isin(["damaged", "missing"]).any():
        raise typer.Exit(1)


def _summarised(summary: "Summary", arguments: Arguments) -> None:
    forms = {"as_json": summary.to_json, "markdown": summary.to_markdown}
    forms["openmetrics"] = summary.to_openmetrics
    wanted = [form for name, form in forms.items() if getattr(arguments, name)]
    if arguments.out:
        print_text(f"summary written to {arguments.out}")
    elif wanted:
        typer.echo(wanted[0]())
    else:
        print_text(str(summary))


def _show_findings(results: "Results", arguments: Arguments) -> None:
    if arguments.out:
        print_text(f"{len(results)} tables written to {arguments.out}")
    elif arguments.as_json:
        print_json(results)
    else:
        for name, result in results.items():
            if not arguments.csv:
                print_text(f"\n{name}: {result.question}", bold=True)
                _sentences(result)
            _show_table(result.table, arguments)


def _show_atlas(result: "Result", arguments: Arguments) -> None:
    from philly_analysis.atlas import in_brief

    _show_result(
        result, arguments, None if arguments.csv or arguments.as_json else in_brief(result.table)
    )


def _show_comparison(result: "Result", arguments: Arguments) -> None:
    from philly_analysis.report import side_by_side

    _show_result(result, arguments, side_by_side(result))


def _forecast(answer: "Forecast | Result", arguments: Arguments) -> None:
    from philly_analysis.forecasts import Forecast

    _show_result(answer.result if isinstance(answer, Forecast) else answer, arguments)


def _reliability(result: "Result", arguments: Arguments) -> None:
    """Print the rates by cause and the ratios by gang size as two tables of the main columns."""
    table = result.table
    if arguments.csv or arguments.as_json:
        _show_table(table, arguments)
        return
    gangs = table["gpus"].notna()
    rate = "per_1000_part_days"
    causes = ["tier", "cause", "failures", rate, f"{rate}_low", f"{rate}_high"]
    sizes = ["gpus", "failures", "mttf_s", "wait_s", "ratio", "ratio_low", "ratio_high"]
    if len(table):
        _show_table(table.loc[~gangs, causes], arguments)
        _show_table(table.loc[gangs, [*sizes, "ratio_with_wait", "optimum_s"]], arguments)
    _sentences(result)
    if arguments.out:
        print_text(f"page written to {arguments.out}")


def _ingested(trace: "Trace", arguments: Arguments) -> None:
    """Print what a trace holds and lacks, and the next command; tables and notes if asked."""
    notes = trace.manifest.notes
    if arguments.verbose:
        print_table(library.tables(trace))
        _notes(notes)
    else:
        print_text(_read_as(trace))
        print_text(_contents(trace))
        for text in (*_rejected(trace), *_absent(trace)):
            print_text(text)
        urgent = [note for note in notes if note.startswith(_URGENT)]
        _notes(urgent)
        if others := len(notes) - len(urgent):
            print_text(f"{others} more notes are on the page, and printed by --verbose.")
    done = "trace up to date" if arguments.append else "trace written to"
    print_text(f"{done}{':' if arguments.append else ''} {arguments.out}")
    print_text(f"next: philly report {arguments.out}", bold=True)


def _read_as(trace: "Trace") -> str:
    """Return what the raw files were taken for: a source, and the map of a table."""
    from philly_analysis.ingest import reads_of

    source = trace.manifest.source
    maps = [i.file for i in trace.manifest.inputs if i.file.endswith(".toml")]
    if maps:
        return f"read as {source}, by the map {Path(maps[0]).name}"
    return f"read as {source}: {reads_of(source)}"


def _contents(trace: "Trace") -> str:
    """Return the numbers of jobs, attempts, days, servers and GPUs of a trace."""
    rows = trace.manifest.rows
    parts = [f"{rows.get('jobs', 0):,} jobs", f"{rows.get('attempts', 0):,} attempts"]
    if rows.get("jobs"):
        parts.append(f"{trace.start:%Y-%m-%d} to {trace.end:%Y-%m-%d}")
    if rows.get("machines"):
        parts.append(f"{trace.gpus:,} GPUs on {rows['machines']:,} servers")
    return ", ".join(parts)


def _rejected(trace: "Trace") -> Iterator[str]:
    """Yield a line per table with rejected rows, with the reasons."""
    for account in trace.manifest.accounts:
        if account.rejected:
            reasons = "; ".join(f"{n:,} {reason}" for reason, n in account.rejected.items())
            rejected = sum(account.rejected.values())
            yield f"rejected rows of {account.table}: {rejected:,} of {account.read:,} ({reasons})"


def _absent(trace: "Trace") -> Iterator[str]:
    """Yield a line per table that is absent and that findings would use."""
    for tables, adds in _ADDS.items():
        if not any(trace.has_values(table) for table in tables):
            yield f"missing: {tables[0]}, which would show {adds}"


def _fitted(model: "WorkloadModel", arguments: Arguments) -> None:
    print_text(str(model))
    print_text(f"model written to {arguments.model}")


def _sampled(workload: "Workload", arguments: Arguments) -> None:
    _notes(workload.notes)
    print_text(f"{len(workload.jobs):,} jobs written to {arguments.out}")


def _exported(exported: "Exported", arguments: Arguments) -> None:
    from philly_analysis.trace import Manifest, fetch_trace

    print_text(str(exported))
    manifest = Manifest.read(fetch_trace(arguments.workload))
    if manifest.source == "sample":  # limits of its model are limits of the export
        _notes(manifest.notes)


def _simulated(trace: "Trace", arguments: Arguments) -> None:
    from philly_analysis.results import duration
    from philly_analysis.workload import measures

    print_table(library.tables(trace))
    _notes(trace.manifest.notes)
    measured = measures(trace)
    means = ", ".join(
        f"mean {term} {duration(measured[name])}"
        for term, name in (("job completion time", "mean_jct_s"), ("wait", "mean_wait_s"))
        if name in measured
    )
    print_text(f"{arguments.policy}: {measured['jobs']:,.0f} jobs ended; {means}", bold=True)
    print_text(f"trace written to {arguments.out}")


def _advised(result: "Result", arguments: Arguments) -> None:
    _sentences(result)
    print_text(f"page written to {arguments.out}")


def _swept(result: "Result", arguments: Arguments) -> None:
    _sentences(result)
    print_text(f"page written to {Path(arguments.out) / 'page'}")


def _experimented(results: "Results", arguments: Arguments) -> None:
    from philly_analysis.report import experiment_folder

    page = experiment_folder(arguments.names or (), Path(arguments.out)) / "report.html"
    print_text(f"page written to {page}")


TABLES: dict[str, Callable[[Any, Arguments], None]] = {
    **dict.fromkeys(("analyses", "datasets", "formats", "models", "policies"), _show_table),
    **dict.fromkeys(("published", "query", "sources"), _show_table),
    "atlas": _show_atlas,
    "classify": _show_result,
    "analyze": _show_findings,
    "compare": _show_comparison,
    "forecast": _forecast,
    "reliability": _reliability,
    "tables": _show_tables,
    "verify": _show_verified,
}
"""Printers of the verbs that return tables: these verbs have --csv and --json."""

MESSAGES: dict[str, Callable[[Any, Arguments], None]] = {
    "advise": _advised,
    "export": _exported,
    "fit": _fitted,
    "ingest": _ingested,
    "sample": _sampled,
    "simulate": _simulated,
    "summary": _summarised,
    "sweep": _swept,
    **dict.fromkeys(
        ("fetch", "slurm_command", "slurm_collect", "kubectl_command"),
        lambda text, _: typer.echo(text),
    ),
    **dict.fromkeys(("demo", "report"), lambda page, _: print_text(f"report written to {page}")),
    "experiment": _experimented,
}
"""Printers of the other verbs."""

FORMS_OF = {
    **dict.fromkeys(TABLES, ("csv", "as_json")),
    "summary": ("as_json", "markdown", "openmetrics"),
}
"""Forms besides text that each verb can print."""

PRINTERS = {**TABLES, **MESSAGES}
"""Printer of what each verb's function returns."""
