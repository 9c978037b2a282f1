"""Ingest raw logs of any source into a trace."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from philly_analysis.errors import TraceError
from philly_analysis.ingest.anonymize import anonymize, load_key
from philly_analysis.ingest.build import build_trace
from philly_analysis.ingest.failure_output.records import PATTERNS, FailureOutput
from philly_analysis.ingest.raw_file import refuse_lfs_pointers
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source_registry import find_source
from philly_analysis.ingest.telemetry import find_telemetry
from philly_analysis.ingest.timezones import find_zone
from philly_analysis.parallel import ExecutorLike, open_executor
from philly_analysis.progress import step
from philly_analysis.trace import (
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


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """Arguments of :func:`philly_analysis.ingest`, which describes them."""

    source: str
    raw: str | Path
    out: str | Path
    map: str | Path | None = None
    failures: str | Path | None = None
    output_name: Sequence[str] = ()
    clock: str = "UTC"
    keep_secrets: bool = False
    telemetry: str | Path | None = None
    telemetry_clock: str = "UTC"
    name: str | None = None
    synthetic: bool = False
    quotas: Quotas | None = None
    append: bool = False
    anonymize: str | Path | None = None
    force: bool = False
    executor: ExecutorLike = None


Build = Callable[[RawStore], Manifest]
"""Writes the files of a trace to the folder of a store."""


def ingest(options: IngestOptions) -> Manifest:
    """Ingest raw logs into a trace, and account for every row.

    Raises
    ------
    UnknownNameError
        There is no such source.
    InputError
        The raw files are missing, unreadable or of another kind, or no job can be kept; there is
        no such time zone; or the key cannot be used.
    TraceError
        The trace exists or cannot be written, is of another source, or another process appends to
        the trace.
    """
    _check_options(options)
    with ExitStack() as stack:
        build = _open_raw_files(options, stack)
        out = Path(options.out)
        if options.append:
            out = stack.enter_context(upload_appended(options.out))
        store = RawStore(out, out, masked=not options.keep_secrets)
        if options.append and out.exists():
            with append_to(out) as (folder, before):
                _check_can_grow(before, out)
                made = build(replace(store, folder=folder, before=before))
                return _grow(out, before, made, options)
        _check_new(out, options)
        key = None if options.anonymize is None else load_key(Path(options.anonymize), out)
        with create_trace(out, force=options.force) as folder:
            made = build(replace(store, folder=folder))
            manifest = replace(
                made, name=options.name or out.name, synthetic=options.synthetic or made.synthetic
            )
            if key is not None:
                with step("anonymizing"):
                    manifest = anonymize(folder, manifest, key)
            return write_manifest(folder, manifest, manifest.rows)


def _check_options(options: IngestOptions) -> None:
    """Refuse options that exclude each other."""
    if options.append and options.force:
        raise TraceError("append to the existing trace or replace it: not both.")
    if options.append and options.anonymize is not None:
        raise TraceError(
            "an anonymized trace stores no raw records, so it cannot grow. Append to a trace with "
            "names, and ingest all its raw files again with anonymize=KEY to share it."
        )


def _open_raw_files(options: IngestOptions, stack: ExitStack) -> Build:
    """Return what builds the trace of the raw files, which stay fetched until the stack closes."""
    logs, output, readings = (
        None if path is None else stack.enter_context(fetch_raw(path))
        for path in (options.raw, options.failures, options.telemetry)
    )
    assert logs is not None  # noqa: S101 - only the others may be None
    refuse_lfs_pointers(logs, output, readings)
    names = tuple(options.output_name) or PATTERNS
    return partial(
        build_trace,
        find_source(options.source, logs, options.map),
        logs,
        failures=None if output is None else FailureOutput(output, names, find_zone(options.clock)),
        telemetry=find_telemetry(readings, options.telemetry_clock),
        quotas=None if options.quotas is None else read_quotas(options.quotas),
        executor=stack.enter_context(open_executor(options.executor)),
    )


def _check_new(out: Path, options: IngestOptions) -> None:
    """Refuse to replace a trace unless forced."""
    if (out / MANIFEST).is_file() and not options.force:
        raise TraceError(
            f"{out} exists. Append to it with append=True, replace it with force=True, or give "
            "another folder."
        )


def _grow(out: Path, before: Manifest, made: Manifest, options: IngestOptions) -> Manifest:
    """Add the new files to an existing trace; if no file is new, leave the trace unchanged."""
    if made.generation == before.generation:
        return made
    if (options.synthetic or made.synthetic) != before.synthetic:
        raise TraceError(
            f"{out} is {'synthetic' if before.synthetic else 'recorded'} and the raw files "
            "are not. Give synthetic=True for both or neither, or make another trace."
        )
    return replace_manifest(
        out, replace(made, name=options.name or before.name, synthetic=before.synthetic)
    )


def _check_can_grow(before: Manifest, out: Path) -> None:
    """Refuse to append to a trace of another version, or without raw records.

    Raises
    ------
    TraceError
        The trace has another schema, or no raw records.
    """
    again = "Ingest all its raw files once more, with force=True"
    if before.schema != VERSION:
        raise TraceError(f"{out} has schema {before.schema}; now is {VERSION}. {again}.")
    if not any(file.startswith(f"{RAW}/") for file in before.files):
        raise TraceError(f"{out} was made when traces stored no raw records. {again}.")
