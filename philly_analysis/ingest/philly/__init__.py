"""Read the Microsoft Philly archive of 2017: scheduler log, machine list and utilisation."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.errors import InputError
from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.philly.archive import (
    OPTIONAL_FILES,
    SYNTHETIC,
    TRUTH,
    find_files,
    unpack,
)
from philly_analysis.ingest.philly.utilisation import STREAMS, reading_length_s
from philly_analysis.ingest.raw_file import gzip_errors, is_gzipped, open_bytes
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import arrow_table, create_table, parquet_scan
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import RAW, escape_glob

_PROBES = 64
_PROBE_BYTES = 1 << 18
_TIMED_BYTES = 1 << 23
"""First bytes of a file from which the time between its readings is estimated."""


def prepare(builder: TraceBuilder, raw: Path) -> RawFiles:
    """Open the archive: its folder, or ``trace-data.tar.gz`` as published.

    Raises
    ------
    InputError
        There is no job log, or a file is damaged or of another kind.
    """
    con, raw_store = builder.con, builder.store
    notes: list[str] = []
    folder = raw
    archive = raw_store.new_files([raw]) if raw.is_file() else []
    if archive:
        folder = builder.scratch / "archive"
        notes += unpack(raw, folder)
    paths = find_files(folder) if archive or not raw.is_file() else {}
    for name in sorted(OPTIONAL_FILES.keys() - paths.keys()):
        note = f"The archive has no {name}, so {OPTIONAL_FILES[name]}."
        notes += [note] if raw_store.still_applies(note) else []
    new = raw_store.new_files(paths.values())
    files = {name: path for name, path in paths.items() if path in new}
    csv = {
        name: replace(file, path=files[name])
        for name, file in _UTILISATION.items()
        if name in files
    }
    for file in csv.values():
        file.check()
    lengths = [(name, reading_length_s(_first_times(file))) for name, file in csv.items()]
    create_table(con, "reading_lengths", arrow_table(lengths, RAW_TABLES["reading_lengths"]))
    with ThreadPoolExecutor(1) as beside:
        probe = beside.submit(_probe, con.cursor(), csv.get("cluster_gpu_util"))
        _read_job_log(con, files.get("cluster_job_log"), builder.scratch)
        raw_store.merge(con, "cluster_job_log")
        machines = _read_machine_list(con, files.get("cluster_machine_list"))
        machines += raw_store.merge(con, "cluster_machine_list")
        probe.result()
    raw_store.merge(con, "gpu_glimpse")
    marker = folder / SYNTHETIC
    causes = _read_truth(con, folder / TRUTH if marker.is_file() else None, raw_store)
    if marker.is_file():
        notes.insert(0, marker.read_text("utf-8").strip().split("\n\n")[0].replace("\n", " "))
    return RawFiles(
        files=tuple(archive) if raw.is_file() else tuple(files.values()),
        csv=csv,
        records={**_count_records(con), "machines": machines, "known_causes": causes},
        notes=tuple(notes),
        synthetic=marker.is_file(),
    )


_TEXTS = ("time", "machine_id")
_GPU_VALUES = tuple(f"v{i}" for i in range(16))
_file = partial(CsvFile, Path(), texts=_TEXTS, nulls=("NA", ""))
_UTILISATION = {
    "cluster_gpu_util": _file(
        header=("time", "machineId", *(f"gpu{i}_util" for i in range(8))),
        # each row ends with a comma; some rows have each value twice
        shapes=((*_TEXTS, *_GPU_VALUES[:8], ""), (*_TEXTS, *_GPU_VALUES, "")),
    ),
    "cluster_cpu_util": _file(
        header=("time", "machine_id", "cpu_util"), shapes=((*_TEXTS, "cpu_util"),)
    ),
    "cluster_mem_util": _file(
        header=("time", "machine_id", "mem_total", "mem_free"),
        shapes=((*_TEXTS, "mem_total", "mem_free"),),
    ),
}


def _read_job_log(con: duckdb.DuckDBPyConnection, path: Path | None, scratch: Path) -> None:
    """Create ``cluster_job_log``: source_file, source_line (entry, from 1), entry (JSON)."""
    if path is None:
        con.execute(
            "create view cluster_job_log as select null::varchar as source_file, "
            "null::bigint as source_line, null::json as entry where false"
        )
        return
    if not _tail(path).endswith(b"]"):
        # the database accepts a list that is truncated between two entries
        raise InputError(
            f"{path} is not a list of jobs in JSON, or was cut off: it does not end in ']'. "
            "Fetch it again."
        )
    entries = scratch / "cluster_job_log.parquet"
    try:
        con.sql(
            "select 'cluster_job_log' as source_file, row_number() over () as source_line, "
            "json as entry from read_json_objects($path, format = 'array')",
            params={"path": escape_glob(path)},
        ).write_parquet(str(entries))
    except (duckdb.Error, UnicodeDecodeError) as error:  # the latter in messages of the database
        first = str(error).split("\n")[0]
        raise InputError(
            f"{path} is not a list of jobs in JSON, or was cut off: {first} Fetch it again."
        ) from None
    con.sql(f"from {parquet_scan([entries])}").create_view("cluster_job_log")


def _read_truth(con: duckdb.DuckDBPyConnection, path: Path | None, raw_store: RawStore) -> int:
    """Create ``truth``, empty where the archive has no such file; return its rows."""
    schema = RAW_TABLES["truth"]
    rows = schema.empty_table()
    if path is not None and path.is_file():
        try:
            read = pq.read_table(path)
            lines = pa.array(range(1, len(read) + 1), pa.int64())
            rows = read.append_column("source_line", lines).select(schema.names).cast(schema)
        except (pa.ArrowException, KeyError) as error:
            raise InputError(f"{path} has no causes of waits: {error}") from None
    create_table(con, "truth", rows)
    if len(rows) or raw_store.files(f"{RAW}/truth"):
        raw_store.merge(con, "truth")
    return len(con.table("truth"))


def _count_records(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Count the jobs, attempts and placements of the job log."""
    counts = con.sql(_select("records"))
    return dict(zip(counts.columns, counts.fetchall()[0], strict=True))


def _select(name: str) -> str:
    return (Path(__file__).parent / "opening" / f"{name}.sql").read_text("utf-8")


def _tail(path: Path) -> bytes:
    """Return the last bytes of a file, without trailing whitespace."""
    tail = b""
    with gzip_errors(path), open_bytes(path) as file:
        if not is_gzipped(path):
            file.seek(max(0, path.stat().st_size - 1024))
        while block := file.read(1 << 20):
            tail = (tail + block)[-1024:]
    return tail.rstrip()


def _read_machine_list(con: duckdb.DuckDBPyConnection, path: Path | None) -> int:
    """Create ``cluster_machine_list``, empty where there is no such file; return its rows."""
    lines = [] if path is None else path.read_text("utf-8", "replace").splitlines()
    header = ("machineId", "number of GPUs", "single GPU mem")
    if path is not None and tuple(c.strip() for c in "".join(lines[:1]).split(",")) != header:
        raise InputError(
            f"{path}: the first line should be {', '.join(header)!r}, and is "
            f"{''.join(lines[:1])[:120]!r}. Is this the published file, with its header?"
        )
    rows = arrow_table(enumerate(lines[1:], 2), RAW_TABLES["machine_list_lines"])
    create_table(con, "machine_list_lines", rows)
    con.execute(f"create table cluster_machine_list as {_select('cluster_machine_list')}")
    return sum(bool(line.strip()) for line in lines[1:])


def _first_times(file: CsvFile) -> pa.StringArray:
    """Return the distinct times of the first lines of a file."""
    with gzip_errors(file.path), open_bytes(file.path) as lines:
        first = lines.read(_TIMED_BYTES).split(b"\n")[1:]
    times = {line.partition(b",")[0].decode("utf-8", "replace") for line in first}
    return pa.array(times, pa.string())


def _probe(con: duckdb.DuckDBPyConnection, file: CsvFile | None) -> None:
    """Create ``gpu_glimpse``: machine_id and values of lines spread evenly over the file."""
    texts: list[bytes] = []
    if file is not None:
        size = file.path.stat().st_size
        with gzip_errors(file.path), open_bytes(file.path) as lines:
            if is_gzipped(file.path) or size <= _PROBES * _PROBE_BYTES:
                texts = lines.readlines(_PROBES * _PROBE_BYTES)[1:]
            else:
                for i in range(_PROBES):
                    lines.seek(i * (size - _PROBE_BYTES) // (_PROBES - 1))
                    texts += lines.readlines(_PROBE_BYTES)[1:-1]
    lines_read = [text.decode("utf-8", "replace") for text in texts]
    con.register("probed_lines", pa.table({"line": pa.array(lines_read, pa.string())}))
    con.execute(f"create table gpu_glimpse as {_select('gpu_glimpse')}")
    con.unregister("probed_lines")


PHILLY = Source("philly", Path(__file__).parent, prepare, STREAMS)
