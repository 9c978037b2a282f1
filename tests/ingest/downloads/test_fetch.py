"""Check downloads from a server that stalls, truncates, sends wrong bytes or refuses."""

import hashlib
import re
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from philly_analysis import datasets, ingest
from philly_analysis.errors import InputError, OutputError, UnknownNameError
from philly_analysis.ingest.downloads import catalogue
from philly_analysis.ingest.downloads.catalogue import Dataset, fetch
from philly_analysis.ingest.downloads.http_file import RemoteFile, RetryPolicy
from philly_analysis.ingest.table.table_map import load_map
from tests.support.command_line import invoke, run
from tests.support.files import packed, zipped

BODY = bytes(i * i % 251 for i in range(300_000))
"""What is published: 300 kB in no pattern of the blocks."""
NO_DIGEST = {"mit-supercloud", "pm100", "cloudbrain-1"}
"""Datasets whose publisher states no digest."""
QUICK = RetryPolicy(timeout_s=0.4, tries=3, pause_s=0.01)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:20\nsize 300000\n"

Answer = Callable[["Handler", int], None]
"""Answers one request, told where the client wants to go on from."""
Publish = Callable[..., None]


class Handler(BaseHTTPRequestHandler):
    """Answers each request by the next of the server's answers, the last one again and again."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted else 0
        server.asked.append(start)
        server.answers[min(len(server.asked), len(server.answers)) - 1](self, start)

    def give(
        self,
        body: bytes,
        *,
        code: int = 200,
        length: int | None = None,
        start: int = 0,
        later: str = "",
    ) -> None:
        self.send_response(206 if start else code)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
        self.send_header("Retry-After", later)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *words: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    answers: tuple[Answer, ...] = ()

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file"

    def handle_error(self, *who: object) -> None:
        """Clients that go away are what is tested."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as started:
        threading.Thread(target=started.serve_forever, args=(0.01,), daemon=True).start()
        yield started
        started.shutdown()


def whole(h: Handler, start: int) -> None:
    """Give what is asked for, as a good server does."""
    h.give(BODY[start:], start=start)


def cut(h: Handler, start: int) -> None:
    """Break off a third later."""
    h.give(BODY[start : start + 100_000], length=len(BODY) - start, start=start)


def stall(h: Handler, start: int) -> None:
    """Send some and then nothing."""
    h.send_response(200)
    h.send_header("Content-Length", str(len(BODY)))
    h.end_headers()
    h.wfile.write(BODY[:50_000])
    h.wfile.flush()
    time.sleep(1.2)


def hang_up(h: Handler, start: int) -> None:
    h.connection.shutdown(socket.SHUT_RDWR)
    h.close_connection = True


def says_less(h: Handler, start: int) -> None:
    """Call the file shorter than it is, and send that much."""
    h.give(BODY[start:] if start else BODY[:1000], start=start)


def refuse(code: int, later: str = "") -> Answer:
    return lambda h, start: h.give(b"no", code=code, later=later)


def give(body: bytes) -> Answer:
    return lambda h, start: h.give(body)


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Return a function that makes files the only dataset, `mine`."""

    def replace_catalogue(*files: RemoteFile, source: str = "philly", **options: Any) -> None:
        one = Dataset("mine", "what it is", "free", source, files, **options)
        monkeypatch.setattr(catalogue, "published", lambda: {"mine": one})

    return replace_catalogue


@pytest.fixture
def published(server: Server, publish: Publish) -> RemoteFile:
    """Publish one file, which the server has."""
    file = RemoteFile("file.bin", server.url, hashlib.sha256(BODY).hexdigest(), len(BODY))
    publish(file)
    return file


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ((whole,), [0]),
        ((cut, cut, whole), [0, 100_000, 200_000]),
        ((cut, give(BODY)), [0, 100_000]),
        ((stall, whole), [0, 50_000]),
        ((hang_up, hang_up, whole), [0, 0, 0]),
        ((refuse(503), cut, refuse(500), whole), [0, 0, 100_000, 100_000]),
        ((says_less, whole), [0, 1000]),
    ],
    ids=["at once", "cut", "no ranges", "stalled", "hung up", "busy", "said less"],
)
def test_what_breaks_off_goes_on_until_it_is_whole(
    server: Server, published: RemoteFile, tmp_path: Path, answers: list[Answer], asked: list[int]
) -> None:
    server.answers = tuple(answers)
    path = fetch("mine", tmp_path / "not yet" / "there", retries=QUICK)
    assert path.read_bytes() == BODY
    assert server.asked == asked
    assert [p.name for p in path.parent.iterdir()] == ["file.bin"]
    assert fetch("mine", path.parent) == path, "what is there is not fetched again"
    assert server.asked == asked


def test_the_next_call_goes_on_where_the_last_gave_up(
    server: Server, published: RemoteFile, tmp_path: Path
) -> None:
    server.answers = (cut, hang_up)
    with pytest.raises(InputError, match=r"given up after 3 tries.*100,000 bytes of it are kept"):
        fetch("mine", tmp_path, retries=QUICK)
    assert [p.name for p in tmp_path.iterdir()] == ["file.bin.part"]
    server.answers, server.asked = (whole,), []
    assert fetch("mine", tmp_path, retries=QUICK).read_bytes() == BODY
    assert server.asked == [100_000]
    (tmp_path / "file.bin").rename(tmp_path / "file.bin.part")
    assert fetch("mine", tmp_path, retries=QUICK).read_bytes() == BODY
    assert server.asked == [100_000], "what is whole is not asked for"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (give(BODY[:-1] + b"!"), r"300,000 bytes with SHA-256 .* published were 300,000 bytes"),
        (give(BODY + b"!"), r"more than the 300,000 bytes that were published"),
        (give(POINTER), r"Git LFS pointer.*quota"),
        (refuse(403), r"403.*quota"),
        (refuse(404), r"no such file"),
        (refuse(429, later="3600"), r"429.*come back in 3600 s"),
        (refuse(429), r"too many requests"),
        (refuse(503), r"given up after 3 tries.*503"),
        (hang_up, r"given up after 3 tries"),
        (give(b""), r"given up after 3 tries that brought nothing: the connection ended after 0"),
    ],
    ids=["other", "longer", "pointer", "403", "404", "429", "429 now", "503", "hung up", "empty"],
)
def test_what_is_not_the_file_leaves_nothing_under_its_name(
    server: Server, published: RemoteFile, tmp_path: Path, answer: Answer, said: str
) -> None:
    server.answers = (answer,)
    with pytest.raises(InputError, match=said):
        fetch("mine", tmp_path, retries=QUICK)
    sizes = {p.name: p.stat().st_size for p in tmp_path.iterdir()}
    assert sizes in ({}, {"file.bin.part": 0})


def test_a_name_that_another_file_has_is_left_alone(published: RemoteFile, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_text("mine")
    with pytest.raises(InputError, match="not the file that was published"):
        fetch("mine", tmp_path)
    assert (tmp_path / "file.bin").read_text() == "mine"


def test_two_do_not_write_one_file(server: Server, published: RemoteFile, tmp_path: Path) -> None:
    server.answers = (whole,)
    with (
        FileLock(tmp_path / ".file.bin.lock"),
        pytest.raises(OutputError, match="another process fetches"),
    ):
        fetch("mine", tmp_path)
    assert server.asked == []


def test_where_there_is_no_network_it_says_so(published: RemoteFile, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        with pytest.raises(InputError, match="is there a network"):
            fetch("mine", tmp_path, url=nobody, retries=QUICK)


def test_an_address_of_ones_own_and_words_that_name_nothing(
    server: Server, published: RemoteFile, tmp_path: Path
) -> None:
    server.answers = (whole,)
    assert run("fetch", "mine", tmp_path, "--url", server.url) == f"{tmp_path / 'file.bin'}\n"
    with pytest.raises(UnknownNameError, match="no dataset named 'thine'"):
        fetch("thine")
    with pytest.raises(InputError, match="no web address"):
        fetch("mine", url="file:///etc/passwd")
    refused = invoke("fetch", "mine", tmp_path / "b", "--url", "ftp://a/")
    assert refused.exit_code == 1
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (zipped({"a.zip": b"x"}), "cannot be written"),
        (zipped({"b.csv": b"x" * 100})[:-40], "cannot be unpacked"),
        (zipped({"b.csv": b"x" * 100}).replace(b"b.csv", b"b.csw", 1), "cannot be unpacked"),
    ],
    ids=["itself", "truncated", "two names"],
)
def test_a_zip_archive_replaces_nothing_and_is_whole(
    server: Server, publish: Publish, tmp_path: Path, body: bytes, said: str
) -> None:
    publish_archives(server, publish, {"a.zip": body})
    with pytest.raises((InputError, OutputError), match=said):
        fetch("mine", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def publish_archives(server: Server, publish: Publish, bodies: dict[str, bytes]) -> None:
    """Publish archives that are one dataset, which the server has."""
    server.answers = (lambda h, start: h.give(bodies[h.path.rpartition("/")[2]]),)
    files = [
        RemoteFile(name, f"{server.url}/{name}", hashlib.sha256(body).hexdigest())
        for name, body in bodies.items()
    ]
    publish(*files, source="table", map="itp-2021", unpack=True)


@pytest.mark.slow
def test_an_archive_of_tables_is_unpacked_beside_its_map_and_read(
    server: Server, publish: Publish, tmp_path: Path
) -> None:
    rows = b"job_id,submission_time,duration,num_gpu\n1,0,60,8\n2,30,5,1\n"
    publish_archives(server, publish, {"a.tar.gz": packed({"cluster01.csv": rows})})
    folder = fetch("mine", tmp_path / "itp")
    told = ingest("auto", folder, tmp_path / "trace").manifest
    assert {a.table: a.kept for a in told.accounts}["jobs"] == 2


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
@pytest.mark.parametrize(
    "members", [{"../out.csv": b"x"}, {"/opt/some/out.csv": b"x"}, {"bomb.csv": b"0" * 3_000_000}]
)
def test_an_archive_neither_lands_outside_nor_grows_beyond_measure(
    server: Server, publish: Publish, tmp_path: Path, members: dict[str, bytes], kind: str
) -> None:
    body = packed(members) if kind == "tar.gz" else zipped(members)
    publish_archives(server, publish, {f"a.{kind}": body})
    folder = tmp_path / "in" / "here"
    # an absolute path is taken for a path inside the folder
    inside = "/opt/some/out.csv" in members
    with nullcontext() if inside else pytest.raises(InputError, match=r"unpack"):
        fetch("mine", folder)
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and folder not in p.parents]
    assert outside == []
    assert not Path("/opt/some/out.csv").exists()
    assert bool(list(folder.rglob("opt/some/out.csv"))) == inside


@pytest.fixture
def parts(server: Server, publish: Publish) -> dict[str, bytes]:
    """Publish two archives and a map that belong together."""
    bodies = {f"{n}.tar.gz": packed({f"cluster0{n}.csv": b"job_id\n%d\n" % n}) for n in (1, 2)}
    publish_archives(server, publish, bodies)
    return bodies


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_files_that_belong_together_appear_together(
    server: Server, parts: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "there"
    good = server.answers
    server.answers = (*good, refuse(404))
    with pytest.raises(InputError, match="no such file"):
        fetch("mine", folder)
    assert not folder.exists()
    server.answers, server.asked = good, []
    assert fetch("mine", folder) == folder
    assert len(server.asked) == 1, "what was there is not fetched again"
    every = ["1.tar.gz", "2.tar.gz", "cluster01.csv", "cluster02.csv", "map.toml"]
    assert names(folder) == every
    assert names(tmp_path) == ["there"]
    (folder / "cluster01.csv").unlink()  # as of a fetch that an older version broke off
    assert fetch("mine", folder) == folder
    assert names(folder) == every
    assert len(server.asked) == 1


def test_a_folder_of_other_things_stays_as_it_is(
    server: Server, parts: dict[str, bytes], tmp_path: Path
) -> None:
    for name in ("plans", "notes"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match="has notes, which is not one of the files"):
        fetch("mine", tmp_path)
    assert server.asked == []
    (tmp_path / "1.tar.gz").write_bytes(parts["1.tar.gz"])
    with pytest.raises(OutputError, match="has notes"):
        fetch("mine", tmp_path)
    assert names(tmp_path) == ["1.tar.gz", "notes", "plans"]


def test_the_datasets_that_ship_are_whole_and_can_be_read() -> None:
    known = catalogue.published()
    [philly] = known["philly"].files
    assert philly.bytes == 1_055_988_361
    assert philly.sha256 == "2037ccf63a725a02be718b0e1aeee6142c90b7f62d0d849295120e9f6ba13d2c"
    for one in known.values():
        assert one.what.endswith(".")
        assert one.licence
        assert one.source in {"philly", "pai", "table"}
        assert bool(one.map) == (one.source == "table")
        if one.map:
            load_map(one.map)
        for file in one.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256) or not file.sha256
            assert re.fullmatch(r"[0-9a-f]{40}", file.blob) or file.sha256 or one.name in NO_DIGEST
            assert re.fullmatch(r"https://[^ ]+/" + re.escape(file.name), file.url)
            if "github" in file.url:
                assert re.search(r"/[0-9a-f]{40}/", file.url), "a branch moves"
    assert set(datasets()["dataset"]) == known.keys()


def test_a_size_that_nobody_published_is_held_to_the_digest(
    server: Server, published: RemoteFile, publish: Publish, tmp_path: Path
) -> None:
    publish(replace(published, bytes=None))
    server.answers = (cut, whole)
    assert fetch("mine", tmp_path, retries=QUICK).read_bytes() == BODY


def test_what_git_calls_a_file_is_as_good_as_a_digest(
    server: Server, published: RemoteFile, publish: Publish, tmp_path: Path
) -> None:
    (tmp_path / "body").write_bytes(BODY)
    asked = ["git", "hash-object", "--no-filters", str(tmp_path / "body")]
    name = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    publish(replace(published, sha256="", bytes=None, blob=name))
    server.answers = (cut, whole)
    file = fetch("mine", tmp_path / "good", retries=QUICK)
    assert file.read_bytes() == BODY
    assert fetch("mine", tmp_path / "good") == file  # it is there
    file.write_bytes(BODY[:-1])
    with pytest.raises(InputError, match=f"not the file that was published .*{name}"):
        fetch("mine", tmp_path / "good")
    server.answers = (give(BODY[:-1]),)
    with pytest.raises(InputError, match=f"published were the name {name} in Git"):
        fetch("mine", tmp_path / "bad", retries=QUICK)
    assert list((tmp_path / "bad").iterdir()) == []
