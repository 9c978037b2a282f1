"""Define the verbs on traces: from raw logs to tables, and queries on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.api.folders import folder_for, open_written
from philly_analysis.errors import suggest_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import pandas as pd

    from philly_analysis.results import Result
    from philly_analysis.study import RunPolicy
    from philly_analysis.trace import Quotas, Trace, TraceLike


@suggest_arguments
def fetch(dataset: str, out: Path | str | None = None, *, url: str | None = None) -> Path:
    """Download a public trace from its publisher.

    An interrupted transfer resumes where it stopped, in this call and in the next. A file gets its
    name once its size and SHA-256 equal those published, and files that belong together appear
    together. Files that are already there are not downloaded again.

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
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -o ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"

    In a shell::

        philly slurm-command --since 2026-01-01 --until 2026-02-01
    """
    from philly_analysis.ingest import slurm_command as command

    return command(since, until, cluster)


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

    Appending gives the trace that one ingest of all raw files would give. The trace can be opened
    at every moment, as it was or as it will be. Files that were read before are skipped.

    Parameters
    ----------
    source
        Source of the raw logs; auto: detected from the files. A call with one argument takes the
        raw logs and detects their source.
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

    if raw is None:
        source, raw = "auto", source
    options = IngestOptions(
        source=source,
        raw=raw,
        out=folder_for(out, name or Path(raw).name),
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
    trace = open_written(options.out, temporary=out is None)
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
        One row per column of each table: table, column, type, unit, null, meaning. Of a trace one
        row per table: table, rows (null: absent), read and rejected (raw rows; null where the
        source has none for it), why, one row is.

    Examples
    --------
    In a shell::

        philly tables my-trace
    """
    from philly_analysis.trace import tables as list_tables

    return list_tables(trace)


@suggest_arguments
def verify(trace: Path | str) -> pd.DataFrame:
    """Verify a trace's files against its checksums.

    Parameters
    ----------
    trace
        Folder of a trace. Or its address on object storage.

    Returns
    -------
    pandas.DataFrame
        One row per file: file, bytes, state: ``as written``, ``damaged``, ``missing``, or ``not
        known`` in a trace from before checksums were recorded. Damaged results of computations are
        removed, to be computed again: ``damaged, removed``.

    Raises
    ------
    TraceError
        The folder is not a trace.

    Examples
    --------
    In a shell::

        philly verify my-trace
    """
    from philly_analysis.trace import verify as check

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
def classify(outputs: Iterable[Path | str] | Path | str) -> Result:
    """Classify failed runs by reason, from their output.

    Parameters
    ----------
    outputs
        Output of failed runs: files, or folders of files. Or text: a string is text if it has a
        line break, or a space and no file of that name exists.

    Returns
    -------
    Result
        One row per output, in the order of names: file (``text 1`` and so on of text), reason,
        tiers, fine, rule, line_number, line (secrets masked).

    Raises
    ------
    InputError
        A file is missing or cannot be opened.

    Examples
    --------
    >>> classify("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB").table["reason"][0]
    'GPU out of memory'

    In a shell::

        philly classify job.log
    """
    from philly_analysis.failures import classify as run

    return run(outputs)
