"""Check that compression bombs and huge lines are refused or read in limited memory."""

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import output_of
from tests.support.repository import ROOT

MOST_MB = 1_500
"""Resident memory that an ingest of any file may take."""
_RUN = """
import sys
from philly_analysis.errors import PhillyError
from philly_analysis import ingest
from tests.bench.steps import peak_mb
from tests.support.repository import ROOT
try:
    ingest(*sys.argv[1:4], **({"telemetry": sys.argv[4]} if sys.argv[4:] else {}))
    print("kept")
except PhillyError as error:
    print("refused:", str(error)[:300])
print(int(peak_mb()))
"""
Write = Callable[[Path], object]


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 30)


def _bomb(first: bytes) -> Write:
    def write(path: Path) -> None:
        with gzip.open(path, "wb", 1) as file:
            file.write(first)
            for _ in range(1_000):
                file.write(b"a" * (1 << 20))

    return write


def _filled(start: bytes, repeated: bytes, times: int, end: bytes = b"") -> Write:
    return lambda path: path.write_bytes(start + repeated * times + end)


CASES: dict[str, tuple[str, str, Write]] = {
    "deep JSON, job log": ("philly", "cluster_job_log", _filled(b"", b"[", 10_000_000, b"]")),
    "deep JSON, sacct": (
        "slurm",
        "sacct.json",
        _filled(b'{"jobs": [{"time": {}, "state": {}, "x": ', b"[", 5_000_000),
    ),
    "a job of 100 MB": (
        "philly",
        "cluster_job_log",
        _filled(b'[{"a": "', b"x", 100_000_000, b'"}]'),
    ),
    "a line of 100 MB, sacct": ("slurm", "sacct.txt", _filled(b"JobID|State|", b"x|", 50_000_000)),
    "a line of 100 MB, table": ("table", "jobs.csv", _filled(b"id,submit\n", b"x", 100_000_000)),
    "sparse, sacct": ("slurm", "sacct.txt", _sparse),
    "sparse, table": ("table", "jobs.csv", _sparse),
    "bomb, sacct": ("slurm", "sacct.txt.gz", _bomb(b"JobID|State|Submit|Start|End\n")),
    "bomb, JSON without an end": ("slurm", "sacct.json", _bomb(b'{"jobs": [{"a": "')),
    "bomb, JSON without a list": ("slurm", "sacct.json", _bomb(b'{"x": "')),
    "bomb, utilisation": ("philly", "cluster_cpu_util.gz", _bomb(b"time,machine_id,cpu_util\n")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_memory_is_limited_on_compression_bombs_and_huge_lines(name: str, tmp_path: Path) -> None:
    source, file, write = CASES[name]
    raw = tmp_path / "raw"
    raw.mkdir()
    if source == "philly" and file != "cluster_job_log":
        (raw / "cluster_job_log").write_text("[]")
    if source == "table":
        (raw / "map.toml").write_text('[jobs]\njob_id = "id"\nsubmitted_at = "submit"\n')
    write(raw / file)
    words = sys.executable, "-c", _RUN, source, raw, tmp_path / "trace"
    done = output_of(*words, cwd=ROOT, timeout_s=300)
    printed, peak_mb = done.strip().rsplit("\n", 1)
    assert printed.startswith(("kept", "refused: "))
    assert int(peak_mb) < MOST_MB, printed
    assert [p.name for p in tmp_path.iterdir() if p.name != "trace"] == ["raw"]
