"""Build the command line from the functions of the API.

The module is long because the options of all commands are declared in one place.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import philly_analysis as library
from philly_analysis import api, memory
from philly_analysis.cli.completion import COMPLETIONS
from philly_analysis.cli.console import Command, Group
from philly_analysis.cli.printers import FORMS_OF, PRINTERS, Arguments
from philly_analysis.cli.what_ifs import COMMANDS, DOCUMENTED
from philly_analysis.errors import OutputError
from philly_analysis.parallel import collect_rarely, cores, processes
from philly_analysis.study import Estimates, Gangs, RunPolicy

if TYPE_CHECKING:
    from philly_analysis.report import Page

Group.topics = {
    topic: [verb.__name__.replace("_", "-") for verb in verbs]
    for topic, verbs in api.TOPICS.items()
}
app = typer.Typer(
    cls=Group,
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
    "Compared": Path,
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


_FORMS = {
    name: inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, typer.Option(flag, help=f"Print {what}.")],
    )
    for name, flag, what in (
        ("csv", "--csv", "comma-separated values"),
        ("as_json", "--json", "JSON"),
        ("markdown", "--markdown", "Markdown, for mail and chat"),
        ("openmetrics", "--openmetrics", "OpenMetrics, for Prometheus"),
    )
}
"""Options that choose what is printed."""

_MEMORY = inspect.Parameter(
    "memory",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="Memory that the command may use, e.g. 4GB.",
            show_default="three quarters of what is free",
        ),
    ],
)
"""The option of every verb that sets its memory budget."""

_VERBOSE = inspect.Parameter(
    "verbose",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--verbose", help="Print all tables and notes of the trace.")
    ],
)
"""The option of ingest that prints everything."""

EXECUTOR = {
    "processes": (int, "--jobs", "Number of processes to run on."),
    "scheduler": (str, "--cluster", "Address of a Dask scheduler to run on."),
}
"""Options that say where work runs, for the parameter ``executor``: type, flag, help."""


def _refuse_joint_csv(arguments: Arguments) -> None:
    names = arguments.names or ()
    if arguments.csv and not arguments.out and len(names) != 1:
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
    """Write a report; without an executor, other processes draw while this process counts.

    No other process starts if the memory budget does not suffice for two.
    """
    if "executor" in arguments or not trace.is_dir():
        return api.report(trace, **arguments)
    from philly_analysis.trace import Manifest

    run_policy = arguments.get("run_policy", RunPolicy.SPAN)
    jobs = Manifest.read(trace).rows.get("jobs", 0)
    others = memory.most_processes(1 + min(max(1, cores() // 2), 4), jobs) - 1
    if others == 0:
        return api.report(trace, **arguments)
    with processes(others) as drawing, library.Trace(trace, run_policy=run_policy) as opened:
        return api.report(opened, executor=drawing, **arguments)


def _help(doc: str) -> dict[str, str]:
    """Return the first sentence on each parameter of a numpy docstring."""
    section = doc.partition("Parameters\n----------\n")[2].split("\n\n")[0]
    sentences = {}
    for name, text in re.findall(r"^(\w+)\n((?: +.*\n?)+)", section, re.MULTILINE):
        sentence = re.split(r"(?<=\.) (?=[A-Z`])", " ".join(text.split()))[0]
        sentences[name] = re.sub(r":func:`(\w+)`", r"`philly \1`", sentence).replace("``", "")
    return sentences


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
    annotation = re.match(r"(Iterable\[|Sequence\[|)(\w+)", parameter.annotation)
    if not annotation or annotation[2] not in TYPES:
        return []
    star = parameter.kind is parameter.VAR_POSITIONAL
    kind: Any = TYPES[annotation[2]]
    if annotation[1] or star or key == "report.trace":
        kind = list[kind]
    is_needed = parameter.default is parameter.empty and not star and key not in COMMAND_DEFAULTS
    required = key in REQUIRED or is_needed
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
    declared += [_FORMS[form] for form in FORMS_OF.get(verb, ())]
    declared.append(_MEMORY)
    if verb == "ingest":
        declared.append(_VERBOSE)

    def command(**typed: Any) -> None:
        if typed["memory"] is not None:
            memory.parse_bytes(typed["memory"])
            os.environ[memory.SETTING] = typed["memory"]
        arguments = {n: typed[n] for n in parameters if typed.get(n) not in (None, [])}
        places = [typed[name] for name in ("scheduler", "processes") if typed.get(name) is not None]
        if places:
            arguments["executor"] = places[0]
        defaults = {name: p.default for name, p in parameters.items()}
        with_defaults = Arguments(**{**defaults, **typed, **arguments})
        if function is api.analyze:
            _refuse_joint_csv(with_defaults)
        for returned in _call(function, arguments):
            PRINTERS[verb](returned, with_defaults)

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
    collect_rarely()
    app()
