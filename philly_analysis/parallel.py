"""The one way in which work is spread: over a ``concurrent.futures.Executor``, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")


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
