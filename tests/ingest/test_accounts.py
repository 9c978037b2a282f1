"""Check that a source's SELECT cannot drop rows unnoticed."""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb
import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest.philly_multigpu.conversion import convert
from philly_analysis.ingest.source import Parser, Stream
from philly_analysis.ingest.source_registry import SOURCES
from philly_analysis.trace.manifest import Manifest
from tests.ingest import (
    kueue_cluster,
    kueue_snapshots,
    test_accounting,
    test_public_traces,
    test_slurm,
)
from tests.ingest.accounting_logs import fortnight
from tests.ingest.conftest import attempt, job, write_archive, write_files
from tests.support.slow import quick_first


def philly(folder: Path) -> Path:
    jobs = [job("j1", [attempt(m1=2), attempt(m2=1)]), job("j2")]
    times = [f"2017-10-03 00:0{minute}:00 PDT,m1" for minute in (0, 1)]
    return write_archive(
        folder / "raw",
        jobs,
        cluster_machine_list=["m1,8,24GB", "", "m3,2,12GB"],
        cluster_gpu_util=[f"{time},1,2,3,4,5,6,7,8," for time in times],
        cluster_cpu_util=[f"{time},5" for time in times],
        cluster_mem_util=[f"{time},4,2" for time in times],
    )


def slurm(folder: Path) -> Path:
    return test_slurm.write(folder, *test_slurm.LINES)


def table(folder: Path) -> Path:
    files = {
        "map.toml": '[jobs]\nfiles = "jobs.csv"\nsubmitted_at = "at"\n'
        '[machines]\nfiles = "nodes.csv"\nmachine_id = "id"\ngpus = "gpus"\n',
        "jobs.csv": "at\n2021-01-01\n2021-01-02\n",
        "nodes.csv": "id,gpus\nm1,8\nm2,4\n",
    }
    return write_files(folder / "raw", files)


def pai(folder: Path) -> Path:
    return test_public_traces.pai(folder, "m1,V100,96,512,8\nm2,CPU,64,512,\n")


def accounting(kind: str, folder: Path) -> Path:
    _, text = test_accounting.log(kind, fortnight(seed=3, jobs=5))
    return write_files(folder / "raw", {"accounting": text})


def philly_multigpu(folder: Path) -> Path:
    files = {
        "sampled_jobs.json.gz": json.dumps([extracted("j1", m1=2, m2=1), extracted("j2", m1=2)]),
        "gpu_util.csv.gz": "jobid,name,machine_type,trace,0,1\nj1,m1_gpu0,8,j1,50,-1\n",
        "cpu_util.csv.gz": "jobid,name,machine_type,trace,0,1\nj1,m1,8,j1,5,\n",
        "cpu_util_pm60.csv.gz": "jobid,name,machine_type,trace,0\n",
        "mem_util.csv.gz": "jobid,name,machine_type,trace,0,1\nj1,m1,8,j1,25,\n",
    }
    packed = {name: gzip.compress(text.encode()) for name, text in files.items()}
    return write_files(folder / "raw", packed)


def extracted(job_id: str, **gpus: int) -> dict[str, object]:
    """A job as the extract has it: its last attempt alone."""
    times = {"start_time": "2017-10-03 07:00:30", "end_time": "2017-10-03 09:00:00"}
    detail = [{"ip": m, "gpus": [f"gpu{g}" for g in range(n)]} for m, n in gpus.items()]
    words = {"vc": "v", "user": "u", "status": "Pass", "submitted_time": "2017-10-03 06:00:00"}
    return {"jobid": job_id, "detail": detail, **words, **times}


RAW: dict[str, Callable[[Path], Path]]
RAW = {"philly": philly, "philly-multigpu": philly_multigpu, "slurm": slurm, "table": table}
RAW["pai"] = pai
for kind in ("pbs", "lsf", "sge"):
    RAW[test_accounting.log(kind, [])[0]] = partial(accounting, kind)
RAW["kubernetes"] = lambda folder: kueue_snapshots.write(
    folder / "raw", kueue_cluster.simulated(seed=3, jobs=3, days=1), 1800
)
DERIVED_OR_FIRST = "source_line is null or source_line > 2"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "select", "where"),
    [
        ("philly", "jobs", "source_line > 1"),
        ("philly-multigpu", "jobs", "source_line > 1"),
        ("slurm", "records", DERIVED_OR_FIRST),
        ("table", "records", DERIVED_OR_FIRST),
        ("pai", "jobs", "source_line > 1"),
        *((source, "records", DERIVED_OR_FIRST) for source in ("pbs", "lsf", "gridengine")),
        *((source, "attempts", DERIVED_OR_FIRST) for source in ("pbs", "lsf", "gridengine")),
        *(("philly", s, "source_line > 1") for s in ("attempts", "placements")),
        ("philly", "machines", DERIVED_OR_FIRST),
        ("philly", "log_attempts", "attempt > 1"),
        ("slurm", "attempts", DERIVED_OR_FIRST),
        *(("table", s, DERIVED_OR_FIRST) for s in ("jobs", "attempts", "machines")),
        *(("pai", s, "source_line > 1") for s in ("attempts", "machines")),
    ],
)
def test_a_select_that_drops_a_row_is_found_out(
    source: str, select: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = RAW[source](tmp_path)
    ingest(source, raw, tmp_path / "whole")
    folder = tmp_path / "source"
    shutil.copytree(SOURCES[source].folder, folder)
    file = folder / f"{select}.sql"
    first, rest = file.read_text("utf-8").split("\n", 1)
    file.write_text(f"{first}\nselect * from (\n{rest}\n) as given where {where}\n", "utf-8")
    monkeypatch.setitem(SOURCES, source, replace(SOURCES[source], folder=folder))
    with pytest.raises(TraceError, match="unaccounted for"):
        ingest(source, raw, tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("file", quick_first([stream.file for stream in SOURCES["philly"].streams]))
def test_a_reader_that_drops_a_line_is_found_out(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_first(stream: Stream) -> Stream:
        def opened(con: duckdb.DuckDBPyConnection) -> Parser:
            read = stream.open(con)
            return lambda lines: read(lines.slice(1).combine_chunks())

        return replace(stream, open=opened) if stream.file == file else stream

    source = SOURCES["philly"]
    streams = tuple(map(without_first, source.streams))
    monkeypatch.setitem(SOURCES, "philly", replace(source, streams=streams))
    with pytest.raises(ValueError, match="same length"):
        ingest("philly", philly(tmp_path), tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_every_source_is_tried() -> None:
    assert RAW.keys() == SOURCES.keys()


def test_an_extract_says_what_its_rows_were_chosen_by(tmp_path: Path) -> None:
    manifest = ingest("philly-multigpu", philly_multigpu(tmp_path), tmp_path / "t").manifest
    assert manifest.rows["jobs"] == 2 and manifest.rows["gpu_samples"] == 2
    assert manifest.sample and "attempts" in manifest.sample.by
    assert Manifest.from_json((tmp_path / "t" / "manifest.json").read_text()) == manifest
    assert "sampled_jobs.json.gz" in [i.file for i in manifest.inputs]
    with pytest.raises(InputError, match="sampled_jobs"):
        ingest("philly-multigpu", tmp_path, tmp_path / "none")


def test_an_extract_has_the_repeated_hour_twice_where_it_has_both_readings(tmp_path: Path) -> None:
    twice = '"time machine_id\n2017-11-05 m1  78.5\n  m1  82\nName: cpu"'
    header = "jobid,name,machine_type,trace,0,1,60,61,121"
    late = extracted("j1", m1=2) | {"start_time": "2017-11-05 00:59:30"}
    files = {
        "sampled_jobs.json.gz": json.dumps([late]),
        "gpu_util.csv.gz": f"{header}\nj1,m1_gpu0,8,j1,50,60,70,-1,\n",
        "cpu_util.csv.gz": f"{header}\nj1,m1,8,j1,5,{twice},{twice},7,{twice}\n",
        "cpu_util_pm60.csv.gz": "jobid,name,machine_type,trace,0\nj1,m1,8,j1,6\n",
        "mem_util.csv.gz": f"{header}\nj1,m1,8,j1,25,30,-1,-1.0,40\n",
    }
    packed = {name: gzip.compress(text.encode()) for name, text in files.items()}
    convert(write_files(tmp_path / "raw", packed), tmp_path / "archive")
    rows = {
        name: (tmp_path / "archive" / f"cluster_{name}_util").read_text().splitlines()[1:]
        for name in ("gpu", "cpu", "mem")
    }
    day = "2017-11-05 0"
    assert rows["gpu"] == [f"{day}0:59:00 PDT,m1,50,NA,,,,,,,", f"{day}2:00:00 PST,m1,NA,NA,,,,,,,"]
    assert rows["cpu"] == [
        *(f"{day}0:59:00 PDT,m1,6", f"{day}1:00:00 PDT,m1,78.5", f"{day}1:59:00 PDT,m1,78.5"),
        *(f"{day}1:00:00 PST,m1,82", f"{day}1:59:00 PST,m1,82", f"{day}2:00:00 PST,m1,7"),
    ]
    assert rows["mem"] == [
        f"{day}0:59:00 PDT,m1,528272672.0,132068168.0",
        f"{day}2:00:00 PST,m1,NA,NA",
        f"{day}3:00:00 PST,m1,528272672.0,211309068.8",
    ]
