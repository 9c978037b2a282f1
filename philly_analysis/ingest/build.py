"""Build the files of a trace from raw logs, failure output and telemetry."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from philly_analysis import memory
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.failure_output.records import FailureOutput
from philly_analysis.ingest.increment import ContextChangedError, can_increment, update_tables
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source import Source
from philly_analysis.ingest.sql import parquet_scan
from philly_analysis.ingest.tables import ALWAYS, fill_tables
from philly_analysis.ingest.telemetry import Telemetry
from philly_analysis.ingest.telemetry.loading import fill_telemetry
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.parallel import cores
from philly_analysis.progress import silence, step
from philly_analysis.trace import (
    FAILURES,
    MACROS,
    QUOTAS_NOTE,
    RAW,
    TABLES,
    VIRTUAL_CLUSTERS,
    Input,
    Manifest,
    digest,
    find_files,
    limit_memory,
    write_quotas,
)

JOB_NAMES = Path(__file__).with_name("job_names.sql").read_text("utf-8")
"""SELECT of the names that schedulers have for each job, for sources without such a relation."""


def build_trace(
    source: Source,
    raw: Path,
    store: RawStore,
    *,
    failures: FailureOutput | None,
    telemetry: Telemetry | None,
    quotas: Mapping[str, int] | None,
    executor: Executor,
) -> Manifest:
    """Write the files of a trace to the store's folder.

    Returns
    -------
    Manifest
        Manifest of the new files; if no file is new, the previous manifest with a note.

    Raises
    ------
    InputError
        The raw files are missing, unreadable or of another kind, or no job can be kept.
    TraceError
        The trace cannot be written, or cannot grow by these files.
    """
    build = partial(
        _build,
        source,
        raw,
        failures=failures,
        telemetry=telemetry,
        quotas=quotas,
        executor=executor,
    )
    stored = [store.files(name) for name in (FAILURES.name, f"{RAW}/series")]
    if not (failures or telemetry or any(stored)) and can_increment(source, store):
        try:
            return build(replace(store, whole=False, skipped=[], kept={}))
        except ContextChangedError:
            shutil.rmtree(store.folder)
            store.folder.mkdir()
    return build(store)


def _build(
    source: Source,
    raw: Path,
    store: RawStore,
    *,
    failures: FailureOutput | None,
    telemetry: Telemetry | None,
    quotas: Mapping[str, int] | None,
    executor: Executor,
) -> Manifest:
    """Write the files of a trace: of all jobs, or only of touched jobs if the store allows that.

    Raises
    ------
    ContextChangedError
        Only the touched jobs were to be derived, and all jobs are to be.
    """
    out, before = store.trace, store.before
    if before and before.source != source.name:
        raise TraceError(f"{out} is a trace of {before.source}, and {source.name} does not fit it.")
    if telemetry:
        telemetry = replace(telemetry, files=tuple(store.new_files(telemetry.files)))
    with (
        tempfile.TemporaryDirectory(prefix="ingest-", dir=store.folder) as scratch,
        duckdb.connect(config={"threads": cores()}) as con,
        _plain_errors(raw, out),
    ):
        builder = TraceBuilder(con, store, Path(scratch), executor=executor)
        with step("opening the raw files"):
            limit_memory(con, builder.scratch / "spill")
            silence(con)
            con.execute(MACROS)
            opened = source.prepare(builder, raw)
        if before and not (opened.files or failures or (telemetry and telemetry.files)):
            note = f"Nothing new: {raw.name} was read before."
            unchanged = replace(before, notes=(*before.notes, note))
            return unchanged if quotas is None else _add_quotas(unchanged, store, quotas)
        with ThreadPoolExecutor(1) as pool:
            digests = [pool.submit(input_of, path) for path in opened.files]
            fill = update_tables if opened.touched else fill_tables
            fill(source, opened, builder)
            _check_kept(builder, raw)
            con.execute(f"create view if not exists job_names as {JOB_NAMES}")
            if failures or store.files(FAILURES.name):
                from philly_analysis.ingest.failure_output.loading import fill_failures

                with step("reading failed output"):
                    fill_failures(builder, failures)
            inputs = tuple(hashed.result() for hashed in digests)
            if telemetry or store.files(f"{RAW}/series"):
                with step("reading telemetry"):
                    fill_telemetry(builder, telemetry)
            inputs += tuple(map(input_of, telemetry.files if telemetry else ()))
            _check_machines(builder)
            if not opened.touched:
                builder.merge_rejects()
    skipped = len(store.skipped)
    skip_note = (f"Files read before and passed over: {skipped:,}.",) if skipped else ()
    made = Manifest(
        name=out.name,
        source=source.name,
        synthetic=opened.synthetic,
        inputs=(*(before.inputs if before else ()), *inputs),
        accounts=tuple(builder.accounts[name] for name in TABLES if name in builder.accounts),
        notes=tuple(dict.fromkeys((*opened.notes, *builder.notes, *skip_note))),
        rows=builder.rows,
        sample=opened.sample,
        files=_files(store),
        generation=before.generation + 1 if before else 1,
    )
    return _add_quotas(made, store, quotas)


def input_of(path: Path) -> Input:
    """Return the name, size and digest of a raw file."""
    return Input(path.name, *digest(path))


@contextmanager
def _plain_errors(raw: Path, out: Path) -> Iterator[None]:
    """Convert errors of the database and the file system to ours."""
    try:
        yield
    except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
        raise InputError(f"{raw} cannot be read: {str(error).splitlines()[0]}") from None
    except duckdb.OutOfMemoryException:
        raise TraceError(f"{out} cannot be written: {memory.lack()}") from None
    except (duckdb.IOException, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise TraceError(f"{out} cannot be written: {reason}") from None


def _add_quotas(made: Manifest, store: RawStore, new: Mapping[str, int] | None) -> Manifest:
    """Write the given quotas, or the quotas of an earlier ingest, and add them to a manifest."""
    quotas = dict(new or {})
    earlier = store.before.notes if store.before else ()
    if new is None and VIRTUAL_CLUSTERS.name in made.rows and QUOTAS_NOTE not in earlier:
        return made  # the raw files state quotas, and none were given
    if new is None:
        for file in store.files(VIRTUAL_CLUSTERS.name):
            quotas |= {row["vc"]: row["gpus"] for row in pq.read_table(file).to_pylist()}
    if not quotas:
        return made
    write_quotas(store.folder, quotas)
    files = _files(store)
    if store.before and made.generation == store.before.generation:  # nothing else is new
        files = {**store.before.files, VIRTUAL_CLUSTERS.name: files[VIRTUAL_CLUSTERS.name]}
        made = replace(made, generation=made.generation + 1)
    rows = {**made.rows, VIRTUAL_CLUSTERS.name: len(quotas)}
    notes = tuple(dict.fromkeys((*made.notes, QUOTAS_NOTE)))
    return replace(made, rows=rows, files=files, notes=notes)


def _files(store: RawStore) -> dict[str, tuple[str, ...]]:
    """Return the files of a trace by name: new files, and earlier files of samples."""
    new = find_files(store.folder)
    if store.before is None:
        return new
    folder = store.folder.relative_to(store.trace)
    files = {t.name: store.before.files.get(t.name, ()) for t in TABLES.values() if t.streamed}
    files |= {
        name: tuple(path.relative_to(store.trace).as_posix() for path in kept)
        for name, kept in store.kept.items()
    }
    for name, paths in new.items():
        files[name] = (*files.get(name, ()), *((folder / file).as_posix() for file in paths))
    return {name: paths for name, paths in files.items() if paths}


def _check_kept(builder: TraceBuilder, raw: Path) -> None:
    """Refuse raw files of which no job can be kept.

    Raises
    ------
    InputError
        Rows were read, and all jobs and attempts among them were rejected.
    """
    accounts = [builder.accounts[name] for name in ALWAYS]
    reasons = sum((Counter(account.rejected) for account in accounts), Counter[str]())
    if reasons and not any(account.kept for account in accounts):
        listed = "; ".join(f"{n:,} {reason}" for reason, n in reasons.most_common(5))
        raise InputError(f"nothing in {raw} can be kept: {listed}.")


def _check_machines(builder: TraceBuilder) -> None:
    """Refuse to append where machines of earlier samples would be named otherwise.

    Raises
    ------
    TraceError
        Machines would be renamed: a second cluster prefixes names, or a job log names machines
        that only telemetry named.
    """
    for table in (t for t in TABLES.values() if t.streamed):
        if files := builder.store.files(table.name):
            lost = builder.con.sql(
                f"select distinct machine_id from {parquet_scan(files)} "
                "anti join machines using (machine_id) order by all limit 3"
            ).fetchall()
            if lost:
                raise TraceError(
                    f"machines with samples in {builder.store.trace} would be renamed: "
                    f"{', '.join(name for (name,) in lost)}. Ingest all raw files once more, with "
                    "lists of the servers."
                )
