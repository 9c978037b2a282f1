"""Public functions of the package, from which the command line is made.

Positional parameters are arguments of the command, keyword-only parameters are its options, and
the first sentence on a parameter is its help; commands in a docstring are its examples. The
first type of an annotation is the one that the command line parses. Functions import the packages
that do the work, so that importing this one is fast.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, cast, overload

from philly_analysis.errors import ArgumentError, suggest_arguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from concurrent.futures import Executor
    from datetime import date

    import pandas as pd

    from philly_analysis.exports import Exported
    from philly_analysis.models import Work, WorkloadModel
    from philly_analysis.report import Findings, Own, Page
    from philly_analysis.results import Result, Results
    from philly_analysis.simulator import Failures, Outage, Policy, Speed, Utilisation, WhatIf
    from philly_analysis.study import Estimates, Gangs, RunPolicy
    from philly_analysis.trace import Quotas, Trace, TraceLike
    from philly_analysis.workload import Ensemble, Machine, Workload


@suggest_arguments
def fetch(dataset: str, out: Path | str | None = None, *, url: str | None = None) -> Path:
    """Download a public trace from its publisher.

    An interrupted transfer resumes where it stopped, in this call and in the next. A file gets its
    name once its size and SHA-256 equal those published (or those of the first download, where the
    publisher states none), and files that belong together appear together. Files that are already
    there are not downloaded again.

    Parameters
    ----------
    dataset
        Name of a public trace; :func:`datasets` lists them.
    out
        Folder to download to; by default one named after the dataset.
    url
        Alternative address of the file, or of its folder if it ends with /.

    Returns
    -------
    pathlib.Path
        Raw files that :func:`ingest` reads as source ``auto``.

    Raises
    ------
    UnknownNameError
        There is no such dataset.
    InputError
        The download failed: no network, a quota used up, or a file other than the published one.
    OutputError
        The folder cannot be written.

    Examples
    --------
    In a shell::

        philly fetch philly
        philly fetch helios logs
    """
    from philly_analysis.ingest import fetch as download

    return download(dataset, out, url=url)


@suggest_arguments
def datasets() -> pd.DataFrame:
    """List the public traces that can be downloaded.

    Returns
    -------
    pandas.DataFrame
        dataset, what, megabytes (null where the publisher does not say), source, licence.

    Examples
    --------
    In a shell::

        philly datasets
    """
    from philly_analysis.ingest import datasets as list_datasets

    return list_datasets()


@suggest_arguments
def slurm_command(
    since: str | date = "YYYY-MM-01", until: str | date = "now", cluster: str | None = None
) -> str:
    """Print the sacct command to run on a Slurm cluster.

    Parameters
    ----------
    since
        First day, or moment as 2026-01-31T12:00. Jobs that waited or ran since then are printed;
        windows may overlap.
    until
        End of the window.
    cluster
        Cluster to query, as Slurm names it; several with commas.

    Examples
    --------
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -s ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"

    In a shell::

        philly slurm-command --since 2026-01-01 --until 2026-02-01
    """
    from philly_analysis.ingest import slurm_command as command

    return command(since, until, cluster)


@suggest_arguments
def slurm_collect(
    folder: str | Path = "/var/spool/philly",
    *,
    prometheus: str | None = None,
    every_min: int = 5,
    history_days: int = 30,
    keep_days: int = 90,
) -> str:
    """Print a script for cron that collects jobs, reasons for waiting, limits and telemetry.

    The head of the script has the line of the crontab and the command that ingests the folder.

    Parameters
    ----------
    folder
        Folder on the cluster that the script fills, and that ingest reads.
    prometheus
        URL of a Prometheus server with telemetry of GPUs; None: no telemetry.
    every_min
        Minutes between prints of the queue, a divisor of 60.
    history_days
        Days before the first run whose jobs and telemetry are collected.
    keep_days
        Days after which the script deletes a file.

    Raises
    ------
    InputError
        The minutes are no divisor of 60, or a number of days is not positive.

    Examples
    --------
    >>> print(slurm_collect("/srv/philly").splitlines()[6])
    # */5 * * * * /bin/sh /srv/philly/bin/collect.sh

    In a shell::

        philly slurm-collect /srv/philly --prometheus http://localhost:9090
    """
    from philly_analysis.ingest import slurm_collect as collect

    return collect(
        folder,
        prometheus=prometheus,
        every_min=every_min,
        history_days=history_days,
        keep_days=keep_days,
    )


@suggest_arguments
def sources() -> pd.DataFrame:
    """List the sources of raw logs.

    Returns
    -------
    pandas.DataFrame
        One row per source: source, reads, files, fills (tables), lacks.

    Examples
    --------
    In a shell::

        philly sources
    """
    from philly_analysis.ingest import sources as list_sources

    return list_sources()


@suggest_arguments
def ingest(
    source: str,
    raw: Path | str | None = None,
    out: Path | str | None = None,
    *,
    map: str | Path | None = None,  # noqa: A002 - the word of the command line
    failures: Path | str | None = None,
    output_name: Sequence[str] = (),
    clock: str = "UTC",
    keep_secrets: bool = False,
    telemetry: Path | str | None = None,
    telemetry_clock: str = "UTC",
    name: str | None = None,
    synthetic: bool = False,
    quotas: Quotas | None = None,
    append: bool = False,
    anonymize: Path | str | None = None,
    force: bool = False,
    cluster: str | None = None,
) -> Trace:
    """Turn raw logs into a trace, with an account of every row.

    Appending produces the same trace as one ingest of all raw files, and skips files that were read
    before. Readers that open the trace meanwhile see the old or the new version.

    Parameters
    ----------
    source
        Source of the raw logs; auto: detected from the files. A call that begins with the raw
        logs detects their source: ``ingest(raw)``, ``ingest(raw, out)``.
    raw
        Folder or archive of raw logs. It may be an address on object storage, as `failures` and
        `telemetry` may; files are then copied for the duration of the call.
    out
        Folder of the new trace. It is written atomically, and may be an address on object storage.
        By default a folder that is removed when the trace is closed.
    map
        For the source table: a TOML file that maps its columns, or the name of a bundled one. By
        default ``map.toml`` in `raw`, or the TOML file beside it with its name.
    failures
        Output of failed attempts: a folder, JSON lines, Slurm or kernel logs.
    output_name
        Regular expression for names of output files, with a group (?P<job_id>…). The first that
        matches counts; by default those of ``failure_records.PATTERNS``.
    clock
        Time zone of kernel logs that print none. For example ``America/Los_Angeles``.
    keep_secrets
        Store log text and rejected rows unmasked.
    telemetry
        GPU telemetry: Prometheus responses, exporter scrapes, nvidia-smi or dcgmi dmon output. A
        file or a folder; each file's format is detected from its content.
    telemetry_clock
        Time zone of telemetry that prints none, such as nvidia-smi output.
    name
        Name of the trace; by default that of its folder.
    synthetic
        Mark the rows as not recorded on a real cluster.
    quotas
        GPUs per virtual cluster: a CSV file with vc and gpus, or TOML. Or a mapping. The trace
        records them, also as it grows, and findings use them in place of an estimate.
    append
        Append to the trace at OUT, or create it.
    anonymize
        Replace names by hashes under the key in this file, which is created if absent. Names are
        those of people, jobs, queues, machines and raw files. Rejected rows and excerpts of output
        are withheld. The same key gives the same hashes.
    force
        Replace an existing trace at OUT.
    cluster
        Address of a Dask scheduler whose workers read the samples. They must see the raw files
        (those of packed archives: `out`) under the same path. The trace has the same bytes.

    Returns
    -------
    Trace
        The trace, open; :meth:`Trace.describe` has its rows, read and rejected.

    Raises
    ------
    UnknownNameError
        There is no such source.
    InputError
        Raw files are missing, unreadable or malformed, or hold no valid job; or the time zone or
        the key is invalid.
    TraceError
        `out` exists, cannot be written, is of another source, or is being appended to.

    Examples
    --------
    >>> trace = ingest("slurm", "sacct.txt")
    >>> len(trace.jobs), trace.start.isoformat()
    (3, '2026-01-05T09:00:00')

    In a shell::

        philly ingest slurm sacct.txt my-cluster
        philly ingest auto sacct.txt my-cluster --append --failures job.log
    """
    from philly_analysis.ingest import IngestOptions
    from philly_analysis.ingest import ingest as run

    if not isinstance(source, str | Path):
        raise ArgumentError("ingest(): it reads files. Use Trace(frame) for a table in memory.")
    if raw is None:
        source, raw = "auto", source
    elif out is None and "/" in str(source):  # raw files and the folder of the trace
        source, raw, out = "auto", source, raw
    options = IngestOptions(
        source=source,
        raw=raw,
        out=_folder_for(out, name or Path(raw).name),
        map=map,
        failures=failures,
        output_name=output_name,
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
    manifest = run(options)
    trace = _open_written(options.out, temporary=out is None)
    trace.manifest = manifest  # with the notes of this call
    return trace


@suggest_arguments
def tables(trace: TraceLike | None = None) -> pd.DataFrame:
    """List all tables and columns, or the tables of a trace.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one; by default the dictionary of all tables.

    Returns
    -------
    pandas.DataFrame
        Without a trace, one row per column of each table: table, column, type, unit, null, meaning.
        With a trace, one row per table: table; rows (null: the table is absent); read and rejected,
        its raw rows (null: the source has no such file); why rows were rejected; what one row is.

    Examples
    --------
    In a shell::

        philly tables my-trace
    """
    from philly_analysis.trace import tables as list_tables

    return list_tables(trace)


@suggest_arguments
def verify(trace: TraceLike) -> pd.DataFrame:
    """Verify a trace's files against its checksums.

    Parameters
    ----------
    trace
        Folder of a trace. Or its address on object storage, or an open one.

    Returns
    -------
    pandas.DataFrame
        One row per file: file, bytes, state. The state is ``intact``, ``damaged``, ``missing``, or
        ``not known`` in a trace without checksums. Damaged cached results are removed, and computed
        again when they are needed: ``damaged, removed``.

    Raises
    ------
    TraceError
        The folder is not a trace.

    Examples
    --------
    In a shell::

        philly verify my-trace
    """
    from philly_analysis.trace import Trace
    from philly_analysis.trace import verify as check

    if not isinstance(trace, str | Path):
        trace = (trace if isinstance(trace, Trace) else Trace(trace)).path
    return check(trace)


@suggest_arguments
def query(trace: TraceLike, sql: str, *, run_policy: RunPolicy | str | None = None) -> pd.DataFrame:
    """Run a SELECT on a trace's tables and relations.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one.
    sql
        One SELECT over tables and relations.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, ``span`` of a folder.

    Returns
    -------
    pandas.DataFrame
        The rows; columns of whole numbers stay whole where some are null. For many rows
        :meth:`Trace.sql` is faster.

    Raises
    ------
    QueryError
        The text is not one SELECT, or fails.
    MissingTableError
        It needs a table that the trace lacks.
    UnknownNameError
        It reads a name that is neither a table nor a relation.
    TraceError
        The folder is not a trace, or the trace is open with another run policy.

    Examples
    --------
    >>> query("my-trace", "select count(*) as jobs from jobs")
       jobs
    0   300

    In a shell::

        philly query my-trace "select vc, count(*) as jobs from jobs group by vc"
    """
    from philly_analysis.trace import query as run

    return run(trace, sql, run_policy=run_policy)


@suggest_arguments
def classify(
    outputs: Iterable[Path | str] | Path | str,
    *,
    events: bool = False,
    suggest: bool = False,
    taxonomies: bool = False,
) -> Result:
    """Classify failed runs by reason, from their output.

    Parameters
    ----------
    outputs
        Output of failed runs: files, or folders of files. Or text: a string is text if it has a
        line break, or a space and no file of that name exists.
    events
        Show the events in each output: root, consequences and noise.
    suggest
        Show the most frequent lines that no signature explains, of outputs or of a trace.
    taxonomies
        Add the categories of other studies (Acme, Llama 3, Meta's research clusters).

    Returns
    -------
    Result
        One row per output, in the order of names: file (``text 1`` and so on of text), reason,
        tiers, fine, rule, line_number, line (secrets masked), level, confidence (0 to 1),
        alternatives. With `events` one row per event, with `suggest` one row per line.

    Raises
    ------
    InputError
        A file is missing or cannot be opened, or a folder is a trace and `suggest` is false.

    Examples
    --------
    >>> classify("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB").table["reason"][0]
    'GPU out of memory'

    In a shell::

        philly classify job.log
    """
    from philly_analysis.failures import classify as run

    return run(outputs, events=events, suggest=suggest, taxonomies=taxonomies)


@overload
def analyze(  # type: ignore[overload-overlap]  # a str is also an Iterable of str
    trace: TraceLike,
    name: str | Own,
    /,
    *,
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Result: ...


@overload
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results: ...


@suggest_arguments
def analyze(
    trace: TraceLike,
    *names: str | Own | Iterable[str | Own],
    out: Path | str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> Results | Result:
    """Compute findings on a trace, as tables.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one, or tables in memory.
    names
        Names of findings; by default all that the trace has tables for. Or functions of one's own
        (see `also` of :func:`report`), or lists of both.
    out
        Folder to write one CSV per finding to.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, ``span`` of a folder.

    Returns
    -------
    Results, or Result
        By name, in order; the Result alone where one name is given.

    Raises
    ------
    UnknownNameError
        There is no such finding.
    MissingTableError
        A named finding needs a table that the trace lacks; or all jobs, of a subset of a trace.
    TraceError
        The folder is not a trace, or the trace is open with another run policy.
    OutputError
        The tables cannot be written; or a function of one's own returns no Result.

    Examples
    --------
    >>> delay = analyze("my-trace", "queueing_delay")
    >>> delay.facts.waits
    300
    >>> str(delay.save("delay.pdf"))
    'delay.pdf'

    In a shell::

        philly analyze my-trace queueing_delay run_time
        philly analyze my-trace --out tables
    """
    from philly_analysis.report import analyze as compute

    wanted: list[str | Own] = []
    for given in names:
        wanted += [given] if isinstance(given, str) or callable(given) else given
    results = compute(trace, wanted, out=out, run_policy=run_policy)
    if len(names) == 1 and (isinstance(names[0], str) or callable(names[0])):
        [result] = results.values()
        return result
    return results


@suggest_arguments
def analyses(words: str = "") -> Findings:
    """List the findings, with the questions that they answer.

    Parameters
    ----------
    words
        Words in the name, question or chapter; by default all findings.

    Returns
    -------
    Findings
        A list of names; ``.df()`` has analysis, question, chapter, needs (tables and columns).

    Raises
    ------
    UnknownNameError
        No finding has these words.

    Examples
    --------
    >>> list(analyses("gang size"))
    ['run_time', 'queueing_delay', 'gpu_util', 'gpu_util_summaries']

    In a shell::

        philly analyses "gang size"
    """
    from philly_analysis.report import list_findings

    return list_findings(words)


@suggest_arguments
def report(
    trace: TraceLike | WorkloadModel,
    out: Path | str | None = None,
    *,
    also: Iterable[Own] = (),
    run_policy: RunPolicy | str | None = None,
    workers: int = 1,
    cluster: str | None = None,
    executor: Executor | None = None,
) -> Page:
    """Compute every finding on a trace, as a page.

    Findings whose tables the trace lacks are listed as gaps. The page of a workload model has the
    jobs, GPU hours, run times and submissions of another month.

    Parameters
    ----------
    trace
        Folder of a trace, file of a model, or name of a bundled one. Or an open trace, or a model.
    out
        Folder of reports. The page is ``out/<trace's folder name>/report.html``; an earlier report
        there is replaced, unless nothing changed since. By default a folder of this session.
    also
        Analyses of one's own for the page: functions of a trace that return a :class:`Result`.
        Their docstring is the question; the Result's `draw` draws its figure.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, ``span`` of a folder.
    workers
        Processes to run on. They count samples, day by day, and draw; a trace that is already open
        uses its own executor. The page is the same.
    cluster
        Address of a Dask scheduler to run on. Its workers must see the trace under the same path.
    executor
        Processes that draw figures while this one computes; by default those that count samples.

    Returns
    -------
    Page
        The page; Jupyter shows it, and :meth:`Page.save` copies it.

    Raises
    ------
    InputError
        There are no workers, or a model is combined with options that require a trace: findings
        of one's own or a run policy.
    TraceError
        The folder is not a trace, the trace is open with another run policy, or the report cannot
        be written.

    Examples
    --------
    In a shell::

        philly report my-trace --out reports
        philly report model.json --out reports
    """
    from philly_analysis.report import report as write

    if not (isinstance(trace, str | Path) and Path(trace).is_dir()):
        from philly_analysis.errors import InputError
        from philly_analysis.models import as_model
        from philly_analysis.report import model_page

        if (model := as_model(trace)) is not None:
            if also or run_policy is not None:
                raise InputError(f"{model.name} is a model: also and run_policy are of traces.")
            return model_page(model, Path(_folder_for(out, "reports")))
    return write(
        cast("TraceLike", trace),
        _folder_for(out, "reports"),
        also=also,
        run_policy=run_policy,
        workers=workers,
        cluster=cluster,
        executor=executor,
    )


@suggest_arguments
def compare(
    *traces: TraceLike | Sequence[TraceLike] | Mapping[str, TraceLike],
    findings: Iterable[str] = (),
    out: Path | str | None = None,
) -> Result:
    """Compare traces: times, waits, utilisation, fairness.

    Parameters
    ----------
    traces
        Folders of two or more traces; the first is the baseline. Or open traces, tables in memory,
        lists of them, or one mapping of names to them.
    findings
        Name of a finding to show for each trace on the page, with its facts side by side.
    out
        Folder of a page: the verdict, who gains and loses, the queue over time. By default
        :meth:`Result.save` writes it.

    Returns
    -------
    Result
        Long table: trace, by and group (null: all jobs), measure, percentile (0-100; null for
        single numbers), value, unit. Groups are gang sizes, virtual clusters, users, and intervals
        of time. :func:`philly_analysis.report.side_by_side` makes the numbers of all jobs wide.

    Raises
    ------
    TraceError
        There are fewer than two traces, a folder is not a trace, or the page cannot be written.
    UnknownNameError, MissingTableError
        There is no such finding, or a trace lacks what it needs.

    Examples
    --------
    >>> runs = {policy: simulate("my-trace", policy) for policy in ("fifo", "srtf")}
    >>> compare(runs).facts.fifo_jobs
    300

    In a shell::

        philly compare my-trace what-if --finding queueing_delay --out comparison
    """
    from philly_analysis.report import comparison_page

    return comparison_page(traces, [findings] if isinstance(findings, str) else list(findings), out)


@suggest_arguments
def atlas(
    traces: Sequence[TraceLike] | TraceLike = (),
    out: Path | str | None = None,
    *,
    datasets: Path | str | None = None,
    fetch: bool = False,
    workers: int = 1,
) -> Result:
    """Test which of the study's findings hold on which clusters.

    Parameters
    ----------
    traces
        Folders of traces, and with `fetch` also names of public traces. Or open traces.
    out
        Folder of a page with all clusters side by side.
    datasets
        Folder of public traces as published, to test as well. Those that a source reads are
        ingested for the duration of the call; the page lists the others.
    fetch
        Download the named public traces first, or all of them if none is named. Their sizes are
        printed, interrupted downloads resume, and digests are verified. They go to `datasets`, by
        default ``public-traces``; names: philly, helios, acme, itp-2021, pai, alibaba-openb-2023,
        alibaba-spot-2026, mit-supercloud, thetagpu-2023, blue-waters.
    workers
        Processes that ingest public traces at the same time.

    Returns
    -------
    Result
        Long table: claim, cluster, verdict (holds, is reversed, is practically absent, cannot be
        said), effect, low, high (95 % interval), unit, holds (on which side of which threshold),
        absent (within which margin), n (rows on the smaller side), blocks, block (what was
        resampled), why, notes.

    Raises
    ------
    TraceError
        There is no trace, a folder is not a trace, or the page cannot be written.
    UnknownNameError
        There is no public trace of that name to fetch.
    InputError
        There is no such folder of public traces, or nothing could be fetched.

    Examples
    --------
    In a shell::

        philly atlas my-trace what-if --out atlas
        philly atlas --fetch helios acme --out atlas
    """
    from philly_analysis.report import atlas_of

    return atlas_of(traces, None if out is None else Path(out), datasets, fetch=fetch, jobs=workers)


@suggest_arguments
def published() -> pd.DataFrame:
    """List the numbers that the study printed, and where.

    Returns
    -------
    pandas.DataFrame
        One row per number: analysis and fact (what measures the same on a trace), what, published,
        unit, source, differs (why ours may).

    Examples
    --------
    In a shell::

        philly published
    """
    from philly_analysis.study import published as list_published

    return list_published()


@suggest_arguments
def demo(out: Path | str = "philly-demo") -> Page:
    """Make the bundled sample's trace and page.

    The sample is synthetic, in the raw layout of the Philly archive: its numbers are not findings
    about a real cluster.

    Parameters
    ----------
    out
        Folder of the trace and the page. The trace, ``sample``, is made once.

    Returns
    -------
    Page
        The page.

    Raises
    ------
    InputError
        The installation lacks the sample.
    TraceError
        The folder cannot be written.

    Examples
    --------
    In a shell::

        philly demo
    """
    from philly_analysis.report import demo as make

    return make(Path(out))


@suggest_arguments
def fit(
    trace: TraceLike,
    model: Path | str | None = None,
    *,
    family: str | None = None,
    run_policy: RunPolicy | str | None = None,
) -> WorkloadModel:
    """Fit a workload model to a trace, or to raw logs.

    Parameters
    ----------
    trace
        Folder of a trace, or raw logs of a detectable source. Or an open trace, or tables in
        memory.
    model
        File to write the model to.
    family
        Distribution family of all run times; by default chosen by fit.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        By default that of the open trace, and for a folder ``sum``, the service that a job needs.

    Raises
    ------
    ModelError
        There is too little to fit, or the file cannot be written.
    TraceError, InputError
        There is neither a trace nor a raw archive, or the trace is open with another run policy.

    Examples
    --------
    >>> model = fit("my-trace")
    >>> model.job_size.pmf([1, 8]).round(2)
    array([0.87, 0.03])
    >>> low, high = model.duration(gpus=8).interval(0.9)
    >>> model.duration(gpus=8).rvs(5, random_state=1).shape
    (5,)

    In a shell::

        philly fit my-trace model.json
    """
    from philly_analysis.ingest import raw_as_trace
    from philly_analysis.models import Observations, WorkloadModel
    from philly_analysis.progress import step
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import open_trace

    if model is not None:
        _check_writable(Path(model))
    with (
        raw_as_trace(trace) as made,
        open_trace(made, run_policy, otherwise=RunPolicy.SUM) as source,
    ):
        with step("1 of 2: reading the jobs"):
            jobs = Observations.of_trace(source)
        with step(f"2 of 2: fitting distributions to {len(jobs.jobs):,} jobs"):
            fitted = WorkloadModel.fit(jobs, family=family)
    if model is not None:
        fitted.save(model)
    return fitted


def _check_writable(file: Path) -> None:
    """Raise a ModelError if a model cannot be written to a file, before minutes of fitting."""
    from philly_analysis.errors import ModelError

    folder = file.absolute().parent
    if file.is_dir():
        raise ModelError(f"the model cannot be written to {file}, a folder: name a file in it.")
    if not folder.is_dir():
        raise ModelError(f"the model cannot be written to {file}: there is no folder {folder}.")
    if not os.access(file if file.exists() else folder, os.W_OK):
        raise ModelError(f"the model cannot be written to {file}: no permission.")


@suggest_arguments
def models() -> pd.DataFrame:
    """List the bundled workload models.

    Returns
    -------
    pandas.DataFrame
        One row per model: model, jobs (that it was fitted to), fitted_on.

    Examples
    --------
    In a shell::

        philly models
    """
    from philly_analysis.models import models as list_models

    return list_models()


@suggest_arguments
def sample(
    model: str | Path | WorkloadModel,
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    days: float | None = None,
    load: float = 1.0,
    gpus: int | None = None,
    offered: float | None = None,
    seed: int = 0,
    variation: str = "month",
    force: bool = False,
) -> Workload:
    """Draw a synthetic workload from a model, as a trace.

    Parameters
    ----------
    model
        File of a model, or the name of a bundled one.
    out
        Folder of the new trace.
    jobs
        Number of jobs.
    days
        Length of the workload in days.
    load
        Factor on the fitted arrival rate.
    gpus
        GPUs of the target cluster.
    offered
        Offered load on the target cluster. In place of `load`.
    seed
        Seed of the random numbers.
    variation
        Variation between periods: month (each seed draws another month) or none. See
        :meth:`WorkloadModel.sample`.
    force
        Replace an existing trace at OUT.

    Raises
    ------
    UnknownNameError
        There is no such model or variation.
    ModelError
        Neither jobs nor days, numbers that are not positive, no gang that fits the cluster, or an
        offered load beside what determines it.
    TraceError
        The folder exists or cannot be written.

    Examples
    --------
    >>> len(sample("philly", jobs=1000, seed=1))
    1000

    In a shell::

        philly sample philly synthetic --jobs 1000 --gpus 64 --seed 1
    """
    from philly_analysis.models import WorkloadModel, load_model

    if isinstance(out, int):  # as of model.sample(100)
        jobs, out = out, None  # type: ignore[unreachable]
    given = model if isinstance(model, WorkloadModel) else load_model(model)
    drawn = given.sample(
        jobs=jobs,
        days=days,
        load=load,
        gpus=gpus,
        offered=offered,
        seed=seed,
        variation=variation,
    )
    if out is not None:
        drawn.to_trace(out, source="sample", force=force)
    return drawn


@suggest_arguments
def export(
    workload: Work,
    format: str | Path,  # noqa: A002 - the word of the command line
    file: Path | str | None = None,
    *,
    jobs: int | None = None,
    dialect: str | None = None,
    load: float | None = None,
    seed: int = 0,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    throughputs: Path | str | None = None,
    run_policy: RunPolicy | str = "sum",
    gangs: Gangs | str = "drop",
    estimates: Estimates | str | None = None,
    partial: bool = False,
    force: bool = False,
) -> Exported:
    """Write a workload in another tool's format.

    The file (or folder) replaces its target once it passes every byte-level rule of the format;
    ``<file>.json`` beside it lists the assumptions.

    Parameters
    ----------
    workload
        Folder of a trace. Or an open trace, tables in memory, a workload; or a model with `jobs`.
    format
        Name of a format; :func:`formats` lists them. Or the file, whose suffix is the name.
    file
        File or folder to write; by default in a folder of this session.
    jobs
        Jobs to draw, of a model.
    dialect
        Variant of the format; by default its first.
    load
        Offered load on the target cluster: submissions are rescaled in time. By default they stay.
    seed
        Seed of the random numbers.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model). Or
        machines one by one. By default the workload's own machines, else assumed ones.
    throughputs
        File of measured speeds that the consumer reads, for dialects that need it. It is not
        copied.
    run_policy
        Definition of a job's run time: first start to last end, sum of attempts, or last attempt.
        With the sum, waits between attempts are left to the simulator that reads the file.
    gangs
        Gangs of sizes that the reader refuses: drop them, round the size, or split the job.
        Rounding keeps GPU-seconds.
    estimates
        Run-time estimates for the scheduler, where the format has a field for them. ``rounded``:
        overestimated and rounded up, as users request time; ``history``: from the user's earlier
        jobs. By default the format's.
    partial
        Write even if the reader accepts under 99 % of the jobs or of the GPU time.
    force
        Replace an existing export.

    Raises
    ------
    ExportError
        There are no jobs, the workload lacks what the format needs, its reader would accept too
        little of it, or a file is missing, exists, or cannot be written.
    UnknownNameError
        There is no such format, dialect, run policy, treatment of gangs or kind of estimates.

    Examples
    --------
    >>> print(export("my-trace", "swf", "jobs.swf"))  # doctest: +ELLIPSIS
    300 jobs of philly-sample-fifo in jobs.swf (swf, swf)
    AccaSim accepts 300 of 300 jobs, ...

    In a shell::

        philly export my-trace swf workload.swf
    """
    from philly_analysis.exports import ExportOptions
    from philly_analysis.exports import export as write

    options = ExportOptions(
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
    from philly_analysis.models import one_workload

    if isinstance(format, Path) or "." in format:  # the file first, or alone: its suffix tells
        format, file = str(file or Path(format).suffix.removeprefix(".")), format  # noqa: A001
    drawn = one_workload(workload, jobs=jobs, gpus=gpus, seed=seed)
    return write(drawn, format, _folder_for(file, format), options)


@suggest_arguments
def formats() -> pd.DataFrame:
    """List the formats that a workload can be exported to.

    Returns
    -------
    pandas.DataFrame
        One row per dialect, a format's default first: format, dialect, reader, carries,
        not_carried, needs (the consumer's own file), tried_with (the reader's repository and
        commit with which the sidecar's command was run).

    Examples
    --------
    In a shell::

        philly formats
    """
    from philly_analysis.exports import list_formats

    return list_formats()


_Options = ParamSpec("_Options")


def _also_of_ensembles(
    function: Callable[Concatenate[Work, _Options], Trace],
) -> WhatIf[_Options, Trace]:
    """Declare to type checkers that a what-if of an ensemble returns a Result over its months."""
    return cast("WhatIf[_Options, Trace]", function)


@_also_of_ensembles
@suggest_arguments
def simulate(
    workload: Work,
    policy: str | Policy,
    out: Path | str | None = None,
    *,
    jobs: int | None = None,
    days: float | None = None,
    knobs: Mapping[str, object] | None = None,
    load: float | None = None,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    run_policy: RunPolicy | str | None = None,
    speed: str | Speed | None = None,
    checkpoint_s: float = 0.0,
    outages: str | Path | Failures | Sequence[Outage] | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    seed: int = 0,
    samples: bool | Utilisation = False,
    force: bool = False,
    executor: Executor | None = None,
) -> Trace:
    """Simulate a workload under a policy, and write a trace.

    Parameters
    ----------
    workload
        Folder of a trace. Or an open trace, tables in memory, a workload, an ensemble of months;
        or a model or its name, with `jobs` or `days`. Jobs that are not part of the
        workload (relation ``workload_jobs``) are excluded and counted; jobs still running at the
        end of the log run for the time known.
    policy
        Name of a policy; :func:`policies` lists them. Or a policy with its knobs set.
    out
        Folder of the new trace. For an ensemble, of its traces. By default a folder that is
        removed when the trace is closed.
    jobs
        Number of jobs to draw, of a model.
    days
        Length of the workload to draw, of a model.
    knobs
        A knob of the policy: `philly policies POLICY` lists them.
    load
        Offered load: submissions are rescaled in time. By default they stay.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model). Or
        machines one by one; by default the workload's own. Jobs run where cluster, pool and GPU
        model match their request, and each pool is simulated by itself.
    run_policy
        Treat each job as one run, as exports do, and not attempt after attempt. Its run time is
        then first start to last end, sum of attempts, or last attempt.
    speed
        Speed of jobs; by default that of the policy's publication.
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded (the
        trace's own rate). Jobs that are hit return to their last checkpoint and wait again.
    dedicated
        Give gangs their servers to themselves.
    prerun_servers
        Servers on which gangs run on one GPU first, to fail early.
    prerun_s
        Seconds of that first run.
    retry_by_reason
        Do not retry users' errors.
    estimates
        Run-time estimates for policies: exact, requested (time limits) or noisy:SIGMA.
    seed
        Seed of the random numbers.
    samples
        Write per-minute GPU samples as well. Or the distribution of utilisation to draw them from
        where the trace does not have it.
    force
        Replace an existing trace at OUT.
    executor
        Where the months of an ensemble run.

    Returns
    -------
    Trace, or Result
        The trace, open; of an ensemble, the measures of its months.

    Raises
    ------
    UnknownNameError
        There is no such policy, knob or speed.
    SimulationError
        A value is out of its bounds, jobs cannot run on the machines, or the simulation fails.
    InputError
        Recorded outages of a trace without server failures, or an unreadable file of outages.
    TraceError
        `out` exists or cannot be written.

    Examples
    --------
    >>> run = simulate("philly", "srtf", jobs=200, gpus=64)
    >>> len(run.jobs)
    200

    In a shell::

        philly simulate my-trace srtf what-if-srtf
        philly simulate my-trace tiresias what-if-las --machines 6x8 --load 0.9
    """
    from philly_analysis.models import jobs_of
    from philly_analysis.simulator import simulate as run

    if outages == "recorded":
        from philly_analysis.experiments import recorded_outages

        outages = recorded_outages(cast("TraceLike", workload))
    drawn = jobs_of(workload, jobs=jobs, days=days, gpus=gpus, seed=seed)
    folder = _folder_for(out, "simulated")
    made: Path | Result = run(
        drawn,
        policy,
        folder,
        knobs=knobs,
        load=load,
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
        seed=seed,
        samples=samples,
        force=force,
        executor=executor,
    )
    if not isinstance(made, Path):
        return cast("Trace", made)  # of an ensemble: the decorator declares a Result
    return _open_written(made, temporary=out is None)


@suggest_arguments
def policies(name: str | None = None) -> pd.DataFrame:
    """List the scheduling policies, or the knobs of one.

    Parameters
    ----------
    name
        Name of a policy whose knobs to list.

    Returns
    -------
    pandas.DataFrame
        One row per policy: policy, what, source; or one row per knob: knob, default, unit,
        allowed, meaning.

    Raises
    ------
    UnknownNameError
        There is no such policy.

    Examples
    --------
    In a shell::

        philly policies
        philly policies tiresias
    """
    from philly_analysis.simulator.policies import list_policies

    return list_policies(name)


@suggest_arguments
def sweep(
    workloads: Sequence[Work] | Work,
    policies: Sequence[str] | str,
    out: Path | str | None = None,
    *,
    loads: Sequence[float] | float = (),
    seeds: int | Sequence[int] = 1,
    knobs: Sequence[tuple[str, str]] = (),
    jobs: int = 2_000,
    gpus: int | None = None,
    machines: str | None = None,
    run_policy: RunPolicy | None = None,
    speed: str | None = None,
    checkpoint_s: float = 0.0,
    outages: str | Path | Failures | None = None,
    dedicated: bool = False,
    prerun_servers: int = 0,
    prerun_s: float = 600.0,
    retry_by_reason: bool = False,
    estimates: str = "exact",
    workers: int = 1,
    cluster: str | None = None,
) -> Result:
    """Run workloads under several policies, compared in pairs.

    Parameters
    ----------
    workloads
        Folders of traces, files of models, or names of bundled models. Or open traces, tables in
        memory, workloads and models.
    policies
        Name of a policy; the first is the baseline.
    out
        Folder of the page, the tables and the runs. ``sweep.csv`` has one row per run,
        ``changes.csv`` one per pair of policies and measure; ``runs`` keeps each run's outcome, so
        that an interrupted or extended sweep resumes. By default nothing is kept.
    loads
        Offered load, to which submissions are rescaled in time.
    seeds
        Number of workloads drawn from each model, or a list of seeds. Intervals need at least 3.
    knobs
        A knob of the policies that have it; repeat for several values. ``policy.knob`` sets that
        of one policy.
    jobs
        Jobs drawn from a model.
    gpus
        GPUs of the target cluster, in servers of 8.
    machines
        Target cluster: 240x8,288x2 or 16x8/7:24:500@8=V100 (/slices:CPUs:GB@rack=model).
    run_policy
        Treat each job as one run, as exports do, and not attempt after attempt.
    speed
        Speed of jobs; by default that of the policy's publication.
    checkpoint_s
        Seconds of work between checkpoints, to which preempted jobs return; inf: none.
    outages
        Failures: a CSV or Parquet file of outages; rates, machine:SECONDS:REPAIR; or recorded
        (each trace's own rate).
    dedicated
        Give gangs their servers to themselves.
    prerun_servers
        Servers on which gangs run on one GPU first, to fail early.
    prerun_s
        Seconds of that first run.
    retry_by_reason
        Do not retry users' errors.
    estimates
        Run-time estimates for policies: exact, requested (time limits) or noisy:SIGMA.
    workers
        Processes to run on. The outcome is the same.
    cluster
        Address of a Dask scheduler to run on.

    Raises
    ------
    UnknownNameError
        There is no such model, policy or knob.
    SimulationError
        There is nothing to run, or several seeds of a recorded trace.
    InputError
        There are no workers.

    Examples
    --------
    >>> changes = sweep("philly", ["fifo", "srtf"], jobs=200, gpus=64, seeds=2)
    >>> changes.facts.runs
    4

    In a shell::

        philly sweep philly --policies fifo --policies srtf --gpus 64 --draw 200 --seeds 3
    """
    from philly_analysis.experiments import Assumed, plan_runs
    from philly_analysis.report import sweep_page

    assumed = Assumed(
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
    )
    runs = plan_runs(
        workloads if isinstance(workloads, list | tuple) else [cast("Work", workloads)],
        [policies] if isinstance(policies, str) else policies,
        loads=[loads] if isinstance(loads, int | float) else loads,
        seeds=seeds,
        knobs=knobs,
        jobs=jobs,
        assumed=assumed,
    )
    sized = gpus is not None or machines is not None
    return sweep_page(runs, out, sized=sized, workers=workers, cluster=cluster)


@suggest_arguments
def experiment(
    names: Iterable[str] | str = (),
    *,
    models: Iterable[str | Path | WorkloadModel | Ensemble] = (),
    seeds: int | None = None,
    out: Path | str | None = None,
    workers: int = 1,
    cluster: str | None = None,
) -> Results:
    """Decompose the gains of guidelines, Synergy, Amoeba, AntMan.

    Parameters
    ----------
    names
        Names of experiments; by default all but conclusions. ``conclusions`` compares published
        gains under the literature's generator with those under models of real clusters, on a page
        of its own.
    models
        File of a model, name of a bundled one, or a trace, taken window by window. Or ensembles,
        whose months are taken as they are. By default ``literature``, which papers assume, and
        ``philly``; ``conclusions`` adds those of two more clusters.
    seeds
        Draws per model: months of a model, windows of a trace. By default as many as the
        experiment has, and all of an ensemble.
    out
        Folder of reports. The page is ``out/<names>/report.html``, or ``out/seeds`` for all;
        ``conclusions`` writes ``verdicts.csv`` as well. By default no page is written.
    workers
        Processes to run on. The outcome is the same.
    cluster
        Address of a Dask scheduler to run on.

    Returns
    -------
    Results
        A Result per experiment and model, by name; ``.save(folder)`` writes the page, a chapter
        per experiment and a section per model.

    Raises
    ------
    UnknownNameError
        There is no such experiment or model.
    InputError
        ``conclusions`` is named together with others.

    Examples
    --------
    In a shell::

        philly experiment guidelines --model philly --seeds 2
    """
    from philly_analysis.report import experiment_page

    return experiment_page(
        [names] if isinstance(names, str) else names,
        models=models,
        seeds=seeds,
        out=None if out is None else Path(out),
        workers=workers,
        cluster=cluster,
    )


@suggest_arguments
def advise(
    trace: TraceLike,
    out: Path | str | None = None,
    *,
    idle_h: float = 4.0,
    checkpoint_h: float = 1.0,
    share_below_pct: float = 30.0,
    interference_pct: float = 5.0,
    limit_factor: float = 1.5,
    servers: int = 1,
    wait_weight: float = 1.0,
    months: int = 6,
    workers: int = 1,
    cluster: str | None = None,
) -> Result:
    """Recommend what a cluster should change, with its gain.

    The recorded jobs are replayed under candidate policies. If one reproduces the recorded waits,
    each lever is replayed against it. Otherwise advice on scheduling is withheld, and only the GPU
    hours that other levers free are given.

    Parameters
    ----------
    trace
        Folder of a trace. Or an open one, or tables in memory.
    out
        Folder of the page. By default no page is written.
    idle_h
        Hours without computing after which jobs are ended.
    checkpoint_h
        Hours between checkpoints.
    share_below_pct
        Mean utilisation below which jobs get half their GPUs.
    interference_pct
        Share of its speed that a job loses beside another, or on more servers than it needs.
    limit_factor
        Time limits of careful users, in multiples of run times.
    servers
        Servers to add.
    wait_weight
        GPU hours that an hour of waiting for one GPU counts as, in the order of levers.
    months
        Months drawn for the intervals of the recommended levers; 0: from the log alone.
    workers
        Processes to run on. The outcome is the same.
    cluster
        Address of a Dask scheduler to run on.

    Returns
    -------
    Result
        One row per lever, best first: lever; gpu_h (GPU hours freed a month), wait_h (hours less
        waiting a month) and value_h (both in GPU hours), each with the low and high end of nine of
        ten months; gpu_pct and wait_pct (shares of all); jobs and users (changed); later_jobs and
        later_users (that complete later by 10 minutes or lose work); frontier (whether no other
        lever gains more and harms fewer). Without a replay, wait_h is not known.

    Raises
    ------
    InputError
        The trace has no jobs on known machines, its jobs were submitted within a day, or an
        assumption or the number of months is out of its bounds.
    TraceError
        The folder is not a trace.

    Examples
    --------
    >>> advise("my-trace").caveats[0].split(" (")[0]  # the policy that is replayed
    "The log's waits are reproduced by: first come, first served"

    In a shell::

        philly advise my-trace
        philly advise my-trace --idle-h 2 --servers 4 --jobs 2
    """
    from philly_analysis.experiments import Assumptions
    from philly_analysis.report import advice_page

    assumed = Assumptions(
        idle_h=idle_h,
        checkpoint_h=checkpoint_h,
        share_below_pct=share_below_pct,
        interference_pct=interference_pct,
        limit_factor=limit_factor,
        servers=servers,
        wait_weight=wait_weight,
    )
    folder = None if out is None else Path(out)
    return advice_page(
        trace, folder, assumed=assumed, months=months, workers=workers, cluster=cluster
    )


def _folder_for(out: Path | str | None, name: str) -> Path | str:
    """Return the folder to write to: the given one, or one of this session."""
    if out is not None:
        return out
    from philly_analysis.atomic import scratch_folder

    return scratch_folder() / (name or "trace")


def _open_written(folder: Path | str, *, temporary: bool) -> Trace:
    """Open a trace that was written; a temporary folder is removed with it."""
    from philly_analysis.trace import Trace

    return Trace.temporary(Path(folder)) if temporary else Trace(folder)


VERBS: tuple[Callable[..., Any], ...] = (
    *(fetch, datasets, ingest, sources, slurm_command, slurm_collect, tables, verify, query),
    *(analyze, analyses, report, compare, atlas, published, classify),
    *(fit, models, sample, export, formats),
    *(simulate, policies, sweep, experiment, advise, demo),
)
"""The verbs, in the order of the command line's help."""
