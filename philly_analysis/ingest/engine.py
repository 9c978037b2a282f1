"""Runs a source's SELECTs in order: kept rows to tables, rejected rows to rejects, all counted."""

import tempfile
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from philly_analysis.errors import InputError, TraceError, UnknownNameError
from philly_analysis.ingest.anonymize import anonymize, key_in
from philly_analysis.ingest.failure_output.loading import FailureOutput, fill_failures
from philly_analysis.ingest.loading import (
    Fill,
    count_rejects,
    empty_view,
    input_of,
    masked_raw,
    names,
    parquet,
    path_text,
    save_rejects,
)
from philly_analysis.ingest.pai import PAI
from philly_analysis.ingest.philly import PHILLY
from philly_analysis.ingest.philly_multigpu import PHILLY_MULTIGPU
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.samples.loading import fill_streamed
from philly_analysis.ingest.slurm import SLURM
from philly_analysis.ingest.source import Raw, Source
from philly_analysis.ingest.table import TABLE, by_map
from philly_analysis.ingest.telemetry import Telemetry
from philly_analysis.ingest.telemetry.loading import fill_telemetry
from philly_analysis.parallel import lower_priority
from philly_analysis.progress import silence, step
from philly_analysis.trace import (
    DEVICES,
    FAILURES,
    MACROS,
    MANIFEST,
    MEMORY_LIMIT,
    RAW,
    REJECTS,
    TABLES,
    VERSION,
    VIRTUAL_CLUSTERS,
    Account,
    Manifest,
    Table,
    append_to,
    create_trace,
    find_files,
    replace_manifest,
    tables_read,
    write_manifest,
    write_quotas,
)
from philly_analysis.trace import QUOTAS_NOTE as QUOTAS_GIVEN

SOURCES: dict[str, Source] = {s.name: s for s in (PHILLY, PHILLY_MULTIGPU, SLURM, PAI, TABLE)}
"""The sources of raw logs, by name."""

ALWAYS = ("jobs", "attempts")
"""Tables that a trace has even if they are empty; others are absent when no row was read."""


def run(
    source: str,
    raw: Path,
    out: Path,
    *,
    append: bool,
    force: bool,
    name: str | None,
    synthetic: bool,
    failures: FailureOutput | None,
    masked: bool,
    telemetry: Telemetry | None,
    map: str | Path | None,  # noqa: A002 - the word of the command line
    quotas: Mapping[str, int] | None,
    names_key: Path | None,
    executor: Executor | None,
) -> Manifest:
    """Make a trace from raw logs, or let it grow: see :func:`philly_analysis.ingest.ingest`."""
    if source not in SOURCES:
        raise UnknownNameError("source", source, SOURCES)
    if map is not None and source != TABLE.name:
        raise InputError(f"source {source} takes no map: only {TABLE.name} does.")
    if append and force:
        raise TraceError("either append to what stands there, or replace it: not both.")
    if append and names_key is not None:
        raise TraceError(
            "a trace without names keeps no raw records, so it cannot grow. Let one with names "
            "grow at home, and ingest all its raw files again with anonymize=KEY for others."
        )
    reader = SOURCES[source] if map is None else by_map(map)
    key = None if names_key is None else key_in(names_key, out)
    if (out / MANIFEST).is_file() and not append and not force:
        raise TraceError(
            f"{out} exists. Let it grow with append=True, replace it with force=True, or give "
            "another folder."
        )
    if not append or not out.exists():
        with create_trace(out, force=force) as folder:
            kept = Kept(folder, masked=masked)
            made = _made(reader, raw, kept, failures, telemetry, out, executor)
            made = _with_quotas(made, kept, quotas)
            manifest = replace(made, name=name or out.name, synthetic=synthetic or made.synthetic)
            if key is not None:
                with step("taking names out"):
                    manifest = anonymize(folder, manifest, key)
            return write_manifest(folder, manifest, manifest.rows)
    with append_to(out) as (folder, before):
        _check_can_grow(before, reader, out)
        kept = Kept(folder, out, before, masked=masked)
        made = _made(reader, raw, kept, failures, telemetry, out, executor)
        nothing_new = made.generation == before.generation
        if nothing_new and quotas is None:
            return made
        made = _with_quotas(made, kept, quotas)
        if nothing_new:
            name_of = VIRTUAL_CLUSTERS.name
            files = {**before.files, name_of: made.files[name_of]}
            made = replace(made, files=files, generation=before.generation + 1)
        if (synthetic or made.synthetic) != before.synthetic:
            raise TraceError(
                f"{out} is {'synthetic' if before.synthetic else 'recorded'} and {raw} is not. "
                "Say synthetic=True of both or neither, or make another trace."
            )
        manifest = replace(made, name=name or before.name, synthetic=before.synthetic)
        return replace_manifest(out, manifest)


def _check_can_grow(before: Manifest, reader: Source, out: Path) -> None:
    """Refuse to append to what cannot be appended to.

    Raises
    ------
    TraceError
        The trace is another source's, or another version's, or has no raw records.
    """
    again = "Ingest all its raw files once more, with force=True"
    if before.source != reader.name:
        raise TraceError(f"{out} is a trace of {before.source}, and {reader.name} does not fit it.")
    if DEVICES.name in before.files and f"{RAW}/series" not in before.files:
        raise TraceError(f"{out} was made when traces kept nothing of telemetry. {again}.")
    if before.schema != VERSION:
        raise TraceError(f"{out} has schema {before.schema}; now is {VERSION}. {again}.")
    if not any(name.startswith(f"{RAW}/") for name in before.files):
        raise TraceError(f"{out} was made when traces kept no raw records. {again}.")


def _made(
    reader: Source,
    raw: Path,
    kept: Kept,
    failures: FailureOutput | None,
    telemetry: Telemetry | None,
    out: Path,
    executor: Executor | None,
) -> Manifest:
    """Write the files of a trace, and return its manifest; that of before, if nothing is new."""
    before = kept.before
    if telemetry:
        telemetry = replace(telemetry, files=tuple(kept.fresh(telemetry.files)))
    told = telemetry.files if telemetry else ()
    with (
        tempfile.TemporaryDirectory(prefix="ingest-", dir=kept.folder) as scratch,
        duckdb.connect() as con,
    ):
        fill = Fill(con, kept.folder, Path(scratch), kept.masked, executor=executor)
        try:
            with step("opening the raw files"):
                _configure(con, fill.scratch)
                opened = reader.prepare(con, raw, fill.scratch, kept)
            if before and not (opened.files or failures or told):
                note = f"Nothing new: {raw.name} was read before."
                return replace(before, notes=(*before.notes, note))
            # what fills the gaps that two busy threads leave costs little
            with ThreadPoolExecutor(1, initializer=lower_priority) as pool:
                digests = [pool.submit(input_of, path) for path in opened.files]
                _fill(reader, opened, fill, kept)
                _check_kept(fill, raw)
                if failures or kept.files(FAILURES.name):
                    with step("reading failed output"):
                        fill_failures(fill, kept, failures)
                inputs = tuple(hashed.result() for hashed in digests)
                if telemetry or kept.files(f"{RAW}/series"):
                    with step("reading telemetry"):
                        inputs += fill_telemetry(fill, kept, telemetry)
                _check_machines(fill, kept, out)
                _write_rejects(fill)
        except duckdb.IOException as error:
            raise TraceError(f"{out} cannot be written: {_first_line(error)}") from None
        except duckdb.OutOfMemoryException as error:
            raise TraceError(
                f"{out} cannot be made: {_first_line(error)} Free some disk space or memory."
            ) from None
        except (duckdb.InvalidInputException, duckdb.ConversionException) as error:
            raise InputError(f"{raw} cannot be read: {_first_line(error)}") from None
        except OSError as error:
            raise TraceError(f"{out} cannot be written: {error.strerror or error}") from None
    passed = [f"Files read before and passed over: {len(kept.passed):,}."] if kept.passed else []
    return Manifest(
        name=out.name,
        source=reader.name,
        synthetic=opened.synthetic,
        inputs=(*(before.inputs if before else ()), *inputs),
        accounts=tuple(sorted(fill.accounts, key=lambda a: list(TABLES).index(a.table))),
        notes=tuple(dict.fromkeys((*opened.notes, *fill.notes, *passed))),
        rows=fill.rows,
        sample=opened.sample,
        files=_files(kept),
        generation=before.generation + 1 if before else 1,
    )


def _with_quotas(made: Manifest, kept: Kept, given: Mapping[str, int] | None) -> Manifest:
    """Write the quotas that were given, now or when the trace began, into its new files."""
    known = dict(given or {})
    if given is None:
        for file in kept.files(VIRTUAL_CLUSTERS.name):
            known |= {row["vc"]: row["gpus"] for row in pq.read_table(file).to_pylist()}
    if not known:
        return made
    write_quotas(kept.folder, known)
    rows = {**made.rows, VIRTUAL_CLUSTERS.name: len(known)}
    notes = tuple(dict.fromkeys((*made.notes, QUOTAS_GIVEN)))
    return replace(made, rows=rows, files=_files(kept), notes=notes)


def _files(kept: Kept) -> dict[str, tuple[str, ...]]:
    """Name the files of a trace: those just written, and of samples those from before as well."""
    new = find_files(kept.folder)
    if kept.before is None:
        return new
    at = kept.folder.relative_to(kept.trace)
    files = {t.name: kept.before.files.get(t.name, ()) for t in TABLES.values() if t.streamed}
    for name, found in new.items():
        files[name] = (*files.get(name, ()), *((at / file).as_posix() for file in found))
    return {name: found for name, found in files.items() if found}


def _configure(con: duckdb.DuckDBPyConnection, scratch: Path) -> None:
    con.execute("set memory_limit = $limit", {"limit": MEMORY_LIMIT})
    con.execute("set temp_directory = $folder", {"folder": str(scratch / "spill")})
    silence(con)
    con.execute(MACROS)


@cache
def _plan(source: Source) -> tuple[dict[str, str], dict[str, set[str]]]:
    """Return a source's SQL by file stem; in order of creation, what tables and relations read."""
    sql = {path.stem: path.read_text("utf-8") for path in sorted(source.folder.glob("*.sql"))}
    graph: dict[str, set[str]] = {}
    for stream in source.streams:
        graph.setdefault(stream.table, set()).update(stream.reads)
        graph[f"{stream.table}_machines"] = {stream.table}
    for stem, text in sql.items():
        reads = set() if stem == "macros" else set(tables_read(text))
        if stem in TABLES:
            # a row is kept only if what it refers to was kept
            reads |= {r.table for r in TABLES[stem].references}
        graph[stem] = reads
    known = sql.keys() | graph.keys()
    order = TopologicalSorter({stem: reads & known - {stem} for stem, reads in graph.items()})
    made = (sql.keys() | TABLES.keys()) - {"macros", "notes"}
    return sql, {name: graph[name] for name in order.static_order() if name in made}


def _fill(source: Source, raw: Raw, fill: Fill, kept: Kept) -> None:
    """Fill every table that the raw files allow, each after those that its SELECT reads.

    Streamed ones are filled one after the other beside the rest.
    """
    sql, reads = _plan(source)
    fill.con.execute(sql.get("macros", ""))
    fill.rejects.mkdir()
    _keep_rejects(fill, kept)
    with ThreadPoolExecutor(1) as beside:
        streaming: dict[str, Future[None]] = {}
        for name, read in reads.items():
            for streamed in [s for s in streaming if read & {s, f"{s}_machines"}]:
                _await(streamed, streaming.pop(streamed))
            table = TABLES.get(name)
            if table is None:
                _relate(fill, name, sql[name])
            elif table.streamed:
                streams = (s for s in source.streams if s.table == name and s.file in raw.csv)
                files = {s: raw.csv[s.file] for s in streams}
                there = replace(fill, con=fill.con.cursor())
                streaming[name] = beside.submit(fill_streamed, there, kept, table, files)
            else:
                again = raw.again.get(name, {})
                with step(f"reading {name}", fill.con):
                    _fill_table(fill, table, sql[name], raw.records.get(name), again)
        for name, future in streaming.items():
            _await(name, future)
    if "notes" in sql:
        fill.notes += [note for (note,) in fill.con.sql(sql["notes"]).fetchall() if note]
    _write_rejects(fill)


def _await(name: str, streaming: Future[None]) -> None:
    with step(f"reading {name}"):
        streaming.result()


def _check_kept(fill: Fill, raw: Path) -> None:
    """Refuse raw files of which no job can be kept.

    Raises
    ------
    InputError
        Rows were read, and every job and attempt among them was rejected.
    """
    made = [account for account in fill.accounts if account.table in ALWAYS]
    reasons = Counter[str]()
    for account in made:
        reasons.update(account.rejected)
    if reasons and not any(account.kept for account in made):
        listed = "; ".join(f"{n:,} {reason}" for reason, n in reasons.most_common(5))
        raise InputError(f"nothing in {raw} can be kept: {listed}.")


def _check_machines(fill: Fill, kept: Kept, out: Path) -> None:
    """Refuse to let samples of before stand for machines that now have other names.

    Raises
    ------
    TraceError
        They would: a second cluster put names before all, or a job log named what only telemetry
        knew.
    """
    for table in (t for t in TABLES.values() if t.streamed):
        if files := kept.files(table.name):
            lost = fill.con.sql(
                f"select distinct machine_id from {parquet(files)} "
                "anti join machines using (machine_id) order by all limit 3"
            ).fetchall()
            if lost:
                raise TraceError(
                    f"machines that {out} has samples of would be called otherwise now: "
                    f"{', '.join(name for (name,) in lost)}. Ingest all raw files once more, with "
                    "lists of the servers."
                )


def _relate(fill: Fill, name: str, sql: str) -> None:
    """Create a relation of the source: a view, or a Parquet file if its SQL says stored."""
    if sql.split("\n", 1)[0].strip() == "-- stored":
        file = fill.scratch / f"{name}.parquet"
        fill.con.sql(sql).write_parquet(str(file))
        fill.con.sql(f"from {parquet([file])}").create_view(name)
    else:
        fill.con.sql(sql).create_view(name)


def _fill_table(
    fill: Fill, table: Table, sql: str, records: int | None, again: Mapping[str, int]
) -> None:
    """Fill one table whose rows fit on disk once more: judge each row, then part them.

    `records` is how many raw records the reader counted for it, if it counts them; `again` how
    many of them it no longer has, by reason.
    """
    con = fill.con
    given = con.sql(sql).columns
    columns = ", ".join(
        f'"{c.name}"::{c.type} as "{c.name}"'
        if c.name in given
        else f'null::{c.type} as "{c.name}"'
        for c in table.columns
    )
    key = names(table.key)
    con.execute(
        f"create temp table judged as "
        f"with given as ({sql}), typed as ("
        f"select {columns}, source_file, source_line, raw, reject from given), "
        f"faulty as (select *, coalesce(reject, {table.fault_sql}) as fault from typed) "
        "select *, case when fault is null and row_number() over ("
        f"partition by {key}, fault is null order by source_line) > 1 "
        f"then 'the key ({', '.join(table.key)}) repeats' end as repeats from faulty"
    )
    missing = [
        f"when not exists (from {r.table} as other where "
        + " and ".join(f'other."{c}" = judged."{c}"' for c in r.columns)
        + f") then '({', '.join(r.columns)}) is not in {r.table}'"
        for r in table.references
        if r.table in fill.rows
    ]
    unknown = f"case {' '.join(missing)} end" if missing else "null"
    con.execute(
        "create temp table parted as select *, "
        f"coalesce(fault, repeats, {unknown}) as reason from judged"
    )
    [(given_rows, derived, kept)] = con.sql(
        "select count(*), count(*) filter (source_line is null), count(*) filter (reason is null) "
        "from parted"
    ).fetchall()
    read = given_rows if records is None else records + derived
    file = fill.folder / f"{table.name}.parquet"
    if read or table.name in ALWAYS:
        con.execute(
            f"copy (select {names(table.column_names)} from parted where reason is null "
            f"order by {key}) to {path_text(file)} (format parquet, compression zstd)"
        )
        con.sql(f"from {parquet([file])}").create_view(table.name)
        fill.rows[table.name] = kept
        save_rejects(
            fill,
            table,
            table.name,
            "select source_file, source_line, reason, raw from parted where reason is not null",
        )
        rejected = Counter(count_rejects(fill, table)) + Counter(again)
        fill.accounts.append(Account(table.name, read, kept, dict(sorted(rejected.items()))))
    else:
        empty_view(con, table)
    con.execute("drop table judged; drop table parted")


def _keep_rejects(fill: Fill, kept: Kept) -> None:
    """Keep the rejected rows of samples: those of other tables are judged again."""
    if files := kept.files(REJECTS.name):
        samples = [table.name for table in TABLES.values() if table.streamed]
        fill.con.execute(
            f'copy (from {parquet(files)} where "table" in $samples) '
            f"to {path_text(fill.rejects / 'before.parquet')} (format parquet)",
            {"samples": samples},
        )


def _write_rejects(fill: Fill) -> None:
    columns = ", ".join(f'"{c.name}"::{c.type} as "{c.name}"' for c in REJECTS.columns)
    rejects = parquet(fill.rejects.rglob("*.parquet"))
    rows = f"select {columns} from {rejects}"
    rows = masked_raw(fill.con, rows) if fill.masked else rows
    fill.con.execute(
        f"copy (from ({rows}) order by all) "
        f"to {path_text(fill.folder / f'{REJECTS.name}.parquet')} "
        "(format parquet, compression zstd)"
    )


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]
