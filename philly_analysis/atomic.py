"""What is written appears whole or not at all, and what a killed process left goes with the next.

Whoever writes holds a lock beside the place, which ends with the process however it ends. A lock
that nobody holds is a dead writer's: what it left half-way is removed, and what it had moved aside
to put a new one in its place comes back.
"""

import glob
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EEXIST, ENOTEMPTY
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from philly_analysis.errors import TraceError

_PATIENCE_S = 1.0
"""How long a reader waits for a writer who is putting a new folder in the place of an old one."""


def hold(lock: IO[Any]) -> None:
    """Lock a file for as long as it is open, which ends with the process; OSError: it is locked."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def owned(path: Path, lock: IO[Any]) -> bool:
    """Lock an open file; tell whether it is ours: no other holds it, and it is still in place."""
    try:
        hold(lock)
        return os.path.samestat(path.stat(), os.fstat(lock.fileno()))
    except OSError:
        return False


@contextmanager
def appearing(out: Path, *, first_stays: bool = False, replaces: bool = True) -> Iterator[Path]:
    """Give a path to write a file or folder to, which becomes `out` when the block ends well.

    Where the block writes nothing there, nothing appears.

    Parameters
    ----------
    first_stays
        If somebody else was quicker, theirs stays: for what comes out equal whoever makes it.
    replaces
        Put it in the place of what stands there then.

    Raises
    ------
    OSError
        It cannot be written there; FileExistsError: something stands there, and is to stay.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    sweep(out)
    with _claim(out.parent, out.name) as token:
        partial = _beside(out, "partial", token)
        try:
            yield partial
            while partial.exists() and not (first_stays and out.exists()):
                if not replaces and out.exists():
                    raise FileExistsError(EEXIST, "somebody else was quicker")
                stays = first_stays or not replaces
                _put(partial, out, None if stays else _beside(out, "old", token))
        finally:
            _remove(partial)


def _put(partial: Path, out: Path, old: Path | None) -> None:
    """Put a new file or folder in its place, unless somebody else puts a folder there just now.

    Parameters
    ----------
    old
        Where to move a folder that stands there; None: nowhere.
    """
    if old and out.is_dir():
        with suppress(FileNotFoundError):  # somebody else has moved it
            out.rename(old)
    try:
        partial.replace(out)
    except OSError as error:
        if error.errno not in (EEXIST, ENOTEMPTY):
            if old and old.exists():
                old.rename(out)
            raise
    if old:
        _remove(old)


def sweep(out: Path) -> None:
    """Remove what writers of `out` left who are dead; give back what they had moved aside."""
    with suppress(OSError):
        for token in _dead(out.parent, out.name):
            old = _beside(out, "old", token)
            if old.exists() and not out.exists():
                old.rename(out)
            found = out.parent.glob(f".{glob.escape(out.name)}.*-{token}*")
            for left in sorted(found, key=lambda path: ".lock-" in path.name):  # which goes last
                _remove(left)


def sweep_within(folder: Path) -> None:
    """Remove what dead writers left of whatever is in a folder, which may never be written again.

    Who finds a file there that was finished, just before its writer was killed, writes it no more.
    """
    with suppress(OSError):  # also of a folder that somebody removes meanwhile
        for lock in sorted(folder.rglob(".*.lock-*")):
            sweep(lock.with_name(lock.name[1:].rpartition(".lock-")[0]))


def settled(out: Path) -> Path:
    """Return a place to read from when nobody is changing what stands there."""
    until = time.monotonic() + _PATIENCE_S
    while not out.exists() and any(out.parent.glob(f".{glob.escape(out.name)}.old-*")):
        sweep(out)
        if time.monotonic() > until:
            break
        time.sleep(_PATIENCE_S / 20)
    return out


class Held:
    """A folder that stays known whatever becomes of its name, and those that its files are in."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders: dict[Path, int] = {}
        for folder in folders:
            with suppress(OSError):  # where a folder cannot be opened it is known by its name alone
                self._folders[folder] = os.open(folder, os.O_RDONLY)
        self.let_go = weakref.finalize(self, _close, list(self._folders.values()))
        self.path = next(iter(folders))
        """Where to read its files from: where the system has such a name, these and no others."""
        if at := self._folders.get(self.path):
            same = Path(f"/proc/self/fd/{at}")
            self.path = same if same.is_dir() else self.path

    @property
    def stands(self) -> bool:
        """Whether they are where they were."""
        try:
            return all(os.path.samestat(f.stat(), os.fstat(at)) for f, at in self._folders.items())
        except OSError:
            return False


def _close(descriptors: Iterable[int]) -> None:
    for at in descriptors:
        os.close(at)


def session_folder() -> Path:
    """Return a new folder that is there until this process ends, unless it is removed before.

    Raises
    ------
    TraceError
        There is no room for it.
    """
    try:
        session = _session(Path(tempfile.gettempdir()), os.getpid())
        session.mkdir(mode=0o700, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=session))
    except OSError as error:
        raise TraceError(
            f"there is no folder for scratch: {error.strerror or error}. Say where there is room "
            "with TMPDIR."
        ) from None


@cache
def _session(parent: Path, process: int) -> Path:
    """Give this process its folder, whose lock it holds to its end."""
    sweep(parent / "philly")
    claim = _claim(parent, "philly")
    made = _beside(parent / "philly", "partial", claim.__enter__())

    def end() -> None:
        if os.getpid() == process:  # not in what was forked from it
            _remove(made)
            claim.__exit__(None, None, None)

    Finalize(None, end, exitpriority=0)  # which workers call as well, as they call no atexit
    return made


def _beside(out: Path, kind: str, token: str) -> Path:
    return out.with_name(f".{out.name}.{kind}-{token}")


def _lock(folder: Path, name: str, token: str) -> Path:
    return folder / f".{name}.lock-{token}"


@contextmanager
def _claim(folder: Path, name: str) -> Iterator[str]:
    """Give a token that is this process's, as long as its lock is held."""
    while True:
        token = f"{os.getpid()}-{uuid4().hex[:8]}"
        path = _lock(folder, name, token)
        with path.open("x") as lock:
            try:
                hold(lock)
            except BlockingIOError:
                continue  # it is being swept
            except OSError:
                pass  # a disk that knows no locks: nobody sweeps there
            if not path.exists():  # it was swept between opening and holding it
                continue
            try:
                yield token
            finally:
                path.unlink(missing_ok=True)
            return


def _dead(folder: Path, name: str) -> Iterator[str]:
    """Yield the tokens of writers whose locks nobody holds; they are held meanwhile."""
    for path in folder.glob(f".{glob.escape(name)}.lock-*"):
        with suppress(OSError), path.open("r+") as lock:  # never made anew where another swept it
            if owned(path, lock):
                yield path.name.rpartition(".lock-")[2]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
