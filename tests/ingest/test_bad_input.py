"""Check that unreadable input gives a one-line error and leaves no files."""

import gzip
import io
import json
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from philly_analysis import ingest
from philly_analysis.errors import InputError, PhillyError, TraceError, UnknownNameError
from philly_analysis.ingest.source_registry import SOURCES, sources
from philly_analysis.trace.manifest import Manifest
from philly_analysis.trace.trace import Trace
from tests.ingest.conftest import HEADERS, attempt, job, write_archive
from tests.support.slow import quick_first

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:20\nsize 1048576\n"
LINE = "2017-10-03 00:00:00 PDT,m1,1,2,3,4,5,6,7,8,"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_archive(tmp_path / "raw", [job("j1", [attempt(m1=1)])], cluster_gpu_util=[LINE])


def refused(raw: Path, out: Path, kind: type[PhillyError] = InputError) -> str:
    """Ingest, which must fail with a one-line message and leave nothing at all."""
    before = sorted(out.parent.iterdir())
    with pytest.raises(kind) as caught:
        ingest("philly", raw, out)
    assert sorted(out.parent.iterdir()) == before
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600
    return message


@pytest.mark.parametrize(
    ("text", "words"),
    quick_first(
        [
            ('[{"status": "Pass", "vc": "a", "jobid": "j1", "att', "cut off"),
            ('[{"status": "Pass"},', "cut off"),
            ("time,machineId\n", "not a list of jobs in JSON"),
            ('{"status": "Pass"}', "not a list of jobs in JSON"),
            ("", "is empty"),
            ('[3, {"jobid": "a"}]', "can be kept"),
            (POINTER, "is a Git LFS pointer"),
        ],
        2,
    ),
)
def test_a_job_log_that_is_none(raw: Path, tmp_path: Path, text: str, words: str) -> None:
    (raw / "cluster_job_log").write_text(text)
    message = refused(raw, tmp_path / "trace")
    assert words in message and str(raw) in message


@pytest.mark.parametrize("name", HEADERS)
def test_a_file_with_another_header(raw: Path, tmp_path: Path, name: str) -> None:
    (raw / name).write_text("when,where,what\n2017,m1,3\n")
    message = refused(raw, tmp_path / "trace")
    assert name in message and HEADERS[name].split(",")[0] in message and "when,where" in message


def test_utilisation_that_was_cut_off(raw: Path, tmp_path: Path) -> None:
    file = raw / "cluster_gpu_util"
    file.write_text(file.read_text()[:-8])
    assert "cut off" in refused(raw, tmp_path / "trace")


def test_gzipped_files_are_read_and_refused_when_cut_off(raw: Path, tmp_path: Path) -> None:
    for name in ("cluster_gpu_util", "cluster_job_log"):
        (raw / f"{name}.gz").write_bytes(gzip.compress((raw / name).read_bytes()))
        (raw / name).unlink()
    assert ingest("philly", raw, tmp_path / "trace").manifest.rows["gpu_samples"] == 1
    for name in ("cluster_gpu_util", "cluster_job_log"):
        whole = (raw / f"{name}.gz").read_bytes()
        (raw / f"{name}.gz").write_bytes(whole[:-12])
        assert "was cut off" in refused(raw, tmp_path / "other")
        (raw / f"{name}.gz").write_bytes(whole)


def test_folders_with_odd_names(raw: Path, tmp_path: Path) -> None:
    odd = tmp_path / "it's [a] *trace?"
    raw.rename(odd)
    ingest("philly", odd, tmp_path / "out" / odd.name)
    with Trace(tmp_path / "out" / odd.name) as trace:
        assert trace.sql("select count(*) from gpu_samples").fetchall() == [(1,)]


def test_folders_that_are_not_there_or_not_it(raw: Path, tmp_path: Path) -> None:
    assert "neither a folder nor a file" in refused(tmp_path / "no", tmp_path / "trace")
    (tmp_path / "other").mkdir()
    assert "no cluster_job_log" in refused(tmp_path / "other", tmp_path / "trace")
    raw.rename(tmp_path / "other" / "trace-data")
    assert "Did you mean" in refused(tmp_path / "other", tmp_path / "trace")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(raw: Path, tmp_path: Path) -> None:
    (raw / "cluster_gpu_util").chmod(0)
    assert "cannot be read" in refused(raw, tmp_path / "trace")


def test_a_trace_that_is_there_is_only_replaced_whole_and_by_force(
    raw: Path, tmp_path: Path
) -> None:
    out = tmp_path / "trace"
    ingest("philly", raw, out)
    assert "force=True" in refused(raw, out, TraceError)
    (raw / "cluster_job_log").write_text("[")
    with pytest.raises(InputError):
        ingest("philly", raw, out, force=True)
    assert Manifest.read(out).rows["jobs"] == 1
    (raw / "cluster_job_log").write_text(json.dumps([job("j1"), job("j2")]))
    ingest("philly", raw, out, force=True)
    assert Manifest.read(out).rows["jobs"] == 2


def test_a_folder_that_is_no_trace_is_never_replaced(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="not a trace"):
        ingest("philly", raw, raw, force=True)
    assert (raw / "cluster_job_log").is_file()


@pytest.mark.slow
def test_a_full_disk(raw: Path, tmp_path: Path) -> None:
    # readings that do not compress, on a disk that takes no file above 64 KB
    rng = random.Random(1)
    lines = [
        f"2017-10-03 {h:02}:{m:02}:00 PDT,m{k},{','.join(str(rng.random()) for _ in range(8))},"
        for h in range(24)
        for m in range(60)
        for k in range(3)
    ]
    (raw / "cluster_gpu_util").write_text("\n".join([HEADERS["cluster_gpu_util"], *lines, ""]))
    code = (
        "import resource, sys\n"
        "from philly_analysis.errors import TraceError\n"
        "from philly_analysis import ingest\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "try:\n    ingest('philly', sys.argv[1], sys.argv[2])\n"
        "except TraceError as error:\n    print(error)\n"
    )
    out = tmp_path / "trace"
    command = [sys.executable, "-c", code, str(raw), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot be written" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert not list(tmp_path.glob("*trace*"))


def test_an_unknown_source(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="philly"):
        ingest("phily", tmp_path, tmp_path / "trace")


def test_every_source_says_what_it_is() -> None:
    assert all(sources()[["reads", "lacks"]].stack().str.endswith("."))
    for name, source in SOURCES.items():
        assert source.name == name
        assert list(source.folder.glob("jobs.sql"))


Add = Callable[[tarfile.TarFile], None]


def archive(raw: Path, path: Path, *more: Add, prefix: str = "trace-data/") -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for add in more:
            add(tar)
        for file in sorted(raw.iterdir()):
            tar.add(file, prefix + file.name)
    return path


def test_the_archive_itself_is_read_and_compared_with_the_published_one(
    raw: Path, tmp_path: Path
) -> None:
    path = archive(raw, tmp_path / "trace-data.tar.gz")
    manifest = ingest("philly", path, tmp_path / "trace").manifest
    assert [i.file for i in manifest.inputs] == ["trace-data.tar.gz"]
    [warning] = [n for n in manifest.notes if n.startswith("WARNING")]
    assert f"{path.stat().st_size:,} bytes" in warning and "1,055,988,361" in warning
    assert not manifest.synthetic
    with Trace(tmp_path / "trace") as trace:
        assert trace.tables == {"jobs", "attempts", "placements", "machines", "gpu_samples"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["raw", "trace", "trace-data.tar.gz"]


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> Add:
    def add(tar: tarfile.TarFile) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size = kind, link, 2 if kind == tarfile.REGTYPE else 0
        tar.addfile(info, io.BytesIO(b"[]"))

    return add


@pytest.mark.parametrize(
    "add",
    [
        member("../cluster_job_log"),
        member("/tmp/cluster_job_log"),  # noqa: S108 - the hostile name under test
        member("trace-data/../../cluster_job_log"),
        member("trace-data/cluster_job_log", tarfile.SYMTYPE, "/etc/passwd"),
        member("trace-data/cluster_job_log", tarfile.LNKTYPE, "/etc/passwd"),
        member("trace-data/pipe", tarfile.FIFOTYPE),
    ],
)
def test_an_archive_that_points_outside_is_refused(raw: Path, tmp_path: Path, add: Add) -> None:
    path = archive(raw, tmp_path / "trace-data.tar.gz", add)
    assert "do not trust" in refused(path, tmp_path / "trace")


def test_archives_that_are_ambiguous_cut_off_or_none(raw: Path, tmp_path: Path) -> None:
    path = archive(raw, tmp_path / "twice.tar.gz", member("old/cluster_job_log"))
    assert "two files named" in refused(path, tmp_path / "trace")
    whole = archive(raw, tmp_path / "whole.tar.gz").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "cut off" in refused(path, tmp_path / "trace")
    path.write_bytes(b"PK\x03\x04 this is a zip")
    assert "not a gzipped tar archive" in refused(path, tmp_path / "trace")
    path.write_text(POINTER)
    assert "of 1,048,576 bytes" in refused(path, tmp_path / "trace")


@pytest.mark.slow
def test_files_beside_the_five_are_ignored(raw: Path, tmp_path: Path) -> None:
    path = archive(raw, tmp_path / "t.tar.gz", member("trace-data/README.md"))
    assert ingest("philly", path, tmp_path / "trace").manifest.rows["jobs"] == 1


def test_synthetic_archives_say_so(raw: Path, tmp_path: Path) -> None:
    (raw / "SYNTHETIC.md").write_text("Drawn with seed 1,\nnothing recorded.\n\nMore.\n")
    manifest = ingest("philly", raw, tmp_path / "trace").manifest
    assert manifest.synthetic
    assert manifest.notes[0] == "Drawn with seed 1, nothing recorded."
    assert manifest.name == "trace"
