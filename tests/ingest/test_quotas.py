"""Check that given quotas are recorded and replace estimates."""

from pathlib import Path

import pytest

from philly_analysis import analyze, ingest
from philly_analysis.errors import InputError
from philly_analysis.trace.quotas import read_quotas
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import attempt, job, write_archive
from tests.support.small_traces import paper_trace

GIVEN = {"a": 8, "b": 0}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.csv", "vc,gpus\na,8\nb,0\n"),
        ("q.csv", "\ufeffgpus, vc, note\n8, a, x\n0, b, y\n"),
        ("q.toml", "a = 8\nb = 0\n"),
        ("q.toml", "[quotas]\na = 8\nb = 0\n"),
    ],
)
def test_files_say_the_same(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert read_quotas(tmp_path / name) == GIVEN


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.csv", "queue,gpus\na,8\n", "has queue, gpus. Give a CSV file"),
        ("q.csv", "vc,gpus\n", "has no rows"),
        ("q.csv", "vc,gpus\na,many\n", "'many' is no number of GPUs for a"),
        ("q.csv", "vc,gpus\na,1\na,2\n", "twice"),
        ("q.toml", "a = -1\n", "-1 is no number"),
        ("q.toml", "a 8\n", "no TOML"),
        ("none.csv", None, "cannot be read"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, text: str | None, said: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=said):
        read_quotas(tmp_path / name)


def quotas(trace: Trace) -> set[tuple[str, str, int]]:
    return set(trace.answer("vc_quotas").fetchall())


def test_ingest_records_them_and_keeps_them_as_the_trace_grows(tmp_path: Path) -> None:
    raw = write_archive(tmp_path / "raw", [job("j", [attempt(m1=2)], vc="a")])
    more = write_archive(tmp_path / "more", [job("k", [attempt(m1=2)], vc="b")])
    out = tmp_path / "trace"
    manifest = ingest("philly", raw, out, quotas=GIVEN).manifest
    assert "as they were given" in " ".join(manifest.notes)
    ingest("philly", more, out, append=True)
    with Trace(out) as trace:
        assert trace.jobs.count("*").fetchall() == [(2,)]
        assert quotas(trace) == {("given", "a", 8), ("given", "b", 0)}
    ingest("philly", more, out, append=True, quotas={"a": 4})
    with Trace(out) as trace:
        assert quotas(trace) == {("given", "a", 4)}
        assert trace.jobs.count("*").fetchall() == [(2,)]


@pytest.mark.slow
def test_names_are_taken_out_of_them_as_of_jobs(tmp_path: Path) -> None:
    raw = write_archive(tmp_path / "raw", [job("j", [attempt(m1=2)], vc="a")])
    ingest("philly", raw, tmp_path / "t", quotas={"a": 8}, anonymize=tmp_path / "key")
    with Trace(tmp_path / "t") as trace:
        [(vc, gpus)] = trace.sql("select vc, gpus from virtual_clusters").fetchall()
        assert trace.jobs.select("vc").fetchall() == [(vc,)]
    assert vc != "a" and gpus == 8


@pytest.mark.slow
def test_a_session_may_ask_under_other_quotas(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "paper")
    with Trace(path) as estimated:
        before = analyze(estimated, "delay_causes")
        assert {method for method, _, _ in quotas(estimated)} == {"p95", "p99", "peak"}
    with Trace(path, quotas={"x": 1, "y": 8}) as trace:
        assert quotas(trace) == {("given", "x", 1), ("given", "y", 8)}
        said = analyze(trace, "delay_causes")
        assert set(said.table["method"]) == {"given"}
    with Trace(path) as again:
        assert analyze(again, "delay_causes").facts == before.facts
    assert not (path / "virtual_clusters.parquet").exists()
