"""Run tasks on executors: this process, processes of this machine, or a Dask cluster."""

import atexit
import gc
import multiprocessing
import os
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from philly_analysis import memory
from philly_analysis.errors import InputError

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
ExecutorLike: TypeAlias = Executor | int | str | None
"""Where work runs: an executor, a number of processes, a Dask address; None: this process."""

_SAME_VERSION = ("philly-analysis", "duckdb", "numpy", "pandas", "polars", "pyarrow", "scipy")
"""Packages whose versions must be equal on all workers, or numbers may differ."""
_TIMEOUT_S = 30
"""How long to wait for a scheduler, and for its first worker."""


def cores() -> int:
    """Return the number of cores that this process may use; a batch job may have few of many."""
    has_affinity = hasattr(os, "sched_getaffinity")  # not on Windows and macOS
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def collect_rarely() -> None:
    """Search seldom for cycles of objects in a process that is short.

    The default takes 4 % of a report, and 0.3 s at the exit.
    """
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


class InlineExecutor(Executor):
    """An executor that runs each task in the calling thread, at once."""

    def submit(self, fn: Callable[..., Outcome], /, *args: Any, **kwargs: Any) -> Future[Outcome]:
        """Return a finished future with the outcome or the error."""
        future: Future[Outcome] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - the future raises it
            future.set_exception(error)
        return future


@contextmanager
def open_executor(executor: ExecutorLike = None) -> Iterator[Executor]:
    """Return the executor that an ``executor=`` argument names; close it if it was opened here.

    Parameters
    ----------
    executor
        An executor, which stays open. A number of processes of this machine: a script that uses
        more than one needs the guard ``if __name__ == "__main__":``, since each process imports
        the script. The address of a Dask scheduler, e.g. ``tcp://head:8786``. None or 1: the
        calling process.

    Raises
    ------
    InputError
        The number of processes is below one; the cluster cannot be reached, has no worker or other
        package versions; ``distributed`` is not installed; or a worker was killed.
    """
    if isinstance(executor, Executor):
        yield executor
    elif isinstance(executor, str):
        with _dask_workers(executor) as opened:
            yield opened
    elif executor is None or executor == 1:
        yield InlineExecutor()
    elif executor < 1:
        raise InputError(f"the number of processes is {executor}; give 1 or more.")
    else:
        with processes(executor) as opened:
            yield opened


@contextmanager
def _dask_workers(cluster: str) -> Iterator[Executor]:
    """Return the workers of a Dask cluster, which repeats the tasks of killed workers."""
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError:
        raise InputError(
            "a cluster needs the package distributed, which is not installed: "
            "`pip install 'philly-analysis[cluster]'`."
        ) from None
    try:
        client: Any = Client(cluster, timeout=_TIMEOUT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(
            f"no Dask scheduler can be reached at {cluster}: {error}. Give the address that it "
            "prints, e.g. tcp://head:8786."
        ) from None
    with client:
        _check_cluster(client, cluster)
        try:
            with client.get_executor() as executor:
                yield executor
        except (KilledWorker, CommClosedError, CancelledError) as error:
            reason = str(error).split("\n", 1)[0] or type(error).__name__
            raise InputError(
                f"the cluster at {cluster} failed ({reason.rstrip('.')}): its scheduler was "
                "stopped, or its workers were killed, perhaps for lack of memory. Try again: "
                "finished work is kept."
            ) from None


def _check_cluster(client: Any, cluster: str) -> None:
    """Raise InputError if a cluster has no workers, or other package versions than this process."""
    try:
        client.wait_for_workers(1, timeout=_TIMEOUT_S)
        versions_of: dict[str, dict[str, str]] = client.run(_versions)
    except TimeoutError:
        raise InputError(f"the cluster at {cluster} has no worker. Start some.") from None
    except ImportError as error:
        raise InputError(
            f"a worker of {cluster} lacks this package: {error}. Install the same environment on "
            "each worker."
        ) from None
    local = _versions()
    for worker, versions in sorted(versions_of.items()):
        for name, here in local.items():
            if versions[name] != here:
                raise InputError(
                    f"the worker {worker} has {name} {versions[name]}, this machine {here}: "
                    "numbers may differ. Install the same environment on each worker."
                )


def _versions() -> dict[str, str]:
    return {name: version(name) for name in _SAME_VERSION}


def require_visible(paths: Iterable[str | Path]) -> None:
    """Raise InputError if this worker lacks a file that the calling process has."""
    for path in paths:
        if not Path(path).exists():
            raise InputError(
                f"{socket.gethostname()} has no file {path}: workers need raw files and traces "
                "under the same path, on a shared disk."
            )


@contextmanager
def processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Open an executor of processes on this machine, which start with the first task.

    The memory budget is divided among these processes and the calling one.

    Raises
    ------
    InputError
        The system has no semaphores left, which processes need; or a process was killed.
    """
    # a forked process would inherit the engine's threads in an undefined state
    spawned = multiprocessing.get_context("spawn")
    with memory.divided_by(jobs + 1) as share:
        try:
            opened = ProcessPoolExecutor(jobs, spawned, _start_worker, (share,))
        except OSError as error:
            raise InputError(
                "a second process cannot be started: it needs a semaphore, a small file in memory "
                f"({error.strerror or error}). Allow larger files (`ulimit -f`), and free some "
                "space in /dev/shm."
            ) from error
        try:
            with opened:
                yield opened
        except BrokenExecutor:
            raise InputError(
                f"one of {jobs} processes was killed, by the system or by a user. "
                f"{memory.state()} If that is too little, use fewer processes. Try again: finished "
                "work is kept."
            ) from None


def _start_worker(memory_share: str) -> None:
    """Give this worker process its part of the memory; end it when its parent ends.

    Otherwise the worker of a killed parent would wait for work, and keep the parent's output open.
    """
    os.environ[memory.SETTING] = memory_share
    collect_rarely()
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def map_ordered(
    executor: Executor, work: Callable[[Task], Outcome], tasks: Iterable[Task], *, ahead: int
) -> Iterator[Outcome]:
    """Run `work` on each task in an executor, and yield the outcomes in the order of the tasks.

    Parameters
    ----------
    executor
        Threads, processes, or workers of a cluster.
    work
        A function that can be pickled, unless the executor's workers are threads.
    ahead
        Tasks that may be running or finished before their outcome is read, which bounds memory: no
        more are read from `tasks`.
    """
    running: deque[Future[Outcome]] = deque()
    try:
        for task in tasks:
            running.append(executor.submit(work, task))
            if len(running) >= ahead or isinstance(executor, InlineExecutor):
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        for future in running:
            future.cancel()
