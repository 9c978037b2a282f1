"""A Slurm accounting log: what sacct prints, as text or JSON, and lists of its servers.

Ask for it with the command that ``philly slurm-command`` prints; other lists of fields, windows
that overlap, pages printed again later, and several of these forms in one folder do as well. Add
``scontrol show node -o`` for the servers, and ``scontrol show job -d``, printed while jobs run, for
the GPUs that they hold.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.csv_file import whole
from philly_analysis.ingest.loading import parquet
from philly_analysis.ingest.raw_file import first_lines, objects
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.slurm import accounting_json, inventory
from philly_analysis.ingest.slurm.fields import READ, slurm_command
from philly_analysis.ingest.slurm.inventory import Node
from philly_analysis.ingest.slurm.jobstats import read_summaries
from philly_analysis.ingest.slurm.node_list import hosts
from philly_analysis.ingest.slurm.printed import Header, documented, header_of, insert, read_printed
from philly_analysis.ingest.slurm.running import COLUMNS, read_running
from philly_analysis.ingest.source import Raw, Source
from philly_analysis.trace import DUPLICATES, RAW

REFUSED = "a file that is no output of sacct"
"""Why the one row of such a file is rejected."""

Reader = Callable[[duckdb.DuckDBPyConnection], None]


def prepare(con: duckdb.DuckDBPyConnection, raw: Path, scratch: Path, kept: Kept) -> Raw:
    """Open one file, or a folder of them, each known by what is in it.

    A folder may hold files that are none of these, or cut off: each is left out as a whole, one
    rejected row, and named in a note.

    Raises
    ------
    InputError
        There is no such file; or none is output of sacct with the fields that are needed.
    """
    files = _files(raw)
    fresh = kept.fresh(files)
    fields = ", ".join(f'"{name}" varchar' for name in READ)
    con.execute(
        "create table sacct (source_file varchar, source_line bigint, raw varchar, "
        f"fault varchar, {fields})"
    )
    con.execute(
        "create table inventory (source_file varchar, source_line bigint, raw varchar, "
        "cluster varchar, node varchar, gpus integer, shards integer, models varchar[], "
        "cpus double, mem_mb double, partitions varchar[])"
    )
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    con.execute(f"create table running (source_file varchar, source_line bigint, {columns})")
    refused: dict[Path, str] = {}
    # a file without a header waits: one beside it may name its fields
    headers = _headers_before(con, kept)
    waiting = fresh
    for reader_of in (_reader, _headerless):
        unknown = []
        for file in waiting:
            try:
                add = reader_of(file, headers)
                if add is None:
                    unknown.append(file)
                else:
                    add(con)
            except InputError as error:
                refused[file] = str(error)
                for table in ("sacct", "inventory", "running"):
                    con.execute(f"delete from {table} where source_file = $f", {"f": file.name})
        waiting = unknown
    [(records, kinds)] = con.sql(
        "select (select count(*) from sacct), (select count(*) from inventory)"
    ).fetchall()
    if refused and not records and not (kept.before and kinds):
        file, why = next(iter(refused.items()))
        more = (
            f" ({len(refused) - 1} more files are none either.)" if refused.keys() - {file} else ""
        )
        raise InputError(f"{file} is no output of sacct: {why}{more}")
    if not records and not kept.before:
        what = "holds servers and no jobs" if kinds else "holds no record of sacct"
        raise InputError(f"{raw} {what}. Print the jobs with: {slurm_command()}")
    for file, why in refused.items():
        con.execute(
            "insert into sacct (source_file, raw, fault) values ($file, $why, $fault)",
            {"file": file.name, "why": why, "fault": REFUSED},
        )
    apart = "case when fault is not null then row(source_file, source_line) end"
    earlier = kept.keep(con, "sacct", (apart, *(f'"{name}"' for name in READ)))
    listed = ("cluster", "node", "gpus", "shards", "models", "cpus", "mem_mb", "partitions")
    kept.keep(con, "inventory", ("source_file", *listed))
    kept.keep(con, "running", tuple(COLUMNS))
    con.execute("create table headers (names varchar[], delimiter varchar, ends boolean)")
    if headers:
        rows = {(header.names, header.delimiter, header.ends) for header in headers}
        con.executemany("insert into headers values (?, ?, ?)", [*map(list, rows)])
    kept.keep(con, "headers", ("names", "delimiter", "ends"))
    _expand_node_lists(con)
    read_summaries(con)
    [(unlined,)] = con.sql("select count(*) from sacct where source_line is null").fetchall()
    before = kept.account("attempts").read
    again = before - earlier
    return Raw(
        files=tuple(file for file in fresh if file not in refused),
        # a file that is none has no line, and counts as a record that others tell of
        records={"attempts": before + records + len(refused) - unlined},
        again={"attempts": {DUPLICATES[0]: again}} if again else {},
    )


def _headers_before(con: duckdb.DuckDBPyConnection, kept: Kept) -> list[Header]:
    """Return the headers of files that were read before: one without may be laid out as they."""
    if not (files := kept.files(f"{RAW}/headers")):
        return []
    rows = con.sql(f"select names, delimiter, ends from {parquet(files)}").fetchall()
    return [Header(tuple(names), delimiter, ends) for names, delimiter, ends in rows]


def _files(raw: Path) -> tuple[Path, ...]:
    if raw.is_dir():
        found = sorted(p for p in raw.iterdir() if p.is_file() and not p.name.startswith("."))
    else:
        found = [raw] if raw.is_file() else []
    if not found:
        raise InputError(f"no sacct output at {raw}: give a file, or a folder of files")
    return tuple(found)


def _reader(file: Path, headers: list[Header]) -> Reader | None:
    """Return what adds a file's rows, or None where the file has no header to tell.

    Raises
    ------
    InputError
        It is something else.
    """
    first, second = (*first_lines(file, 2), "", "")[:2]
    if first.lstrip().startswith("{"):
        return _json(file)
    if second.strip() and set(second) <= {"-", " "}:
        raise InputError(f"it is in columns for people. Print it with: {slurm_command()}")
    if header := header_of(first):
        headers.append(header)
        return partial(read_printed, path=file, header=header)
    if first.startswith("JobId="):
        return partial(read_running, path=file)
    if first.startswith("NodeName="):
        return partial(_add_nodes, file=file, nodes=inventory.read_scontrol(file))
    if columns := inventory.sinfo_columns(first):
        return partial(_add_nodes, file=file, nodes=inventory.read_sinfo(file, *columns))
    return None


def _json(file: Path) -> Reader:
    first = next(objects(file, "jobs", "nodes", "sinfo"), None)
    if first is None:
        return lambda con: None
    if accounting_json.is_accounting(first):
        return partial(insert, path=file, records=accounting_json.read_json(file))
    if not {"job_state", "job_id"}.isdisjoint(accounting_json.part(first)):
        raise InputError(
            "it is JSON of squeue or scontrol, which knows no finished job. "
            f"Print it with: {slurm_command()}"
        )
    return partial(_add_nodes, file=file, nodes=inventory.read_json(file))


def _headerless(file: Path, headers: list[Header]) -> Reader | None:
    if header := documented(first_lines(file), headers):
        return partial(read_printed, path=file, header=header)
    raise InputError(
        "its first line does not name the fields of sacct, and its lines fit no list of fields "
        f"known here. Print it with: {slurm_command()}"
    )


def _add_nodes(con: duckdb.DuckDBPyConnection, file: Path, nodes: Iterator[Node]) -> None:
    with whole(file):
        rows = [
            (
                file.name,
                n.line,
                n.raw,
                n.cluster,
                n.node,
                n.gpus,
                n.shards,
                list(n.models),
                n.cpus,
                n.mem_mb,
                list(n.partitions),
            )
            for n in nodes
        ]
    if rows:
        con.executemany(
            "insert into inventory values (?, ?, ?, ?, ?, ?, ?, ?::varchar[], ?, ?, ?::varchar[])",
            rows,
        )


def _expand_node_lists(con: duckdb.DuckDBPyConnection) -> None:
    """Create ``node_lists``: each node of each NodeList."""
    lists = con.sql("select distinct nodelist from sacct where nodelist is not null").fetchall()
    names = pa.schema([("node_list", pa.string()), ("node", pa.string())])

    def held() -> Iterator[pa.RecordBatch]:
        for (text,) in lists:
            found = list(dict.fromkeys(hosts(text)))
            yield pa.record_batch([[text] * len(found), found], names)

    con.register("node_lists_read", pa.RecordBatchReader.from_batches(names, held()))
    con.execute("create table node_lists as from node_lists_read")
    con.unregister("node_lists_read")


SLURM = Source(
    name="slurm",
    what="A Slurm accounting log: sacct as text or JSON, with lists of its servers.",
    files=f"Files of any name, or a folder of them, told by what is in them: {slurm_command()}",
    lacks="Which GPU of a server a job held, unless scontrol or jobstats told, and utilisation.",
    folder=Path(__file__).parent,
    prepare=prepare,
)
