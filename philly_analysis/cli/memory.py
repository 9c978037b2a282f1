"""Memory that runs out ends in a word, whoever runs out of it: Python, the engine, a library.

A library that gets no memory may end the process on the spot, and a system that has none left kills
it. So that somebody is left to say so, a command works in a child of the process that was started.
"""

import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from philly_analysis.errors import PhillyError

_KINDS = {"MemoryError", "OutOfMemoryException", "BrokenExecutor"}
"""Errors, or what they derive from, that say so; the last: a process of ours is gone."""
_WORDS = re.compile(
    r"bad[ _]alloc|Allocation failure|[Cc]annot allocate memory|failed to map segment|"
    r"can't start new thread|could not spawn threads|Resource temporarily unavailable|"
    r"alloc of size \d+ failed"
)
"""How others say so: C++, the engine, the loader of libraries, whoever wants a thread, Arrow."""
_UNFORESEEN = {"SystemError", "InternalException"}
"""Errors that cannot be, but where Python or the engine did not heed a lack of memory."""
_SENT = {signal.SIGINT, signal.SIGTERM}
"""Signals by which somebody ends a process, and not a lack of something."""
_LOADING_S = 60
"""More than any machine takes to load SciPy."""
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""


def ran_out(error: BaseException) -> bool:
    """Tell whether an error is a lack of memory, or was met in dealing with one.

    The words of an error of ours are not looked at, which may quote a log.
    """
    if _is_of(error, _KINDS):
        return True
    met: BaseException | None = error
    while met is not None:
        told = isinstance(met, PhillyError | BlockingIOError)  # the latter is of a lock
        if isinstance(met, MemoryError) or (not told and _WORDS.search(str(met))):
            return True
        met = met.__cause__ or met.__context__
    return False


def _is_of(error: BaseException, names: set[str]) -> bool:
    """Tell whether an error is one of these kinds, by name: whose library need not be loaded."""
    return any(kind.__name__ in names for kind in type(error).__mro__)


@contextmanager
def watched() -> Iterator[None]:
    """Do what the block does, in a child where that can be; a lack of memory is said in a line.

    Raises
    ------
    SystemExit
        In the process that was started, with the status that the child ended with.
    """
    allowed = _allowed()
    note = _in_child(allowed)
    try:
        if allowed and note is not None:
            _load()
        yield
    except BaseException as error:  # a library's may be no Exception
        if ran_out(error) or (allowed and _is_of(error, _UNFORESEEN)):
            if note is None:
                _say(allowed)
            raise SystemExit(1) from None  # and the parent says it, which has memory
        _end(note)
        raise
    _end(note)


def _load() -> None:
    """Load those who ask for memory for ever where they get none, while an alarm can end them.

    OpenBLAS, of which NumPy and SciPy each have their own, asks so as it is loaded.
    """
    signal.alarm(_LOADING_S)
    for name in ("numpy", "scipy.special"):
        import_module(name)
    signal.alarm(0)


def _end(note: int | None) -> None:
    """Note that this ended in order, whatever comes of it."""
    if note is not None:
        os.write(note, b".")


def _say(allowed: str) -> None:
    os.write(2, f"philly: there is not enough memory for this{allowed}. Give it more.\n".encode())


def _allowed() -> str:
    """Say what a process may have; empty: anything. Where that is little, libraries take less."""
    if sys.platform == "win32":
        return ""
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return ""
    # each thread of it takes 40 MB of addresses; where it gets none it asks for ever
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return f" (`ulimit -v` allows {most / 1e9:.1f} GB)"


def _in_child(allowed: str) -> int | None:
    """Go on in a child; return where it notes that it ended in order, None: there is no child."""
    if sys.platform != "linux" or not _alone():
        return None
    signals = {signal.SIGINT, signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    parent, (heard, done) = os.getpid(), os.pipe()
    child = os.fork()
    if child:
        os.close(done)
        os.set_blocking(heard, False)
        _watch(child, heard, allowed)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    os.close(heard)
    with suppress(ImportError, MemoryError):
        import ctypes

        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    return done


def _alone() -> bool:
    """Tell whether this process has one thread, a library's counted: others would not be forked."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _watch(child: int, heard: int, allowed: str) -> NoReturn:
    """Wait until the child has ended, and end as it did; say why where it could not."""
    ended, status = 0, 0
    while not ended:
        told = signal.sigwaitinfo({signal.SIGINT, signal.SIGCHLD})
        if told.si_signo == signal.SIGINT and told.si_code <= 0:  # not a terminal, which tells both
            os.kill(child, signal.SIGINT)
        ended, status = os.waitpid(child, os.WNOHANG)
    code = os.waitstatus_to_exitcode(status)
    if -code in _SENT:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    if code < 0:
        os.write(
            2,
            f"philly: this was ended by {signal.Signals(-code).name}, as happens where there is "
            f"not enough memory{allowed}. Give it more: what was there is whole.\n".encode(),
        )
    elif code and not _read(heard):
        _say(allowed)
    else:
        raise SystemExit(code)
    raise SystemExit(1)


def _read(heard: int) -> bytes:
    try:
        return os.read(heard, 1)
    except BlockingIOError:  # it is open in what the child left running
        return b""
