"""Build the command line from the functions of the API, and print what they return."""

import gc
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

import philly_analysis as library
from philly_analysis import api
from philly_analysis.cli.completion import COMPLETIONS
from philly_analysis.cli.console import Command, print_json, print_table, print_text
from philly_analysis.cli.what_ifs import COMMANDS, DOCUMENTED
from philly_analysis.errors import OutputError
from philly_analysis.parallel import cores, processes
from philly_analysis.study import Estimates, Gangs, RunPolicy

if TYPE_CHECKING:  # `--help` does not import pandas
    import pandas as pd

    from philly_analysis.exports import Exported
    from philly_analysis.forecasts import Forecast
    from philly_analysis.models import WorkloadModel
    from philly_analysis.report import Page
    from philly_analysis.results import Result, Results
    from philly_analysis.trace import Trace
    from philly_analysis.workload import Workload

app = typer.Typer(
    help="GPU-cluster logs in; validated tables, findings, models and what-if answers out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

TYPES: dict[str, Any] = {
    **{kind.__name__: kind for kind in (bool, float, int, str, Path, Estimates, Gangs, RunPolicy)},
    "Mapping": list[str],
    "Quotas": Path,
    "TraceLike": Path,
    "Work": Path,
    "tuple": str,
}
"""The type on the command line of the first name in an annotation; others are for Python only."""

OPTIONS = {
    *("advise.out", "atlas.out", "forecast.out", "reliability.out", "report.out", "sweep.out"),
    "sweep.policies",
    *("slurm_command.since", "slurm_command.until", "slurm_command.cluster"),
}
"""Options that are positional in Python."""

REQUIRED = {"compare.traces", "export.file", "fit.model", "ingest.out", "ingest.raw"} | {
    f"{verb}.out" for verb in ("sample", "simulate")
}
"""Arguments that are optional in Python, which returns the value."""

METAVARS = {
    "fit.model": "MODEL.json",
    "ingest.anonymize": "KEY",
    "policies.name": "POLICY",
    "query.sql": "SELECT",
    "simulate.knobs": "KNOB=VALUE",
    "sweep.knobs": "[POLICY.]KNOB=VALUE",
    "outages": "FILE|RATES|recorded",
    "speed": "SPEED",
    "workload": "TRACE",
}
"""Placeholders in help, by parameter; arguments else have their name, in the singular."""

FLAGS = {
    "knobs": "--set",
    "findings": "--finding",
    "experiment.models": "--model",
    "sweep.jobs": "--draw",
}
"""Options that are named otherwise than the parameter."""

COMMAND_DEFAULTS = {
    "atlas.processes": min(cores(), 4),
    "advise.out": "reports/advice",
    "experiment.out": "reports",
    "report.out": "reports",
    "sweep.out": "reports/sweep",
}
"""Defaults of a command where a function has none: folders to write to, processes."""

DEFAULTS = {
    "atlas.processes": "processor cores, at most 4",
    **{f"{verb}.run_policy": "span" for verb in ("query", "analyze", "report")},
    "fit.run_policy": "sum",
    "experiment.models": "literature and philly; conclusions: two more",
    "experiment.seeds": "as the experiment has",
    "sweep.loads": "submissions stay as they are",
}
"""Defaults in help, where the signature has None or nothing."""


_CSV_OR_JSON = [
    inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option(flag, help=f"Print {what}.")],
    )
    for name, flag, what in (
        ("csv", "--csv", "comma-separated values"),
        ("as_json", "--json", "JSON"),
    )
]
"""Options of verbs that print a table."""

EXECUTOR = {
    "processes": (int, "--jobs", "Number of processes to run on."),
    "scheduler": (str, "--cluster", "Address of a Dask scheduler to run on."),
}
"""Options that say where work runs, for the parameter ``executor``: type, flag, help."""

Given = SimpleNamespace
"""What was typed, by parameter, with defaults."""


def _notes(texts: Iterable[str]) -> None:
    for text in texts:
        print_text(f"note: {text}")


def _sentences(result: "Result") -> None:
    for sentence in (*result.warnings, *result.sentences, *result.caveats):
        print_text(f"  {sentence}")


def _show_table(table: "pd.DataFrame", given: Given) -> None:
    print_table(table, csv=given.csv, as_json=given.as_json)


def _show_result(result: "Result", given: Given, table: "pd.DataFrame | None" = None) -> None:
    _show_table(result.table if table is None else table, given)
    if not (given.csv or given.as_json):
        _sentences(result)
        if getattr(given, "out", None):
            print_text(f"page written to {given.out}")


def _show_tables(tables: "pd.DataFrame", given: Given) -> None:
    _show_table(tables, given)
    if given.trace and not (given.csv or given.as_json):
        with library.Trace(given.trace) as trace:
            _notes(trace.manifest.notes)


def _show_verified(files: "pd.DataFrame", given: Given) -> None:
    _show_table(files, given)
    if files["state"].isin(["damaged", "missing"]).any():
        raise typer.Exit(1)


def _show_findings(results: "Results", given: Given) -> None:
    if given.out:
        print_text(f"{len(results)} tables written to {given.out}")
    elif given.as_json:
        print_json(results)
    else:
        for name, result in results.items():
            if not given.csv:
                print_text(f"\n{name}: {result.question}", bold=True)
                _sentences(result)
            _show_table(result.table, given)


def _show_atlas(result: "Result", given: Given) -> None:
    from philly_analysis.atlas import in_brief

    _show_result(result, given, None if given.csv or given.as_json else in_brief(result.table))


def _show_comparison(result: "Result", given: Given) -> None:
    from philly_analysis.report import side_by_side

    _show_result(result, given, side_by_side(result))


def _forecast(answer: "Forecast | Result", given: Given) -> None:
    result: Any = getattr(answer, "result", answer)
    _show_result(result, given)


def _ingested(trace: "Trace", given: Given) -> None:
    print_table(library.tables(trace))
    _notes(trace.manifest.notes)
    print_text(
        f"trace up to date: {given.out}" if given.append else f"trace written to {given.out}"
    )


def _fitted(model: "WorkloadModel", given: Given) -> None:
    print_text(str(model))
    print_text(f"model written to {given.model}")


def _sampled(workload: "Workload", given: Given) -> None:
    _notes(workload.notes)
    print_text(f"{len(workload.jobs):,} jobs written to {given.out}")


def _exported(exported: "Exported", given: Given) -> None:
    from philly_analysis.trace import Manifest, fetch_trace

    print_text(str(exported))
    manifest = Manifest.read(fetch_trace(given.workload))
    if manifest.source == "sample":  # limits of its model are limits of the export
        _notes(manifest.notes)


def _simulated(trace: "Trace", given: Given) -> None:
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
    print_text(f"{given.policy}: {measured['jobs']:,.0f} jobs ended; {means}", bold=True)
    print_text(f"trace written to {given.out}")


def _advised(result: "Result", given: Given) -> None:
    _sentences(result)
    print_text(f"page written to {given.out}")


def _swept(result: "Result", given: Given) -> None:
    _sentences(result)
    print_text(f"page written to {Path(given.out) / 'page'}")


def _experimented(results: "Results", given: Given) -> None:
    from philly_analysis.report import experiment_folder

    page = experiment_folder(given.names or (), Path(given.out)) / "report.html"
    print_text(f"page written to {page}")


TABLES: dict[str, Callable[[Any, Given], None]] = {
    **dict.fromkeys(("analyses", "datasets", "formats", "models", "policies"), _show_table),
    **dict.fromkeys(("published", "query", "sources"), _show_table),
    "atlas": _show_atlas,
    "classify": _show_result,
    "analyze": _show_findings,
    "compare": _show_comparison,
    "forecast": _forecast,
    "reliability": _show_result,
    "tables": _show_tables,
    "verify": _show_verified,
}
"""How the verbs print that return tables, all with --csv and --json."""

MESSAGES: dict[str, Callable[[Any, Given], None]] = {
    "advise": _advised,
    "export": _exported,
    "fit": _fitted,
    "ingest": _ingested,
    "sample": _sampled,
    "simulate": _simulated,
    "sweep": _swept,
    **dict.fromkeys(
        ("fetch", "slurm_command", "slurm_collect", "kubectl_command"),
        lambda text, _: typer.echo(text),
    ),
    **dict.fromkeys(("demo", "report"), lambda page, _: print_text(f"report written to {page}")),
    "experiment": _experimented,
}
"""How the other verbs print."""

PRINTERS = {**TABLES, **MESSAGES}
"""How each verb prints what its function returns."""


def _refuse_joint_csv(given: Given) -> None:
    names = given.names or ()
    if given.csv and not given.out and len(names) != 1:
        several = f"{len(names)} findings" if names else "every finding"
        raise OutputError(
            f"{several} as one CSV: each finding has columns of its own. "
            "Name one, or give --out FOLDER for a file each."
        )


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Iterator[Any]:
    """Call a function, and yield what it returns; a report is made of each trace."""
    parameters = inspect.signature(function).parameters.values()
    if function is api.report:
        for trace in arguments.pop("trace"):
            yield _report(trace, **arguments)
    elif any(p.kind is p.VAR_POSITIONAL for p in parameters):  # which takes a list as well
        names = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
        positional = [arguments.pop(name, ()) for name in names]
        yield function(*positional, **arguments)
    else:
        yield function(**arguments)


def _report(trace: Path, **arguments: Any) -> "Page":
    """Write a report; without an executor, other processes draw while this process counts."""
    if "executor" in arguments or not trace.is_dir():
        return api.report(trace, **arguments)
    with (
        library.Trace(trace, run_policy=arguments.get("run_policy", RunPolicy.SPAN)) as opened,
        processes(min(max(1, cores() // 2), 4)) as drawing,
    ):
        return api.report(opened, executor=drawing, **arguments)


def _help(doc: str) -> dict[str, str]:
    """Return the first sentence on each parameter of a numpy docstring."""
    section = doc.partition("Parameters\n----------\n")[2].split("\n\n")[0]
    found = {}
    for name, text in re.findall(r"^(\w+)\n((?: +.*\n?)+)", section, re.MULTILINE):
        sentence = re.split(r"(?<=\.) (?=[A-Z`])", " ".join(text.split()))[0]
        found[name] = re.sub(r":func:`(\w+)`", r"`philly \1`", sentence).replace("``", "")
    return found


def _executor_options(verb: str) -> list[inspect.Parameter]:
    """Return the options that say where work runs."""
    options = []
    for name, (kind, flag, text) in EXECUTOR.items():
        shown = DEFAULTS.get(f"{verb}.{name}", True)
        options.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=COMMAND_DEFAULTS.get(f"{verb}.{name}"),
                annotation=Annotated[
                    kind | None, typer.Option(flag, help=text, show_default=shown)
                ],
            )
        )
    return options


def _declared(verb: str, parameter: inspect.Parameter, text: str) -> list[inspect.Parameter]:
    """Return a parameter as Typer declares it; nothing where a shell cannot give its value."""
    name, key = parameter.name, f"{verb}.{parameter.name}"
    if parameter.annotation == "ExecutorLike":
        return _executor_options(verb)
    found = re.match(r"(Iterable\[|Sequence\[|)(\w+)", parameter.annotation)
    if not found or found[2] not in TYPES:
        return []
    star = parameter.kind is parameter.VAR_POSITIONAL
    kind: Any = TYPES[found[2]]
    if found[1] or star or key == "report.trace":
        kind = list[kind]
    is_given = parameter.default is parameter.empty and not star and key not in COMMAND_DEFAULTS
    required = key in REQUIRED or is_given
    default = (
        None if star or parameter.default == () else COMMAND_DEFAULTS.get(key, parameter.default)
    )
    settings: dict[str, Any] = {
        "help": text,
        "metavar": METAVARS.get(key, METAVARS.get(name)),
        "autocompletion": COMPLETIONS.get(key),
        "show_default": DEFAULTS.get(key, True),
    }
    if parameter.kind is parameter.KEYWORD_ONLY or key in OPTIONS:
        flag = FLAGS.get(key, FLAGS.get(name, f"--{name.replace('_', '-')}"))
        info = typer.Option(flag, **settings)
    else:
        settings["metavar"] = settings["metavar"] or name.removesuffix("s").upper()
        info = typer.Argument(**settings)
    declared = inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if required else default,
        annotation=Annotated[kind if required or default is not None else kind | None, info],
    )
    return [declared]


def _add(function: Callable[..., Any]) -> None:
    """Add the command of a function."""
    verb, doc = function.__name__, inspect.getdoc(function) or ""
    texts: dict[str, str] = {}
    for documented in (*DOCUMENTED.get(verb, ()), function):
        texts |= _help(inspect.getdoc(documented) or "")
    parameters = inspect.signature(function).parameters
    declared = [
        option
        for name, parameter in parameters.items()
        for option in _declared(verb, parameter, texts.get(name, ""))
    ]
    if verb in TABLES:
        declared += _CSV_OR_JSON

    def command(**typed: Any) -> None:
        arguments = {n: typed[n] for n in parameters if typed.get(n) not in (None, [])}
        places = [typed[name] for name in ("scheduler", "processes") if typed.get(name) is not None]
        if places:
            arguments["executor"] = places[0]
        defaults = {name: p.default for name, p in parameters.items()}
        given = Given(**{**defaults, **typed, **arguments})
        if function is api.analyze:
            _refuse_joint_csv(given)
        for returned in _call(function, arguments):
            PRINTERS[verb](returned, given)

    signature = inspect.Signature(declared)
    command.__name__, command.__doc__ = verb, doc.partition("\n")[0]
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    app.command(cls=Command, epilog="\n".join(re.findall(r"^ +philly .*$", doc, re.M)))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"philly-analysis {library.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Accept the options before a verb."""


for _function in api.VERBS:
    _add(COMMANDS.get(_function.__name__, _function))


def main() -> None:
    """Run the command line."""
    gc.set_threshold(100_000)  # a command is short: the default costs a tenth of its time
    app()
