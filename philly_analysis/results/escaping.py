"""Escape untrusted text for terminals and CSV."""

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from philly_analysis.results.formatting import reproducible

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile(r"\s*[=+\-@\t\n\uff1d\uff0b\uff0d\uff20]")
"""Start of a cell that a spreadsheet evaluates as a formula (OWASP: CSV injection)."""


def printable(text: str, *, lines: bool = False) -> str:
    r"""Replace control and invisible characters by escape sequences.

    Parameters
    ----------
    lines
        Keep line feeds.

    Examples
    --------
    >>> printable("a\x1b[2J\u202egpj")
    'a\\x1b[2J\\u202egpj'
    """
    if text.isprintable():
        return text
    kept = "\n" if lines else ""
    return "".join(
        c
        if c in kept or c.isprintable() or unicodedata.category(c) == "Zs"
        else c.encode("unicode_escape").decode()
        for c in text
    )


def csv_text(table: "pd.DataFrame") -> str:
    """Return a table as CSV without formulas.

    An apostrophe precedes text that a spreadsheet would evaluate. Real numbers have 12 significant
    digits, so that two runs write the same bytes. Numbers stored as text are unchanged.
    """
    return str(_cells(table).to_csv(index=False))


def write_csv(table: "pd.DataFrame", path: Path, compression: Any = None) -> None:
    """Write a table as CSV without formulas (see :func:`csv_text`)."""
    _cells(table).to_csv(path, index=False, lineterminator="\n", compression=compression)


def _cells(table: "pd.DataFrame") -> "pd.DataFrame":
    import pandas as pd

    kinds = (pd.CategoricalDtype, pd.StringDtype)
    safe = table.set_axis([csv_cell(c) for c in table.columns], axis=1)
    for i, kind in enumerate(table.dtypes):
        if pd.api.types.is_object_dtype(kind) or isinstance(kind, kinds):
            texts = [csv_cell(value) for value in table.iloc[:, i]]
            safe.isetitem(i, pd.Series(texts, dtype=object).to_numpy())
        elif kind == "float64":
            safe.isetitem(i, table.iloc[:, i].map(csv_cell).to_numpy())
    return safe


def csv_cell(value: Any) -> Any:
    """Return a value as a CSV cell: text escaped if a spreadsheet would evaluate it.

    Real numbers are rounded to 12 significant digits.
    """
    if isinstance(value, float):
        return reproducible(value)
    if not isinstance(value, str):
        return value
    # CSV writers do not quote a carriage return, and readers end the row there
    value = value.replace("\r\n", "\n").replace("\r", "\n")
    if not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
