"""What a source's SELECT drops is missed: the reader has counted it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from philly_analysis.errors import TraceError
from philly_analysis.ingest import engine, ingest
from philly_analysis.ingest.engine import SOURCES
from tests.ingest import test_public_traces, test_slurm
from tests.ingest.conftest import attempt, job, write_archive


def philly(folder: Path) -> Path:
    jobs = [job("j1", [attempt(m1=2), attempt(m2=1)]), job("j2")]
    times = [f"2017-10-03 00:0{minute}:00 PDT,m1" for minute in (0, 1)]
    return write_archive(
        folder / "raw",
        jobs,
        cluster_machine_list=["m1,8,24GB", "", "m3,2,12GB"],
        cluster_gpu_util=[f"{time},1,2,3,4,5,6,7,8," for time in times],
        cluster_cpu_util=[f"{time},5" for time in times],
    )


def slurm(folder: Path) -> Path:
    return test_slurm.write(folder, *test_slurm.LINES)


def table(folder: Path) -> Path:
    raw = folder / "raw"
    raw.mkdir()
    (raw / "map.toml").write_text(
        '[jobs]\nfiles = "jobs.csv"\nsubmitted_at = "at"\n'
        '[machines]\nfiles = "nodes.csv"\nmachine_id = "id"\ngpus = "gpus"\n'
    )
    (raw / "jobs.csv").write_text("at\n2021-01-01\n2021-01-02\n")
    (raw / "nodes.csv").write_text("id,gpus\nm1,8\nm2,4\n")
    return raw


def pai(folder: Path) -> Path:
    return test_public_traces.pai(folder, "m1,V100,96,512,8\nm2,CPU,64,512,\n")


RAW: dict[str, Callable[[Path], Path]] = {
    "philly": philly,
    "slurm": slurm,
    "table": table,
    "pai": pai,
}
DERIVED_OR_FIRST = "source_line is null or source_line > 2"
FIRST_MINUTE = "sampled_at > timestamp '2017-10-03 07:00:00'"


@pytest.mark.parametrize(
    ("source", "select", "where"),
    [
        ("philly", "jobs", "source_line > 1"),
        ("philly", "attempts", "source_line > 1"),
        ("philly", "placements", "source_line > 1"),
        ("philly", "machines", DERIVED_OR_FIRST),
        ("philly", "gpu_samples", FIRST_MINUTE),
        ("philly", "host_samples.cpu", FIRST_MINUTE),
        ("philly", "log_attempts", "attempt > 1"),
        ("slurm", "attempts", DERIVED_OR_FIRST),
        ("slurm", "records", DERIVED_OR_FIRST),
        *(("table", s, DERIVED_OR_FIRST) for s in ("jobs", "attempts", "machines", "records")),
        *(("pai", s, "source_line > 1") for s in ("jobs", "attempts", "machines")),
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
    monkeypatch.setitem(engine.SOURCES, source, replace(SOURCES[source], folder=folder))
    with pytest.raises(TraceError, match="unaccounted for"):
        ingest(source, raw, tmp_path / "trace")
    assert not (tmp_path / "trace").exists()


def test_every_source_is_tried() -> None:
    assert RAW.keys() == SOURCES.keys()
