"""Check checksums of files, including files of older traces."""

import hashlib
import json
import os
import random
from pathlib import Path

import pytest

from philly_analysis import Trace, ingest, verify
from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import digest
from philly_analysis.trace.manifest import MANIFEST
from tests.faults.damage import flip_bit
from tests.ingest.test_append import line, page

SAID = {
    0: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    102400: "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085",
}
"""Of bytes 0, 1, …, 250, 0, …, by how many they are: BLAKE3's official test vectors."""


@pytest.mark.parametrize("size", SAID)
def test_a_digest_is_that_of_blake3(size: int, tmp_path: Path) -> None:
    data = bytes(i % 251 for i in range(size))
    (tmp_path / "file").write_bytes(data)
    assert digest(tmp_path / "file") == (size, f"blake3-{SAID[size]}")
    older = hashlib.sha256(data).hexdigest()
    assert digest(tmp_path / "file", older) == (size, older)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A trace as it was written when digests were SHA-256."""
    raw, out = tmp_path / "raw", tmp_path / "t"
    raw.mkdir()
    page(raw / "1.txt", [line(1, 0), line(2, 1)])
    ingest("slurm", raw, out, append=True)

    def sha256(file: Path) -> str:
        return hashlib.sha256(file.read_bytes()).hexdigest()

    told = json.loads((out / MANIFEST).read_text("utf-8"))
    del told["sha256"]  # its seal
    for entry in told["inputs"]:
        del entry["digest"]
        entry["sha256"] = sha256(raw / entry["file"])
    told["digests"] = {f: (size, sha256(out / f)) for f, (size, _) in told["digests"].items()}
    (out / MANIFEST).write_text(json.dumps(told), "utf-8")
    return out


def test_a_trace_with_sha256_digests_is_read_and_appended_to(trace: Path, tmp_path: Path) -> None:
    assert set(verify(trace)["state"]) == {"intact"}
    page(tmp_path / "raw" / "2.txt", [line(3, 2)])
    told = ingest("slurm", tmp_path / "raw", trace, append=True).manifest
    assert "Files read before and passed over: 1." in told.notes
    assert set(verify(trace)["state"]) == {"intact"}
    with Trace(trace) as opened:
        assert opened.sql("select count(*) from jobs").fetchall() == [(3,)]


def test_damage_of_a_trace_with_sha256_digests_is_found(trace: Path) -> None:
    file = trace / "jobs.parquet"
    stat = file.stat()
    flip_bit(file, random.Random(1))
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert verify(trace).set_index("file")["state"]["jobs.parquet"] == "damaged"
    with Trace(trace) as opened, pytest.raises(TraceError, match="is damaged"):
        opened.sql("select count(*) from jobs")
