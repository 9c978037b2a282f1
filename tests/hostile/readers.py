"""Each reader as a function from a seed to the outcome of one document: accepted or refused.

A case draws a document (see :mod:`documents`), reads it as the package does, and holds the outcome
to the laws: rows read = rows kept + rows rejected, nothing is written elsewhere, no secret outside
of the trace is told. An exception that is no `PhillyError` is a finding; so is a broken law.
"""

import atexit
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from random import Random

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.errors import PhillyError, TraceError
from philly_analysis.failures import mask, read_output
from philly_analysis.failures.output import classify_output
from philly_analysis.ingest import ingest
from philly_analysis.ingest.failure_output.kernel_log import read_events
from philly_analysis.ingest.failure_output.records import Unreadable, find_records
from philly_analysis.ingest.philly import (
    _UTILISATION,
    _count_records,
    _read_job_log,
    _read_machine_list,
)
from philly_analysis.ingest.philly.archive import unpack
from philly_analysis.ingest.slurm import TABLES, _detect, _detect_bare
from philly_analysis.ingest.slurm.accounting_json import read_json
from philly_analysis.ingest.slurm.jobstats import summaries
from philly_analysis.ingest.slurm.node_list import MOST_HOSTS, expand_hosts
from philly_analysis.ingest.slurm.printed import detect_header, parse_header
from philly_analysis.ingest.slurm.rejoin import Layout, rejoin
from philly_analysis.ingest.source_registry import detect_source
from philly_analysis.ingest.sql import create_table
from philly_analysis.ingest.table.rows import store
from philly_analysis.ingest.table.table_map import load_map
from philly_analysis.ingest.telemetry import find_telemetry, stage_files
from philly_analysis.ingest.telemetry.staging import Stage
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.trace.manifest import DUPLICATES, MANIFEST, Manifest
from philly_analysis.trace.queries import query
from philly_analysis.trace.quotas import read_quotas
from philly_analysis.trace.trace import Trace
from tests.hostile import documents as docs
from tests.hostile.bending import NAMES, TEXTS, as_bytes, bent_text, chance, field_line, spoiled

AROUND = datetime(2017, 10, 15)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a document that was read: rows kept, and rows rejected."""

    kept: int = 0
    rejected: int = 0


Case = Callable[[Random, float, Path], Outcome]


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader.

    Attributes
    ----------
    read
        Draws a document, writes it into an empty folder if it is a file, and reads it.
    weight
        Its share of a campaign's cases, against those of the others: cheap ones have more.
    """

    read: Case
    weight: int


def tried(reader: Reader, rng: Random, folder: Path) -> Outcome | None:
    """Run one case in a folder, which is empty before and after; None: it was refused."""
    try:
        return reader.read(rng, chance(rng), folder)
    except PhillyError as error:
        if not str(error).strip():
            raise AssertionError("an error without words") from error
        return None
    finally:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@cache
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1, "memory_limit": "1200MB"})


def _written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def _job_log_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = _written(folder, "cluster_job_log", docs.job_log(rng, p))
    with engine().cursor() as con:
        _read_job_log(con, path, folder)
        counted = _count_records(con)
        con.execute("drop view cluster_job_log")
    return Outcome(kept=counted["jobs"])


def _machine_list_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = _written(folder, "cluster_machine_list", docs.machine_list(rng, p))
    with engine().cursor() as con:
        con.execute("drop table if exists cluster_machine_list")
        read = _read_machine_list(con, path)
        [(rows,)] = con.sql("select count(*) from cluster_machine_list").fetchall()
    assert read == rows
    return Outcome(kept=rows)


def _utilisation_case(rng: Random, p: float, folder: Path) -> Outcome:
    name = rng.choice(tuple(_UTILISATION))
    ending = rng.choice(("", "", ".gz"))
    data = docs.utilisation(rng, p, name)
    plain = data.count(b"\n") + (not data.endswith(b"\n")) if not ending else None
    file = _UTILISATION[name]
    file = type(file)(
        _written(folder, name + ending, data), file.header, file.shapes, file.texts, file.nulls
    )
    if not data:  # which `find` refuses
        return Outcome()
    file.check()
    kept = rejected = blank = 0
    for block in file.blocks():
        lines = file.parse(block)
        kept += sum(len(rows) for rows, _ in lines.rows)
        rejected += len(lines.faulty)
        blank += lines.blank
        numbers = [n for _, held in lines.rows for n in held.tolist()]
        numbers += [n for n, _, _ in lines.faulty]
        assert len(set(numbers)) == len(numbers), "a line is read twice"
        assert kept + rejected + blank == block.lines
    if plain is not None:
        assert kept + rejected + blank == plain - 1, "lines are lost"
    return Outcome(kept, rejected)


def _archive_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = _written(folder, "trace-data.tar.gz", docs.archive(rng, p))
    before = sorted(folder.parent.iterdir())
    try:
        unpack(path, folder / "out")
    finally:
        assert sorted(folder.parent.iterdir()) == before, "something is written outside"
        assert not {p.name for p in folder.iterdir()} - {"trace-data.tar.gz", "out"}
        assert all(p.is_file() and not p.is_symlink() for p in folder.glob("out/*"))
    return Outcome(kept=len(list(folder.glob("out/*"))))


def _sacct_lines_case(rng: Random, p: float, folder: Path) -> Outcome:
    lines = docs.sacct(rng, p).decode("utf-8", "replace").split("\n")
    header = parse_header(lines[0]) or detect_header(lines[:50], ())
    if header is None:
        return Outcome()
    layout = Layout(header.names, header.delimiter, ends=header.ends, users=("u1",))
    found = list(rejoin(layout, list(enumerate(lines, 1))[header.lines :]))
    assert len({r.line for r in found}) == len(found), "a line begins two records"
    return Outcome(sum(r.fault is None for r in found), sum(r.fault is not None for r in found))


def _slurm_file(path: Path) -> Outcome:
    with engine().cursor() as con:
        for name, schema in TABLES.items():
            create_table(con, name, schema.empty_table())
        read = _detect(con, [], path) or _detect_bare(con, [], path)
        read(path)
        counts = "select (select count(*) from sacct where fault is null), (select count(*) "
        counts += "from sacct where fault is not null), (select count(*) from inventory)"
        [(kept, rejected, nodes)] = con.sql(counts).fetchall()
    return Outcome(kept + nodes, rejected)


def _sacct_case(rng: Random, p: float, folder: Path) -> Outcome:
    return _slurm_file(_written(folder, "sacct.txt", docs.sacct(rng, p)))


def _sacct_json_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = _written(folder, "sacct.json", docs.sacct_json(rng, p))
    if rng.random() < 0.1:
        return _slurm_file(path)
    found = list(read_json(path))
    for record in found:
        pa.array(list(record.fields.values()), pa.string())
    return Outcome(sum(r.fault is None for r in found), sum(r.fault is not None for r in found))


def _servers_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = _written(folder, "nodes", docs.servers(rng, p))
    return _slurm_file(path)


def _jobstats_case(rng: Random, p: float, folder: Path) -> Outcome:
    comment = docs.jobstats(rng, p)
    if rng.random() < p:
        comment = bent_text(rng, comment)
    if not comment.startswith("JS1:"):
        return Outcome()
    found = list(summaries(comment))
    for one in found:
        pa.array([one.node], pa.string())
        pa.array([one.gpu], pa.int64())
    return Outcome(sum(s.fault is None for s in found), sum(s.fault is not None for s in found))


def _node_list_case(rng: Random, p: float, folder: Path) -> Outcome:
    text = rng.choice(("gpu[01-03,07],login1", "a[1-2]b[3-4]", "n1,n2", "r[1-9]i[0-3]n[0-17]"))
    for _ in range(rng.randrange(4)):
        text = bent_text(rng, text)
    found = expand_hosts(text)
    assert len(found) <= MOST_HOSTS
    return Outcome(kept=bool(found), rejected=not found)


_TELEMETRY = (docs.prometheus, docs.scrape, docs.nvidia_smi, docs.dmon)


def _telemetry_case(rng: Random, p: float, folder: Path) -> Outcome:
    top = folder / "in"
    top.mkdir()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(
            ("gpu01.txt", "gpu01_2026-01-31T12-00-00_10s.txt", "gpu01_9999-99-99T99:99:99.csv")
        )
        name = bent_text(rng, name) if rng.random() < p else name
        name = "".join(c for c in name if c not in "/\x00" and ord(c) < 0xD800)[:60].strip(".")
        _written(top, name or "x", rng.choice(_TELEMETRY)(rng, p))
    given = find_telemetry(top, rng.choice(("UTC", "Europe/Berlin")))
    assert given is not None
    (folder / "stage").mkdir()
    stage = Stage(folder / "stage")
    stage_files(given, stage)
    stage.write()
    stage.series_table()
    rows = {
        kind: sum(pq.read_metadata(part).num_rows for part in stage.parts(kind))
        for kind in ("readings", "unreadable")
    }
    assert sum(rows.values()) == stage.read, "readings are lost"
    return Outcome(rows["readings"], rows["unreadable"])


def _failures_case(rng: Random, p: float, folder: Path) -> Outcome:
    ending = rng.choice(("jsonl", "jsonl.gz"))
    data = docs.failures(rng, p, ("application_1", "application_2"))
    path = _written(folder, f"records.{ending}", data)
    found = list(find_records(path))
    wrong = sum(isinstance(record, Unreadable) for record in found)
    for record in found:
        if not isinstance(record, Unreadable):
            record.job_id.encode()
    return Outcome(len(found) - wrong, wrong)


def _output_case(rng: Random, p: float, folder: Path) -> Outcome:
    failure = classify_output(read_output(_written(folder, "slurm-1.out", docs.output(rng, p))))
    assert failure.line_number >= bool(failure.rule)
    return Outcome(kept=bool(failure.rule), rejected=not failure.rule)


def _mask_case(rng: Random, p: float, folder: Path) -> Outcome:
    text = docs.output(rng, p).decode("utf-8", "replace")
    for _ in range(rng.randrange(3)):
        text = bent_text(rng, text)
    once = mask(text)
    assert mask(once) == once, "what is masked is masked again"
    return Outcome(kept=1)


def _kernel_log_case(rng: Random, p: float, folder: Path) -> Outcome:
    data = docs.kernel_log(rng, p)
    name = rng.choice(("m1.dmesg", "kern.log", "kern.log.gz", "dmesg"))
    found = list(read_events(_written(folder, name, data), around=AROUND))
    lines = data.count(b"\n") + 1
    assert data[:2] == b"\x1f\x8b" or all(1 <= event.line <= lines for event in found)
    return Outcome(kept=len(found))


def _map_case(rng: Random, p: float, folder: Path) -> Outcome:
    found = load_map(_written(folder, "map.toml", docs.table_map(rng, p)))
    return Outcome(kept=len(found.tables))


def _table_case(rng: Random, p: float, folder: Path) -> Outcome:
    chosen = load_map(_written(folder, "map.toml", docs.PLAIN_MAP.encode()))
    path = _written(folder, "jobs.csv", docs.table(rng, p))
    layout = chosen.tables["jobs"]
    fields = {name: field for name, field in layout.fields.items() if field.column}
    with engine().cursor() as con:
        rows = store(con, "jobs_rows", layout, fields, [path], folder)
        [(wrong,)] = con.sql("select count(*) from jobs_rows where fault is not null").fetchall()
    return Outcome(rows - wrong, wrong)


def _quotas_case(rng: Random, p: float, folder: Path) -> Outcome:
    data, name = docs.quotas(rng, p)
    found = read_quotas(_written(folder, name, data))
    for vc, gpus in found.items():
        pa.array([vc], pa.string())
        pa.array([gpus], pa.int32())
    return Outcome(kept=len(found))


def _model_case(rng: Random, p: float, folder: Path) -> Outcome:
    WorkloadModel.load(_written(folder, "model.json", docs.model(rng, p)))
    return Outcome(kept=1)


def _recognised_case(rng: Random, p: float, folder: Path) -> Outcome:
    make = rng.choice((docs.sacct, docs.sacct_json, docs.job_log, docs.output))
    detect_source(_written(folder, rng.choice(("a.txt", "a.json", "a")), make(rng, p)))
    return Outcome(kept=1)


@cache
def _trace() -> Path:
    """A trace, and beside it a file that no question may read."""
    folder = Path(tempfile.mkdtemp(prefix="philly-hostile-"))
    rng = Random(0)
    raw = folder / "raw"
    raw.mkdir()
    (raw / "cluster_job_log").write_bytes(docs.job_log(rng, 0.0))
    (raw / "cluster_gpu_util").write_bytes(docs.utilisation(rng, 0.0, "cluster_gpu_util"))
    ingest("philly", raw, folder / "trace")
    (folder / "secret.csv").write_text(f"secret\n{CANARY}\n")
    pq.write_table(pa.table({"secret": [CANARY]}), folder / "secret.parquet")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / "trace"


CANARY = "canary-0f0a"


def _manifest_case(rng: Random, p: float, folder: Path) -> Outcome:
    text = docs.manifest(rng, p, (_trace() / MANIFEST).read_text("utf-8"))
    (folder / "trace").mkdir()
    _written(folder / "trace", MANIFEST, text)
    found = Manifest.read(folder / "trace")
    if rng.random() < 0.05:
        for file in _trace().rglob("*.parquet"):
            to = folder / "trace" / file.relative_to(_trace())
            to.parent.mkdir(exist_ok=True, parents=True)
            shutil.copyfile(file, to)
        with Trace(folder / "trace") as trace:
            trace.sql("select count(*) from jobs").fetchall()
    return Outcome(kept=len(found.files))


@cache
def _opened() -> Trace:
    return Trace(_trace())


_GRAMMAR = """
select from where group by order limit union all join as with values not in exists
jobs attempts waits gpu_samples placements rejects settings
count(*) * 1 'x' null ( ) , ; -- /* */ $a :a ? unnest([1]) range(5) 1e999
attach copy pragma set install load export import call create drop insert
lambda x: x[1] 1::int {'a':1} [1,2] interval '1 day' now() random() uuid()
"""
_WORDS = tuple(_GRAMMAR.split())
ATTACKS = (
    "select * from read_csv('{f}/secret.csv')",
    "select * from read_text('{f}/secret.csv')",
    "select * from read_blob('{f}/secret.csv')",
    "select * from read_parquet('{f}/secret.parquet')",
    "select * from read_parquet('{t}/../secret.parquet')",
    "select * from read_parquet('{t}/derived/../../secret.parquet')",
    "select * from read_parquet('{f}/*.parquet')",
    "select * from parquet_metadata('{f}/secret.parquet')",
    "select * from parquet_schema('{f}/secret.parquet')",
    "select * from read_json('{f}/secret.csv')",
    "select * from read_ndjson_objects('{f}/secret.csv')",
    "select * from sniff_csv('{f}/secret.csv')",
    "select * from '{f}/secret.parquet'",
    "select * from '{f}/secret.csv'",
    'select * from "{f}/secret.csv"',
    "select * from glob('{f}/*')",
    "select * from glob('/etc/*')",
    "select getenv('HOME')",
    "select * from query('select * from read_csv(''{f}/secret.csv'')')",
    "select * from query_table('{f}/secret.csv')",
    "select * from read_csv('https://example.invalid/x.csv')",
    "select * from read_csv('/dev/stdin')",
    "select * from read_text('/proc/self/environ')",
    "select * from read_csv('/etc/passwd', header=false, columns={{'a':'varchar'}})",
    "attach '{f}/x.duckdb' as x",
    "copy jobs to '{f}/out.csv'",
    "copy (select 1) to '{t}/out.csv'",
    "export database '{f}/out'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "reset enable_external_access",
    "set allowed_directories = ['/']",
    "set lock_configuration = false",
    "set temp_directory = '{f}'",
    "pragma database_list",
    "pragma enable_profiling='json'",
    "call pragma_database_list()",
    "create table x as select 1",
    "drop view jobs",
    "insert into settings values ('x')",
    "update settings set run_policy = 'x'",
    "select 1; copy jobs to '{f}/out.csv'",
    "with x as (select * from read_text('{f}/secret.csv')) select * from x",
    "select (select content from read_text('{f}/secret.csv'))",
    "select * from jobs where vc = (select content from read_text('{f}/secret.csv'))",
    "from read_text('{f}/secret.csv')",
    "describe select * from read_csv('{f}/secret.csv')",
    "summarize select * from read_csv('{f}/secret.csv')",
    "explain analyze select * from read_csv('{f}/secret.csv')",
    "select * from duckdb_secrets()",
    "select * from which_secret('s3://x', 's3')",
    "select * from duckdb_settings()",
    "select current_setting('temp_directory')",
    "select * from read_duckdb('{f}/x.duckdb')",
    "select * from json_execute_serialized_sql(json_serialize_sql("
    "'select * from read_text(''{f}/secret.csv'')'))",
    "select write_log('x')",
    "select * from duckdb_logs()",
    "select * from parse_duckdb_log_message('x', 'y')",
    "select * from repeat_row(1, num_rows = 3)",
    "select * from test_all_types()",
    "select * from file_row_number",
    "select * from arrow_scan(1, 2, 3)",
    "select * from pandas_scan(1)",
    "select * from read_csv_auto(['{f}/secret.csv'])",
    "select * from seq_scan('jobs')",
    "select nextval('x')",
)


def _query_case(rng: Random, p: float, folder: Path) -> Outcome:
    if rng.random() < 0.5:
        text = rng.choice(ATTACKS).format(t=_trace(), f=_trace().parent)
        text = bent_text(rng, text) if rng.random() < p else text
    else:
        text = "select " + " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(12)))
        if rng.random() < p:
            text += rng.choice((*NAMES, *TEXTS))
    return asked(text)


def asked(text: str) -> Outcome:
    """Ask the trace a question, which may not tell what stands beside it."""
    beside = sorted(_trace().parent.iterdir())
    try:
        rows = query(_opened(), text)
    except PhillyError as error:
        told = str(error)
        return Outcome(rejected=1)
    else:
        told = repr(rows.to_numpy().tolist())
        return Outcome(kept=1)
    finally:
        assert sorted(_trace().parent.iterdir()) == beside, "a question writes"
        assert CANARY not in told and "root:" not in told, "a question reads outside of the trace"


# --- whole ingests ----------------------------------------------------------------------------


@contextmanager
def _nothing_else_changes(folder: Path, out: Path) -> Iterator[None]:
    def seen() -> dict[Path, bytes]:
        files = (p for p in folder.rglob("*") if p.is_file() and out not in p.parents)
        return {p: p.read_bytes() for p in files}

    before = seen()
    try:
        yield
    finally:
        assert seen() == before, "something is written outside of the trace"


def accounted(out: Path, manifest: Manifest) -> Outcome:
    """Count what is in the files of a trace, and hold its account to it."""
    kept = rejected = 0
    [rejects] = manifest.paths(out, "rejects")
    refused: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in pq.read_table(rejects, columns=["table", "reason"]).to_pylist():
        refused[row["table"]][row["reason"]] += 1
    for account in manifest.accounts:
        files = manifest.paths(out, account.table)
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        assert account.read == account.kept + sum(account.rejected.values())
        # samples of one machine and moment, from several files, are one row
        if account.table not in ("host_samples", "gpu_samples"):
            assert rows == account.kept, f"{account.table}: {rows} rows, {account.kept} kept"
        stored, counted = refused[account.table], Counter(account.rejected)
        if manifest.generation > 1:  # what an append prints again is counted, and not kept again
            assert stored[DUPLICATES[0]] <= counted[DUPLICATES[0]], account
            stored[DUPLICATES[0]] = counted[DUPLICATES[0]]
        assert stored == counted, account
        kept, rejected = kept + account.kept, rejected + counted.total()
    return Outcome(kept, rejected)


def _philly_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    if rng.random() < 0.2:
        return _written(raw, "trace-data.tar.gz", docs.archive(rng, p))
    ending = rng.choice(("", ""))
    (raw / f"cluster_job_log{ending}").write_bytes(docs.job_log(rng, p))
    if rng.random() < 0.6:
        _written(raw, "cluster_machine_list", docs.machine_list(rng, p / 2))
    for name in _UTILISATION:
        if rng.random() < 0.6:
            _written(raw, name, docs.utilisation(rng, p / 2, name))
    return raw


def _slurm_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    _written(raw, "a.txt", docs.sacct(rng, p))
    for name, make in (("b.json", docs.sacct_json), ("c", docs.servers), ("d.txt", docs.sacct)):
        if rng.random() < 0.4:
            _written(raw, name, make(rng, p))
    return raw


def _table_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    plain = docs.PLAIN_MAP.encode()
    _written(raw, "map.toml", docs.table_map(rng, p) if rng.random() < 0.2 else plain)
    _written(raw, "jobs.csv", docs.table(rng, p))
    return raw


_PAI = {
    "job_table": ("j1", "i1", "u1", "Terminated", "100.0", "500.0"),
    "task_table": (
        "j1",
        "worker",
        "2.0",
        "Failed",
        "100.0",
        "500.0",
        "600.0",
        "29.0",
        "50.0",
        "V100",
    ),
    "sensor_table": (
        *("j1", "worker", "w1", "i1", "m1", "/dev/nvidia0", "50.0", "20.0", "1.0", "2.0"),
        *("0.5", "1.0", "1.0", "1.0", "1.0", "1.0"),
    ),
    "machine_spec": ("m1", "V100", "96", "512", "8"),
}


def _pai_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    for name, fields in _PAI.items():
        lines = [field_line(rng, fields, ",", p) for _ in range(rng.randint(1, 6))]
        _written(raw, f"pai_{name}.csv", spoiled(rng, as_bytes("\n".join((*lines, ""))), p / 4))
    return raw


def _whole(source: str, raw_of: Callable[[Random, float, Path], Path]) -> Case:
    def read(rng: Random, p: float, folder: Path) -> Outcome:
        raw, out = raw_of(rng, p, folder / "raw"), folder / "out"
        given: dict[str, Path | str | None] = {}
        if rng.random() < 0.3:
            (folder / "failures").mkdir()
            given["failures"] = folder / "failures"
            names = ("application_1", "application_0", "101", "j1")
            _written(folder / "failures", "r.jsonl", docs.failures(rng, p, names))
            _written(folder / "failures", "m1.dmesg", docs.kernel_log(rng, p))
            _written(folder / "failures", "application_1.out", docs.output(rng, p))
        if rng.random() < 0.3:
            (folder / "telemetry").mkdir()
            given["telemetry"] = folder / "telemetry"
            for i in range(2):
                _written(folder / "telemetry", f"m{i}.txt", rng.choice(_TELEMETRY)(rng, p))
        if rng.random() < 0.2:
            data, name = docs.quotas(rng, p / 4)
            given["quotas"] = _written(folder, name, data)
        append = rng.random() < 0.2
        try:
            with _nothing_else_changes(folder, out):
                outcome = accounted(out, ingest(source, raw, out, **given))  # type: ignore[arg-type]
            if append and source != "table":
                more = raw_of(rng, p, folder / "more")
                outcome = accounted(out, ingest(source, more, out, append=True))
        except TraceError as error:
            if "unaccounted for" in str(error):
                raise AssertionError(str(error)) from None
            raise
        with Trace(out) as trace:
            for name in trace.tables:
                trace.sql(f"select count(*) from {name}").fetchall()
        return outcome

    return read


READERS: dict[str, Reader] = {
    "job log": Reader(_job_log_case, 20),
    "machine list": Reader(_machine_list_case, 20),
    "utilisation": Reader(_utilisation_case, 300),
    "archive (tar)": Reader(_archive_case, 80),
    "sacct, lines": Reader(_sacct_lines_case, 60),
    "sacct, text": Reader(_sacct_case, 4),
    "sacct, JSON": Reader(_sacct_json_case, 120),
    "lists of servers": Reader(_servers_case, 30),
    "jobstats": Reader(_jobstats_case, 350),
    "node lists": Reader(_node_list_case, 60),
    "telemetry": Reader(_telemetry_case, 100),
    "failure records": Reader(_failures_case, 350),
    "failed output": Reader(_output_case, 150),
    "masking": Reader(_mask_case, 250),
    "kernel logs": Reader(_kernel_log_case, 350),
    "maps": Reader(_map_case, 250),
    "tables": Reader(_table_case, 20),
    "quotas": Reader(_quotas_case, 350),
    "models": Reader(_model_case, 80),
    "recognised": Reader(_recognised_case, 100),
    "manifests": Reader(_manifest_case, 80),
    "query": Reader(_query_case, 100),
    "ingest philly": Reader(_whole("philly", _philly_raw), 1),
    "ingest slurm": Reader(_whole("slurm", _slurm_raw), 1),
    "ingest table": Reader(_whole("table", _table_raw), 1),
    "ingest pai": Reader(_whole("pai", _pai_raw), 1),
}
"""Every reader, by the name that the campaign's table gives it."""
