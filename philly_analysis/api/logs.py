"""Verbs from raw logs to a trace: fetch, ingest, classify, and lists of datasets and sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    import pandas as pd

    from philly_analysis.parallel import ExecutorLike
    from philly_analysis.results import Result
    from philly_analysis.trace import Quotas, Trace


def fetch(dataset: str, out: Path | str | None = None, *, url: str | None = None) -> Path:
    """Download a public trace from its publisher.

    An interrupted download resumes where it stopped, in the same call and in the next call. A file
    gets its name once its size and SHA-256 equal the published values. If the publisher states no
    values, the values of the first download count. Files that belong together appear together.
    Existing files are not downloaded again.

    Parameters
    ----------
    dataset
        Name of a public trace; :func:`datasets` lists them.
    out
        Folder to download to; by default a folder named after the dataset.
    url
        Alternative address of the file, or of its folder if the address ends with /.

    Returns
    -------
    pathlib.Path
        Raw files that :func:`ingest` reads as source ``auto``.

    Raises
    ------
    UnknownNameError
        There is no such dataset.
    InputError
        The download failed: no network, an exhausted quota, or a file that differs from the
        published file.
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


def datasets() -> pd.DataFrame:
    """List the public traces that can be downloaded.

    Returns
    -------
    pandas.DataFrame
        One row per dataset: dataset, what, megabytes (null: the publisher does not say), source,
        licence.

    Examples
    --------
    In a shell::

        philly datasets
    """
    from philly_analysis.ingest import datasets as list_datasets

    return list_datasets()


def slurm_command(
    since: str | date = "YYYY-MM-01", until: str | date = "now", cluster: str | None = None
) -> str:
    """Print the sacct command to run on a Slurm cluster.

    Parameters
    ----------
    since
        First day of the window, or first moment such as 2026-01-31T12:00. The command prints jobs
        that waited or ran in the window. Windows may overlap.
    until
        End of the window.
    cluster
        Cluster to query, as Slurm names it; several clusters are separated by commas.

    Examples
    --------
    >>> slurm_command("2026-01-01", "2026-02-01").split(" -s ")[0]
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01"

    In a shell::

        philly slurm-command --since 2026-01-01 --until 2026-02-01
    """
    from philly_analysis.ingest import slurm_command as command

    return command(since, until, cluster)


def slurm_collect(
    folder: str | Path = "/var/spool/philly",
    *,
    prometheus: str | None = None,
    every_min: int = 5,
    history_days: int = 30,
    keep_days: int = 90,
) -> str:
    """Print a script for cron that collects a cluster's logs.

    The script collects Slurm's jobs, their reasons for waiting, limits, and telemetry of GPUs.
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


def kubectl_command(folder: str | Path = ".", *, context: str | None = None) -> str:
    """Print kubectl commands for snapshots of Kubernetes.

    The commands only read. One file is one snapshot, with its time in the name.

    Parameters
    ----------
    folder
        Folder that receives the snapshots, and that ingest reads.
    context
        Context of kubectl, which names a cluster and a user; None: the current context.

    Examples
    --------
    >>> print(kubectl_command("snapshots").splitlines()[1].split(" | ")[0])
    kubectl get nodes -A -o json

    In a shell::

        philly kubectl-command snapshots
    """
    from philly_analysis.ingest import kubectl_command as command

    return command(folder, context)


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


def ingest(
    source: str,
    raw: Path | str,
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
    executor: ExecutorLike = None,
) -> Trace:
    """Turn raw logs into a trace, with an account of every row.

    Appending gives the same trace as one ingest of all raw files; files that were read before are
    skipped. Readers that open the trace meanwhile see the old version or the new version.

    Parameters
    ----------
    source
        Source of the raw logs; :func:`sources` lists them, and auto detects the source from the
        files.
    raw
        Folder or archive of raw logs, or a URL on object storage. Remote files are copied for the
        duration of the call, also files of `failures` and `telemetry`.
    out
        Folder of the new trace, or a URL on object storage. The trace is written atomically. By
        default the folder is removed when the trace is closed.
    map
        TOML file that maps the columns for the source table, or the name of a bundled map. By
        default the map is ``map.toml`` in `raw`, or the TOML file that has the name of `raw` and
        is beside it.
    failures
        Output of failed attempts: a folder, JSON lines, Slurm or kernel logs.
    output_name
        Regular expression for names of output files, with a group (?P<job_id>…). The first
        expression that matches counts; by default the expressions are
        ``failure_records.PATTERNS``.
    clock
        Time zone of kernel logs that print no zone, such as America/Los_Angeles.
    keep_secrets
        Store log text and rejected rows unmasked.
    telemetry
        GPU telemetry, a file or a folder: Prometheus responses, exporter scrapes, nvidia-smi or
        dcgmi dmon output. Each file's format is detected from its content.
    telemetry_clock
        Time zone of telemetry that prints no zone, such as nvidia-smi output.
    name
        Name of the trace; by default the name of its folder.
    synthetic
        Mark the rows as not recorded on a real cluster.
    quotas
        GPUs per virtual cluster: a CSV file with vc and gpus, or a TOML file. In Python also a
        mapping. The trace records the quotas, also as it grows. Findings use them in place of
        estimates.
    append
        Append to the trace at OUT, or create it.
    anonymize
        Replace names by hashes under the key in this file, which is created if absent. The names
        are names of people, jobs, queues, machines and raw files. Rejected rows and excerpts of
        output are withheld. The same key gives the same hashes.
    force
        Replace an existing trace at OUT.
    executor
        Where the samples are read: an executor, a number of processes, or the address of a Dask
        scheduler. By default this process reads the samples. Workers must see the raw files (for
        packed archives: `out`) under the same path. The trace has the same bytes.

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
        `out` exists, cannot be written, has another source, or another process appends to it.

    Examples
    --------
    >>> trace = ingest("slurm", "sacct.txt")
    >>> trace.jobs.shape[0], trace.start.isoformat()
    (3, '2026-01-05T09:00:00')

    In a shell::

        philly ingest slurm sacct.txt my-cluster
        philly ingest auto sacct.txt my-cluster --append --failures job.log
    """
    from philly_analysis.api.session import folder_for, open_written
    from philly_analysis.ingest import IngestOptions
    from philly_analysis.ingest import ingest as run

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
        executor=executor,
    )
    manifest = run(options)
    trace = open_written(options.out, temporary=out is None)
    trace.manifest = manifest  # with the notes of this call
    return trace


def classify(
    outputs: Iterable[Path | str] | Path | str = (),
    *,
    text: str | Iterable[str] = (),
    events: bool = False,
    suggest: bool = False,
    taxonomies: bool = False,
) -> Result:
    """Classify failed runs by reason, from their output.

    Parameters
    ----------
    outputs
        Files with the output of failed runs, or folders of files.
    text
        Output of a failed run as text. In Python several texts may be given.
    events
        Show the events in each output: root, consequences and noise.
    suggest
        Show the most frequent lines that no signature explains, of outputs or of a trace.
    taxonomies
        Add the categories of other studies (Acme, Llama 3, Meta's research clusters).

    Returns
    -------
    Result
        One row per output, in the order of names: file (``text 1`` and so on for text), reason,
        tiers, fine, rule, line_number, line (secrets masked), level, confidence (0 to 1),
        alternatives. With `events` one row per event, with `suggest` one row per line.

    Raises
    ------
    InputError
        There is no output, a file cannot be opened, or a folder is a trace and `suggest` is false.

    Examples
    --------
    >>> error = "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB"
    >>> classify(text=error).table["reason"][0]
    'GPU out of memory'

    In a shell::

        philly classify job.log
    """
    from philly_analysis.failures import classify as run

    return run(outputs, text=text, events=events, suggest=suggest, taxonomies=taxonomies)
