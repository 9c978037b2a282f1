"""Check traces on object storage: atomic uploads, and one download per file."""

import errno
import io
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import analyze, export, ingest, query, simulate, tables, verify
from philly_analysis.errors import InputError, OutputError, TraceError
from philly_analysis.trace.checksums import digest
from philly_analysis.trace.manifest import MANIFEST, Manifest
from philly_analysis.trace.object_storage import fetch_raw, fetch_trace, is_address
from philly_analysis.trace.trace import Trace
from tests.ingest.test_slurm import LINES
from tests.ingest.test_slurm import write as slurm
from tests.support.clusters import random_tables, write_tables
from tests.support.command_line import invoke, run

fsspec = pytest.importorskip("fsspec")
Store = Any
ADDRESS = "memory://lake/traces/ours"
COUNT = "select count(*) as n from jobs"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PHILLY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def noting(transfer: Any, names: list[str]) -> Any:
    """Transfer a file, and note its name in the trace."""

    def noted(self: Store, one: Any, other: Any, **more: Any) -> None:
        transfer(self, one, other, **more)
        there = other if transfer.__name__ == "put_file" else one
        names.append(str(there).rpartition("ours/")[2])

    return noted


@pytest.fixture
def store(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Storage in memory, empty, which notes what is got from it in `got` and put in `put`."""
    filesystem = fsspec.filesystem("memory")
    monkeypatch.setattr(type(filesystem), "store", {})
    monkeypatch.setattr(type(filesystem), "pseudo_dirs", [""])
    noted: dict[str, list[str]] = {"get_file": [], "put_file": [], "pipe_file": []}
    for verb, names in noted.items():
        monkeypatch.setattr(type(filesystem), verb, noting(getattr(type(filesystem), verb), names))
    filesystem.noted = noted
    yield filesystem
    del filesystem.noted


def put(out: str, seed: int = 1, *, force: bool = False) -> None:
    write_tables(out, random_tables(seed), name="ours", force=force)


def test_addresses_and_paths_differ() -> None:
    address: Any
    for address in ("s3://b/t", "gs://b", Path("s3://b/t"), "abfs://c@a/t", "memory://x/y"):
        assert is_address(address)
    for address in ("t", "/t", "C:/t", "a/s3:/t", "", {"jobs": None}, "S3"):
        assert not is_address(address)


@pytest.mark.slow
def test_an_uploaded_trace_has_the_results_of_the_local_one(store: Store, tmp_path: Path) -> None:
    put(ADDRESS)
    put(str(tmp_path / "ours"))
    *_, last = store.noted["put_file"] + store.noted["pipe_file"]
    assert last == MANIFEST
    for address in (ADDRESS, Path(ADDRESS)):
        here, there = tmp_path / "ours", address
        assert tables(there).equals(tables(here))
        assert query(there, COUNT).equals(query(here, COUNT))
        one, other = (analyze(t, "queueing_delay").table for t in (there, here))
        assert one.equals(other)
    assert set(verify(ADDRESS)["state"]) == {"intact"}
    assert store.noted["get_file"] == []  # who wrote it has it


def test_a_trace_is_copied_once_and_keeps_its_results(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(ADDRESS)
    shutil.rmtree(cache)
    with Trace(ADDRESS) as trace:
        files = trace.manifest.every_file
        assert sorted(store.noted["get_file"]) == sorted(files)
        first = analyze(trace, "queueing_delay")
        folder = trace.path
    assert (folder / "derived").is_dir()
    assert not [path for path in folder.parent.iterdir() if path.name.startswith(".ours.c")]
    with Trace(ADDRESS) as trace:
        assert trace.path == folder
        assert analyze(trace, "queueing_delay").table.equals(first.table)
    assert len(store.noted["get_file"]) == len(files)


def test_an_interrupted_copy_is_continued(store: Store, cache: Path) -> None:
    put(ADDRESS)
    shutil.rmtree(cache)
    key = "/lake/traces/ours/placements.parquet"
    removed = store.store.pop(key)
    with pytest.raises(TraceError, match=r"placements\.parquet is missing"):
        fetch_trace(ADDRESS)
    copied = list(store.noted["get_file"])
    assert copied
    assert not list(cache.rglob(MANIFEST))
    store.store[key] = removed
    with Trace(ADDRESS) as trace:
        assert sorted(store.noted["get_file"]) == sorted(trace.manifest.every_file)


def test_a_copy_of_another_trace_is_replaced(store: Store, tmp_path: Path) -> None:
    put(ADDRESS)
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("PHILLY_CACHE", str(tmp_path / "other"))
        with Trace(ADDRESS) as trace:
            trace.answer("waits")
            put_elsewhere = fetch_trace(ADDRESS)
    put(ADDRESS, 2, force=True)
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("PHILLY_CACHE", str(tmp_path / "other"))
        assert fetch_trace(ADDRESS) == put_elsewhere
        assert not (put_elsewhere / "derived").exists()
        assert query(ADDRESS, COUNT)["n"][0] == random_tables(2)["jobs"].height


def test_damage_on_the_storage_is_an_error(store: Store, cache: Path) -> None:
    put(ADDRESS)
    shutil.rmtree(cache)
    key = "/lake/traces/ours/jobs.parquet"
    text = bytearray(store.cat_file(key))
    text[len(text) // 2] ^= 1
    store.pipe_file(key, bytes(text))
    with pytest.raises(TraceError, match=r"jobs\.parquet does not match its checksum"):
        query(ADDRESS, COUNT)
    assert not list(cache.rglob(MANIFEST))
    store.rm_file("/lake/traces/ours/attempts.parquet")
    states = verify(ADDRESS).set_index("file")["state"]
    assert states["jobs.parquet"] == "damaged"
    assert states["attempts.parquet"] == "missing"
    assert invoke("verify", ADDRESS).exit_code == 1


def test_an_interrupted_upload_leaves_no_manifest_and_can_be_repeated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = store.put_file

    def break_off(one: str, other: str, **more: Any) -> None:
        if other.endswith("attempts.parquet"):
            raise PermissionError("denied")
        done(one, other, **more)

    with monkeypatch.context() as broken:
        broken.setattr(store, "put_file", break_off)
        with pytest.raises(OutputError, match=r"denied.*The complete trace is at") as told:
            put(ADDRESS)
    assert f"/{MANIFEST}" not in "".join(store.store)
    with pytest.raises(TraceError, match="is not a trace"):
        query(ADDRESS, COUNT)
    here = Path(str(told.value).split("trace is at ")[1].split(": copy")[0])
    assert set(verify(here)["state"]) == {"intact"}
    put(ADDRESS)
    assert query(ADDRESS, COUNT)["n"][0] == random_tables(1)["jobs"].height


def test_a_trace_on_the_storage_is_replaced_only_by_force(store: Store) -> None:
    put(ADDRESS)
    before = query(ADDRESS, "select * from jobs order by all")
    with pytest.raises(TraceError, match="exists"):
        put(ADDRESS, 2)
    assert query(ADDRESS, "select * from jobs order by all").equals(before)
    put(ADDRESS, 2, force=True)
    assert not query(ADDRESS, "select * from jobs order by all").equals(before)
    assert set(verify(ADDRESS)["state"]) == {"intact"}


def test_files_of_a_replaced_trace_are_removed(store: Store) -> None:
    put(ADDRESS)
    alone = {name: random_tables(1)[name] for name in ("jobs", "attempts")}
    write_tables(ADDRESS, alone, name="ours", force=True)
    there = {key.rpartition("/")[2] for key in store.store}
    assert there == {"jobs.parquet", "attempts.parquet", MANIFEST}


def test_a_reader_reports_a_replaced_trace(store: Store) -> None:
    put(ADDRESS)
    with Trace(ADDRESS) as trace:
        put(ADDRESS, 2, force=True)
        with pytest.raises(TraceError, match="was replaced since"):
            trace.sql(COUNT).fetchall()


@pytest.mark.slow
def test_an_append_uploads_new_files_only(store: Store, cache: Path, tmp_path: Path) -> None:
    months = [tmp_path / name for name in ("january", "february")]
    for folder, lines in zip(months, (LINES[:2], LINES[2:]), strict=True):
        folder.mkdir()
        slurm(folder, *lines)
    for raw in months:
        ingest("slurm", raw, ADDRESS, append=True)
        ingest("slurm", raw, tmp_path / "ours", append=True)
    assert Manifest.read(fetch_trace(ADDRESS)).generation == 2
    everything = "select * from attempts order by all"
    assert query(ADDRESS, everything).equals(query(tmp_path / "ours", everything))
    assert set(verify(ADDRESS)["state"]) == {"intact"}
    there = {key.rpartition("ours/")[2] for key in store.store}
    assert there == {*Manifest.read(fetch_trace(ADDRESS)).every_file, MANIFEST}


def test_a_copy_is_updated_with_new_files_only(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(ADDRESS)
    monkeypatch.setenv("PHILLY_CACHE", str(tmp_path / "other"))
    first = fetch_trace(ADDRESS)
    (first / "derived").mkdir(exist_ok=True)
    (first / "derived" / "waits-000001-0.parquet").write_text("kept")
    manifest = Manifest.read(first)
    extra = first.parent / "extra.parquet"
    shutil.copyfile(first / "jobs.parquet", extra)
    with extra.open("ab") as file:
        file.write(b"x")
    store.put_file(str(extra), f"{ADDRESS}/parts/000002/jobs.parquet")
    told = json.loads(manifest.to_json())
    del told["sha256"]
    told["generation"] = 2
    told["files"]["jobs"] = ["parts/000002/jobs.parquet"]
    del told["digests"]["jobs.parquet"]
    told["digests"]["parts/000002/jobs.parquet"] = digest(extra)
    store.pipe_file(f"{ADDRESS}/{MANIFEST}", json.dumps(told).encode())
    store.noted["get_file"].clear()
    assert fetch_trace(ADDRESS) == first
    assert store.noted["get_file"] == ["parts/000002/jobs.parquet"]
    assert (first / "derived" / "waits-000001-0.parquet").read_text() == "kept"


def test_raw_files_are_copied_with_their_folders(store: Store) -> None:
    for name in ("jobs.txt", "2017/10/gpu.csv"):
        store.pipe_file(f"/raw/site/{name}", name.encode())
    with fetch_raw("memory://raw/site") as copy:
        paths = [p.relative_to(copy).as_posix() for p in copy.rglob("*") if p.is_file()]
    assert sorted(paths) == ["2017/10/gpu.csv", "jobs.txt"]


@pytest.mark.slow
def test_raw_files_are_read_from_the_storage(store: Store, tmp_path: Path) -> None:
    file = slurm(tmp_path, *LINES)
    store.pipe_file("/raw/slurm/sacct.txt", file.read_bytes())
    for address in ("memory://raw/slurm", "memory://raw/slurm/sacct.txt"):
        out = tmp_path / address.rpartition("/")[2].replace(".", "-")
        run("ingest", "auto", address, out)
        assert query(out, COUNT)["n"][0] == 4
    with pytest.raises(InputError, match="nothing at memory://raw/other"):
        ingest("slurm", "memory://raw/other", tmp_path / "t")


@pytest.mark.slow
def test_what_ifs_and_exports_read_and_write_the_storage(store: Store, tmp_path: Path) -> None:
    put(ADDRESS)
    simulate(ADDRESS, "fifo", "memory://lake/traces/fifo", cluster=64)
    assert set(verify("memory://lake/traces/fifo")["state"]) == {"intact"}
    export(ADDRESS, "swf", tmp_path / "jobs.swf", gpus=64, partial=True)
    run("export", ADDRESS, "swf", tmp_path / "again.swf", "--gpus", 64, "--partial")
    assert (tmp_path / "again.swf").read_bytes() == (tmp_path / "jobs.swf").read_bytes()


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_errors_of_the_storage_are_explained(
    store: Store, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TraceError, match=r"memory://lake/none is not a trace"):
        query("memory://lake/none", COUNT)
    with pytest.raises(InputError, match="nosuch"):
        query("nosuch://lake/none", COUNT)
    store.pipe_file("/lake/bad/manifest.json", b"{")
    with pytest.raises(TraceError, match="cannot be read"):
        query("memory://lake/bad", COUNT)
    put(ADDRESS)
    manifest = json.loads(store.cat_file(f"{ADDRESS}/{MANIFEST}"))
    del manifest["sha256"]
    files, digests = manifest["files"], manifest["digests"]
    outside = "../../jobs.parquet"
    for changed, message in (
        ({"files": files | {"jobs": [outside]}}, "is not in the trace"),
        ({"digests": digests | {outside: [1, "0" * 64]}}, "is not in the trace"),
        ({"digests": digests | {"jobs.parquet": [1, "../../stolen"]}}, "is no digest"),
        ({"digests": {}}, "has no checksums"),
    ):
        store.pipe_file("/lake/other/manifest.json", json.dumps(manifest | changed).encode())
        with pytest.raises(TraceError, match=message):
            query("memory://lake/other", COUNT)
    shutil.rmtree(cache)
    monkeypatch.setattr(store, "get_file", full_disk)
    with pytest.raises(OutputError, match=r"No space left.*PHILLY_CACHE"):
        query(ADDRESS, COUNT)
    store.pipe_file("/lake/raw/../../x", b"x")
    with pytest.raises(InputError, match="lead out of its folder"):
        ingest("slurm", "memory://lake/raw", cache / "t")


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(protocol: str) -> None:
        raise ImportError(f"no {protocol}")

    monkeypatch.setattr(fsspec, "filesystem", absent)
    for address, extra in (("s3://b/t", "s3"), ("gs://b/t", "gs")):
        with pytest.raises(InputError, match=rf"pip install 'philly-analysis\[{extra}\]'"):
            query(address, COUNT)


@pytest.fixture
def s3(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A local S3 server with a bucket."""
    server = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    with redirect_stderr(io.StringIO()):
        started = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        started.start()
    host, port = started.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    filesystem = fsspec.filesystem("s3")
    filesystem.makedirs("lake", exist_ok=True)
    yield filesystem
    s3fs.S3FileSystem.clear_instance_cache()
    started.stop()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of what servers and clients are built on
def test_a_server_of_object_storage(s3: Store, cache: Path, tmp_path: Path) -> None:
    raw = slurm(tmp_path, *LINES)
    s3.put_file(str(raw), "lake/raw/sacct.txt")
    address = "s3://lake/traces/ours"

    run("ingest", "slurm", "s3://lake/raw", address)
    shutil.rmtree(cache)  # another machine
    ingest("slurm", raw, tmp_path / "ours")
    everything = "select * from attempts order by all"
    assert run("query", address, everything, "--csv") == run(
        "query", str(tmp_path / "ours"), everything, "--csv"
    )
    assert "intact" in run("verify", address)
    run("analyze", address, "--out", str(tmp_path / "tables"))
    run("report", address, "--out", str(tmp_path / "reports"))
    assert (tmp_path / "reports" / "ours" / "report.html").is_file()
    # a second month, from this machine; it is there for the next
    more = slurm(tmp_path, *(line.replace("1|1|gpu", "9|9|gpu") for line in LINES[:1]))
    run("ingest", "slurm", str(more), address, "--append")
    shutil.rmtree(cache)
    assert query(address, COUNT)["n"][0] == 5
    key = f"lake/traces/ours/{Manifest.read(fetch_trace(address)).files['jobs'][0]}"
    s3.pipe_file(key, b"not it")
    assert invoke("verify", address).exit_code == 1
    shutil.rmtree(cache)
    with pytest.raises(TraceError, match="does not match its checksum"):
        query(address, COUNT)
    with pytest.raises(TraceError, match="is not a trace"):
        query("s3://nowhere/ours", COUNT)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_missing_server_is_an_error(s3: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    type(s3).clear_instance_cache()
    with pytest.raises(InputError, match=r"s3://lake/ours cannot be read.*network"):
        query("s3://lake/ours", COUNT)


def test_a_local_trace_imports_no_storage(tmp_path: Path) -> None:
    assert fetch_trace(tmp_path) == tmp_path
    assert "PHILLY_CACHE" not in os.environ
