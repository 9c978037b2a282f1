"""Read Slurm accounting logs: output of sacct as text or JSON, with lists of servers.

``philly slurm-command`` prints the command to run. Other lists of fields, overlapping windows,
repeated prints, and several forms of output in one folder are read as well. The output of
``scontrol show node -o`` adds the servers; the output of ``scontrol show job -d``, printed while
jobs run, adds the GPUs that the jobs hold.
"""

from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import Read, first_lines, json_items, kind_error, read_files
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm import (
    accounting_json,
    closures,
    inventory,
    limits,
    scontrol_jobs,
    snapshots,
    squeue,
)
from philly_analysis.ingest.slurm.fields import READ, slurm_command
from philly_analysis.ingest.slurm.jobstats import read_summaries
from philly_analysis.ingest.slurm.printed import (
    detect_header,
    insert_records,
    parse_header,
    read_printed,
)
from philly_analysis.ingest.slurm.rejoin import Header
from philly_analysis.ingest.slurm.touched import merge_touched_records
from philly_analysis.ingest.slurm.unread import unread_print
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import (
    create_table_of,
    insert_rows,
    parquet_rows,
    parquet_scan,
)
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.slurm_text import expand_hosts
from philly_analysis.trace import DUPLICATES, RAW

REFUSED = "a file that is no output of sacct"
"""Reject reason of a file of another kind, which is one row."""

TABLES = ("sacct", "inventory", "limit_settings", "closures", *snapshots.TABLES)
"""Tables that files are read into."""


def prepare(builder: TraceBuilder, raw: Path) -> RawFiles:
    """Open one file, or a folder of files, each detected by its content.

    Files of another kind and truncated files are excluded: each is one rejected row and a note.

    Raises
    ------
    InputError
        There is no such file, or none is output of sacct with the required fields.
    """
    con, raw_store = builder.con, builder.store
    new = raw_store.new_files(_files(raw))
    for name in TABLES:
        create_table_of(con, name, RAW_TABLES[name])
    headers = _stored_headers(con, raw_store)
    refused = read_files(new, partial(_detect, con, headers), partial(_detect_bare, con, headers))
    for table in TABLES:  # none of the rows of a file that could not be read to its end
        con.execute(
            f"delete from {table} where source_file in $refused",
            {"refused": [file.name for file in refused]},
        )
    records, listed = len(con.table("sacct")), len(con.table("inventory"))
    before = _refused_before(con, raw_store)
    newly_refused = {file: why for file, why in refused.items() if file.name not in before}
    if newly_refused and not records and not (raw_store.before and listed):
        raise kind_error(newly_refused, "output of sacct")
    if not records and not raw_store.before:
        what = "lists servers and no jobs" if listed else "has no record of sacct"
        raise InputError(f"{raw} {what}. Print the jobs with: {slurm_command()}")
    excluded = [
        {"source_file": file.name, "raw": reason, "fault": REFUSED}
        for file, reason in newly_refused.items()
    ]
    if excluded:
        insert_rows(con, "sacct", pa.Table.from_pylist(excluded, RAW_TABLES["sacct"]))
    touched = not (raw_store.whole or _has_snapshots(con, raw_store))
    if touched:
        fresh, dropped = len(con.table("sacct")), merge_touched_records(con, raw_store)
    else:
        raw_store.merge(con, "sacct", ("fault", *READ))
    servers = RAW_TABLES["inventory"].names
    raw_store.merge(con, "inventory", [n for n in servers if n not in ("source_line", "raw")])
    for name in ("limit_settings", "closures"):
        raw_store.merge(con, name, RAW_TABLES[name].names)
    for name in snapshots.TABLES:  # the same print may be in two files
        columns = RAW_TABLES[name].names
        raw_store.merge(con, name, [n for n in columns if n != "snapshot" and "source" not in n])
    layouts = {(h.names, h.delimiter, h.ends) for h in headers}
    create_table_of(con, "headers", RAW_TABLES["headers"], layouts)
    raw_store.merge(con, "headers", RAW_TABLES["headers"].names)
    _expand_node_lists(con)
    limits.create_amounts(con)
    read_summaries(con)
    read = _count_records(con, raw_store, records, len(newly_refused))
    if touched:
        return RawFiles(
            files=tuple(file for file in new if file not in refused),
            records={"attempts": fresh},
            dropped={"attempts": {DUPLICATES[0]: dropped}},
            touched="sacct",
        )
    dropped = read - len(con.table("sacct").filter("source_line is not null"))
    return RawFiles(
        files=tuple(file for file in new if file not in refused),
        # files of another kind and jobs of snapshots have no line and count as derived records
        records={"attempts": read},
        dropped={"attempts": {DUPLICATES[0]: dropped}} if dropped else {},
    )


def _refused_before(con: duckdb.DuckDBPyConnection, raw_store: RawStore) -> set[str]:
    """Return the names of files that earlier ingests refused, which stand in their folder still."""
    stored = raw_store.files(f"{RAW}/sacct")
    if not stored:
        return set()
    names = con.execute(
        f"select distinct source_file from {parquet_scan(stored)} where fault = $fault",
        {"fault": REFUSED},
    ).fetchall()
    return {name for (name,) in names}


def _has_snapshots(con: duckdb.DuckDBPyConnection, raw_store: RawStore) -> bool:
    """Return whether this ingest or an earlier ingest has snapshots of running or pending jobs."""
    stored = [f for name in snapshots.TABLES for f in raw_store.files(f"{RAW}/{name}")]
    return any(len(con.table(name)) for name in snapshots.TABLES) or any(map(parquet_rows, stored))


def _count_records(
    con: duckdb.DuckDBPyConnection, raw_store: RawStore, records: int, refused: int
) -> int:
    """Store the number of records read by this ingest; return the number over all ingests."""
    counts = [records]
    if raw_store.before and not raw_store.files(f"{RAW}/record_counts"):
        excluded = len(con.table("sacct").filter("source_line is null")) - refused
        counts.append(raw_store.account("attempts").read - excluded)
    rows = ((count,) for count in counts)
    create_table_of(con, "record_counts", RAW_TABLES["record_counts"], rows)
    raw_store.merge(con, "record_counts")
    [(total,)] = con.sql("select sum(records)::bigint from record_counts").fetchall()
    return int(total)


def _stored_headers(con: duckdb.DuckDBPyConnection, raw_store: RawStore) -> list[Header]:
    """Return the headers of earlier files: a file without a header may have the same layout."""
    if not (files := raw_store.files(f"{RAW}/headers")):
        return []
    rows = con.sql(f"select names, delimiter, ends from {parquet_scan(files)}").fetchall()
    return [Header(tuple(names), delimiter, ends) for names, delimiter, ends in rows]


def _files(raw: Path) -> tuple[Path, ...]:
    if raw.is_dir():
        files = sorted(p for p in raw.iterdir() if p.is_file() and not p.name.startswith("."))
    else:
        files = [raw] if raw.is_file() else []
    if not files:
        raise InputError(f"no sacct output at {raw}: give a file, or a folder of files")
    return tuple(files)


def _detect(con: duckdb.DuckDBPyConnection, headers: list[Header], file: Path) -> Read | None:
    """Return what reads a file, or None for a file without a header.

    Raises
    ------
    InputError
        The file is of another kind.
    """
    lines = [line for line in first_lines(file) if not snapshots.print_time(line)]
    first, second = (*lines, "", "")[:2]
    if first.lstrip().startswith("{"):
        return _detect_json(con, file)
    if second.strip() and set(second) <= {"-", " "}:
        raise InputError(f"it is in columns for people. Print it with: {slurm_command()}")
    if first.startswith(("JobId=", scontrol_jobs.EMPTY)) or not lines:
        return partial(scontrol_jobs.read_scontrol, con)
    if queue := squeue.squeue_columns(first):
        return partial(squeue.read_squeue, con, *queue)
    if owners := limits.listed_owners(first):
        return partial(limits.read_sacctmgr, con, owners)
    if first.startswith("PartitionName="):
        return partial(limits.read_partitions, con)
    if first.startswith(closures.EVENTS):
        return partial(closures.read_events, con)
    if first.startswith(closures.RESERVATIONS):
        return partial(closures.read_reservations, con)
    if what := unread_print(first):
        raise InputError(
            f"it is a print of {what}, and not read. Print jobs with: {slurm_command()}"
        )
    if header := parse_header(first):
        headers.append(header)
        return partial(read_printed, con, header)
    if first.startswith("NodeName="):
        return partial(inventory.read_nodes, con, inventory.scontrol_nodes)
    if columns := inventory.sinfo_columns(first):
        return partial(inventory.read_nodes, con, partial(inventory.sinfo_nodes, *columns))
    return None


def _detect_json(con: duckdb.DuckDBPyConnection, file: Path) -> Read:
    first = next(json_items(file, "jobs", "nodes", "sinfo"), None)
    if first is None:
        return lambda _: None
    if accounting_json.is_accounting(first):
        return lambda path: insert_records(con, path, accounting_json.read_json(path))
    if not {"job_state", "job_id"}.isdisjoint(accounting_json.as_object(first)):
        raise InputError(
            "it is JSON of squeue or scontrol show job: it has no finished jobs and is not read. "
            "Print the queue as text with `scontrol show job -d`, and finished jobs with: "
            f"{slurm_command()}"
        )
    return partial(inventory.read_nodes, con, inventory.json_nodes)


def _detect_bare(con: duckdb.DuckDBPyConnection, headers: list[Header], file: Path) -> Read:
    """Return what reads a file without a header, by a known list of fields or another's header."""
    if header := detect_header(first_lines(file), headers):
        return partial(read_printed, con, header)
    raise InputError(
        "its first line does not name the fields of sacct, and its lines fit no list of fields "
        f"known here. Print it with: {slurm_command()}"
    )


def _expand_node_lists(con: duckdb.DuckDBPyConnection) -> None:
    """Create ``node_lists``: each node of each NodeList."""
    lists = con.sql("select distinct nodelist from sacct where nodelist is not null").fetchall()
    rows = ((text, node) for (text,) in lists for node in dict.fromkeys(expand_hosts(text)))
    create_table_of(con, "node_lists", RAW_TABLES["node_lists"], rows)


SLURM = Source("slurm", Path(__file__).parent, prepare)
