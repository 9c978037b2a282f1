"""Works on several items at once, on threads, and gives the outcomes in the items' order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

THREADS = min(os.cpu_count() or 1, 8)
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


def in_order(
    pool: ThreadPoolExecutor, work: Callable[[Item], Outcome], items: Iterable[Item]
) -> Iterator[Outcome]:
    """Give the outcome of work on each item; few are under way, or done and not taken, at once."""
    under_way: deque[Future[Outcome]] = deque()
    for item in items:
        under_way.append(pool.submit(work, item))
        if len(under_way) > THREADS:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()
