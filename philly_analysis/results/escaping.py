"""Words of strangers, as logs hold them, made harmless where they are shown."""

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"\s*[=+\-@\t\n\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet would compute or break (OWASP: CSV injection)."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""Spell out what moves, colours, hides or turns round letters on a terminal.

    Parameters
    ----------
    lines
        Ends of lines are meant.

    Examples
    --------
    >>> printable("a\x1b[2J\u202egpj")
    'a\\x1b[2J\\u202egpj'
    """
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(c if c in kept or _shows(c) else _spelled(c) for c in text)


def csv_text(table: "pd.DataFrame") -> str:
    """Return a table as CSV in which a spreadsheet finds no formula.

    A text that would be one begins with an apostrophe; numbers stay as they are, also those that
    stand as text.
    """
    return str(_cells(table).to_csv(index=False))


def write_csv(table: "pd.DataFrame", path: Path, compression: Any = None) -> None:
    """Write a table as :func:`csv_text` gives it."""
    _cells(table).to_csv(path, index=False, lineterminator="\n", compression=compression)


def _cells(table: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    kinds = (pd.CategoricalDtype, pd.StringDtype)
    safe = table.set_axis([cell(c) for c in table.columns], axis=1)
    for place, kind in enumerate(table.dtypes):
        if pd.api.types.is_object_dtype(kind) or isinstance(kind, kinds):
            texts = [cell(value) for value in table.iloc[:, place]]
            safe.isetitem(place, pd.Series(texts, dtype=object).to_numpy())
    return safe


def cell(value: Any) -> Any:
    """Return a value as it stands in a cell of CSV."""
    if not isinstance(value, str):
        return value
    # which writers of CSV do not quote, and readers take for the end of a row
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    if not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _shows(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def _spelled(char: str) -> str:
    return char.encode("unicode_escape").decode()
