"""Check properties of every format: valid bytes for any trace and any name, equal bytes by seed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from philly_analysis import export
from philly_analysis.errors import ExportError, WorkloadError
from philly_analysis.exports import validate
from philly_analysis.exports.sanitize import PLAIN_NAME, plain_names
from philly_analysis.exports.writer import FORMATS
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.writer import write_trace
from philly_analysis.workload import Workload
from tests.exports import consumers
from tests.exports.tiny import TINY
from tests.support import strategies

DIALECTS = [(f.name, d.name) for f in FORMATS.values() for d in f.dialects]

HOSTILE = [
    "\t", "a\nb", "a\r\nb", "a,b", '"', "''", "a b", "%", "%2C", "", "é", "=1+1", "\\", "\x00",
]  # fmt: skip


@pytest.fixture(scope="module")
def speeds(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    return consumers.all_of(tmp_path_factory.mktemp("consumers"))


@pytest.mark.slow
@strategies.one_in(4)
@given(drawn=strategies.tables())
def test_any_valid_trace_is_exported_or_refused(
    drawn: dict[str, pl.DataFrame],
    speeds: dict[tuple[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    trace = write_trace(
        folder / "trace", drawn, Manifest(name="drawn", source="test", synthetic=True)
    )
    workload = Workload.from_trace(trace)
    for name, dialect in DIALECTS:
        file = folder / f"{name}-{dialect}"
        path = speeds.get((name, dialect))
        try:
            done = export(workload, name, file, dialect=dialect, throughputs=path)
        except (ExportError, WorkloadError):
            assert sorted(p.name for p in folder.glob(f"*{name}-{dialect}*")) == []
        else:
            assert validate(file, name, dialect=dialect, throughputs=path) == []
            assert done.jobs + sum(done.left_out.values()) == workload.jobs.height


@pytest.mark.parametrize(("name", "dialect"), DIALECTS)
def test_any_name_is_valid_in_every_format(
    name: str, dialect: str, speeds: dict[tuple[str, str], Path], tmp_path: Path
) -> None:
    odd = pl.Series(HOSTILE)
    count = len(HOSTILE)
    at = TINY.jobs["submitted_at"][0]
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
    path = speeds.get((name, dialect))
    done = export(hostile, name, tmp_path / "out", dialect=dialect, throughputs=path, gpus=112)
    assert done.jobs == count
    assert validate(tmp_path / "out", name, dialect=dialect, throughputs=path) == []


@given(st.lists(st.text(), min_size=1))
def test_plain_names_can_be_decoded(names: list[str]) -> None:
    given = pl.Series(names, dtype=pl.String)
    plain = plain_names(given)
    assert plain.str.contains(f"^(?:{PLAIN_NAME})$").all()
    assert [unquote(p) if p != "%" else "" for p in plain] == names


@pytest.mark.parametrize(
    ("name", "dialect"),
    [
        case if i % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow)
        for i, case in enumerate(DIALECTS)
    ],
)
def test_the_same_seed_gives_the_same_bytes(
    name: str, dialect: str, speeds: dict[tuple[str, str], Path], tmp_path: Path
) -> None:
    path = speeds.get((name, dialect))
    shuffled = replace(TINY, jobs=TINY.jobs.reverse(), attempts=TINY.attempts.reverse())
    for copy, workload in (("one", TINY), ("two", shuffled)):
        options: dict[str, Any] = {"dialect": dialect, "throughputs": path, "seed": 3, "gpus": 24}
        export(workload, name, tmp_path / copy, **options, partial=True)
    one, two = (
        {p.relative_to(f): p.read_bytes() for p in [f, *f.rglob("*")] if p.is_file()}
        for f in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two
    sidecar = json.loads((tmp_path / "one.json").read_text())
    assert sidecar["seed"] == 3 and sidecar["format"] == name and sidecar["dialect"] == dialect
    assert sidecar["run_policy"] == "sum" and sidecar["cluster_gpus"] == 24
    assert sidecar["offered_load"] > 0
    assert sidecar["not_carried"] and sidecar["run_with"]["program"] and sidecar["read_by"]
