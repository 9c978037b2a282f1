"""Split the tables that ``sacctmgr -P`` prints into rows."""

from collections.abc import Iterable, Iterator


def table_rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a table by column; the first line names the columns.

    A line with fewer fields than columns was cut off, and is skipped. Of a line with more fields
    the additional fields are free text with a ``|``, and are dropped.

    Examples
    --------
    >>> list(table_rows(["Name|Priority", "high|100", "low"]))
    [{'Name': 'high', 'Priority': '100'}]
    """
    names: list[str] = []
    for line in lines:
        fields = line.split("|")
        if not names:
            names = fields
        elif fields != names and len(fields) >= len(names):
            yield dict(zip(names, fields, strict=False))
