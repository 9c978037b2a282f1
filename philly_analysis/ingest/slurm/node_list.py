"""Reads Slurm's short form of a list of hosts: ``gpu[001-003,007],login1``."""

import re
from collections.abc import Iterator

MOST_HOSTS = 100_000
"""Hosts that one list may name; a longer list is damaged or hostile."""
_MOST_RANGES = 8
_LONGEST_HOST = 255

_ITEM = re.compile(r"((?:[^,\[\]]|\[[^\[\]]*\])+)(?:,|$)")
_RANGE = re.compile(r"\[([^\[\]]*)\]")


def hosts(text: str) -> list[str]:
    """Return the hosts that a list names, none where it cannot be read.

    Examples
    --------
    >>> hosts("gpu[01-03,07],login1")
    ['gpu01', 'gpu02', 'gpu03', 'gpu07', 'login1']
    """
    named: list[str] = []
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        if not item:
            return []
        if item[1].count("[") > _MOST_RANGES:
            return []
        for host in _expanded(item[1]):
            named.append(host)
            if len(named) > MOST_HOSTS or len(host) > _LONGEST_HOST:
                return []
        at = item.end()
    return named


def _expanded(item: str) -> Iterator[str]:
    bracket = _RANGE.search(item)
    if not bracket:
        yield item
        return
    for part in bracket[1].split(","):
        first, _, last = part.partition("-")
        last = last or first
        if not (first.isdecimal() and last.isdecimal()) or len(first) + len(last) > 18:
            return
        for number in range(int(first), int(last) + 1):
            rest = item[bracket.end() :]
            yield from _expanded(f"{item[: bracket.start()]}{number:0{len(first)}}{rest}")
