"""Files and folders are replaced atomically; what killed writers left is removed or restored."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from philly_analysis import atomic
from philly_analysis.atomic import (
    atomic_write,
    exclusive,
    in_turn,
    recover,
    remove_stale,
    remove_stale_within,
    scratch_folder,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from philly_analysis import atomic
out, moment = Path(sys.argv[1]), sys.argv[2]
def killed_after(function):
    def call(*args):
        function(*args)
        os.kill(os.getpid(), signal.SIGKILL)
    return call
if moment == "between":  # the two renames by which a folder replaces another
    Path.rename = killed_after(Path.rename)
if moment == "renamed":  # before the lock is released
    atomic._rename = killed_after(atomic._rename)
with atomic.atomic_write(out) as partial:
    partial.mkdir()
    (partial / "file").write_text("new")
    if moment == "halfway":
        killed_after(atomic.scratch_folder)()
"""
Make = Callable[[Path, str], None]


def make_folder(path: Path, text: str) -> None:
    path.mkdir()
    (path / "file").write_text(text)


def make_file(path: Path, text: str) -> None:
    path.write_text(text)


def text(path: Path) -> str:
    return (path / "file" if path.is_dir() else path).read_text()


def kill_writer(out: Path, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, out, moment], check=False)
    assert done.returncode == -9


@pytest.fixture(params=[make_folder, make_file])
def make(request: pytest.FixtureRequest) -> Make:
    chosen: Make = request.param
    return chosen


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["out", "out [1]*?"])
def test_the_target_is_replaced_when_the_block_ends(tmp_path: Path, make: Make, name: str) -> None:
    out = tmp_path / "deep" / name

    def fail() -> None:
        with atomic_write(out) as partial:
            make(partial, "three")
            raise ZeroDivisionError

    with atomic_write(out) as partial:
        make(partial, "one")
        assert not out.exists()
    with atomic_write(out) as partial:
        make(partial, "two")
        assert text(out) == "one"
    with pytest.raises(ZeroDivisionError):
        fail()
    with atomic_write(out, keep_existing=True) as partial:
        make(partial, "four")
    with atomic_write(out) as partial:
        pass  # it writes nothing
    assert text(out) == "two"
    assert list(out.parent.iterdir()) == [out]


def test_the_next_writer_removes_what_a_killed_one_left(tmp_path: Path, out: Path) -> None:
    other = tmp_path / "out-2"
    make_folder(out, "old")
    kill_writer(out, "halfway")
    kill_writer(other, "halfway")
    assert text(out) == "old"
    assert len(list(tmp_path.iterdir())) == 1 + 4  # a lock and a partial folder of each
    with atomic_write(out) as partial:
        make_folder(partial, "newer")
    assert text(out) == "newer"
    remove_stale(other)
    assert list(tmp_path.iterdir()) == [out]


def test_what_a_killed_writer_moved_aside_is_restored(tmp_path: Path, out: Path) -> None:
    make_folder(out, "old")
    kill_writer(out, "between")
    assert not out.exists()
    assert text(recover(out)) == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(("moment", "left"), [("halfway", {"mine"}), ("renamed", {"mine", "out"})])
def test_stale_files_in_a_folder_are_removed_though_nobody_writes_them_again(
    tmp_path: Path, moment: str, left: set[str]
) -> None:
    deep = tmp_path / "deep"
    kill_writer(deep / "out", moment)
    assert any(path.name.startswith(".out.lock-") for path in deep.iterdir())
    with atomic_write(deep / "mine") as partial:
        make_file(partial, "mine")
        remove_stale_within(tmp_path)
        assert partial.exists(), "a running writer's files are kept"
    assert {path.name for path in deep.iterdir()} == left
    remove_stale_within(tmp_path / "none")


def test_writers_of_one_target_do_not_disturb_each_other(out: Path) -> None:
    with atomic_write(out) as partial:
        make_folder(partial, "mine")
        with atomic_write(out) as other:
            make_folder(other, "theirs")
        assert text(out) == "theirs"
    assert text(out) == "mine"


def test_a_writer_whose_lock_file_was_removed_before_it_locked_creates_another(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire = FileLock._acquire
    removed: list[str] = []

    def late(self: FileLock) -> None:
        """Open the lock file, and let another process remove it as stale before it is locked."""
        if "lock-" in self.lock_file and not removed:
            removed.append(self.lock_file)
            Path(self.lock_file).touch()
            remove_stale(out)
            assert not list(tmp_path.iterdir())
        acquire(self)

    monkeypatch.setattr(FileLock, "_acquire", late)
    with atomic_write(out) as partial:
        make_folder(partial, "mine")
        assert len(removed) == len(list(tmp_path.glob(".out.lock-*"))) == 1
    assert list(tmp_path.iterdir()) == [out]


def test_of_many_writers_at_once_one_wins_and_nothing_is_left(tmp_path: Path, out: Path) -> None:
    make_folder(out, "old")

    def write(n: int) -> None:
        for _ in range(20):
            with atomic_write(out) as partial:
                make_folder(partial, f"{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert text(out) in "0123"
    assert list(tmp_path.iterdir()) == [out]


def test_a_target_created_meanwhile_is_not_replaced(tmp_path: Path, out: Path, make: Make) -> None:
    def write() -> None:
        with atomic_write(out, replace=False) as partial:
            make(partial, "mine")
            make(out, "theirs")

    with pytest.raises(FileExistsError):
        write()
    assert text(out) == "theirs"
    assert list(tmp_path.iterdir()) == [out]


def test_a_lock_is_exclusive_until_the_block_ends(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    busy = KeyError("busy")
    with exclusive(lock, busy), pytest.raises(KeyError, match="busy"), exclusive(lock, busy):
        pass
    with exclusive(lock, busy):
        pass


def test_a_turn_begins_when_the_one_before_has_ended(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    ended: list[str] = []
    with ThreadPoolExecutor(1) as other:
        with in_turn(out):
            begun = other.submit(wait_for_turn, out, ended)
            time.sleep(0.2)
            ended.append("first")
        begun.result()
    assert ended == ["first", "second"]
    assert list(out.parent.iterdir()) == []


def wait_for_turn(out: Path, ended: list[str]) -> None:
    with in_turn(out):
        ended.append("second")


def test_nobody_waits_for_a_turn_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_TURN_S", 0.1)
    with in_turn(tmp_path / "out"), in_turn(tmp_path / "out"):
        pass


def test_a_target_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    make_file(tmp_path / "file", "no folder")
    with pytest.raises(OSError, match="file"), atomic_write(tmp_path / "file" / "out"):
        pass


def test_the_next_session_removes_the_scratch_folder_of_a_killed_one(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    kill_writer(out, "halfway")
    assert len(list(scratch.iterdir())) == 2
    mine, more = scratch_folder(), scratch_folder()
    assert mine.is_dir() and more.is_dir() and mine != more
    assert {path.is_dir() for path in scratch.iterdir()} == {True, False}
    assert len(list(scratch.iterdir())) == 2, "one folder and its lock"
