"""Format the cells of tables, and embed the rows of long tables in a page, compressed."""

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from philly_analysis.report.sections import Section
from philly_analysis.results import NOT_KNOWN

BUDGET = 1_000_000
"""Bytes of the embedded rows of a page: a third of the page's 3 MB."""
_MOST_ROWS = 50_000
"""Rows of one table that a page embeds; a browser sorts as many in about 0.2 s (measured)."""
_UNBROKEN = 24
"""Characters up to which a cell stays on one line."""
_LEVEL = 7
"""Level of compression: 9 takes six times as long and saves 5 % (measured)."""
_LONGEST = 120
"""Characters of a cell; the table's file has the whole text."""


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of a table as a page embeds them.

    Attributes
    ----------
    text
        Columns, CSS classes and cells as JSON, gzipped, as base64.
    rows
        Number of rows in the block.
    """

    text: str
    rows: int


def cell(value: Any) -> str:
    """Format a cell of a table: numbers with four digits, or all before the decimal point."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str | int):
        return clipped(str(value))
    if pd.api.types.is_scalar(value) and pd.isna(value):
        return NOT_KNOWN
    if isinstance(value, float):
        return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:,.4g}"
    return clipped(str(value))


def clipped(text: str) -> str:
    """Return a text of a log, cut where it is too long for a page."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def kinds(table: pd.DataFrame) -> list[str]:
    """Return each column's CSS class: numbers, aligned right; short text, unbroken; other text."""
    return [_kind(column, map(cell, column)) for _, column in table.items()]


def _kind(column: "pd.Series[Any]", cells: Iterable[str]) -> str:
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        return "num"
    return "word" if all(len(text) <= _UNBROKEN for text in cells) else ""


def row_blocks(sections: Iterable[Section]) -> dict[str, Block]:
    """Return the rows of the sections that show only a part of their table, by section.

    The longest tables are cut where all rows together exceed the budget of a page.
    """
    tables = {s.name: s.result.table for s in sections if not s.sortable}
    blocks = {name: block(table.head(_MOST_ROWS)) for name, table in tables.items()}
    most = _largest([len(b.text) for b in blocks.values()], BUDGET)
    for name, whole in blocks.items():
        cut = whole
        while len(cut.text) > most:
            rows = int(0.9 * cut.rows * most / len(cut.text))
            cut = block(tables[name].head(rows))
        blocks[name] = cut
    return blocks


def block(table: pd.DataFrame, **more: object) -> Block:
    """Return a table, and further values by name, as a page embeds them."""
    columns = [column for _, column in table.items()]
    cells = [[_text(value) for value in column] for column in columns]
    classes = list(map(_kind, columns, cells))
    document = {"columns": list(table.columns), "kinds": classes, "cells": cells, **more}
    text = json.dumps(document, separators=(",", ":")).encode()
    return Block(base64.b64encode(gzip.compress(text, _LEVEL, mtime=0)).decode(), len(table))


def _text(value: Any) -> str:
    return value.striptags() if isinstance(value, Markup) else cell(value)


def _largest(sizes: Sequence[int], budget: float) -> float:
    """Return the size to which the largest are cut so that all together are within a budget."""
    for number, size in enumerate(sorted(sizes)):
        remaining = len(sizes) - number
        if size * remaining > budget:
            return budget / remaining
        budget -= size
    return max(sizes, default=0)
