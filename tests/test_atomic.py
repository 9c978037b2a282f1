"""What is written appears whole or not at all; what the dead have left goes with the next."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any

import pytest

from philly_analysis import atomic
from philly_analysis.atomic import appearing, hold, session_folder, settled, sweep, sweep_within

DYING = """
import os, signal, sys
from pathlib import Path
from philly_analysis import atomic
out = Path(sys.argv[1])
if sys.argv[2] == "between":  # the two renames by which a folder takes another's place
    rename = Path.rename
    def once(self, target):
        rename(self, target)
        os.kill(os.getpid(), signal.SIGKILL)
    Path.rename = once
if sys.argv[2] == "finished":  # it stands, and its writer has yet to let go
    put = atomic._put
    def last(*given):
        put(*given)
        os.kill(os.getpid(), signal.SIGKILL)
    atomic._put = last
with atomic.appearing(out) as partial:
    partial.mkdir()
    (partial / "file").write_text("new")
    if sys.argv[2] == "halfway":
        atomic.session_folder()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def folder(path: Path, text: str) -> None:
    path.mkdir()
    (path / "file").write_text(text)


def file(path: Path, text: str) -> None:
    path.write_text(text)


def text(path: Path) -> str:
    return (path / "file" if path.is_dir() else path).read_text()


def broken_off(out: Path, make: Callable[[Path, str], None]) -> None:
    with appearing(out) as partial:
        make(partial, "three")
        raise ZeroDivisionError


def die(out: Path, where: str) -> None:
    done = subprocess.run([sys.executable, "-c", DYING, out, where], check=False)
    assert done.returncode == -9


@pytest.mark.parametrize("make", [folder, file])
@pytest.mark.parametrize("name", ["out", "out [1]*?"])
def test_the_new_takes_the_place_of_the_old_when_it_is_whole(
    tmp_path: Path, make: Callable[[Path, str], None], name: str
) -> None:
    out = tmp_path / "deep" / name
    with appearing(out) as partial:
        make(partial, "one")
        assert not out.exists()
    with appearing(out) as partial:
        make(partial, "two")
        assert text(out) == "one"
    with pytest.raises(ZeroDivisionError):
        broken_off(out, make)
    with appearing(out, first_stays=True) as partial:
        make(partial, "four")
    with appearing(out) as partial:
        pass  # which writes nothing
    assert text(out) == "two"
    assert list(out.parent.iterdir()) == [out]


def test_what_a_killed_writer_left_goes_with_the_next(tmp_path: Path) -> None:
    out, beside = tmp_path / "out", tmp_path / "out-2"
    folder(out, "old")
    die(out, "halfway")
    die(beside, "halfway")
    assert text(out) == "old"
    assert len(list(tmp_path.iterdir())) == 1 + 4  # a lock and half a folder of each
    with appearing(out) as partial:
        folder(partial, "newer")
    assert text(out) == "newer"
    sweep(beside)
    assert list(tmp_path.iterdir()) == [out]


def test_what_was_moved_aside_by_a_killed_writer_comes_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder(out, "old")
    die(out, "between")
    assert not out.exists()
    assert text(settled(out)) == "old"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(("where", "stands"), [("halfway", False), ("finished", True)])
def test_what_was_left_goes_though_nobody_writes_it_again(
    tmp_path: Path, where: str, stands: bool
) -> None:
    die(tmp_path / "deep" / "out", where)
    assert any(path.name.startswith(".out.lock-") for path in (tmp_path / "deep").iterdir())
    with appearing(tmp_path / "deep" / "mine") as partial:
        file(partial, "mine")
        sweep_within(tmp_path)
        assert partial.exists(), "who lives is left alone"
    left = {"mine", "out"} if stands else {"mine"}
    assert {path.name for path in (tmp_path / "deep").iterdir()} == left
    sweep_within(tmp_path / "none")


def test_a_writer_that_lives_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with appearing(out) as partial:
        folder(partial, "mine")
        with appearing(out) as other:
            folder(other, "theirs")
        assert text(out) == "theirs"
    assert text(out) == "mine"


def test_a_writer_whose_lock_two_swept_at_once_takes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    swept = []

    def late(lock: IO[Any]) -> None:
        """Let two find the lock before its writer holds it, and sweep it one after the other."""
        monkeypatch.setattr(atomic, "hold", hold)
        found = list(tmp_path.glob(".out.lock-*"))
        sweep(out)
        with monkeypatch.context() as second:
            second.setattr(Path, "glob", lambda *_: iter(found))
            swept.append(dead := atomic._dead(tmp_path, "out"))
            assert next(dead, None) is None, "what another removed is not made anew"
        hold(lock)

    monkeypatch.setattr(atomic, "hold", late)
    with appearing(out) as partial:
        assert len(swept) == 1
        folder(partial, "mine")
        assert len(list(tmp_path.glob(".out.lock-*"))) == 1
    assert list(tmp_path.iterdir()) == [out]


def test_of_many_at_once_one_stands_whole_and_nothing_is_left(tmp_path: Path) -> None:
    out = tmp_path / "out"
    folder(out, "old")

    def write(n: int) -> None:
        for _ in range(20):
            with appearing(out) as partial:
                folder(partial, f"{n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert text(out) in "0123"
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("make", [folder, file])
def test_what_is_not_to_be_replaced_stays_also_when_it_came_meanwhile(
    tmp_path: Path, make: Callable[[Path, str], None]
) -> None:
    out = tmp_path / "out"

    def write() -> None:
        with appearing(out, replaces=False) as partial:
            make(partial, "mine")
            make(out, "theirs")

    with pytest.raises(FileExistsError):
        write()
    assert text(out) == "theirs"
    assert list(tmp_path.iterdir()) == [out]


def test_scratch_of_the_killed_goes_with_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    die(tmp_path / "out", "halfway")
    assert len(list((tmp_path / "tmp").iterdir())) == 2
    mine, more = session_folder(), session_folder()
    assert mine.is_dir() and more.is_dir() and mine != more
    assert {p.is_dir() for p in (tmp_path / "tmp").iterdir()} == {True, False}
    assert len(list((tmp_path / "tmp").iterdir())) == 2, "one folder and its lock"
