"""Check properties of every format: valid bytes for any trace and any name, equal bytes by seed."""

import json
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import export
from philly_analysis.errors import ExportError, WorkloadError
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.exports.writer import FORMATS
from philly_analysis.workload import Workload
from tests.exports.conftest import Exporter
from tests.exports.readers import READERS
from tests.exports.tiny import TINY
from tests.support import strategies
from tests.support.clusters import write_tables

DIALECTS = [(f.name, d.name) for f in FORMATS.values() for d in f.dialects]

HOSTILE = [
    "\t", "a\nb", "a\r\nb", "a,b", '"', "''", "a b", "%", "%2C", "", "é", "=1+1", "\\", "\x00",
]  # fmt: skip


@pytest.mark.slow
@strategies.one_in(4)
@given(drawn=strategies.tables())
def test_any_valid_trace_is_exported_or_refused(
    drawn: dict[str, pl.DataFrame],
    speeds: dict[tuple[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    workload = Workload.from_trace(write_tables(folder / "trace", drawn))
    for name, dialect in DIALECTS:
        file = folder / f"{name}-{dialect}"
        path = speeds.get((name, dialect))
        try:
            done = export(workload, name, file, dialect=dialect, throughputs=path)
        except (ExportError, WorkloadError):
            assert sorted(p.name for p in folder.glob(f"*{name}-{dialect}*")) == []
        else:
            assert READERS[name, dialect](file, path) == done.jobs
            assert done.jobs + sum(done.left_out.values()) == len(workload.jobs)


@pytest.mark.parametrize(("name", "dialect"), DIALECTS)
def test_any_name_is_valid_in_every_format(name: str, dialect: str, exported: Exporter) -> None:
    odd = pl.Series(HOSTILE)
    at = TINY.jobs.pl()["submitted_at"][0]
    hostile = Workload(
        name='a\tb,c\n"d"',
        jobs=pl.DataFrame({"job_id": odd, "vc": odd, "user": odd}).with_columns(
            gpus=pl.lit(1, pl.Int32), submitted_at=pl.lit(at), status=pl.lit("Pass")
        ),
        attempts=pl.DataFrame({"job_id": odd}).with_columns(
            attempt=pl.lit(1, pl.Int32),
            started_at=pl.lit(at),
            ended_at=pl.lit(at) + pl.duration(minutes=5),
        ),
    )
    assert exported(name, dialect, hostile, gpus=112).jobs == len(HOSTILE)
    assert exported.read(name, dialect) == len(HOSTILE)


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1))
def test_plain_names_can_be_decoded(names: list[str]) -> None:
    names_given = pl.Series(names, dtype=pl.String)
    plain = plain_names(names_given)
    assert plain.str.contains(r"^[A-Za-z0-9_.~:/%-]+$").all()
    assert [unquote(p) if p != "%" else "" for p in plain] == names


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        case if i % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow)
        for i, case in enumerate(DIALECTS)
    ],
)
def test_the_same_seed_gives_the_same_bytes(name: str, dialect: str, exported: Exporter) -> None:
    shuffled = replace(TINY, jobs=TINY.jobs.pl().reverse(), attempts=TINY.attempts.pl().reverse())
    faults = []
    for workload in (TINY, shuffled):
        exported(name, dialect, workload, seed=3, gpus=24, partial=True, force=True)
        files = [p for p in (exported.out, *exported.out.rglob("*")) if p.is_file()]
        faults.append({p.relative_to(exported.out): p.read_bytes() for p in files})
    assert faults[0] == faults[1]
    sidecar = json.loads(exported.out.with_name("out.json").read_text())
    assert sidecar["seed"] == 3 and sidecar["format"] == name and sidecar["dialect"] == dialect
    assert sidecar["run_policy"] == "sum" and sidecar["cluster_gpus"] == 24
    assert sidecar["offered_load"] > 0
    assert sidecar["not_carried"] and sidecar["run_with"]["program"] and sidecar["read_by"]
