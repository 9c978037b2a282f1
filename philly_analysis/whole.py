"""What is written appears whole or not at all, and what a killed process left goes with the next.

Whoever writes holds a lock beside the place, which ends with the process however it ends. A lock
that nobody holds is a dead writer's: what it left half-way is removed, and what it had moved aside
to put a new one in its place comes back.
"""

import atexit
import glob
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

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


@contextmanager
def appearing(out: Path, *, first_stays: bool = False) -> Iterator[Path]:
    """Give a path to write a file or folder to, which becomes `out` when the block ends well.

    Where the block writes nothing there, nothing appears.

    Parameters
    ----------
    first_stays
        If somebody else was quicker, theirs stays: for what comes out equal whoever makes it.

    Raises
    ------
    OSError
        It cannot be written there.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    sweep(out)
    with _claim(out.parent, out.name) as token:
        partial = _beside(out, "partial", token)
        try:
            yield partial
            if not partial.exists() or (first_stays and out.exists()):
                return
            if out.is_dir():
                old = _beside(out, "old", token)
                out.rename(old)
                partial.rename(out)
                _remove(old)
            else:
                partial.replace(out)
        finally:
            _remove(partial)


def sweep(out: Path) -> None:
    """Remove what writers of `out` left who are dead; give back what they had moved aside."""
    with suppress(OSError):
        for token in _dead(out.parent, out.name):
            old = _beside(out, "old", token)
            if old.exists() and not out.exists():
                old.rename(out)
            for left in out.parent.glob(f".{glob.escape(out.name)}.*-{token}*"):
                _remove(left)


def settled(out: Path) -> Path:
    """Return a place to read from when nobody is changing what stands there."""
    until = time.monotonic() + _PATIENCE_S
    while not out.exists() and any(out.parent.glob(f".{glob.escape(out.name)}.old-*")):
        sweep(out)
        if time.monotonic() > until:
            break
        time.sleep(_PATIENCE_S / 20)
    return out


def session_folder() -> Path:
    """Return a new folder that is there until this process ends, unless it is removed before."""
    session = _session(Path(tempfile.gettempdir()), os.getpid())
    session.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=session))


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

    atexit.register(end)
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
        with path.open("a") as lock:
            with suppress(OSError):  # a disk that knows no locks: nobody sweeps there
                hold(lock)
            if not path.exists():  # swept between the two lines before
                continue
            try:
                yield token
            finally:
                path.unlink(missing_ok=True)
            return


def _dead(folder: Path, name: str) -> Iterator[str]:
    """Yield the tokens of writers whose locks nobody holds; they are held meanwhile."""
    for path in folder.glob(f".{glob.escape(name)}.lock-*"):
        with suppress(OSError), path.open("a") as lock:
            hold(lock)
            yield path.name.rpartition(".lock-")[2]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
