"""Check that hostile names are escaped on terminals and in spreadsheets, and numbers are not."""

import csv
import io
import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from philly_analysis.cli import app
from philly_analysis.results.escaping import csv_cell, csv_text, printable, write_csv
from tests.hostile.mutation import NAMES
from tests.support.small_traces import paper_trace

TEXTS = st.text() | st.sampled_from(NAMES)


@given(TEXTS)
def test_terminal_control_sequences_are_not_printed(text: str) -> None:
    shown = printable(text)
    assert all(unicodedata.category(c)[0] != "C" and c not in "\u2028\u2029" for c in shown)
    assert printable(text, lines=True).count("\n") == text.count("\n")
    if text.isprintable():
        assert shown == text


@given(st.lists(TEXTS.map(lambda t: t.replace("\ud800", "?")), min_size=1))
def test_no_csv_cell_is_a_formula_and_texts_can_be_read_back(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    table = pd.DataFrame({"name": pd.Series(texts, dtype=object), "n": range(len(texts))})
    text = csv_text(table)
    rows = list(csv.reader(io.StringIO(text, newline="")))[1:]
    assert [int(n) for _, n in rows] == list(range(len(texts)))
    for (shown, _), given_text in zip(rows, texts, strict=True):
        plain = given_text.replace("\r\n", "\n").replace("\r", "\n")
        assert shown in (plain, f"'{plain}")
        if shown.lstrip()[:1] in ("=", "@"):
            pytest.fail(f"{shown!r} is a formula")


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "x": [-1.5, 2.0],
            "n": pd.array([-1, None], dtype="Int64"),
            "text": ["-1.5", "+3e4"],
            "mixed": pd.Series([-1, None], dtype=object),
            "at": pd.to_datetime(["2017-10-03", "2017-10-04"]),
        }
    )
    write_csv(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == table.to_csv(index=False)
    assert csv_cell("-rf") == "'-rf" and csv_cell("a=b") == "a=b" and csv_cell(-1) == -1


def test_real_numbers_have_twelve_digits_so_that_the_order_of_a_sum_is_not_seen(
    tmp_path: Path,
) -> None:
    sums = [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]
    assert sums[0] != sums[1]
    for one in sums:
        table = pd.DataFrame({"s": [one], "o": pd.Series([one], dtype=object)})
        assert csv_text(table) == "s,o\n0.6,0.6\n"
    assert csv_cell(2 / 3) == 0.666666666667 and csv_cell(10**15 + 1) == 10**15 + 1
    trace = str(paper_trace(tmp_path / "paper"))
    for more, shown in (("--csv", "s\n0.3\n"), ("--json", '[\n  {\n    "s": 0.3\n  }\n]\n')):
        asked = ["query", trace, "select 0.1e0 + 0.2e0 as s", more]
        assert CliRunner().invoke(app, asked).output == shown


@pytest.mark.parametrize("more", [(), ("--csv",), ("--json",)])
def test_hostile_names_are_printed_escaped(tmp_path: Path, more: tuple[str, ...]) -> None:
    trace = str(paper_trace(tmp_path / "paper"))
    values = ", ".join("('" + name.replace("'", "''") + "')" for name in NAMES if "\0" not in name)
    asked = f'select n, -1 as "=x" from (values {values}) as t(n)'
    done = CliRunner().invoke(app, ["query", trace, asked, *more])
    assert done.exit_code == 0
    if more != ("--csv",):  # which a program reads, or a spreadsheet
        assert printable(done.output, lines=True) == done.output
    else:
        rows = list(csv.reader(io.StringIO(done.output, newline="")))
        assert rows[0] == ["n", "'=x"] and {row[1] for row in rows[1:]} == {"-1"}
        assert not [row for row in rows if row[0].lstrip()[:1] in ("=", "@", "+")]


def test_errors_that_quote_hostile_names_are_printed_escaped(tmp_path: Path) -> None:
    for name in NAMES:
        if 0 < len(name) < 200 and "\0" not in name:
            done = CliRunner().invoke(app, ["query", str(tmp_path / name), "select 1"])
            assert done.exit_code in (1, 2), name
            assert printable(done.output, lines=True) == done.output
