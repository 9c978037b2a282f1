"""The words that a user types: parses, calls, prints."""

from pathlib import Path
from typing import Annotated, Any

import typer

from philly_analysis.errors import OutputError
from philly_analysis.manifest import Manifest
from philly_analysis.study import RunPolicy
from philly_analysis.terminal import document, frame, say, show, told, write_tables
from philly_analysis.trace import Trace

app = typer.Typer(
    help="GPU-cluster logs in; validated tables, findings, models and what-if answers out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
TraceArgument = Annotated[Path, typer.Argument(help="Folder of a trace.", metavar="TRACE")]
OutArgument = Annotated[Path, typer.Argument(help="Folder of the new trace.", metavar="OUT")]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at OUT.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MachinesOption = Annotated[
    str | None, typer.Option(help="Target cluster: 240x8,288x2 or 16x8:24:500@8 (CPUs:GB@rack).")
]
RunPolicyOption = Annotated[
    RunPolicy,
    typer.Option(
        help="A job's run time: first start to last end, sum of its attempts, or its last attempt."
    ),
]


def _account(manifest: Manifest) -> None:
    rows = [
        (
            a.table, a.read, a.kept, a.read - a.kept,
            "; ".join(f"{n:,} {reason}" for reason, n in a.rejected.items()),
        )
        for a in manifest.accounts
    ]  # fmt: skip
    if rows:
        show(["table", "read", "kept", "rejected", "why"], rows, csv=False, as_json=False)
    for note in manifest.notes:
        say(f"note: {note}")


@app.command()
@told
def ingest(
    source: Annotated[str, typer.Argument(help="Where the logs come from, e.g. philly.")],
    raw: Annotated[Path, typer.Argument(help="Folder or archive of raw logs.")],
    out: OutArgument,
    failures: Annotated[
        Path | None,
        typer.Option(help="Output of failed attempts: folder, JSON lines, Slurm or kernel logs."),
    ] = None,
    output_name: Annotated[
        list[str] | None,
        typer.Option(help="How output files are named: a regular expression with (?P<job_id>…)."),
    ] = None,
    keep_secrets: Annotated[
        bool, typer.Option("--keep-secrets", help="Store log text as it is, nothing masked.")
    ] = False,
    force: Force = False,
) -> None:
    """Turn raw logs into a trace, with an account of every row."""
    from philly_analysis.ingest import FailureOutput
    from philly_analysis.ingest import ingest as run
    from philly_analysis.ingest.failure_records import PATTERNS

    names = tuple(output_name) if output_name else PATTERNS
    output = FailureOutput(failures, names, masked=not keep_secrets) if failures else None
    run(source, raw, out, force=force, failures=output)
    with Trace(out) as trace:
        _account(trace.manifest)
    say(f"trace written to {out}")


@app.command()
@told
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
        show(columns, rows, csv=csv, as_json=as_json)
        return
    with Trace(trace) as opened:
        held = [
            (t.name, opened.manifest.rows.get(t.name) if t.name in opened.tables else None, t.row)
            for t in TABLES.values()
        ]
        show(["table", "rows", "one row is"], held, csv=csv, as_json=as_json)
        if not (csv or as_json):
            _account(opened.manifest)


@app.command()
@told
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
        show(answer.columns, answer.fetchall(), csv=csv, as_json=as_json)


@app.command()
@told
def analyze(
    trace: TraceArgument,
    names: Annotated[list[str] | None, typer.Argument(help="Findings; all when none.")] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
    out: Annotated[
        Path | None, typer.Option(help="Write one CSV per finding to this folder instead.")
    ] = None,
    run_policy: RunPolicyOption = RunPolicy.SPAN,
) -> None:
    """Compute findings on a trace and print them as tables."""
    from philly_analysis.chapters import analyze as run

    if csv and not out and len(names or ()) != 1:
        asked = f"{len(names)} findings" if names else "every finding"
        raise OutputError(
            f"{asked} as one CSV: each finding has columns of its own. "
            "Name one, or give --out FOLDER for a file each."
        )
    with Trace(trace, run_policy=run_policy) as opened:
        results = run(opened, names or ())
    if out:
        written = write_tables(results, out)
        say(f"{written} tables written to {out}")
    elif as_json:
        document(results)
    else:
        for name, result in results.items():
            if not csv:
                say(f"\n{name}: {result.question}", bold=True)
                for sentence in (*result.warnings, *result.sentences, *result.caveats):
                    say(f"  {sentence}")
            frame(result.table, csv=csv, as_json=False)


@app.command()
@told
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
        say(f"report written to {page}")


@app.command()
@told
def fit(
    trace: TraceArgument,
    model: Annotated[Path, typer.Argument(help="File of the new model.", metavar="MODEL.json")],
    family: Annotated[
        str | None, typer.Option(help="Force one family of run times, e.g. lognormal.")
    ] = None,
    run_policy: RunPolicyOption = RunPolicy.SUM,
) -> None:
    """Fit a workload model to a trace."""
    from philly_analysis.models import fit as run

    with Trace(trace, run_policy=run_policy) as opened:
        fitted = run(opened, family=family)
    fitted.save(model)
    say(str(fitted))
    say(f"model written to {model}")


@app.command()
@told
def sample(
    model: Annotated[str, typer.Argument(help="A model's file, or the name of one that ships.")],
    out: OutArgument,
    jobs: Annotated[int | None, typer.Option(help="How many jobs.")] = None,
    days: Annotated[float | None, typer.Option(help="Over how many days.")] = None,
    load: Annotated[float, typer.Option(help="Factor on the fitted rate of arrivals.")] = 1.0,
    gpus: Annotated[int | None, typer.Option(help="GPUs of the target cluster.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same jobs.")] = 0,
    force: Force = False,
) -> None:
    """Draw a synthetic workload from a model, as a trace where nobody waits."""
    from philly_analysis.models import load_model

    drawn = load_model(model).sample(jobs=jobs, days=days, load=load, gpus=gpus, seed=seed)
    drawn.to_trace(out, source="sample", force=force)
    say(f"{drawn.jobs.height:,} jobs written to {out}")


@app.command()
@told
def export(
    workload: TraceArgument,
    format: Annotated[str, typer.Argument(help="Whose format, e.g. gavel, swf, philly.")],  # noqa: A002
    file: Annotated[Path, typer.Argument(help="File (or folder) to write.")],
    dialect: Annotated[str | None, typer.Option(help="A variant of the format.")] = None,
    load: Annotated[
        float | None, typer.Option(help="Offered load wanted on the target cluster.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="GPUs of the target cluster.")] = None,
    machines: MachinesOption = None,
    throughputs: Annotated[
        Path | None, typer.Option(help="The consumer's own file of measured speeds.")
    ] = None,
    run_policy: RunPolicyOption = RunPolicy.SUM,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    force: Force = False,
) -> None:
    """Write a workload in another simulator's format, and say what was assumed."""
    from philly_analysis.exports import export as run
    from philly_analysis.simulator import fleet

    done = run(
        workload, format, file, dialect=dialect, load=load, gpus=gpus,
        machines=fleet(machines) if machines else None, throughputs=throughputs,
        run_policy=run_policy, seed=seed, force=force,
    )  # fmt: skip
    say(str(done))


@app.command()
@told
def simulate(
    workload: TraceArgument,
    policy: Annotated[str, typer.Argument(help="Who runs when, e.g. fifo, philly, synergy.")],
    out: OutArgument,
    knobs: Annotated[
        list[str] | None, typer.Option("--set", help="A knob of the policy.", metavar="KNOB=VALUE")
    ] = None,
    machines: MachinesOption = None,
    samples: Annotated[bool, typer.Option(help="Also write per-minute GPU samples.")] = False,
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    force: Force = False,
) -> None:
    """Run a workload under a scheduling policy and write what happens as a trace."""
    from philly_analysis.simulator import fleet
    from philly_analysis.simulator import simulate as run
    from philly_analysis.workload import Workload

    settings = {name: value or "true" for name, _, value in (k.partition("=") for k in knobs or ())}
    run(
        Workload.from_trace(workload), policy, out, knobs=settings,
        machines=fleet(machines) if machines else None, samples=samples, seed=seed, force=force,
    )  # fmt: skip
    with Trace(out) as trace:
        _account(trace.manifest)
    say(f"trace written to {out}")


@app.command()
@told
def compare(
    traces: Annotated[list[Path], typer.Argument(help="Two traces or more.", metavar="TRACE…")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for a page with the distributions.")
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Set traces side by side: completion times, waits, utilisation, fairness."""
    from contextlib import ExitStack

    from philly_analysis import comparison
    from philly_analysis.page import Chapter, results_page, section

    with ExitStack() as opened:
        result = comparison.compare([opened.enter_context(Trace(path)) for path in traces])
    frame(comparison.side_by_side(result), csv=csv, as_json=as_json)
    if not (csv or as_json):
        for sentence in (*result.warnings, *result.sentences, *result.caveats):
            say(f"  {sentence}")
    if out:
        part = section("comparison", result.question, result, comparison.plot(result))
        lede = "The same questions, asked of each trace in turn."
        page = results_page("Traces side by side", lede, [Chapter("Comparison", (part,))], out)
        say(f"page written to {page}")


@app.command()
@told
def experiment(
    names: Annotated[
        list[str] | None, typer.Argument(help="synergy, amoeba, antman; all when none.")
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--model", help="A model's file, or one that ships.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of reports.")] = Path("reports"),
) -> None:
    """Re-run the headline results of Synergy, Amoeba and AntMan on workload models."""
    from philly_analysis.verbs import experiment as run

    page = run(names or (), models or ("literature", "philly"), out)
    say(f"page written to {page}")


@app.command()
@told
def classify(
    files: Annotated[list[Path], typer.Argument(help="Output of failed runs.", metavar="FILE…")],
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Say why runs failed, from their output: reason, tier and the line that decides."""
    from philly_analysis.failures import classify_files

    frame(classify_files(files).table, csv=csv, as_json=as_json)


def main() -> None:
    """Run the command line."""
    app()
