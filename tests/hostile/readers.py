"""Each reader as a function from a seed to the outcome of one document: accepted or refused.

A case generates a document (see :mod:`documents`), reads it as the package does, and checks: rows
read = rows kept + rows rejected, no file is written elsewhere, and no file outside of the trace is
read. A failed check is a finding, as is an exception that is no `PhillyError`.
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

from philly_analysis import ingest
from philly_analysis.errors import PhillyError, TraceError
from philly_analysis.failures import classify_outputs, mask, read_output
from philly_analysis.ingest.failure_output.kernel_log import read_events
from philly_analysis.ingest.failure_output.records import Unreadable, find_records
from philly_analysis.ingest.philly import (
    _UTILISATION,
    _count_records,
    _read_job_log,
    _read_machine_list,
)
from philly_analysis.ingest.philly.archive import unpack
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm import TABLES, _detect, _detect_bare
from philly_analysis.ingest.slurm.accounting_json import read_json
from philly_analysis.ingest.slurm.jobstats import summaries
from philly_analysis.ingest.slurm.printed import detect_header, parse_header
from philly_analysis.ingest.slurm.rejoin import Layout, rejoin
from philly_analysis.ingest.source_registry import detect_source
from philly_analysis.ingest.sql import create_table
from philly_analysis.ingest.table.rows import store
from philly_analysis.ingest.table.table_map import load_map
from philly_analysis.ingest.telemetry import find_telemetry, stage_files
from philly_analysis.ingest.telemetry.staging import Stage
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.slurm_text import MOST_HOSTS, expand_hosts
from philly_analysis.trace.manifest import DUPLICATES, MANIFEST, Manifest
from philly_analysis.trace.queries import query
from philly_analysis.trace.quotas import read_quotas
from philly_analysis.trace.trace import Trace
from tests.hostile import documents as docs
from tests.hostile.mutation import (
    NAMES,
    TEXTS,
    corrupt,
    encode,
    field_line,
    mutate_text,
    mutation_rate,
)

AROUND = datetime(2017, 10, 15)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Count the rows of a document that were kept and rejected."""

    kept: int = 0
    rejected: int = 0


Case = Callable[[Random, float, Path], Outcome]


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader.

    Attributes
    ----------
    read
        Generates a document, writes it to an empty folder if it is a file, and reads it.
    weight
        Relative share of a campaign's cases; cheap readers have more.
    """

    read: Case
    weight: int


def run_case(reader: Reader, rng: Random, folder: Path) -> Outcome | None:
    """Run one case in a folder, which is empty before and after; None: the input was refused."""
    try:
        return reader.read(rng, mutation_rate(rng), folder)
    except PhillyError as error:
        if not str(error).strip():
            raise AssertionError("an error without a message") from error
        return None
    finally:
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()


@cache
def engine() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1, "memory_limit": "1200MB"})


def write_file(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def _job_log_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = write_file(folder, "cluster_job_log", docs.job_log(rng, p))
    with engine().cursor() as con:
        _read_job_log(con, path, folder)
        counted = _count_records(con)
        con.execute("drop view cluster_job_log")
    return Outcome(kept=counted["jobs"])


def _machine_list_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = write_file(folder, "cluster_machine_list", docs.machine_list(rng, p))
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
    packed = ending or data.startswith(b"\x1f\x8b")
    plain = data.count(b"\n") + (not data.endswith(b"\n")) if not packed else None
    file = _UTILISATION[name]
    file = type(file)(
        write_file(folder, name + ending, data), file.header, file.shapes, file.texts, file.nulls
    )
    if not data:  # refused by `find`
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
    path = write_file(folder, "trace-data.tar.gz", docs.archive(rng, p))
    before = sorted(folder.parent.iterdir())
    try:
        unpack(path, folder / "out")
    finally:
        assert sorted(folder.parent.iterdir()) == before, "a file is written outside of the folder"
        assert not {p.name for p in folder.iterdir()} - {"trace-data.tar.gz", "out"}
        assert all(p.is_file() and not p.is_symlink() for p in folder.glob("out/*"))
    return Outcome(kept=len(list(folder.glob("out/*"))))


def _sacct_lines_case(rng: Random, p: float, folder: Path) -> Outcome:
    lines = docs.sacct(rng, p).decode("utf-8", "replace").split("\n")
    header = parse_header(lines[0]) or detect_header(lines[:50], ())
    if header is None:
        return Outcome()
    layout = Layout(header, users=("u1",))
    records = list(rejoin(layout, list(enumerate(lines, 1))[header.lines :]))
    assert len({r.line for r in records}) == len(records), "a line begins two records"
    return Outcome(sum(r.fault is None for r in records), sum(r.fault is not None for r in records))


def _slurm_file(path: Path) -> Outcome:
    with engine().cursor() as con:
        for name in TABLES:
            create_table(con, name, RAW_TABLES[name].empty_table())
        read = _detect(con, [], path) or _detect_bare(con, [], path)
        read(path)
        counts = "select (select count(*) from sacct where fault is null), (select count(*) "
        counts += "from sacct where fault is not null), (select count(*) from inventory)"
        [(kept, rejected, nodes)] = con.sql(counts).fetchall()
    return Outcome(kept + nodes, rejected)


def _sacct_case(rng: Random, p: float, folder: Path) -> Outcome:
    return _slurm_file(write_file(folder, "sacct.txt", docs.sacct(rng, p)))


def _sacct_json_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = write_file(folder, "sacct.json", docs.sacct_json(rng, p))
    if rng.random() < 0.1:
        return _slurm_file(path)
    records = list(read_json(path))
    for record in records:
        pa.array(list(record.fields.values()), pa.string())
    return Outcome(sum(r.fault is None for r in records), sum(r.fault is not None for r in records))


def _servers_case(rng: Random, p: float, folder: Path) -> Outcome:
    path = write_file(folder, "nodes", docs.servers(rng, p))
    return _slurm_file(path)


def _jobstats_case(rng: Random, p: float, folder: Path) -> Outcome:
    comment = docs.jobstats(rng, p)
    if rng.random() < p:
        comment = mutate_text(rng, comment)
    if not comment.startswith("JS1:"):
        return Outcome()
    readings = list(summaries(comment))
    for one in readings:
        pa.array([one.get("node")], pa.string())
        pa.array([one.get("gpu")], pa.int64())
    faults = sum("fault" in one for one in readings)
    return Outcome(len(readings) - faults, faults)


def _node_list_case(rng: Random, p: float, folder: Path) -> Outcome:
    text = rng.choice(("gpu[01-03,07],login1", "a[1-2]b[3-4]", "n1,n2", "r[1-9]i[0-3]n[0-17]"))
    for _ in range(rng.randrange(4)):
        text = mutate_text(rng, text)
    hosts = expand_hosts(text)
    assert len(hosts) <= MOST_HOSTS
    return Outcome(kept=bool(hosts), rejected=not hosts)


_TELEMETRY = (docs.prometheus, docs.scrape, docs.nvidia_smi, docs.dmon)


def _telemetry_case(rng: Random, p: float, folder: Path) -> Outcome:
    top = folder / "in"
    top.mkdir()
    for _ in range(rng.choice((1, 1, 2))):
        name = rng.choice(
            ("gpu01.txt", "gpu01_2026-01-31T12-00-00_10s.txt", "gpu01_9999-99-99T99:99:99.csv")
        )
        name = mutate_text(rng, name) if rng.random() < p else name
        name = "".join(c for c in name if c not in "/\x00" and ord(c) < 0xD800)[:60].strip(".")
        write_file(top, name or "x", rng.choice(_TELEMETRY)(rng, p))
    telemetry = find_telemetry(top, rng.choice(("UTC", "Europe/Berlin")))
    assert telemetry is not None
    (folder / "stage").mkdir()
    stage = Stage(folder / "stage")
    stage_files(telemetry, stage)
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
    path = write_file(folder, f"records.{ending}", data)
    records = list(find_records(path))
    wrong = sum(isinstance(record, Unreadable) for record in records)
    for record in records:
        if not isinstance(record, Unreadable):
            record.job_id.encode()
    return Outcome(len(records) - wrong, wrong)


def _output_case(rng: Random, p: float, folder: Path) -> Outcome:
    file = write_file(folder, "slurm-1.out", docs.output(rng, p))
    [failure] = classify_outputs([read_output(file)])
    assert failure.line_number >= bool(failure.rule)
    return Outcome(kept=bool(failure.rule), rejected=not failure.rule)


def _mask_case(rng: Random, p: float, folder: Path) -> Outcome:
    text = docs.output(rng, p).decode("utf-8", "replace")
    for _ in range(rng.randrange(3)):
        text = mutate_text(rng, text)
    once = mask(text)
    assert mask(once) == once, "masking is not idempotent"
    return Outcome(kept=1)


def _kernel_log_case(rng: Random, p: float, folder: Path) -> Outcome:
    data = docs.kernel_log(rng, p)
    name = rng.choice(("m1.dmesg", "kern.log", "kern.log.gz", "dmesg"))
    events = list(read_events(write_file(folder, name, data), around=AROUND))
    lines = data.count(b"\n") + 1
    assert data[:2] == b"\x1f\x8b" or all(1 <= event.line <= lines for event in events)
    return Outcome(kept=len(events))


def _map_case(rng: Random, p: float, folder: Path) -> Outcome:
    table_map = load_map(write_file(folder, "map.toml", docs.table_map(rng, p)))
    return Outcome(kept=len(table_map.tables))


def _table_case(rng: Random, p: float, folder: Path) -> Outcome:
    chosen = load_map(write_file(folder, "map.toml", docs.template("map.toml").encode()))
    path = write_file(folder, "jobs.csv", docs.table(rng, p))
    layout = chosen.tables["jobs"]
    fields = {name: field for name, field in layout.fields.items() if field.column}
    with engine().cursor() as con:
        builder = TraceBuilder(con, RawStore(folder), folder)
        rows = store(builder, "jobs_rows", layout, fields, [path])
        [(wrong,)] = con.sql("select count(*) from jobs_rows where fault is not null").fetchall()
    return Outcome(rows - wrong, wrong)


def _quotas_case(rng: Random, p: float, folder: Path) -> Outcome:
    data, name = docs.quotas(rng, p)
    quotas = read_quotas(write_file(folder, name, data))
    for vc, gpus in quotas.items():
        pa.array([vc], pa.string())
        pa.array([gpus], pa.int32())
    return Outcome(kept=len(quotas))


def _model_case(rng: Random, p: float, folder: Path) -> Outcome:
    WorkloadModel.load(write_file(folder, "model.json", docs.model(rng, p)))
    return Outcome(kept=1)


def _detect_case(rng: Random, p: float, folder: Path) -> Outcome:
    make = rng.choice((docs.sacct, docs.sacct_json, docs.job_log, docs.output))
    detect_source(write_file(folder, rng.choice(("a.txt", "a.json", "a")), make(rng, p)))
    return Outcome(kept=1)


@cache
def _trace() -> Path:
    """A trace, and beside it files that no query may read."""
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
    write_file(folder / "trace", MANIFEST, text)
    manifest = Manifest.read(folder / "trace")
    if rng.random() < 0.05:
        for file in _trace().rglob("*.parquet"):
            to = folder / "trace" / file.relative_to(_trace())
            to.parent.mkdir(exist_ok=True, parents=True)
            shutil.copyfile(file, to)
        with Trace(folder / "trace") as trace:
            trace.sql("select count(*) from jobs").fetchall()
    return Outcome(kept=len(manifest.files))


@cache
def _opened() -> Trace:
    return Trace(_trace())


_WORDS = tuple(docs.template("grammar.txt").split())
ATTACKS = (Path(__file__).parent / "attacks.sql").read_text("utf-8").splitlines()
"""Queries that read or write outside of a trace; {t} is the trace and {f} its parent folder."""


def _query_case(rng: Random, p: float, folder: Path) -> Outcome:
    if rng.random() < 0.5:
        text = rng.choice(ATTACKS).format(t=_trace(), f=_trace().parent)
        text = mutate_text(rng, text) if rng.random() < p else text
    else:
        text = "select " + " ".join(rng.choice(_WORDS) for _ in range(rng.randrange(12)))
        if rng.random() < p:
            text += rng.choice((*NAMES, *TEXTS))
    return run_query(text)


def run_query(text: str) -> Outcome:
    """Run a query on the trace, and check that it reads and writes no other file."""
    beside = sorted(_trace().parent.iterdir())
    try:
        printed, outcome = repr(query(_opened(), text).to_numpy().tolist()), Outcome(kept=1)
    except PhillyError as error:
        printed, outcome = str(error), Outcome(rejected=1)
    assert sorted(_trace().parent.iterdir()) == beside, "a query writes a file"
    assert CANARY not in printed and "root:" not in printed, "a query reads outside of the trace"
    return outcome


# --- complete ingests --------------------------------------------------------------------------


@contextmanager
def unchanged_outside(folder: Path, out: Path) -> Iterator[None]:
    def seen() -> dict[Path, bytes]:
        files = (p for p in folder.rglob("*") if p.is_file() and out not in p.parents)
        return {p: p.read_bytes() for p in files}

    before = seen()
    try:
        yield
    finally:
        assert seen() == before, "a file outside of the trace changes"


def check_accounts(out: Path, manifest: Manifest) -> Outcome:
    """Compare the accounts of a trace with the rows in its files."""
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
        if manifest.generation > 1:  # repeated records of an append are counted, and not stored
            assert stored[DUPLICATES[0]] <= counted[DUPLICATES[0]], account
            stored[DUPLICATES[0]] = counted[DUPLICATES[0]]
        assert stored == counted, account
        kept, rejected = kept + account.kept, rejected + counted.total()
    return Outcome(kept, rejected)


def _philly_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    if rng.random() < 0.2:
        return write_file(raw, "trace-data.tar.gz", docs.archive(rng, p))
    (raw / "cluster_job_log").write_bytes(docs.job_log(rng, p))
    if rng.random() < 0.6:
        write_file(raw, "cluster_machine_list", docs.machine_list(rng, p / 2))
    for name in _UTILISATION:
        if rng.random() < 0.6:
            write_file(raw, name, docs.utilisation(rng, p / 2, name))
    return raw


def _slurm_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    write_file(raw, "a.txt", docs.sacct(rng, p))
    for name, make in (("b.json", docs.sacct_json), ("c", docs.servers), ("d.txt", docs.sacct)):
        if rng.random() < 0.4:
            write_file(raw, name, make(rng, p))
    return raw


def _table_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    plain = docs.template("map.toml").encode()
    write_file(raw, "map.toml", docs.table_map(rng, p) if rng.random() < 0.2 else plain)
    write_file(raw, "jobs.csv", docs.table(rng, p))
    return raw


_PAI = {
    "job_table": "j1,i1,u1,Terminated,100.0,500.0",
    "task_table": "j1,worker,2.0,Failed,100.0,500.0,600.0,29.0,50.0,V100",
    "sensor_table": "j1,worker,w1,i1,m1,/dev/nvidia0,50.0,20.0,1.0,2.0,0.5,1.0,1.0,1.0,1.0,1.0",
    "machine_spec": "m1,V100,96,512,8",
}


def _pai_raw(rng: Random, p: float, raw: Path) -> Path:
    raw.mkdir()
    for name, row in _PAI.items():
        lines = [field_line(rng, row.split(","), ",", p) for _ in range(rng.randint(1, 6))]
        write_file(raw, f"pai_{name}.csv", corrupt(rng, encode("\n".join((*lines, ""))), p / 4))
    return raw


def _ingest_case(source: str, raw_of: Callable[[Random, float, Path], Path]) -> Case:
    def read(rng: Random, p: float, folder: Path) -> Outcome:
        raw, out = raw_of(rng, p, folder / "raw"), folder / "out"
        inputs: dict[str, Path | str | None] = {}
        if rng.random() < 0.3:
            (folder / "failures").mkdir()
            inputs["failures"] = folder / "failures"
            names = ("application_1", "application_0", "101", "j1")
            write_file(folder / "failures", "r.jsonl", docs.failures(rng, p, names))
            write_file(folder / "failures", "m1.dmesg", docs.kernel_log(rng, p))
            write_file(folder / "failures", "application_1.out", docs.output(rng, p))
        if rng.random() < 0.3:
            (folder / "telemetry").mkdir()
            inputs["telemetry"] = folder / "telemetry"
            for i in range(2):
                write_file(folder / "telemetry", f"m{i}.txt", rng.choice(_TELEMETRY)(rng, p))
        if rng.random() < 0.2:
            data, name = docs.quotas(rng, p / 4)
            inputs["quotas"] = write_file(folder, name, data)
        append = rng.random() < 0.2
        try:
            with unchanged_outside(folder, out):
                outcome = check_accounts(out, ingest(source, raw, out, **inputs).manifest)  # type: ignore[arg-type]
            if append and source != "table":
                more = raw_of(rng, p, folder / "more")
                outcome = check_accounts(out, ingest(source, more, out, append=True).manifest)
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
    "source detection": Reader(_detect_case, 100),
    "manifests": Reader(_manifest_case, 80),
    "query": Reader(_query_case, 100),
    "ingest philly": Reader(_ingest_case("philly", _philly_raw), 1),
    "ingest slurm": Reader(_ingest_case("slurm", _slurm_raw), 1),
    "ingest table": Reader(_ingest_case("table", _table_raw), 1),
    "ingest pai": Reader(_ingest_case("pai", _pai_raw), 1),
}
"""Every reader by name."""
