"""Ingest raw logs of any source into a trace."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from philly_analysis.errors import TraceError
from philly_analysis.ingest.anonymize import anonymize as anonymize_trace
from philly_analysis.ingest.anonymize import load_key
from philly_analysis.ingest.build import build_trace
from philly_analysis.ingest.failure_output.loading import FailureOutput
from philly_analysis.ingest.failure_output.records import PATTERNS
from philly_analysis.ingest.raw_file import refuse_lfs_pointers
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source_registry import find_source
from philly_analysis.ingest.telemetry import find_telemetry
from philly_analysis.ingest.timezones import find_zone
from philly_analysis.parallel import workers
from philly_analysis.progress import step
from philly_analysis.trace import (
    DEVICES,
    MANIFEST,
    RAW,
    VERSION,
    Manifest,
    Quotas,
    append_to,
    create_trace,
    fetch_raw,
    read_quotas,
    replace_manifest,
    upload_appended,
    write_manifest,
)


def ingest(
    source: str,
    raw: str | Path,
    out: str | Path,
    *,
    map: str | Path | None = None,  # noqa: A002 - the name of the option
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
    """Ingest raw logs into a trace, and account for every row.

    Appending in several steps gives the trace of one ingest of all raw files. The trace can be
    opened at any time, before or after the step. Files of earlier ingests are skipped.

    Parameters
    ----------
    source
        Kind of the raw logs: a name that :func:`sources` lists, or ``auto`` to detect it.
    raw
        Folder or archive of raw files. This path, `failures` and `telemetry` may be addresses on
        object storage; the files are fetch_raw for the time of the ingest.
    out
        Folder of the trace, replaced atomically; or its address on object storage.
    map
        For the source ``table``: a TOML file that maps its columns, or the name of a shipped map;
        default ``map.toml`` in `raw`, or the TOML file beside `raw` of the same name.
    failures
        Output of failed attempts: a folder, JSON lines, Slurm or kernel logs.
    output_name
        Names of output files: regular expressions with a group ``job_id``; the first match
        decides. Default: the patterns of Slurm and common loggers.
    clock
        Time zone of kernel logs without one, e.g. ``America/Los_Angeles``.
    keep_secrets
        Store log text and rejected rows unmasked.
    telemetry
        GPU telemetry: a file or folder of Prometheus responses, exporter scrapes, and output of
        nvidia-smi and dcgmi dmon, detected by content.
    telemetry_clock
        Time zone of telemetry without one, such as nvidia-smi's, e.g. ``Europe/Berlin``.
    name
        Name of the trace; default the name of `out`.
    synthetic
        The rows were not recorded on a real cluster.
    quotas
        GPU quota of each virtual cluster: a mapping, or a CSV or TOML file (see
        :func:`philly_analysis.trace.quotas.read_quotas`). The trace stores them, and findings
        use them in place of estimates.
    append
        Append to an existing trace, or create it.
    anonymize
        Key file. Names of people, jobs, queues, machines and raw files become keyed hashes, equal
        for equal keys; rejected rows and output excerpts are removed. A missing file is created;
        do not share it.
    force
        Replace an existing trace.
    cluster
        Dask cluster whose workers parse samples, block by block: see
        :func:`philly_analysis.parallel.workers`. They need the raw files, or the folder of `out`
        if these are packed, under the same path. The trace is equal byte for byte.

    Returns
    -------
    Manifest
        Rows read, kept and rejected; stored in the trace as ``manifest.json``.

    Raises
    ------
    UnknownNameError
        There is no such source.
    InputError
        The raw files are missing, unreadable or of another kind, or no job can be kept; there is
        no such time zone; or the key cannot be used.
    TraceError
        `out` exists or cannot be written, is of another source, or another process appends to it.
    """
    if append and force:
        raise TraceError("append to the existing trace or replace it: not both.")
    if append and anonymize is not None:
        raise TraceError(
            "an anonymized trace stores no raw records, so it cannot grow. Append to a trace with "
            "names, and ingest all its raw files again with anonymize=KEY to share it."
        )
    with ExitStack() as stack:
        logs, output, readings = (
            None if path is None else stack.enter_context(fetch_raw(path))
            for path in (raw, failures, telemetry)
        )
        assert logs is not None  # noqa: S101 - only the others may be None
        refuse_lfs_pointers(logs, output, readings)
        selected = find_source(source, logs, map)
        build = partial(
            build_trace,
            selected,
            logs,
            failures=None
            if output is None
            else FailureOutput(output, tuple(output_name) or PATTERNS, find_zone(clock)),
            telemetry=find_telemetry(readings, telemetry_clock),
            quotas=None if quotas is None else read_quotas(quotas),
            executor=None if cluster is None else stack.enter_context(workers(cluster=cluster)),
        )
        folder = stack.enter_context(upload_appended(out)) if append else Path(out)
        store = RawStore(folder, folder, masked=not keep_secrets)
        if append and folder.exists():
            return _append(build, store, selected.name, name=name, synthetic=synthetic)
        key = None if anonymize is None else Path(anonymize)
        return _create(build, store, name=name, synthetic=synthetic, force=force, key_file=key)


Build = Callable[[RawStore], Manifest]


def _create(
    build: Build,
    store: RawStore,
    *,
    name: str | None,
    synthetic: bool,
    force: bool,
    key_file: Path | None,
) -> Manifest:
    """Create a trace, or replace it if forced."""
    out = store.trace
    if (out / MANIFEST).is_file() and not force:
        raise TraceError(
            f"{out} exists. Append to it with append=True, replace it with force=True, or give "
            "another folder."
        )
    key = None if key_file is None else load_key(key_file, out)
    with create_trace(out, force=force) as folder:
        made = build(replace(store, folder=folder))
        manifest = replace(made, name=name or out.name, synthetic=synthetic or made.synthetic)
        if key is not None:
            with step("anonymizing"):
                manifest = anonymize_trace(folder, manifest, key)
        return write_manifest(folder, manifest, manifest.rows)


def _append(
    build: Build, store: RawStore, source: str, *, name: str | None, synthetic: bool
) -> Manifest:
    """Append to an existing trace; if nothing is new, leave it unchanged."""
    out = store.trace
    with append_to(out) as (folder, before):
        _check_can_grow(before, source, out)
        made = build(replace(store, folder=folder, before=before))
        if made.generation == before.generation:
            return made
        if (synthetic or made.synthetic) != before.synthetic:
            raise TraceError(
                f"{out} is {'synthetic' if before.synthetic else 'recorded'} and the raw files "
                "are not. Give synthetic=True for both or neither, or make another trace."
            )
        return replace_manifest(
            out, replace(made, name=name or before.name, synthetic=before.synthetic)
        )


def _check_can_grow(before: Manifest, source: str, out: Path) -> None:
    """Refuse to append to a trace of another source or version, or without raw records.

    Raises
    ------
    TraceError
        It is such a trace.
    """
    again = "Ingest all its raw files once more, with force=True"
    if before.source != source:
        raise TraceError(f"{out} is a trace of {before.source}, and {source} does not fit it.")
    if DEVICES.name in before.files and f"{RAW}/series" not in before.files:
        raise TraceError(f"{out} was made when traces stored no raw telemetry. {again}.")
    if before.schema != VERSION:
        raise TraceError(f"{out} has schema {before.schema}; now is {VERSION}. {again}.")
    if not any(file.startswith(f"{RAW}/") for file in before.files):
        raise TraceError(f"{out} was made when traces stored no raw records. {again}.")
