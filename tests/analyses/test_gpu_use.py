"""Compare the join of samples and attempts with a plain-Python reference."""

import json
import multiprocessing
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from math import ceil, fsum
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

from philly_analysis import analyze
from philly_analysis.report.computing import read_samples
from philly_analysis.report.findings import PHILLY_ONLY, SAMPLE_RELATIONS, lacking, relevant
from philly_analysis.trace import histograms, materialized
from philly_analysis.trace.relations import MACROS, relations
from philly_analysis.trace.trace import Trace
from tests.analyses.clusters import frame, trace_of, write_tables
from tests.analyses.samples import (
    Tables,
    by_attempt,
    gpu_frame,
    mem_pct,
    minutes_of,
    sampled_cluster,
)
from tests.support.small_traces import at


@pytest.fixture(scope="module", params=[3, pytest.param(4, marks=pytest.mark.slow)])
def cluster(request: pytest.FixtureRequest) -> Tables:
    return sampled_cluster(request.param)


@pytest.fixture(scope="module")
def trace(cluster: Tables, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trace]:
    with Trace(write_tables(tmp_path_factory.mktemp("use") / "t", cluster)) as opened:
        yield opened


def walked(tables: Tables) -> dict[tuple[str, int, str, int], list[float | None]]:
    """Readings by attempt and GPU, one list entry per sampled minute; None: offline."""
    samples = {(r[0], r[1]): r[2] for r in tables["gpu_samples"].iter_rows()}
    found: dict[tuple[str, int, str, int], list[float | None]] = {}
    for (job, attempt), a in by_attempt(tables).items():
        for machine, gpu in a["held"]:
            readings = found[job, attempt, machine, gpu] = []
            for minute in minutes_of(a):
                util = samples.get((minute, machine), [])
                if gpu < len(util):
                    readings.append(util[gpu])
    return found


def overlaps(tables: Tables, key: Any) -> dict[Any, bool]:
    """Whether another attempt held the same thing for some time, every pair compared."""
    holders = defaultdict(set)
    attempts = by_attempt(tables)
    for name, a in attempts.items():
        for machine, gpu in a["held"]:
            holders[key(machine, gpu)].add(name)
    found = {}
    for thing, names in holders.items():
        for n in names:
            a = attempts[n]
            found[n, thing] = any(
                a["started_at"] < b["ended_at"]
                and b["started_at"] < a["ended_at"]
                and a["started_at"] < a["ended_at"]
                and b["started_at"] < b["ended_at"]
                for b in (attempts[m] for m in names if m != n)
            )
    return found


def test_every_gpu_has_the_minutes_that_a_walk_finds(trace: Trace, cluster: Tables) -> None:
    rows = trace.sql(
        """
        select job_id, attempt, machine_id, gpu, expected_min, minutes, offline_min, idle_min,
          sum_pct, mean_pct, coverage
        from gpu_use
        """
    ).fetchall()
    expected, attempts = walked(cluster), by_attempt(cluster)
    assert {r[:4] for r in rows} == set(expected)
    assert sum(r[6] for r in rows) > 0 and sum(r[7] for r in rows) > 0
    for *key, due, minutes, offline, idle, total, mean, coverage in rows:
        readings = expected[tuple(key)]
        known = [u for u in readings if u is not None]
        assert due == len(minutes_of(attempts[key[0], key[1]]))
        assert (minutes, offline) == (len(known), len(readings) - len(known))
        assert idle == sum(u == 0 for u in known)
        assert total == pytest.approx(fsum(known), rel=1e-9, abs=1e-9)
        assert mean == (pytest.approx(fsum(known) / len(known), rel=1e-9) if known else None)
        assert coverage == (pytest.approx(len(known) / due) if due else None)


def test_every_bin_has_the_minutes_that_a_walk_finds(trace: Trace, cluster: Tables) -> None:
    rows = trace.sql(
        """
        select job_id, attempt, machine_id, gpu, bin, sum(minutes)
        from gpu_use_bins inner join placed_gpus using (placement)
        group by all
        """
    ).fetchall()
    expected = {
        (*key, bin_): n
        for key, readings in walked(cluster).items()
        for bin_, n in Counter(None if u is None else ceil(u) for u in readings).items()
    }
    assert {r[:5]: r[5] for r in rows} == expected


def test_attribution_is_what_comparing_all_pairs_says(trace: Trace, cluster: Tables) -> None:
    gpus = overlaps(cluster, lambda machine, gpu: (machine, gpu))
    rows = trace.sql(
        "select job_id, attempt, machine_id, gpu, attribution from placed_gpus"
    ).fetchall()
    assert {((j, a), (m, g)): w == "gpu_shared" for j, a, m, g, w in rows} == gpus
    assert any(gpus.values()) and not all(gpus.values())
    servers = overlaps(cluster, lambda machine, gpu: machine)
    rows = trace.sql(
        """
        select job_id, attempt, machine_id, attribution from placed_servers
        where attribution is not null
        """
    ).fetchall()
    assert {((j, a), m): w == "node_shared" for j, a, m, w in rows} == servers


def test_attempts_pool_the_gpus_that_nobody_else_held(trace: Trace, cluster: Tables) -> None:
    shared = overlaps(cluster, lambda machine, gpu: (machine, gpu))
    pooled: dict[tuple[str, int], list[float]] = {name: [] for name in by_attempt(cluster)}
    for (job, attempt, machine, gpu), readings in walked(cluster).items():
        if not shared[(job, attempt), (machine, gpu)]:
            pooled[job, attempt] += [u for u in readings if u is not None]
    rows = trace.sql("select job_id, attempt, minutes, mean_pct from attempt_use").fetchall()
    assert {r[:2] for r in rows} == set(pooled)
    for job, attempt, minutes, mean in rows:
        known = pooled[job, attempt]
        assert minutes == len(known)
        assert mean == (pytest.approx(fsum(known) / len(known), rel=1e-9) if known else None)


def test_gaps_are_counted(trace: Trace, cluster: Tables) -> None:
    gaps = {
        (what, reason.split(",")[0].split(":")[0]): n
        for what, reason, n in trace.answer("gpu_use_gaps").fetchall()
    }
    placed = set(cluster["placements"]["machine_id"])
    assert "m4" in placed
    assert gaps["server", "sampled"] == 1
    assert gaps["server", "held by attempts"] == 1
    timed = set(by_attempt(cluster))
    untimed = set(cluster["placements"].select("job_id", "attempt").iter_rows()) - timed
    assert gaps["attempt", "its start or end is not known"] == len(untimed) > 0


READINGS = {
    "gpu_samples": "util_pct",
    "host_samples": "[cpu_pct, 100 * mem_used_gb / mem_gb]",
}
JOINED = """
with r as (
  select
    machine_id,
    epoch_us(sampled_at) as from_us,
    epoch_us(sampled_at) + (coalesce(seconds, 60) * 1e6)::bigint as until_us,
    {values} as "values"
  from {samples}
)

select
  s.* exclude (machine_id, place, from_at, until_at),
  date_trunc('week', make_timestamp(r.from_us))::timestamp as week,
  ceil(r.values[s.place])::tinyint as bin,
  sum(
    least(r.until_us, epoch_us(s.until_at)) - greatest(r.from_us, epoch_us(s.from_at))
  ) / 6e7 as minutes,
  sum(
    (least(r.until_us, epoch_us(s.until_at)) - greatest(r.from_us, epoch_us(s.from_at))) / 6e7
    * r.values[s.place]
  ) as sum_pct
from ({intervals}) as s
inner join r
  on
    s.machine_id = r.machine_id
    and s.place <= len(r.values)
    and r.from_us < epoch_us(s.until_at)
    and r.until_us > epoch_us(s.from_at)
    and s.from_at < s.until_at
group by all
"""
LISTED = """
select
  s.* exclude (machine_id, place, from_at, until_at),
  date_trunc('week', r.sampled_at)::timestamp as week,
  r.sampled_at as since,
  coalesce(r.seconds, 60) / 60 as minutes,
  ({values})[s.place] as pct
from ({intervals}) as s
inner join {samples} as r
  on
    s.machine_id = r.machine_id
    and r.sampled_at >= s.from_at
    and r.sampled_at < s.until_at
where pct is not null
"""


@pytest.mark.parametrize("slice_", [97, pytest.param(materialized._SLICE, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name",
    [
        r.name
        if r.name in ("gpu_use_bins", "host_use_bins")
        else pytest.param(r.name, marks=pytest.mark.slow)
        for r in relations().values()
        if r.samples
    ],
)
def test_counts_are_those_of_a_join(
    name: str, slice_: int, cluster: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(materialized, "_SLICE", slice_)
    monkeypatch.setattr(materialized, "_MAX_COUNTS", slice_)
    for size in ("_CHUNK", "_MAX_SORTED"):
        monkeypatch.setattr(histograms, size, slice_)
    relation = relations()[name]
    write_tables(tmp_path / "t", cluster)
    with Trace(tmp_path / "t") as trace:
        counted = trace.answer(name).pl()
        joined = trace.sql(
            (LISTED if relation.listed else JOINED).format(
                intervals=relation.sql,
                samples=relation.samples,
                values=READINGS[relation.samples or ""],
            )
        ).pl()
    keys = [c for c in joined.columns if c not in ("minutes", "sum_pct", "pct")]
    one, other = (f.select(joined.columns).sort(keys, nulls_last=True) for f in (counted, joined))
    assert one["week"].n_unique() >= 1 and one.height == other.height > 0
    for column in one.columns:
        if column in keys:
            assert one[column].equals(other[column], null_equal=True)
        else:
            a, b = (f[column].fill_null(-1).to_numpy() for f in (one, other))
            assert np.allclose(a, b, rtol=1e-12)


@pytest.mark.slow
def test_a_page_reads_the_samples_once(
    cluster: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    count = materialized.Materializer._count

    def noted(
        self: materialized.Materializer, table: str, partitions: Sequence[materialized.Partition]
    ) -> None:
        read.append(table)
        count(self, table, partitions)

    monkeypatch.setattr(materialized.Materializer, "_count", noted)
    write_tables(tmp_path / "t", cluster)
    with Trace(tmp_path / "t") as trace:
        asked = [name for name in relevant(trace) if not lacking(trace, name)]
        assert set(asked) >= set(SAMPLE_RELATIONS.values()) - PHILLY_ONLY
        read_samples(trace, asked)
        assert sorted(read) == ["gpu_samples", "host_samples"]
        analyze(trace, *asked)
        assert len(read) == 2


def test_counts_are_the_same_in_other_processes(cluster: Tables, tmp_path: Path) -> None:
    write_tables(tmp_path / "t", cluster)
    shutil.copytree(tmp_path / "t", tmp_path / "u")
    with (
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes,
        Trace(tmp_path / "t") as here,
        Trace(tmp_path / "u", executor=processes) as there,
    ):
        query = "from gpu_use_bins order by all"
        assert here.sql(query).fetchall() == there.sql(query).fetchall() != []


def test_slices_cut_at_weeks(tmp_path: Path) -> None:
    # 2017-10-03 is a Tuesday: an attempt from Sunday 23:50 to Monday 00:10 has two weeks
    first = 5 * 24 * 60 + 23 * 60 + 50
    path = trace_of(
        tmp_path / "t",
        [("j", "v", "u", 1, 0, "Pass")],
        [("j", 1, first, first + 20)],
        machines=frame("machines", ("machine_id", "gpus"), [("m", 1)]),
        placements=frame(
            "placements", ("job_id", "attempt", "machine_id", "gpu"), [("j", 1, "m", 0)]
        ),
        gpu_samples=gpu_frame([(at(first + i), "m", [50.0]) for i in range(-5, 25)]),
    )
    with Trace(path) as trace:
        rows = trace.sql(
            "select week::date::varchar, bin, minutes from gpu_use_bins order by all"
        ).fetchall()
        assert rows == [("2017-10-02", 50, 10), ("2017-10-09", 50, 10)]
        # the table is whole again
        assert trace.sql("select count(*) from gpu_samples").fetchall() == [(30,)]
    assert len(list((path / "derived").glob("gpu_use_bins-*.parquet/*.parquet"))) == 2


def test_idle_and_offline_differ(tmp_path: Path) -> None:
    utils: tuple[list[float | None], ...] = ([0.0, None, 7.5], [0.0, None, 0.0], [None])
    rows = [(at(t), "m", util) for t, util in enumerate(utils)]
    path = trace_of(
        tmp_path / "t",
        [("j", "v", "u", 3, 0, "Pass")],
        [("j", 1, 0, 3)],
        machines=frame("machines", ("machine_id", "gpus"), [("m", 3)]),
        placements=frame(
            "placements",
            ("job_id", "attempt", "machine_id", "gpu"),
            [("j", 1, "m", g) for g in range(3)],
        ),
        gpu_samples=gpu_frame(rows),
    )
    with Trace(path) as trace:
        found = trace.sql(
            "select gpu, minutes, offline_min, idle_min, mean_pct from gpu_use order by gpu"
        ).fetchall()
    # GPU 2 was not looked at in the third minute: neither a reading nor offline
    assert found == [(0, 2, 1, 2, 0.0), (1, 0, 2, 0, None), (2, 2, 0, 1, 3.75)]


def test_a_gpu_handed_over_belongs_to_each_holder_in_turn(tmp_path: Path) -> None:
    path = trace_of(
        tmp_path / "t",
        [("a", "v", "u", 1, 0, "Pass"), ("b", "v", "u", 1, 0, "Pass"), ("c", "v", "u", 1, 0, None)],
        [("a", 1, 0, 10), ("b", 1, 10, 20), ("c", 1, 19, 30)],
        machines=frame("machines", ("machine_id", "gpus"), [("m", 1)]),
        placements=frame(
            "placements",
            ("job_id", "attempt", "machine_id", "gpu"),
            [(j, 1, "m", 0) for j in "abc"],
        ),
        gpu_samples=gpu_frame([(at(i), "m", [float(i)]) for i in range(30)]),
    )
    with Trace(path) as trace:
        found = trace.sql(
            "select job_id, attribution, sum_pct from gpu_use order by job_id"
        ).fetchall()
        minutes = trace.sql("select job_id, minutes from attempt_use order by job_id").fetchall()
    assert found == [
        ("a", "gpu_exact", sum(range(10))),
        ("b", "gpu_shared", sum(range(10, 20))),
        ("c", "gpu_shared", sum(range(19, 30))),
    ]
    assert minutes == [("a", 10), ("b", 0), ("c", 0)]


PORTABLE = {
    "abs",
    "array_extract",
    "avg",
    "ceil",
    "count",
    "count_star",
    "date_diff",
    "date_trunc",
    "epoch_us",
    "greatest",
    "least",
    "len",
    "list_value",
    "max",
    "md5",
    "min",
    "not",
    "or",
    "range",
    "stddev_samp",
    "sum",
    "to_days",
    "to_hours",
    "to_microseconds",
    "to_minutes",
    "trunc",
    "unnest",
    "+",
    "-",
    "*",
    "/",
    "||",
    "to_seconds",  # that is, times an interval
}


@pytest.mark.parametrize(
    "name",
    [
        r.name
        for r in relations().values()
        if r.reads & {"gpu_samples", "host_samples"} and r.name != "gpu_use_gaps"
    ],
)
def test_relations_over_samples_keep_to_what_other_engines_have(name: str) -> None:
    macros = {
        name: text if table else f"select {text}"
        for name, table, text in re.findall(
            r"macro (\w+)\([^)]*\) as( table)?\n(.*?);\n", MACROS, re.DOTALL
        )
    }
    with duckdb.connect() as con:

        def called(sql: str) -> set[str]:
            [(text,)] = con.execute("select json_serialize_sql($sql)", {"sql": sql}).fetchall()
            return set(functions(json.loads(text)))

        names = called(relations()[name].sql)
        for macro in names & macros.keys():
            names |= called(re.sub(r"query_table\((\w+)\)", r"\1", macros[macro])) - {macro}
    assert names - macros.keys() <= PORTABLE


def functions(node: Any) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from functions(child)
    elif isinstance(node, dict):
        if node.get("class") == "FUNCTION":
            yield node["function_name"]
        for child in node.values():
            yield from functions(child)


def test_every_server_has_the_cpu_minutes_that_a_walk_finds(trace: Trace, cluster: Tables) -> None:
    samples = {
        (r["sampled_at"], r["machine_id"]): (r["cpu_pct"], mem_pct(r))
        for r in cluster["host_samples"].iter_rows(named=True)
    }
    expected = {}
    for (job, attempt), a in by_attempt(cluster).items():
        for machine in {m for m, _ in a["held"]}:
            seen = [samples[t, machine] for t in minutes_of(a) if (t, machine) in samples]
            if seen:
                told = [[v for v in values if v is not None] for values in zip(*seen, strict=True)]
                expected[job, attempt, machine] = (
                    len(seen),
                    *(len(values) for values in told),
                    *(fsum(values) for values in told),
                )
    rows = trace.sql(
        """
        select job_id, attempt, machine_id,
          sum(minutes) filter (where resource = 'cpu'),
          coalesce(sum(minutes) filter (where resource = 'cpu' and bin is not null), 0),
          coalesce(sum(minutes) filter (where resource = 'mem' and bin is not null), 0),
          coalesce(sum(sum_pct) filter (where resource = 'cpu'), 0),
          coalesce(sum(sum_pct) filter (where resource = 'mem'), 0)
        from host_use_bins inner join placed_servers using (holding)
        group by all
        """
    ).fetchall()
    assert {r[:3] for r in rows} == set(expected)
    for *key, minutes, cpu_minutes, mem_minutes, cpu, mem in rows:
        due = expected[tuple(key)]
        assert (minutes, cpu_minutes, mem_minutes) == due[:3]
        assert (cpu, mem) == pytest.approx(due[3:], rel=1e-9)
