"""The words that a user types: parses, calls the function of the same name, prints."""

import gc
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import philly_analysis as library
from philly_analysis.cli import completion
from philly_analysis.cli.console import Verb, document, frame, say
from philly_analysis.cli.memory import watched
from philly_analysis.errors import OutputError
from philly_analysis.study import Estimates, Gangs, RunPolicy

if TYPE_CHECKING:
    from philly_analysis.simulator import Failures

app = typer.Typer(
    help="GPU-cluster logs in; validated tables, findings, models and what-if answers out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
verb = app.command(cls=Verb)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"philly-analysis {library.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Say which version this is.", callback=_say_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Take what stands before a verb."""


TraceArgument = Annotated[Path, typer.Argument(help="Folder of a trace.", metavar="TRACE")]
OutArgument = Annotated[Path, typer.Argument(help="Folder of the new trace.", metavar="OUT")]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at OUT.")]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Seed = Annotated[int, typer.Option(help="Of every draw: the same seed gives the same.")]
Machines = Annotated[
    str | None,
    typer.Option(
        help="Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model)."
    ),
]
Gpus = Annotated[int | None, typer.Option(help="GPUs of the target cluster.")]
Jobs = Annotated[int, typer.Option(help="Processes to run on.")]
OnCluster = Annotated[
    str | None, typer.Option(help="Dask cluster to run on, by its scheduler's address.")
]
OneRun = Annotated[
    RunPolicy | None,
    typer.Option(help="Take each job as one run, as exports do, not attempt after attempt."),
]
Speed = Annotated[
    str | None,
    typer.Option(
        help="How fast jobs run; as the policy's publication has it unless said.",
        metavar="SPEED",
        autocompletion=completion.speeds,
    ),
]
Checkpoint = Annotated[
    float,
    typer.Option(help="Work between checkpoints, which preempted jobs fall back to; inf: none."),
]
Outages = Annotated[
    str | None,
    typer.Option(
        help="What fails: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or "
        "recorded, at the trace's own rate.",
        metavar="FILE|RATES|recorded",
    ),
]
Dedicated = Annotated[
    bool, typer.Option("--dedicated", help="Give gangs their servers to themselves.")
]
PrerunServers = Annotated[
    int, typer.Option(help="Servers on which gangs run on one GPU first, to fail early.")
]
PrerunFor = Annotated[float, typer.Option(help="For how long they do.")]
RetryByReason = Annotated[
    bool, typer.Option("--retry-by-reason", help="Do not retry users' errors.")
]
Believed = Annotated[
    str,
    typer.Option(
        help="What is believed of run times: exact, requested (time limits) or noisy:SIGMA."
    ),
]
_RUN_POLICY = "A job's run time: first start to last end, sum of its attempts, or its last attempt."
SpanUnlessSaid = Annotated[RunPolicy | None, typer.Option(help=_RUN_POLICY, show_default="span")]
SumUnlessSaid = Annotated[RunPolicy | None, typer.Option(help=_RUN_POLICY, show_default="sum")]


def _failing(trace: Path) -> "Failures":
    """Return how often a trace's servers fail."""
    from philly_analysis.api import failures_of  # who asks for help gets it sooner without

    return failures_of(trace)


def _held(trace: Path, notes: Sequence[str] | None = None) -> None:
    """Print what a trace holds, and the notes on it; those in its manifest when None."""
    frame(library.tables(trace), csv=False, as_json=False)
    if notes is None:
        with library.Trace(trace) as opened:
            notes = opened.manifest.notes
    for note in notes:
        say(f"note: {note}")


@verb
def fetch(
    dataset: Annotated[
        str,
        typer.Argument(
            help="Which public trace.", metavar="DATASET", autocompletion=completion.datasets
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Argument(help="Folder to put it in; one of its name unless said.", metavar="OUT"),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(help="Where to get it instead: a file's address, or with / a folder's."),
    ] = None,
) -> None:
    """Fetch a public trace from its publisher."""
    typer.echo(library.fetch(dataset, out, url=url))


@verb
def datasets(csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the public traces that can be fetched."""
    frame(library.datasets(), csv=csv, as_json=as_json)


@verb
def ingest(
    source: Annotated[
        str,
        typer.Argument(
            help="Where the logs come from; auto: what they show.",
            metavar="SOURCE",
            autocompletion=completion.sources,
        ),
    ],
    raw: Annotated[Path, typer.Argument(help="Folder or archive of raw logs.", metavar="RAW")],
    out: OutArgument,
    map: Annotated[  # noqa: A002 - the word that is typed
        str | None,
        typer.Option(
            help="For table: a TOML map of its columns, or one that ships.",
            autocompletion=completion.maps,
        ),
    ] = None,
    failures: Annotated[
        Path | None,
        typer.Option(help="Output of failed attempts: folder, JSON lines, Slurm or kernel logs."),
    ] = None,
    output_name: Annotated[
        list[str] | None,
        typer.Option(help="How output files are named: a regular expression with (?P<job_id>…)."),
    ] = None,
    clock: Annotated[str, typer.Option(help="Time zone of kernel logs that print none.")] = "UTC",
    keep_secrets: Annotated[
        bool, typer.Option("--keep-secrets", help="Store log text as it is, nothing masked.")
    ] = False,
    telemetry: Annotated[
        Path | None,
        typer.Option(help="Readings of GPUs: Prometheus, scrapes, nvidia-smi, dcgmi dmon."),
    ] = None,
    telemetry_clock: Annotated[
        str, typer.Option(help="Time zone of readings that print none.")
    ] = "UTC",
    name: Annotated[
        str | None, typer.Option(help="What to call the trace; as OUT if left out.")
    ] = None,
    synthetic: Annotated[
        bool, typer.Option("--synthetic", help="The rows were not recorded on a real cluster.")
    ] = False,
    quotas: Annotated[
        Path | None,
        typer.Option(help="GPUs per virtual cluster: CSV with vc and gpus, or TOML."),
    ] = None,
    append: Annotated[
        bool, typer.Option("--append", help="Let the trace at OUT grow; make it if there is none.")
    ] = False,
    anonymize: Annotated[
        Path | None,
        typer.Option(help="Hash names under the key in this file, made if absent.", metavar="KEY"),
    ] = None,
    force: Force = False,
    cluster: OnCluster = None,
) -> None:
    """Turn raw logs into a trace, with an account of every row."""
    made = library.ingest(
        source,
        raw,
        out,
        map=map,
        failures=failures,
        output_name=output_name or (),
        clock=clock,
        keep_secrets=keep_secrets,
        telemetry=telemetry,
        telemetry_clock=telemetry_clock,
        name=name,
        synthetic=synthetic,
        quotas=quotas,
        append=append,
        anonymize=anonymize,
        force=force,
        cluster=cluster,
    )
    _held(out, made.notes)
    say(f"trace up to date: {out}" if append else f"trace written to {out}")


@verb
def sources(csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the sources that raw logs may come from."""
    frame(library.sources(), csv=csv, as_json=as_json)


@verb
def tables(
    trace: Annotated[
        Path | None, typer.Argument(help="Folder of a trace.", metavar="TRACE")
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """List all tables and columns; or what a trace holds."""
    if trace is None or csv or as_json:
        frame(library.tables(trace), csv=csv, as_json=as_json)
    else:
        _held(trace)


@verb
def verify(trace: TraceArgument, csv: AsCsv = False, as_json: AsJson = False) -> None:
    """Say of each file of a trace whether it is as written."""
    found = library.verify(trace)
    frame(found, csv=csv, as_json=as_json)
    if found["state"].isin(["damaged", "missing"]).any():
        raise typer.Exit(1)


@verb
def query(
    trace: TraceArgument,
    sql: Annotated[
        str, typer.Argument(help="One SELECT over tables and relations.", metavar="SELECT")
    ],
    csv: AsCsv = False,
    as_json: AsJson = False,
    run_policy: SpanUnlessSaid = None,
) -> None:
    """Answer a SELECT over a trace's tables and relations."""
    frame(library.query(trace, sql, run_policy=run_policy), csv=csv, as_json=as_json)


@verb
def analyze(
    trace: TraceArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Findings; all when none.", metavar="NAME", autocompletion=completion.analyses
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write one CSV per finding to this folder instead.")
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
    run_policy: SpanUnlessSaid = None,
) -> None:
    """Compute findings on a trace, as tables."""
    if csv and not out and len(names or ()) != 1:
        asked = f"{len(names)} findings" if names else "every finding"
        raise OutputError(
            f"{asked} as one CSV: each finding has columns of its own. "
            "Name one, or give --out FOLDER for a file each."
        )
    results = library.analyze(trace, names or (), out=out, run_policy=run_policy)
    if out:
        say(f"{len(results)} tables written to {out}")
    elif as_json:
        document(results)
    else:
        for name, result in results.items():
            if not csv:
                say(f"\n{name}: {result.question}", bold=True)
                for sentence in (*result.warnings, *result.sentences, *result.caveats):
                    say(f"  {sentence}")
            frame(result.table, csv=csv, as_json=False)


@verb
def report(
    traces: Annotated[list[Path], typer.Argument(help="Folders of traces.", metavar="TRACE")],
    out: Annotated[Path, typer.Option(help="Folder of reports.")] = Path("reports"),
    run_policy: SpanUnlessSaid = None,
    jobs: Jobs = 1,
    cluster: OnCluster = None,
) -> None:
    """Compute every finding on a trace, as a page."""
    from philly_analysis.parallel import processes

    # one process draws while this one computes
    with processes(1) as drawing:
        # both processes read the package at once
        drawing.submit(import_module, "philly_analysis.report.chapters")
        for trace in traces:
            page = library.report(
                trace, out, run_policy=run_policy, jobs=jobs, cluster=cluster, executor=drawing
            )
            say(f"report written to {page}")


@verb
def fit(
    trace: Annotated[Path, typer.Argument(help="Folder of a trace, or raw logs.", metavar="TRACE")],
    model: Annotated[Path, typer.Argument(help="File of the new model.", metavar="MODEL.json")],
    family: Annotated[
        str | None,
        typer.Option(help="Force one family of run times.", autocompletion=completion.families),
    ] = None,
    run_policy: SumUnlessSaid = None,
) -> None:
    """Fit a workload model to a trace, or to raw logs."""
    say(str(library.fit(trace, model, family=family, run_policy=run_policy)))
    say(f"model written to {model}")


@verb
def models(csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the workload models that ship."""
    frame(library.models(), csv=csv, as_json=as_json)


@verb
def sample(
    model: Annotated[
        str,
        typer.Argument(
            help="A model's file, or the name of one that ships.",
            metavar="MODEL",
            autocompletion=completion.models,
        ),
    ],
    out: OutArgument,
    jobs: Annotated[int | None, typer.Option(help="How many jobs.")] = None,
    days: Annotated[float | None, typer.Option(help="Over how many days.")] = None,
    load: Annotated[float, typer.Option(help="Factor on the fitted rate of arrivals.")] = 1.0,
    gpus: Gpus = None,
    offered: Annotated[
        float | None, typer.Option(help="Offered load wanted on the target cluster.")
    ] = None,
    seed: Seed = 0,
    variation: Annotated[
        str,
        typer.Option(help="month: each seed is another month; none: the fitted one again."),
    ] = "month",
    force: Force = False,
) -> None:
    """Draw a synthetic workload from a model, as a trace."""
    drawn = library.sample(
        model,
        out,
        jobs=jobs,
        days=days,
        load=load,
        gpus=gpus,
        offered=offered,
        seed=seed,
        variation=variation,
        force=force,
    )
    for note in drawn.notes:
        say(f"note: {note}")
    say(f"{drawn.jobs.height:,} jobs written to {out}")


@verb
def export(
    workload: TraceArgument,
    format: Annotated[  # noqa: A002 - the word users type
        str,
        typer.Argument(help="Whose format.", metavar="FORMAT", autocompletion=completion.formats),
    ],
    file: Annotated[Path, typer.Argument(help="File (or folder) to write.", metavar="FILE")],
    dialect: Annotated[
        str | None,
        typer.Option(help="A variant of the format.", autocompletion=completion.dialects),
    ] = None,
    load: Annotated[
        float | None, typer.Option(help="Offered load wanted on the target cluster.")
    ] = None,
    seed: Seed = 0,
    gpus: Gpus = None,
    machines: Machines = None,
    throughputs: Annotated[
        Path | None, typer.Option(help="The consumer's own file of measured speeds.")
    ] = None,
    run_policy: Annotated[RunPolicy, typer.Option(help=_RUN_POLICY)] = RunPolicy.SUM,
    gangs: Annotated[
        Gangs, typer.Option(help="What becomes of gangs whose size the reader does not take.")
    ] = Gangs.DROP,
    estimates: Annotated[
        Estimates | None,
        typer.Option(help="What a scheduler is told of run times, where there is a place for it."),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Even if its reader takes under 99 % of jobs or GPU time."),
    ] = False,
    force: Force = False,
) -> None:
    """Write a workload in another tool's format."""
    from philly_analysis.trace import Manifest, fetch_trace

    done = library.export(
        workload,
        format,
        file,
        dialect=dialect,
        load=load,
        seed=seed,
        gpus=gpus,
        machines=machines,
        throughputs=throughputs,
        run_policy=run_policy,
        gangs=gangs,
        estimates=estimates,
        partial=partial,
        force=force,
    )
    say(str(done))
    made = Manifest.read(fetch_trace(workload))
    if made.source == "sample":  # what its model does not know, the export does not either
        for note in made.notes:
            say(f"note: {note}")


@verb
def formats(csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the formats that a workload can be exported to."""
    frame(library.formats(), csv=csv, as_json=as_json)


@verb
def simulate(
    workload: TraceArgument,
    policy: Annotated[
        str,
        typer.Argument(help="Who runs when.", metavar="POLICY", autocompletion=completion.policies),
    ],
    out: OutArgument,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A knob of the policy: `philly policies POLICY` lists them.",
            metavar="KNOB=VALUE",
        ),
    ] = None,
    load: Annotated[
        float | None, typer.Option(help="Offered load wanted: submissions are stretched to it.")
    ] = None,
    gpus: Gpus = None,
    machines: Machines = None,
    run_policy: OneRun = None,
    speed: Speed = None,
    checkpoint_s: Checkpoint = 0.0,
    outages: Outages = None,
    dedicated: Dedicated = False,
    prerun_servers: PrerunServers = 0,
    prerun_s: PrerunFor = 600.0,
    retry_by_reason: RetryByReason = False,
    estimates: Believed = "exact",
    seed: Seed = 0,
    samples: Annotated[
        bool, typer.Option("--samples", help="Also write per-minute GPU samples.")
    ] = False,
    force: Force = False,
) -> None:
    """Run a workload under a policy, and write what happens."""
    from philly_analysis.results import duration
    from philly_analysis.workload import measures

    pairs = (setting.partition("=") for setting in knobs or ())
    library.simulate(
        workload,
        policy,
        out,
        knobs={knob: value or "true" for knob, _, value in pairs},
        load=load,
        gpus=gpus,
        machines=machines,
        run_policy=run_policy,
        speed=speed,
        checkpoint_s=checkpoint_s,
        outages=_failing(workload) if outages == "recorded" else outages,
        dedicated=dedicated,
        prerun_servers=prerun_servers,
        prerun_s=prerun_s,
        retry_by_reason=retry_by_reason,
        estimates=estimates,
        seed=seed,
        samples=samples,
        force=force,
    )
    _held(out)
    with library.Trace(out) as made:
        became = measures(made)
    said = ", ".join(
        f"mean {word} {duration(became[name])}"
        for word, name in (("job completion time", "mean_jct_s"), ("wait", "mean_wait_s"))
        if name in became
    )
    say(f"{policy}: {became['jobs']:,.0f} jobs ended; {said}", bold=True)
    say(f"trace written to {out}")


@verb
def policies(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A policy, to list its knobs.",
            metavar="POLICY",
            autocompletion=completion.policies,
        ),
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """List the scheduling policies; or the knobs of one."""
    frame(library.policies(name), csv=csv, as_json=as_json)


@verb
def sweep(
    workloads: Annotated[
        list[str],
        typer.Argument(
            help="Folders of traces; models' files, or names of models that ship.",
            metavar="WORKLOAD",
            autocompletion=completion.models,
        ),
    ],
    policies: Annotated[
        list[str],
        typer.Option(
            help="A policy; the first is what the others are held against.",
            autocompletion=completion.policies,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of page, tables and runs.")] = Path(
        "reports/sweep"
    ),
    loads: Annotated[
        list[float] | None,
        typer.Option(help="An offered load.", show_default="submissions stay as they are"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Workloads drawn of each model.")] = 1,
    knobs: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A knob of the policies that have it; several values: several times.",
            metavar="[POLICY.]KNOB=VALUE",
        ),
    ] = None,
    draw: Annotated[int, typer.Option(help="Jobs drawn from a model.")] = 2_000,
    gpus: Gpus = None,
    machines: Machines = None,
    run_policy: OneRun = None,
    speed: Speed = None,
    checkpoint_s: Checkpoint = 0.0,
    outages: Outages = None,
    dedicated: Dedicated = False,
    prerun_servers: PrerunServers = 0,
    prerun_s: PrerunFor = 600.0,
    retry_by_reason: RetryByReason = False,
    estimates: Believed = "exact",
    jobs: Jobs = 1,
    cluster: OnCluster = None,
) -> None:
    """Run workloads under several policies, compared in pairs."""
    pairs = (setting.partition("=") for setting in knobs or ())
    result = library.sweep(
        workloads,
        policies,
        out,
        loads=loads or (),
        seeds=seeds,
        knobs=[(knob, value or "true") for knob, _, value in pairs],
        draw=draw,
        gpus=gpus,
        machines=machines,
        run_policy=run_policy,
        speed=speed,
        checkpoint_s=checkpoint_s,
        outages=outages,
        dedicated=dedicated,
        prerun_servers=prerun_servers,
        prerun_s=prerun_s,
        retry_by_reason=retry_by_reason,
        estimates=estimates,
        jobs=jobs,
        cluster=cluster,
    )
    for sentence in (*result.sentences, *result.caveats):
        say(f"  {sentence}")
    say(f"page written to {out / 'page'}")


@verb
def compare(
    traces: Annotated[list[Path], typer.Argument(help="Two traces or more.", metavar="TRACE")],
    findings: Annotated[
        list[str] | None,
        typer.Option(
            "--finding",
            help="A finding to show of each on the page.",
            autocompletion=completion.analyses,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for a page with the distributions.")
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Set traces side by side: times, waits, use, fairness."""
    from philly_analysis.report import side_by_side

    result = library.compare(traces, findings=findings or (), out=out)
    frame(side_by_side(result), csv=csv, as_json=as_json)
    if not (csv or as_json):
        for sentence in (*result.warnings, *result.sentences, *result.caveats):
            say(f"  {sentence}")
        if out:
            say(f"page written to {out}")


@verb
def atlas(
    traces: Annotated[
        list[Path] | None, typer.Argument(help="Folders of traces.", metavar="TRACE")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for a page with all clusters side by side.")
    ] = None,
    datasets: Annotated[
        Path | None, typer.Option(help="Folder of public traces as published, to ask as well.")
    ] = None,
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Say which findings of the study hold on which clusters."""
    result = library.atlas(traces or (), out, datasets=datasets)
    frame(result.table, csv=csv, as_json=as_json)
    if not (csv or as_json):
        for sentence in (*result.warnings, *result.sentences, *result.caveats):
            say(f"  {sentence}")
        if out:
            say(f"page written to {out}")


@verb
def experiment(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to ask; all when none, but for conclusions.",
            metavar="NAME",
            autocompletion=completion.experiments,
        ),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="A model's file, or one that ships; or a trace, taken window by window.",
            show_default="literature and philly; conclusions: two more",
            autocompletion=completion.models,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Months drawn of each model.", show_default="as the experiment has"),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of reports.")] = Path("reports"),
    jobs: Jobs = 1,
    cluster: OnCluster = None,
) -> None:
    """Divide the gains of guidelines, Synergy, Amoeba and AntMan."""
    page = library.experiment(
        names or (), models=models or (), seeds=seeds, out=out, jobs=jobs, cluster=cluster
    )
    say(f"page written to {page}")


@verb
def published(csv: AsCsv = False, as_json: AsJson = False) -> None:
    """List the numbers that the study printed, and where."""
    frame(library.published(), csv=csv, as_json=as_json)


@verb
def demo(
    out: Annotated[Path, typer.Argument(help="Folder for trace and page.", metavar="OUT")] = Path(
        "philly-demo"
    ),
) -> None:
    """Make the bundled sample's trace and page."""
    say(f"report written to {library.demo(out)}")


@verb
def classify(
    files: Annotated[
        list[Path], typer.Argument(help="Output of failed runs, or a folder of it.", metavar="FILE")
    ],
    csv: AsCsv = False,
    as_json: AsJson = False,
) -> None:
    """Say why runs failed, from their output."""
    frame(library.classify(files).table, csv=csv, as_json=as_json)


@verb
def slurm_command(
    since: Annotated[str, typer.Option(help="First day, e.g. 2026-01-01.")] = "YYYY-MM-01",
    until: Annotated[str, typer.Option(help="Moment after the last.")] = "now",
    cluster: Annotated[str | None, typer.Option(help="Cluster, as Slurm names it.")] = None,
) -> None:
    """Print the sacct command to run on a Slurm cluster."""
    typer.echo(library.slurm_command(since, until, cluster))


def main() -> None:
    """Run the command line."""
    # a command is soon over: looking for garbage as often as by default takes a tenth of it
    gc.set_threshold(100_000)
    with watched():
        app()
