"""Replace and lock files and folders atomically, and remove what interrupted runs left behind.

A writer works on a partial copy beside its target and holds a lock file until it ends, however it
ends. A lock file that nobody holds belongs to a killed writer: its partial copy is removed, and a
folder that it had moved aside is restored.
"""

import glob
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from errno import EEXIST, ENOTEMPTY
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from philly_analysis.errors import TraceError, file_errors

_RECOVERY_TIMEOUT_S = 1.0
"""How long a reader waits for a writer that is replacing a folder."""
_TURN_S = 60.0
"""How long a process waits for another one that computes the same."""


@contextmanager
def exclusive(lock: Path, otherwise: Exception) -> Iterator[None]:
    """Hold a lock file while the block runs.

    Parameters
    ----------
    otherwise
        What to raise if another process or thread holds the lock.
    """
    try:
        acquired = FileLock(lock).acquire(blocking=False)
    except Timeout:
        raise otherwise from None
    with acquired:
        yield


@contextmanager
def in_turn(out: Path) -> Iterator[None]:
    """Let another process that computes `out` finish before the block runs.

    The wait ends after a minute, and on a disk without locks nobody waits: `out` is equal whoever
    computes it, so that a second computation costs only time.
    """
    path = _sibling(out, "lock", "turn")
    lock = FileLock(path, timeout=_TURN_S, thread_local=False)
    with suppress(OSError):
        out.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        if lock.is_locked:
            path.unlink(missing_ok=True)
            lock.release()


@contextmanager
def atomic_write(out: Path, *, keep_existing: bool = False, replace: bool = True) -> Iterator[Path]:
    """Return a path to write a file or folder to, which is renamed to `out` when the block ends.

    Nothing is renamed if the block raises or writes nothing.

    Parameters
    ----------
    keep_existing
        Keep what another writer has put there meanwhile: for outputs that are equal whoever
        computes them.
    replace
        Replace what is there when the block ends.

    Raises
    ------
    OSError
        The target cannot be written; FileExistsError: it exists and is not to be replaced.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    remove_stale(out)
    with _writer_lock(out) as token:
        partial = _sibling(out, "partial", token)
        try:
            yield partial
            while partial.exists() and not (keep_existing and out.exists()):
                if not replace and out.exists():
                    raise FileExistsError(EEXIST, "another process was faster")
                replaces = replace and not keep_existing
                _rename(partial, out, _sibling(out, "old", token) if replaces else None)
        finally:
            _remove(partial)


def _rename(partial: Path, out: Path, old: Path | None) -> None:
    """Rename a file or folder to its target, unless another process creates a folder there.

    Parameters
    ----------
    old
        Where to move a folder that is at the target; None: nowhere.
    """
    if old and out.is_dir():
        with suppress(FileNotFoundError):  # another process has moved it
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


def remove_stale(out: Path) -> None:
    """Remove what killed writers of `out` left, and restore what they had moved aside."""
    with suppress(OSError):
        _clean_up(out.parent.glob(f".{glob.escape(out.name)}.lock-*"))


def remove_stale_within(folder: Path) -> None:
    """Remove what killed writers left of any file in a folder, which may never be written again."""
    with suppress(OSError):  # also when another process removes the folder
        _clean_up(folder.rglob(".*.lock-*"))


def _clean_up(locks: Iterable[Path]) -> None:
    for lock in sorted(locks):
        with suppress(OSError), FileLock(lock).acquire(blocking=False):  # its writer is dead
            name, _, token = lock.name[1:].rpartition(".lock-")
            out = lock.with_name(name)
            old = _sibling(out, "old", token)
            if old.exists() and not out.exists():
                old.rename(out)
            for sibling in lock.parent.glob(f".{glob.escape(name)}.*-{token}*"):
                if sibling != lock:
                    _remove(sibling)
            lock.unlink(missing_ok=True)


def recover(out: Path) -> Path:
    """Return `out` once no writer is replacing it, and restore what a killed writer moved aside."""
    deadline = time.monotonic() + _RECOVERY_TIMEOUT_S
    while not out.exists() and any(out.parent.glob(f".{glob.escape(out.name)}.old-*")):
        remove_stale(out)
        if time.monotonic() > deadline:
            break
        time.sleep(_RECOVERY_TIMEOUT_S / 20)
    return out


class FolderHandle:
    """An open folder, whose files stay readable when it is renamed or replaced.

    Attributes
    ----------
    path
        Where to read its files: if the system has one, a path that never leads to another folder.
    """

    def __init__(self, folder: Path) -> None:
        """Open a folder; one that cannot be opened is known by its path alone."""
        self._folder = self.path = folder
        self._descriptor: int | None = None
        self.close: Callable[[], object] = lambda: None
        with suppress(OSError):
            self._descriptor = os.open(folder, os.O_RDONLY)
            by_descriptor = Path(f"/proc/self/fd/{self._descriptor}")
            self.path = by_descriptor if by_descriptor.is_dir() else folder
            self.close = weakref.finalize(self, os.close, self._descriptor)

    @property
    def in_place(self) -> bool:
        """Whether the folder is still at its path."""
        if self._descriptor is None:
            return True
        try:
            return os.path.samestat(self._folder.stat(), os.fstat(self._descriptor))
        except OSError:
            return False


def scratch_folder() -> Path:
    """Return a new temporary folder, which is removed when this process ends.

    Raises
    ------
    TraceError
        The folder cannot be created.
    """
    advice = ". Set TMPDIR to a folder with free space."
    with file_errors(TraceError, "no temporary folder can be created", advice):
        session = _session_folder(Path(tempfile.gettempdir()), os.getpid())
        session.mkdir(mode=0o700, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=session))


@cache
def _session_folder(parent: Path, process: int) -> Path:
    """Return this process's folder, whose lock the process holds until it ends."""
    target = parent / "philly"
    remove_stale(target)
    at_end = ExitStack()
    folder = _sibling(target, "partial", at_end.enter_context(_writer_lock(target)))
    at_end.callback(_remove, folder)

    def end() -> None:
        if os.getpid() == process:  # not in a process that was forked from it
            at_end.close()

    Finalize(None, end, exitpriority=0)  # worker processes run these, and no atexit functions
    return folder


@contextmanager
def _writer_lock(out: Path) -> Iterator[str]:
    """Hold a new lock file beside a target, and return the token in its name."""
    token = f"{os.getpid()}-{uuid4().hex[:8]}"
    path = _sibling(out, "lock", token)
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire()
    except OSError:
        if not path.exists():
            raise  # else the disk has no locks, and no process removes another's files there
    try:
        yield token
    finally:
        path.unlink(missing_ok=True)
        lock.release()


def _sibling(out: Path, kind: str, token: str) -> Path:
    return out.with_name(f".{out.name}.{kind}-{token}")


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def link_or_copy(old: Path, new: Path) -> bool:
    """Link a file to a new path, or copy it if it cannot be linked; return whether it exists."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        return False
    except OSError:
        shutil.copyfile(old, new)
    return True
