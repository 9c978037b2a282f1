"""Check opening, querying and derived relations of a trace."""

import json
import shutil
import sys
from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from types import FrameType

import polars as pl
import pytest

import philly_analysis
from philly_analysis.errors import (
    MissingTableError,
    PhillyError,
    QueryError,
    TraceError,
    UnknownNameError,
)
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.relations import (
    relations,
    required_relations,
    tables_read,
    with_dependencies,
)
from philly_analysis.trace.schema import TABLES, VERSION
from philly_analysis.trace.trace import Trace
from philly_analysis.workload import Workload
from tests.support.small_traces import at, paper_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return paper_trace(tmp_path / "paper")


@pytest.mark.parametrize(
    ("text", "values", "rows"),
    [
        ("select job_id from jobs where gpus >= $n order by all", {"n": 2}, [("b",), ("c",)]),
        (
            "select job_id, attempt, first, wait_s from waits order by all",
            {},
            [("a", 1, True, 300), ("b", 1, True, 0), ("b", 2, False, 180), ("c", 1, True, 120)],
        ),
    ],
)
def test_queries_read_tables_and_relations_and_take_values_by_name(
    path: Path, text: str, values: dict[str, int], rows: list[tuple[object, ...]]
) -> None:
    with Trace(path) as trace:
        assert trace.sql(text, **values).fetchall() == rows


def test_a_trace_records_the_names_that_are_read(path: Path) -> None:
    with Trace(path) as trace:
        trace.answer("snapshot")
        with trace.record_reads() as outer:
            trace.sql("select * from Waits cross join machines")
            with trace.record_reads() as inner:
                trace.answer("job_runs")
                assert trace.has("free_capacity")
            trace.answer("waits")
    assert list(inner) == ["job_runs"]
    assert list(outer) == ["machines", "waits", "job_runs"]


def test_the_dependencies_of_a_relation_are_complete() -> None:
    names = [r.name for r in with_dependencies(["waits_by_day", "jobs", "retries"])]
    assert names[:2] == ["waits_by_day", "retries"]
    assert set(names) == {r.name for r in required_relations(["waits_by_day", "retries"])[0]}
    assert len(names) == len(set(names))
    for i, name in enumerate(names[2:], 2):
        assert any(name in relations()[before].reads for before in names[:i])


@pytest.mark.parametrize(
    ("policy", "b_run_s"), [("span", 13 * 60), ("sum", 10 * 60), ("last", 6 * 60)]
)
def test_run_time_follows_the_named_policy(path: Path, policy: str, b_run_s: float) -> None:
    with Trace(path, run_policy=policy) as trace:
        rows = trace.sql("select job_id, run_s, censored from job_runs order by all").fetchall()
    # c was seen for 11 minutes: from its start to the last moment the log knows of
    assert rows == [("a", 600.0, False), ("b", b_run_s, False), ("c", 660.0, True)]


def test_an_unknown_policy_is_refused(path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'span'"):
        Trace(path, run_policy="spam")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        *[
            (text, QueryError, ".")
            for text in (
                "drop table jobs",
                "copy jobs to 'x.csv'",
                "select 1; select 2",
                "selec 1",
                "attach 'x.db'",
                "select nope from jobs",
            )
        ],
        ("select * from gpu_samples", MissingTableError, "needs the table gpu_samples"),
        ("select * from job", UnknownNameError, "Did you mean 'jobs'"),
    ],
)
def test_only_one_select_of_tables_that_exist_is_accepted(
    path: Path, text: str, error: type[PhillyError], message: str
) -> None:
    with Trace(path) as trace:
        assert not trace.has("gpu_samples")
        with pytest.raises(error, match=message):
            trace.sql(text)


def test_files_outside_the_trace_cannot_be_read(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with Trace(path) as trace, pytest.raises(QueryError, match=r"[Pp]ermission"):
        trace.sql(f"select * from read_csv('{tmp_path / 'secret.csv'}')").fetchall()


def test_a_folder_with_wildcards_in_its_name_opens(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "odd [1]*? name")
    with Trace(path) as trace:
        assert trace.sql("select count(*) from jobs").fetchall() == [(3,)]


@pytest.mark.parametrize(
    ("manifest", "message"), [(None, r"no manifest\.json"), ('{"name": ', "cannot be read")]
)
def test_a_folder_without_a_valid_manifest_is_no_trace(
    manifest: str | None, message: str, tmp_path: Path
) -> None:
    if manifest:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(TraceError, match=message):
        Trace(tmp_path)


def test_tables_in_ctes_and_subqueries_are_found() -> None:
    text = """
        with a as (select * from jobs), b as (select * from a)
        select *, (select max(wait_s) from waits) from b
        where exists (from placements p where p.job_id = b.job_id)
    """
    assert tables_read(text) == {"jobs", "waits", "placements"}


def test_relations_come_after_what_they_read() -> None:
    seen: set[str] = set()
    order, _ = required_relations(relations())
    for relation in order:
        assert relation.reads & set(relations()) <= seen
        seen.add(relation.name)
    assert seen == set(relations())


def test_a_materialized_relation_is_computed_once_per_version_of_the_trace(path: Path) -> None:
    util_pct = [[50.0, 0.0, None, None]]
    gpu_minutes = pl.DataFrame({"sampled_at": [at(6)], "machine_id": ["m0"], "util_pct": util_pct})
    stored = next(r.name for r in relations().values() if r.materialized)
    path = paper_trace(path.parent / "sampled", gpu_samples=gpu_minutes)
    with Trace(path) as trace:
        first = trace.answer(stored).fetchall()
    [file] = (path / "derived").glob(f"{stored}-*.parquet")
    written = file.stat().st_mtime_ns
    with Trace(path) as trace:
        assert trace.answer(stored).fetchall() == first
    assert file.stat().st_mtime_ns == written

    manifest = path / "manifest.json"
    versions = [file]
    for name in ("renamed", "renamed again"):
        manifest.write_text(replace(Manifest.read(path), name=name).to_json())
        with Trace(path) as trace:
            trace.answer(stored)
        # readers of the version before may still use its files
        [again] = set((path / "derived").glob(f"{stored}-*.parquet")) - {versions[-1]}
        versions.append(again)
    assert len(set(versions)) == 3


NULLABLE = [(t.name, c.name) for t in TABLES.values() for c in t.columns if c.nullable]
OF_WORKLOADS = ("jobs", "machines", "attempts", "placements")


@pytest.fixture(scope="module")
def every_table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that has every table."""
    failures = {"job_id": ["a"], "attempt": [1], "reason": ["No signature"]}
    minutes = {"sampled_at": [at(6)], "machine_id": ["m1"]}
    interval = {"job_id": ["a"], "attempt": [1], "started_at": [at(6)], "ended_at": [at(7)]}
    causes = ("start_up_s", "fair_share_s", "fragmentation_s", "other_s")
    return paper_trace(
        tmp_path_factory.mktemp("every") / "t",
        failures=pl.DataFrame(failures),
        gpu_samples=pl.DataFrame(minutes | {"util_pct": [[50.0]]}),
        host_samples=pl.DataFrame(minutes),
        devices=pl.DataFrame({"machine_id": ["m1"], "gpu": [0], "util_metric": ["utilisation"]}),
        summaries=pl.DataFrame({"job_id": ["a"], "attempt": [1]}),
        virtual_clusters=pl.DataFrame({"vc": ["x"], "gpus": [4]}),
        cohorts=pl.DataFrame({"vc": ["x"], "cohort": ["c"]}),
        speeds=pl.DataFrame(interval | {"speed": [1.0]}),
        holds=pl.DataFrame(interval | {"machine_id": ["m1"], "gpu": [0]}),
        queue_states=pl.DataFrame(
            {"job_id": ["a"], "since_at": [at(6)], "until_at": [at(7)], "reason": ["Priority"]}
        ),
        limits=pl.DataFrame(
            {"name": ["l"], "scope": ["qos"], "resource": ["gpus"], "amount": [8.0]}
        ),
        host_allocations=pl.DataFrame({"job_id": ["a"], "attempt": [1], "machine_id": ["m1"]}),
        server_closures=pl.DataFrame(
            {"machine_id": ["m1"], "since_at": [at(6)], "state": ["down"]}
        ),
        known_causes=pl.DataFrame({"job_id": ["a"], "attempt": [1]} | dict.fromkeys(causes, 0.0)),
    )


def older(path: Path) -> None:
    """Make a trace one that was written before digests of its files were kept."""
    manifest = replace(Manifest.read(path), digests={})
    (path / "manifest.json").write_text(manifest.to_json())


def without(every_table: Path, table: str, column: str, path: Path) -> Path:
    """Copy a trace, but for one column."""
    shutil.copytree(every_table, path)
    [file] = [*path.glob(f"{table}.parquet"), *path.glob(f"{table}/*.parquet")]
    pl.read_parquet(file).drop(column).write_parquet(file)
    older(path)
    return path


@pytest.mark.parametrize(
    ("table", "column"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if i % 12 else ())
        for i, pair in enumerate(NULLABLE)
    ],
)
def test_a_trace_written_before_a_column_existed_opens_with_it_null(
    table: str, column: str, every_table: Path, tmp_path: Path
) -> None:
    with Trace(without(every_table, table, column, tmp_path / "t")) as trace:
        assert trace.answer(table).columns == list(TABLES[table].column_names)
        assert trace.answer(table).pl()[column].is_null().all()


@pytest.mark.slow
@pytest.mark.parametrize(("table", "column"), [x for x in NULLABLE if x[0] in OF_WORKLOADS])
def test_the_workload_of_a_trace_of_an_older_schema_is_read(
    table: str, column: str, every_table: Path, tmp_path: Path
) -> None:
    path = without(every_table, table, column, tmp_path / "t")
    specs = list(Workload.from_trace(path).specs())
    # without starts nothing is known to have run, without gangs nothing can be run again
    lost = (table, column) in (("attempts", "started_at"), ("jobs", "gpus"))
    assert len(specs) == (0 if lost else 3)


@pytest.mark.parametrize("file", ["../other/jobs.parquet", "/other/jobs.parquet"])
def test_a_manifest_that_names_files_elsewhere_is_refused(file: str, tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    shutil.copytree(path, tmp_path / "other")
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"]["jobs"] = [file]
    del manifest["sha256"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(TraceError, match="is not in the trace"):
        Trace(path)


def test_a_missing_required_column_is_named(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    pl.read_parquet(path / "jobs.parquet").drop("job_id").write_parquet(path / "jobs.parquet")
    older(path)
    with pytest.raises(TraceError, match=r"jobs lacks the column job_id.*[Ii]ngest"):
        Trace(path)


def test_a_trace_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest.pop("sha256") and manifest["schema"] == VERSION
    (path / "manifest.json").write_text(json.dumps({**manifest, "schema": VERSION + 1}))
    with pytest.raises(TraceError, match="newer philly-analysis"):
        Trace(path)
    del manifest["schema"]  # as the first traces were written
    (path / "manifest.json").write_text(json.dumps(manifest))
    with Trace(path) as trace:
        assert trace.manifest.schema == 1


def test_a_path_passes_few_modules_from_fit_to_the_open_trace(path: Path) -> None:
    root = str(Path(philly_analysis.__file__).parent)
    modules: list[str] = []

    class OpenedError(Exception):
        pass

    def record(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(root):
            return
        if event == "return" and code is Trace.__init__.__code__:
            raise OpenedError
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = (frame.f_locals.get(name) for name in names)
        if event == "call" and any(
            str(v).startswith(str(path)) for v in values if isinstance(v, str | Path)
        ):
            modules.append(code.co_filename.removeprefix(root))

    sys.setprofile(record)
    try:
        with pytest.raises(OpenedError):
            philly_analysis.fit(path)
    finally:
        sys.setprofile(None)
    stops = [module for module, _ in groupby(modules)]
    assert stops[0] == "/api/workloads.py" and len(stops) <= 15
    assert max(Counter(stops).values()) <= 2


def test_tables_and_relations_are_attributes_that_complete(tmp_path: Path) -> None:
    with Trace(paper_trace(tmp_path / "t")) as trace:
        assert trace.jobs.aggregate("count(*)").fetchall() == [(3,)]
        assert trace.waits.df().equals(trace.answer("waits").df())
        assert {"jobs", "waits", "sql", "tables"} <= set(dir(trace))
        with pytest.raises(AttributeError, match="Did you mean 'waits'"):
            trace.waitz  # noqa: B018
        with pytest.raises(MissingTableError, match="gpu_samples"):
            trace.gpu_use  # noqa: B018


def test_a_table_spans_from_its_earliest_time_to_its_latest(path: Path) -> None:
    with Trace(path) as trace:
        spans = trace.describe().set_index("table")[["start", "end"]]
        times = {
            name: [
                time
                for column in TABLES[name].columns
                if column.type.startswith("timestamp")
                for (time,) in trace.sql(f"select {column.name} from {name}").fetchall()
                if time is not None
            ]
            for name in ("jobs", "attempts")
        }
    for name, some in times.items():
        assert tuple(spans.loc[name]) == (min(some), max(some)), name


def test_a_trace_is_closed_twice_and_after_its_scratch_was_removed(tmp_path: Path) -> None:
    trace = Trace(paper_trace(tmp_path / "t"))
    scratch = trace._scratch
    assert scratch.is_dir()
    shutil.rmtree(scratch)
    trace.close()
    trace.close()
    assert not scratch.exists()
