"""Write small raw files, ingest them, and read the tables."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from philly_analysis import ingest
from philly_analysis.analyses import why_waits
from philly_analysis.analyses.shared.wait_cause import CAUSES
from philly_analysis.trace.manifest import Account, Manifest
from philly_analysis.trace.trace import Trace
from tests.support.facts import number

NOTHING = re.compile(r"(?<![\d,.])0 (?:of|[a-z]+s)\b")
"""A note that counts nothing, which none should be."""

HEADERS = {
    "cluster_gpu_util": "time,machineId," + ",".join(f"gpu{i}_util" for i in range(8)),
    "cluster_cpu_util": "time,machine_id,cpu_util",
    "cluster_mem_util": "time,machine_id,mem_total,mem_free",
    "cluster_machine_list": "machineId, number of GPUs, single GPU mem",
}


def job(
    jobid: str = "application_1_1", attempts: Sequence[Any] = (), **fields: Any
) -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": "6214e9",
        "jobid": jobid,
        "attempts": list(attempts),
        "submitted_time": "2017-10-09 07:01:55",
        "user": "ce2f4c",
    } | fields


def attempt(
    start: str | None = "2017-10-09 07:02:00",
    end: str | None = "2017-10-09 08:02:00",
    **gpus: int | list[int],
) -> dict[str, Any]:
    """One attempt; ``m1=2`` holds two GPUs of m1, ``m1=[3]`` its gpu3."""
    held = {ip: range(g) if isinstance(g, int) else g for ip, g in gpus.items()}
    detail = [{"ip": ip, "gpus": [f"gpu{i}" for i in g]} for ip, g in held.items()]
    return {"start_time": start, "end_time": end, "detail": detail}


def write_archive(folder: Path, jobs: Sequence[Any], **files: Sequence[str]) -> Path:
    """Write the job log, and each other file from its lines without header."""
    folder.mkdir()
    (folder / "cluster_job_log").write_text(json.dumps(jobs), "utf-8")
    for name, lines in files.items():
        text = "\n".join([HEADERS[name], *lines, ""])
        (folder / name).write_text(text, "utf-8", newline="")
    return folder


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files by their paths in a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def assert_equal_tables(one: Path, other: Path, names: Sequence[str] = ()) -> None:
    """Check that tables of two traces, by default all, have the same rows in any order."""
    with Trace(one) as a, Trace(other) as b:
        assert names or a.tables == b.tables
        for name in names or a.tables:
            mine, theirs = (t.answer(name).pl().sort(pl.all()) for t in (a, b))
            assert mine.equals(theirs), name


def account(manifest: Manifest, table: str) -> Account:
    """Return the row account of a table."""
    [row_account] = [a for a in manifest.accounts if a.table == table]
    return row_account


@dataclass(slots=True)
class Ingested:
    """A trace that a test ingested, and queries of it."""

    trace: Trace
    manifest: Manifest

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return self.trace.sql(query).fetchall()

    def rejects(self, table: str) -> list[tuple[int | None, str]]:
        return self.rows(
            "select source_line, reason from rejects "
            f"where \"table\" = '{table}' order by source_file, source_line, reason"
        )

    def account(self, table: str) -> Account:
        return account(self.manifest, table)

    def note(self, *words: str) -> str:
        [note] = [n for n in self.manifest.notes if all(w in n for w in words)]
        return note


def check_causes(trace: Ingested, truth: Mapping[str, float]) -> None:
    """Check that the causes of waiting lie within 5 points of the truth."""
    result = why_waits.compute(trace.trace)
    names = {fact.name for fact in result.facts}
    computed = {c: number(result, f"{c}_pct") for c in CAUSES if f"{c}_pct" in names}
    assert sum(computed.values()) == pytest.approx(100)
    for cause in {*truth, *computed}:
        share = computed.get(cause, 0)
        assert share == pytest.approx(truth.get(cause, 0), abs=5), (truth, computed)


Ingest = Callable[..., Ingested]


@pytest.fixture
def ingested(tmp_path: Path, request: pytest.FixtureRequest) -> Ingest:
    """Return a function that ingests raw files of a source, given or at a path, and opens it."""

    def run(
        source: str,
        raw: Path | Mapping[str, str | bytes],
        out: Path = tmp_path / "t",
        **options: Any,
    ) -> Ingested:
        if isinstance(raw, Mapping):
            raw = write_files(tmp_path / "raw", raw)
        manifest = ingest(source, raw, out, **options).manifest
        assert not [note for note in manifest.notes if NOTHING.search(note)]
        trace = Trace(out)
        request.addfinalizer(trace.close)
        return Ingested(trace, manifest)

    return run


@pytest.fixture
def made(tmp_path: Path, ingested: Ingest) -> Ingest:
    """Return a function that writes and ingests an archive of Philly."""

    def make(*jobs: Any, **files: Sequence[str]) -> Ingested:
        return ingested("philly", write_archive(tmp_path / "raw", jobs, **files))

    return make
