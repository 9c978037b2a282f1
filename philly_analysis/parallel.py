"""The one way in which work is spread: over a ``concurrent.futures.Executor``, in order."""

import atexit
import gc
import multiprocessing
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from philly_analysis.errors import InputError

Task = TypeVar("Task")
Answer = TypeVar("Answer")

_SAME = ("philly-analysis", "duckdb", "numpy", "pandas", "polars", "pyarrow", "scipy")
"""Packages of which a cluster must have the versions that are here, or numbers may differ."""
_NICER = 10
_WAIT_S = 30
"""How long a scheduler may take to answer, and to have a worker."""


class InlineExecutor(Executor):
    """Does each task at once, in the thread that hands it in."""

    def submit(self, fn: Callable[..., Answer], /, *args: Any, **kwargs: Any) -> Future[Answer]:
        """Return the answer, or what went wrong, as a future that is done."""
        future: Future[Answer] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever asks for the answer meets it
            future.set_exception(error)
        return future


@contextmanager
def workers(jobs: int = 1, cluster: str | None = None) -> Iterator[Executor]:
    """Give an executor for as long as the block runs.

    Parameters
    ----------
    jobs
        Processes on this machine; 1: none, work is done here. A script that asks for more needs
        the guard ``if __name__ == "__main__":``, since each process opens it anew.
    cluster
        Address of the scheduler of a Dask cluster to work on instead, e.g. ``tcp://head:8786``.

    Raises
    ------
    InputError
        Fewer than one process; or a cluster that does not answer, has no worker or other versions
        of what computes; or the package ``distributed`` is not installed; or so many processes or
        workers ended that the work was given up.
    """
    if cluster is not None:
        with _workers_of(cluster) as executor:
            yield executor
    elif jobs < 1:
        raise InputError(f"{jobs} processes were asked for; give 1 or more.")
    elif jobs == 1:
        yield InlineExecutor()
    else:
        try:
            with processes(jobs) as executor:
                yield executor
        except BrokenExecutor:
            raise InputError(
                f"one of {jobs} processes was killed, by a lack of memory perhaps. Take fewer, and "
                "try again: what was written stays."
            ) from None


@contextmanager
def _workers_of(cluster: str) -> Iterator[Executor]:
    """Give the workers of a Dask cluster, which takes up what a worker left that ended."""
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError:
        raise InputError(
            "a cluster was asked for, and the package distributed is not installed: "
            "`pip install 'philly-analysis[cluster]'`."
        ) from None
    try:
        client: Any = Client(cluster, timeout=_WAIT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler answers at {cluster}: {error}. Give the address that it prints, "
            "e.g. tcp://head:8786."
        ) from None
    with client:
        _check(client, cluster)
        try:
            with client.get_executor() as executor:
                yield executor
        except (KilledWorker, CommClosedError, CancelledError) as error:
            said = str(error).split("\n", 1)[0] or type(error).__name__
            raise InputError(
                f"the cluster at {cluster} gave up ({said.rstrip('.')}): its scheduler was "
                "stopped, or its workers were killed, by a lack of memory perhaps. Try again: "
                "what was written stays."
            ) from None


def _check(client: Any, cluster: str) -> None:
    """Refuse a cluster without workers, or whose workers would compute otherwise.

    Raises
    ------
    InputError
        It is such a one.
    """
    try:
        client.wait_for_workers(1, timeout=_WAIT_S)
        found: dict[str, dict[str, str]] = client.run(_versions)
    except TimeoutError:
        raise InputError(f"the cluster at {cluster} has no worker. Start some.") from None
    except ImportError as error:
        raise InputError(
            f"a worker of {cluster} lacks this package: {error}. Install on each the environment "
            "that is here."
        ) from None
    ours = _versions()
    for worker, theirs in sorted(found.items()):
        for name in _SAME:
            if theirs[name] != ours[name]:
                raise InputError(
                    f"the worker {worker} has {name} {theirs[name]}, and here is {ours[name]}: "
                    "numbers may differ. Install on each the environment that is here."
                )


def _versions() -> dict[str, str]:
    return {name: version(name) for name in _SAME}


def require_visible(paths: Iterable[str | Path]) -> None:
    """Refuse work on files that this process cannot see, which those who gave it can.

    Raises
    ------
    InputError
        It says which, and where.
    """
    for path in paths:
        if not Path(path).exists():
            raise InputError(
                f"{socket.gethostname()} works on {path} and cannot see it: workers need raw files "
                "and traces under the same path, on a disk that all share."
            )


def processes(jobs: int) -> ProcessPoolExecutor:
    """Return an executor of processes on this machine, which opens them when there is work.

    Raises
    ------
    InputError
        The system gives nothing by which processes could wait for each other.
    """
    # a process that is forked would inherit the engine's threads in whatever state they are
    spawned = multiprocessing.get_context("spawn")
    try:
        return ProcessPoolExecutor(
            jobs, spawned, initializer=_begin, initargs=(gc.get_threshold(),)
        )
    except OSError as error:
        raise InputError(
            "a second process cannot be had, for the system gives no semaphore, which is a small "
            f"file in memory ({error.strerror or error}). Allow files of some size (`ulimit -f`), "
            "and free some of /dev/shm."
        ) from error


def _begin(garbage: tuple[int, int, int]) -> None:
    """Look for garbage as rarely as the one that gives this process work, and end with it."""
    gc.set_threshold(*garbage)
    _end_with_parent()


def _end_with_parent() -> None:
    """See to it that this process ends with the one that gives it work, also where that is killed.

    It would else wait for work for ever, and whoever reads what it may print for its end. At its
    own end, all else done, it goes at once: to take its modules apart takes 0.4 s.
    """
    atexit.register(os._exit, 0)
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def lower_priority() -> None:
    """Let this thread have just what time others leave, where each has a rank of its own."""
    if sys.platform == "linux":
        os.nice(_NICER)


def map_ordered(
    executor: Executor, work: Callable[[Task], Answer], tasks: Iterable[Task], *, ahead: int
) -> Iterator[Answer]:
    """Do `work` on each task in an executor, and yield the answers in the order of the tasks.

    Parameters
    ----------
    executor
        Threads, processes, or those of a cluster.
    work
        A function that can be pickled, unless the executor's workers are threads.
    ahead
        Tasks that may be under way or done before their answer is taken: no more are drawn from
        `tasks`, so that memory holds these and no more.
    """
    under_way: deque[Future[Answer]] = deque()
    try:
        for task in tasks:
            under_way.append(executor.submit(work, task))
            if len(under_way) >= ahead:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for future in under_way:
            future.cancel()
