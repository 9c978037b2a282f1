"""Expand Slurm's lists of hosts: ``gpu[001-003,007],login1``."""

import re
from itertools import chain, product

MOST_HOSTS = 100_000
"""Limit on the hosts of a list; a longer list is damaged or hostile."""
_MOST_RANGES = 8
_LONGEST_HOST = 255

_ITEM = re.compile(r"((?:[^,\[\]]|\[[^\[\]]*\])+)(?:,|$)")
_RANGE = re.compile(r"\[([^\[\]]*)\]")


def expand_hosts(text: str) -> list[str]:
    """Return the hosts of a list; none if it cannot be read.

    Examples
    --------
    >>> expand_hosts("gpu[01-03,07],login1")
    ['gpu01', 'gpu02', 'gpu03', 'gpu07', 'login1']
    """
    named: list[str] = []
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        if not item:
            return []
        hosts = _expand_item(item[1])
        if hosts is None or len(named) + len(hosts) > MOST_HOSTS:
            return []
        named += hosts
        at = item.end()
    return named


def _expand_item(item: str) -> list[str] | None:
    """Return the hosts of one item; None if it cannot be read, or has too many."""
    texts, ranges = _RANGE.split(item)[::2], _RANGE.findall(item)
    if len(ranges) > _MOST_RANGES:
        return None
    numbers, count = [], 1
    for text in ranges:
        spans = [_span(part) for part in text.split(",")]
        count *= sum(len(span) for span, _ in spans)
        if count > MOST_HOSTS or not all(width for _, width in spans):
            return None
        numbers.append([f"{n:0{width}}" for span, width in spans for n in span])
    hosts = [
        "".join(chain(*zip(texts, (*combination, ""), strict=True)))
        for combination in product(*numbers)
    ]
    return hosts if all(len(host) <= _LONGEST_HOST for host in hosts) else None


def _span(part: str) -> tuple[range, int]:
    """Return the numbers of a range, and their digits; 0 digits if it is no range."""
    first, _, last = part.partition("-")
    last = last or first
    if not (first.isdecimal() and last.isdecimal()) or len(first) + len(last) > 18:
        return range(0), 0
    return range(int(first), int(last) + 1), len(first)
