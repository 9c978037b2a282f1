"""The one way in which work is spread: over a ``concurrent.futures.Executor``, in order."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

from philly_analysis.errors import InputError

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Here(Executor):
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
        Fewer than one process, or a cluster without the package ``distributed``.
    """
    if cluster is not None:
        try:
            from distributed import Client
        except ImportError:
            raise InputError(
                "a cluster was asked for, and the package distributed is not installed: "
                "`pip install 'philly-analysis[cluster]'`."
            ) from None
        client: Any = Client(cluster)  # type: ignore[no-untyped-call]
        with client, client.get_executor() as executor:
            yield executor
    elif jobs < 1:
        raise InputError(f"{jobs} processes were asked for; give 1 or more.")
    elif jobs == 1:
        yield Here()
    else:
        with processes(jobs) as executor:
            yield executor


def processes(jobs: int) -> ProcessPoolExecutor:
    """Return an executor of processes on this machine, which opens them when there is work."""
    # a process that is forked would inherit the engine's threads in whatever state they are
    return ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"))


def spread(
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
