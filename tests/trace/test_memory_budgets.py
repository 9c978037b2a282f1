"""Check that relations and findings do not depend on the memory and the threads of the engine."""

import shutil
from pathlib import Path

import duckdb
import pytest

from philly_analysis import analyze
from philly_analysis.trace import connection
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.relations import relations
from philly_analysis.trace.trace import Trace
from philly_analysis.trace.writer import write_trace

# Lanes of 1, 3 and 4 GPUs on servers of 8 GPUs and 64 CPUs run jobs one after the other. Jobs ask
# for many numbers of CPUs and amounts of memory: a server may lack CPUs while GPUs are free. Users
# and accounts have limits that some jobs reach.
_DRAWN = """
create table drawn as select
    i,
    i % $lanes as lane,
    [1, 3, 4][(i % 3) + 1] as gpus,
    'node' || i % $lanes // 3 as machine_id,
    (1 + hash(i, 1) % 7200)::bigint as run_s,
    (hash(i, 2) % 3600)::bigint as wait_s,
    (hash(i, 3) % 300)::bigint as gap_s,
    (3 + 3 * (hash(i, 4) % 4))::double * gpus as cpus,
    (48 + 48 * (hash(i, 5) % 2))::double * gpus as mem_gb,
    'user' || hash(i, 6) % 10 as "user",
    'account' || hash(i, 7) % 2 as account
from range($jobs) as numbers (i);
create table placed as select
    *,
    i::varchar as job_id,
    1::integer as attempt,
    timestamp '2021-01-01'
    + to_seconds((sum(run_s + gap_s) over (partition by lane order by i) - run_s)::bigint)
        as started_at
from drawn;
"""
_TABLES = {
    "jobs": """
        select
            job_id, account as vc, "user", gpus, account, cpus, mem_gb,
            started_at - to_seconds(wait_s) as submitted_at,
            started_at - to_seconds(wait_s * 9 // 10) as eligible_at,
            if(hash(i, 8) % 4 = 0, 'Failed', 'Pass') as status
        from placed""",
    "attempts": """
        select job_id, attempt, started_at, started_at + to_seconds(run_s) as ended_at
        from placed""",
    "placements": "select job_id, attempt, machine_id, gpus from placed",
    "host_allocations": "select job_id, attempt, machine_id, cpus, mem_gb from placed",
    "machines": """
        select distinct machine_id, 8 as gpus, 64.0 as cpus, 512.0 as mem_gb from placed""",
    "limits": """
        select
            'user ' || "user" || ', GPUs' as name, 'user' as scope, null as account, "user",
            'gpus' as resource, $lanes / 3.0 as amount
        from placed group by "user"
        union all
        select
            'account ' || account || ', CPUs', 'account', account, null, 'cpus', $lanes * 7.0
        from placed group by account""",
}


def busy_trace(out: Path, jobs: int, lanes: int) -> Path:
    """Write a trace of jobs with many requests and limits."""
    values = {"jobs": str(jobs), "lanes": str(lanes)}
    with duckdb.connect() as con:
        for text in filter(str.strip, _filled(_DRAWN, values).split(";")):
            con.execute(text)
        tables = {name: con.sql(_filled(sql, values)).pl() for name, sql in _TABLES.items()}
    return write_trace(out, tables, Manifest(name="busy", source="test", synthetic=True))


def _filled(sql: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        sql = sql.replace(f"${name}", value)
    return sql


def digests(trace: Path, *, stored_only: bool) -> dict[str, object]:
    """Return the number and a digest of the rows of relations, and the table of each finding."""
    with Trace(trace) as opened:
        names = (n for n, r in relations().items() if r.materialized or not stored_only)
        of_relations = {name: _digest(opened, name) for name in names if opened.has(name)}
        of_findings = {
            name: (repr(result.table.to_dict("list")), repr(result.facts))
            for name, result in analyze(opened).items()
        }
    return of_relations | of_findings


def _digest(trace: Trace, name: str) -> object:
    relation = trace.answer(name)
    columns = ", ".join(f'"{column}"' for column in relation.columns)
    return relation.aggregate(f"count(*), sum(hash(row({columns}))::hugeint)").fetchall()


def unequal(one: dict[str, object], other: dict[str, object]) -> list[str]:
    """Return the names whose rows differ."""
    return [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("jobs", "lanes", "engines", "stored_only"),
    [
        # each request and class has thousands of moments at which an answer changes
        (20_000, 30, [(1, 6_000_000_000), (2, 100_000_000), (4, 300_000_000)], False),
        # files of more than one row group, which threads read and write in any order
        (130_000, 600, [(1, 6_000_000_000), (4, 300_000_000)], True),
    ],
)
def test_rows_are_equal_with_every_budget_and_number_of_threads(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    jobs: int,
    lanes: int,
    engines: list[tuple[int, int]],
    stored_only: bool,
) -> None:
    trace = busy_trace(tmp_path / "busy", jobs, lanes)
    rows = []
    for threads, budget in engines:
        monkeypatch.setattr(connection, "cores", lambda threads=threads: threads)
        monkeypatch.setattr(connection, "engine_bytes", lambda budget=budget: budget)
        shutil.rmtree(trace / "derived", ignore_errors=True)
        rows.append(digests(trace, stored_only=stored_only))
    first, *others = rows
    assert [unequal(first, other) for other in others] == [[] for _ in others]
