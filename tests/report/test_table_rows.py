"""Check the rows that pages embed: all rows of small tables, a budget for large ones."""

import base64
import gzip
import json
from typing import Any

import pandas as pd
import pytest
from markupsafe import Markup

from philly_analysis.report import table_rows
from philly_analysis.report.sections import Section
from philly_analysis.report.table_rows import block, cell, row_blocks
from philly_analysis.results import NOT_KNOWN, Result


def unpacked(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return document


def part(name: str, table: pd.DataFrame) -> Section:
    return Section(name, "?", Result(name, table), "")


def test_a_block_has_every_cell_as_the_page_shows_it() -> None:
    table = pd.DataFrame({"user": ["<b>", None], "gpu_h": [12345.6, float("nan")], "n": [1, 2]})
    document = unpacked(block(table).text)
    assert document["columns"] == ["user", "gpu_h", "n"]
    assert document["cells"] == [["<b>", NOT_KNOWN], ["12,346", NOT_KNOWN], ["1", "2"]]


def test_markup_is_text_in_a_block() -> None:
    table = pd.DataFrame({"type": pd.Series([Markup("<code>a &lt; b</code>")], dtype=object)})
    assert unpacked(block(table).text)["cells"] == [["a < b"]]


def test_long_texts_are_cut() -> None:
    assert len(cell("x" * 10_000)) < 200


def test_only_tables_that_the_page_cuts_are_embedded() -> None:
    few, many = pd.DataFrame({"x": range(5)}), pd.DataFrame({"x": range(100)})
    blocks = row_blocks([part("few", few), part("many", many)])
    assert blocks.keys() == {"many"}
    assert unpacked(blocks["many"].text)["cells"] == [[str(i) for i in range(100)]]


def test_the_longest_tables_share_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_rows, "BUDGET", 6_000)
    small, large = (
        pd.DataFrame({"x": [f"{i * 7919 % 99991}" for i in range(n)]}) for n in (50, 9_000)
    )
    blocks = row_blocks([part("small", small), part("large", large), part("other", large)])
    assert blocks["small"].rows == 50
    assert 100 < blocks["large"].rows == blocks["other"].rows < 9_000
    assert sum(len(b.text) for b in blocks.values()) <= 6_000
    assert len(unpacked(blocks["large"].text)["cells"][0]) == blocks["large"].rows
