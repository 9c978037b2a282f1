"""Split the output of ``scontrol show`` into records, and records into fields."""

import re
from collections.abc import Iterable, Iterator

_MOST_LINES = 10_000
"""Limit on the lines of a record; further lines are not read."""
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*)=(\S*)")


def record_texts(lines: Iterable[tuple[int, str]], first_field: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the first line and the text of each record.

    Parameters
    ----------
    lines
        Numbered lines. Lines before the first record are part of it.
    first_field
        Field with which a record begins, for example ``NodeName``.
    """
    first, record = 1, list[str]()
    for number, line in lines:
        if line.startswith(f"{first_field}=") and record:
            yield first, "\n".join(record)
            first, record = number, []
        if len(record) < _MOST_LINES:
            record.append(line)
    yield first, "\n".join(record)


def record_fields(text: str) -> dict[str, str]:
    r"""Return the fields of a record; of a repeated field the first value counts.

    Examples
    --------
    >>> record_fields("PartitionName=train\n   Nodes=a[1-3] MaxTime=00:10:00")
    {'PartitionName': 'train', 'Nodes': 'a[1-3]', 'MaxTime': '00:10:00'}
    """
    fields: dict[str, str] = {}
    for name, value in _FIELD.findall(text):
        fields.setdefault(name, value)
    return fields
