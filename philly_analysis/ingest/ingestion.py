"""Ingest raw logs of any source into a trace, and list the sources."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import pandas as pd

from philly_analysis.ingest.detect import AUTO, source_of
from philly_analysis.ingest.engine import SOURCES, run
from philly_analysis.ingest.failure_output.loading import failure_output
from philly_analysis.ingest.raw_file import refuse_pointers
from philly_analysis.ingest.telemetry import telemetry_at
from philly_analysis.parallel import workers
from philly_analysis.trace import Manifest, Quotas, fetch_raw, read_quotas, upload_appended


def ingest(
    source: str,
    raw: str | Path,
    out: str | Path,
    *,
    map: str | Path | None = None,  # noqa: A002 - the word of the command line
    failures: str | Path | None = None,
    output_name: Sequence[str] = (),
    clock: str = "UTC",
    keep_secrets: bool = False,
    telemetry: str | Path | None = None,
    telemetry_clock: str = "UTC",
    name: str | None = None,
    synthetic: bool = False,
    quotas: Quotas | None = None,
    append: bool = False,
    anonymize: str | Path | None = None,
    force: bool = False,
    cluster: str | None = None,
) -> Manifest:
    """Turn raw logs into a trace, with an account of every row.

    A trace that is appended to is what one ingest of all raw files would give; at every moment it
    can be opened, as it was or as it is to be. Files that were read before are passed over.

    Parameters
    ----------
    source
        What the raw logs are: a name that :func:`sources` lists, or ``auto``: what the files show.
    raw
        Folder or archive of raw files; or its address on object storage, as of `failures` and
        `telemetry`: they are copied for as long as it takes.
    out
        Folder of the trace, which appears whole or not at all; or its address on object storage.
    map
        For the source ``table``: a TOML file that says what its columns mean, or the name of one
        that ships; default ``map.toml`` in `raw`, or the file beside it that is named as it.
    failures
        Output of failed attempts, if there is any: a folder, JSON lines, Slurm or kernel logs.
    output_name
        How output files are named: regular expressions with a group ``job_id``, the first that
        matches counts. None: those of ``failure_records.PATTERNS``.
    clock
        Time zone of kernel logs that print none, e.g. ``America/Los_Angeles``.
    keep_secrets
        Store log text and rejected rows as they are, nothing masked.
    telemetry
        Readings of the GPUs, if there are any: a file or folder of Prometheus' answers, scrapes of
        exporters, output of nvidia-smi and of dcgmi dmon, each known by what is in it.
    telemetry_clock
        Time zone of those that print none, as nvidia-smi, e.g. ``Europe/Berlin``.
    name
        What to call the trace; the name of `out` when None.
    synthetic
        The rows were not recorded on a real cluster.
    quotas
        GPUs that each virtual cluster is entitled to: a mapping, or a CSV or TOML file (see
        :func:`philly_analysis.trace.quotas.read_quotas`). The trace records them, and keeps them
        as it grows; findings use them where they would estimate otherwise.
    append
        Let a trace that is there already grow by these files; where there is none, make it.
    anonymize
        File of the key under which the names of people, jobs, queues, machines and raw files
        become hashes; it is made where there is none, and should stay at home. Rejected rows and
        excerpts of output are then withheld. The same key gives the same hashes next month.
    force
        Replace a trace that is there already.
    cluster
        Dask cluster whose workers read samples, block by block: see
        :func:`philly_analysis.parallel.workers`. They must see the raw files, or where `out` goes
        if these are packed, under the same path. The trace is the same, byte for byte.

    Returns
    -------
    Manifest
        What was read, kept and rejected; it is in the trace as ``manifest.json``.

    Raises
    ------
    UnknownNameError
        There is no such source.
    InputError
        The raw files are missing, unreadable or not what they should be, or no job in them can
        be kept; or there is no such time zone; or the key cannot be used.
    TraceError
        `out` exists or cannot be written; or it is not of this source, or somebody else is
        appending to it.
    """
    with ExitStack() as stack:
        logs = stack.enter_context(fetch_raw(raw))
        output, readings = (
            None if one is None else stack.enter_context(fetch_raw(one))
            for one in (failures, telemetry)
        )
        refuse_pointers(logs, output, readings)
        return run(
            source_of(logs) if source == AUTO else source,
            logs,
            stack.enter_context(upload_appended(out)) if append else Path(out),
            append=append,
            force=force,
            name=name,
            synthetic=synthetic,
            masked=not keep_secrets,
            failures=failure_output(output, output_name, clock, masked=not keep_secrets),
            telemetry=telemetry_at(readings, telemetry_clock),
            map=map,
            quotas=None if quotas is None else read_quotas(quotas),
            names_key=None if anonymize is None else Path(anonymize),
            executor=None if cluster is None else stack.enter_context(workers(cluster=cluster)),
        )


def sources() -> pd.DataFrame:
    """List the sources that raw logs may come from.

    Returns
    -------
    pandas.DataFrame
        One row per source: source, reads, files, fills (tables), lacks.
    """
    return pd.DataFrame(
        [(s.name, s.what, s.files, ", ".join(s.fills), s.lacks) for s in SOURCES.values()],
        columns=["source", "reads", "files", "fills", "lacks"],
    )
