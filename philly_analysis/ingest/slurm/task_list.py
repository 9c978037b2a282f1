"""Parse Slurm's lists of an array's tasks: ``1,3,5-9:2%4``."""

import re

MOST_RANGES = 100_000
"""Limit on the ranges of a list; a longer list is damaged or hostile."""
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")


def task_ranges(text: str) -> list[tuple[int, int, int]]:
    """Return first and last task and step of each range; parts that are cut off are left out.

    Examples
    --------
    >>> task_ranges("1,3,5-9:2%4")
    [(1, 1, 1), (3, 3, 1), (5, 9, 2)]
    """
    parts = text.partition("%")[0].split(",")[:MOST_RANGES]
    matches = filter(None, map(_RANGE.fullmatch, parts))
    return [(int(m[1]), int(m[2] or m[1]), max(int(m[3] or 1), 1)) for m in matches]
