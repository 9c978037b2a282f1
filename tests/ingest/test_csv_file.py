"""Compare the block parser of raw lines with a line-by-line reader."""

import gzip
import math
import tempfile
from itertools import accumulate
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from philly_analysis.errors import InputError
from philly_analysis.ingest import csv_file, line_block
from philly_analysis.ingest.csv_file import CsvFile

TEXTS = ("time", "machine")
ONE = (("time", "machine", "a", "b"),)
TWO = ((*TEXTS, "a", "b", ""), (*TEXTS, "a", "b", "c", ""))
FIELDS = st.sampled_from(["1", "2.5", "", "NA", "x", " 3", "\r", "é", "\xff"])
LINES = st.lists(FIELDS, max_size=5).map(lambda fields: ",".join(["t", "m", *fields]))
GOOD = st.sampled_from(["t,m,1,2", "u,n,3,NA", "t,m,1,2,", "u,n,3,NA,5,", "u,n,3,4\r"])
Row = tuple[int, str, str, tuple[float | None, ...]]


@given(
    lines=st.lists(st.one_of(GOOD, LINES, st.sampled_from(["", "\r", "m8", ",,,"])), max_size=30),
    shapes=st.sampled_from([ONE, TWO]),
    block_bytes=st.sampled_from([1, 20, 1 << 20]),
    few=st.sampled_from([1, 4, 64]),
    packed=st.booleans(),
)
@example(lines=["t,m,1,1,1", "t,m,1,1,NA"], shapes=TWO, block_bytes=20, few=4, packed=False)
def test_blocks_give_the_rows_and_the_wrong_lines_that_one_finds_line_by_line(
    lines: list[str], shapes: tuple[tuple[str, ...], ...], block_bytes: int, few: int, packed: bool
) -> None:
    raw = [line.encode("latin-1" if "\xff" in line else "utf-8") for line in lines]
    rows: list[Row] = []
    wrong: list[tuple[int, str]] = []
    for number, line in enumerate(raw, 2):
        if line.rstrip(b"\r"):
            values = by_hand(line, shapes)
            if values is None:
                wrong.append((number, line.decode("utf-8", "replace").rstrip("\r")))
            else:
                rows.append((number, *values))
    text = b"\n".join([b"header", *raw, b""])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("raw.gz" if packed else "raw")
        path.write_bytes(gzip.compress(text) if packed else text)
        file = CsvFile(path, ("header",), shapes, TEXTS, ("NA", ""))
        with (
            patch.multiple(csv_file, _BLOCK_BYTES=block_bytes, _FEW=few),
            patch.object(line_block, "_INDEX_BYTES", 9),
        ):
            blocks = list(file.blocks())
            firsts = list(accumulate((block.lines for block in blocks), initial=2))
            parsed = list(zip(firsts, map(file.parse, blocks), strict=False))
            places = [
                (first + number, offset)
                for first, block in zip(firsts, blocks, strict=False)
                for number, offset in block.index
            ]
            numbers = np.arange(2, len(lines) + 2)[::3]
            again = dict(file.lines(places, numbers))
    assert b"".join(block.text for block in blocks) == text.partition(b"\n")[2]
    assert sorted(row for first, lines in parsed for row in rows_of(lines, first)) == sorted(rows)
    faulty = [(first + n, line) for first, lines in parsed for n, line, _ in lines.faulty]
    assert sorted(faulty) == wrong
    assert sum(lines.blank for _, lines in parsed) == len(lines) - len(rows) - len(wrong)
    assert again == {n: raw[n - 2].decode("utf-8", "replace").rstrip("\r") for n in numbers}


def by_hand(
    line: bytes, shapes: tuple[tuple[str, ...], ...]
) -> tuple[str, str, tuple[float, ...]] | None:
    """Read one line; None: it is no row. A value that is not known is infinite."""
    try:
        fields = line.decode().removesuffix("\r").split(",")
    except UnicodeDecodeError:
        return None
    if len(shapes) == 1:
        while len(fields) > len(shapes[0]) and fields[-1] == "":
            fields.pop()
    for shape in shapes:
        named = [(n, f) for n, f in zip(shape, fields, strict=False) if n not in TEXTS]
        if len(fields) == len(shape) and all(f in ("", "NA") for n, f in named if not n):
            try:
                values = tuple(math.inf if f in ("", "NA") else float(f) for n, f in named if n)
            except ValueError:
                return None
            return None if "\r" in ",".join(fields) else (fields[0], fields[1], values)
    return None


def rows_of(lines: csv_file.ParsedBlock, first: int) -> list[Row]:
    """Return parsed rows with the numbers of their lines, counted from the first line's."""
    rows = []
    for table, numbers in lines.rows:
        named = [name for name in table.column_names if name not in (*TEXTS, "")]
        for number, row in zip(numbers.tolist(), table.to_pylist(), strict=True):
            known = tuple(math.inf if row[name] is None else row[name] for name in named)
            rows.append((first + number, row["time"], row["machine"], known))
    return rows


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("t,m,x,2", "a is not a number"),
        ("t,m,1,2,3", "too many fields"),
        ("t,m,1", "too few fields"),
        ("t,m", "too few fields"),
        ("t,m,1,x,3", "b is not a number"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(line: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text(f"header\nt,m,1,2\n{line}\n")
    file = CsvFile(tmp_path / "raw", ("header",), ONE, TEXTS)
    [block] = file.blocks()
    assert file.parse(block).faulty == [(1, line, reason)]


def test_a_gzipped_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"header\n" + b"t,m,1,2\n" * 1000)
    (tmp_path / "raw.gz").write_bytes(packed[:-20])
    file = CsvFile(tmp_path / "raw.gz", ("header",), ONE, TEXTS)
    with pytest.raises(InputError, match="cut off"):
        list(file.blocks())
