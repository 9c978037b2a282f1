"""Check the result cache: equal results, never stale, verified on reading."""

import functools
import hashlib
import shutil
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from philly_analysis import analyze, report
from philly_analysis.parallel import processes
from philly_analysis.report import trace_page
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import Comparison, Fact, Result, figures
from philly_analysis.trace import code_identity, result_cache
from philly_analysis.trace.manifest import MANIFEST, Manifest
from philly_analysis.trace.trace import Trace
from tests.support.small_traces import paper_trace

NAME = "waits_by_day"
ANALYSED = (NAME, "run_policy")
"""Fast analyses."""


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return paper_trace(tmp_path_factory.mktemp("paper") / "t")


@pytest.fixture
def path(paper: Path, tmp_path: Path) -> Path:
    return shutil.copytree(paper, tmp_path / "t")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of names that grows with each computation and drawing."""
    done: list[str] = []

    def recording(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(of)
        def recorded(*args: object, **kwargs: object) -> Any:
            done.append(name)
            return of(*args, **kwargs)

        return recorded

    analyses = [
        replace(ANALYSES[name], compute=recording(name, ANALYSES[name].compute))
        for name in ANALYSED
    ]
    for analysis in analyses:
        monkeypatch.setitem(ANALYSES, analysis.name, analysis)
    monkeypatch.setattr(figures, "svg", recording("svg", figures.svg))
    monkeypatch.setattr(trace_page, "CHAPTERS", {"Some": tuple(analyses)})
    monkeypatch.setattr(trace_page, "now", lambda: "now")
    return done


def cached_files(path: Path) -> list[Path]:
    return sorted(f for f in (path / "derived").glob("answers-*/*") if f.is_file())


def replace_content(file: Path, data: bytes) -> None:
    """Replace a cached file by one of other content, named by the digest of it."""
    file.unlink()
    stem = file.stem.rpartition("-")[0]
    digest = hashlib.sha256(data).hexdigest()[:16]
    file.with_name(f"{stem}-{digest}{file.suffix}").write_bytes(data)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.slow
def test_the_next_report_removes_stale_files_of_a_killed_one(
    path: Path, tmp_path: Path, computed: list[str]
) -> None:
    report(path, tmp_path / "out")
    kept = cached_files(path)
    for file in kept:
        file.with_name(f".{file.name}.lock-1-0").touch()
        file.with_name(f".{file.stem}-of-other-content.partial-1-1").touch()
        file.with_name(f".{file.stem}-of-other-content.lock-1-1").touch()
    report(path, tmp_path / "out")
    assert cached_files(path) == kept


def test_a_second_report_is_the_first_and_computes_nothing(
    path: Path, tmp_path: Path, computed: list[str]
) -> None:
    first = report(path, tmp_path / "first").path
    assert sorted(set(computed) - {"svg"}) == sorted(ANALYSED)
    computed.clear()
    second = report(path, tmp_path / "second").path
    results = analyze(path, ANALYSED, out=tmp_path / "tables")
    assert not computed
    assert everything(first.parent) == everything(second.parent)
    for name in results:
        table = (first.parent / "tables" / f"{name}.csv").read_bytes()
        assert (tmp_path / "tables" / f"{name}.csv").read_bytes() == table


@pytest.mark.slow
def test_a_report_is_written_again_only_if_it_or_its_trace_changed(
    path: Path, tmp_path: Path, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made_at = iter("abcdefgh")
    monkeypatch.setattr(trace_page, "now", lambda: f"At {next(made_at)}.")

    def reported(**options: Any) -> dict[str, bytes]:
        return everything(report(path, tmp_path / "out", **options).path.parent)

    def written_at(files: dict[str, bytes]) -> str:
        return files["report.html"].decode().partition("At ")[2][0]

    first = reported()
    assert reported() == first
    table = tmp_path / "out" / "t" / "tables" / f"{NAME}.csv"
    table.write_text("edited", "utf-8")
    assert (again := reported())[f"tables/{NAME}.csv"] == first[f"tables/{NAME}.csv"]
    (tmp_path / "out" / "t" / "figures" / f"{NAME}.svg").unlink()
    assert (drawn := reported()).keys() == first.keys()
    other = reported(run_policy="last")
    assert other["report.html"] != first["report.html"] != reported()["report.html"]
    manifest = Manifest.read(path)
    (path / MANIFEST).write_text(replace(manifest, notes=("WARNING: new",)).to_json(), "utf-8")
    assert b"WARNING: new" in (last := reported())["report.html"]
    assert "".join(map(written_at, (first, again, drawn, other, last))) == "abcdf"


def test_a_result_without_rows_is_cached(
    path: Path, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Result("run_policy", pd.DataFrame({"n": pd.Series([], dtype="int64")}))

    def compute(trace: Trace) -> Result:
        computed.append("empty")
        return empty

    monkeypatch.setitem(ANALYSES, "run_policy", replace(ANALYSES["run_policy"], compute=compute))
    first, second = (analyze(path, ["run_policy"])["run_policy"] for _ in range(2))
    assert computed == ["empty"]
    assert first.table.equals(second.table)


@pytest.mark.slow
@pytest.mark.parametrize("drawers", [ThreadPoolExecutor, processes])
def test_figures_are_equal_whichever_process_draws(
    path: Path, tmp_path: Path, computed: list[str], drawers: Callable[[int], Executor]
) -> None:
    with drawers(1) as executor:
        first = report(path, tmp_path / "first", executor=executor).path
    if drawers is ThreadPoolExecutor:
        assert computed.count("svg") == len(ANALYSED)
    shutil.rmtree(path / "derived")
    second = report(path, tmp_path / "second").path
    assert everything(first.parent) == everything(second.parent)


def test_a_cached_result_has_the_names_that_it_read(path: Path, computed: list[str]) -> None:
    results = []
    for _ in range(2):
        with Trace(path) as trace, trace.record_reads() as asked:
            results.append((analyze(trace, [NAME])[NAME].reads, list(asked)))
    assert computed == [NAME]
    assert results[0] == results[1]
    assert set(results[0][0]) <= set(results[0][1]) != set()


def _other_notes(path: Path, _: pytest.MonkeyPatch) -> None:
    manifest = Manifest.read(path)
    (path / MANIFEST).write_text(replace(manifest, notes=("seen again",)).to_json())


def _other_rows(path: Path, _: pytest.MonkeyPatch) -> None:
    jobs = pd.read_parquet(path / "jobs.parquet")
    jobs.to_parquet(path / "jobs.parquet", compression=None)


def _other_code(_: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(result_cache, "code_version", lambda: "select 2")


@pytest.mark.parametrize("change", [_other_notes, _other_rows, _other_code])
def test_a_change_of_the_trace_or_code_replaces_cached_results(
    path: Path,
    computed: list[str],
    change: Callable[[Path, pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manifest = Manifest.read(path)  # as a trace is that is older than digests
    (path / MANIFEST).write_text(replace(manifest, digests={}).to_json())
    analyze(path, [NAME])
    before = cached_files(path)
    change(path, monkeypatch)
    analyze(path, [NAME])
    assert computed == [NAME] * 2
    assert len(cached_files(path)) == len(before)
    assert not set(before) & set(cached_files(path))


def test_results_are_cached_by_run_policy(path: Path, computed: list[str]) -> None:
    for policy in ("span", "sum", "last") * 2:
        analyze(path, [NAME], run_policy=policy)
    assert computed == [NAME] * 3


class Installed:
    """An installed package, as importlib describes it."""

    version = "0.1.0"

    def __init__(self, record: str) -> None:
        self.record = record

    def read_text(self, name: str) -> str:
        assert name == "RECORD"
        return self.record


def key(monkeypatch: pytest.MonkeyPatch, record: str, newest: int = 5, started: int = 9) -> str:
    """Return the cache's key of the code for a package installed with these files."""
    monkeypatch.setattr(code_identity, "distribution", lambda _: Installed(record))
    monkeypatch.setattr(code_identity, "list_files", lambda _: [("one", 1, 7), ("two", newest, 7)])
    monkeypatch.setattr(code_identity, "_STARTED_NS", started)
    return code_identity.code_version.__wrapped__()


def test_code_is_known_by_the_installers_digests_or_the_newest_modification(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = partial(key, monkeypatch)
    package = (
        "philly_analysis/trace/code_identity.py,sha256=aa,10\nphilly_analysis/x.sql,sha256={},9\n"
    )
    scripts = "../../../bin/philly,sha256={},200\n"
    first = of(package.format("bb") + scripts.format("cc"))
    assert first == of(package.format("bb") + scripts.format("dd"), newest=6), "on other machines"
    assert first != of(package.format("ee") + scripts.format("cc"))
    checkout = "_editable.pth,sha256=aa,9\nphilly_analysis/sample/quotas.csv,sha256=bb,9\n"
    assert of(checkout) == of(checkout) not in (first, of(checkout, newest=6))
    assert not of(checkout, newest=10), "code was edited since it may have been loaded"


def test_without_a_key_of_the_code_nothing_is_cached(
    path: Path, computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_cache, "code_version", lambda: "")
    for _ in range(2):
        analyze(path, [NAME])
    assert computed == [NAME] * 2
    assert not cached_files(path)


@pytest.mark.parametrize(
    ("damage", "renamed"),
    [pytest.param(lambda _: b"", False, marks=pytest.mark.slow), (lambda b: b[:-9], True)],
)
def test_damaged_results_are_computed_again(
    path: Path,
    tmp_path: Path,
    computed: list[str],
    damage: Callable[[bytes], bytes],
    renamed: bool,
) -> None:
    first = report(path, tmp_path / "first").path
    for file in cached_files(path):
        data = damage(file.read_bytes())
        if renamed and file.suffix == ".parquet":
            replace_content(file, data)
        else:
            file.write_bytes(data)
    (file.parent / ".killed.partial-1").write_bytes(b"half")
    computed.clear()
    second = report(path, tmp_path / "second").path
    assert len(computed) == 2 * len(ANALYSED)
    assert everything(first.parent) == everything(second.parent)
    computed.clear()
    report(path, tmp_path / "third")
    assert not computed, "results are cached again"


@pytest.mark.parametrize(
    "planted",
    [
        b"<script>alert(1)</script>",
        b"<x:Script xmlns:x='http://www.w3.org/2000/svg'>alert(1)</x:Script>",
        b'<g onload="alert(1)"/>',
        b"<g/onload = 'alert(1)'/>",
        b'<a href="java&#115;cript:alert(1)"/>',
        b"<!ENTITY a 'b'>",
        b"\xff",
    ],
)
def test_a_planted_figure_with_active_content_is_not_embedded(path: Path, planted: bytes) -> None:
    with Trace(path) as trace:
        result_cache.store_figure(trace, NAME, "<svg></svg>")
        assert result_cache.load_figure(trace, NAME) == "<svg></svg>"
        for file in cached_files(path):
            replace_content(file, b"<svg>" + planted + b"</svg>")
        assert result_cache.load_figure(trace, NAME) is None


def test_results_of_a_read_only_trace_are_cached_for_the_session(
    path: Path, computed: list[str]
) -> None:
    shutil.rmtree(path / "derived", ignore_errors=True)
    (path / "derived").write_text("no folder")
    with Trace(path) as trace:
        first, second = (analyze(trace, [NAME])[NAME] for _ in range(2))
    assert computed == [NAME]
    assert first.table.equals(second.table)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"n": pd.array([1, None], "Int64"), "x": [0.1, float("nan")]}),
        pd.DataFrame({"at": [pd.Timestamp("2017-10-03"), pd.NaT], "w": ["ä", None]}),
        pd.DataFrame({"c": pd.Categorical(["b", "a"], ["b", "a"], ordered=True)}),
        pd.DataFrame({"x": [1, 2]}, index=pd.Index([3, 5], name="i")),
    ],
)
def test_a_cached_result_equals_the_computed_one(path: Path, table: pd.DataFrame) -> None:
    result = Result(
        "mine",
        table,
        facts=(Fact("a", 1, "one"), Fact("b", 1.0, "µ"), Fact("c", None, ""), Fact("d", "x", "")),
        sentences=("said",),
        comparisons=(Comparison("w", 1.0, None, "%", "there", "why"),),
        reads=("jobs",),
    )
    with Trace(path) as trace:
        result_cache.store_result(trace, result)
        cached = result_cache.load_result(trace, "mine")
    assert cached is not None
    pd.testing.assert_frame_equal(cached.table, table, check_exact=True)
    assert cached.table.to_html() == table.to_html()
    assert repr(cached) == repr(result)
    assert (cached.comparisons, cached.reads) == (result.comparisons, result.reads)


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"nulls": pd.Series(["a", None, float("nan")], dtype=object)}),
        pd.DataFrame({"mixed": pd.Series([1, "a"], dtype=object)}),
        pd.DataFrame({"lists": [[1], [2, 3]]}),
        pd.DataFrame({"x": [1.0], "y": [2]}).set_axis(["x", "x"], axis=1),
    ],
)
def test_a_result_that_would_change_is_not_cached(path: Path, table: pd.DataFrame) -> None:
    with Trace(path) as trace:
        result_cache.store_result(trace, Result("mine", table))
        assert result_cache.load_result(trace, "mine") is None
