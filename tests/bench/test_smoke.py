"""Check that ingest calls no Python function for each row of utilisation.

Counts are the same whatever else the machine is doing; `make bench` measures time."""

import sys
import threading
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from tests.bench.archive import write
from tests.bench.steps import ingest

ROWS = (3_000, 80_000)
"""Rows of each utilisation file, in the small archive and in the large one.

Their difference cancels the fixed cost of ingest."""


@pytest.mark.slow
def test_a_row_of_utilisation_calls_no_python_function(tmp_path: Path) -> None:
    full = tmp_path / "full"
    # a plain archive: in a hard one of this size, one of two machines writes 16 values a row
    write(full, 0.006)
    small, large = (_calls(_head(full, tmp_path / str(rows), rows)) for rows in ROWS)
    per_row = (large - small) / (3 * (ROWS[1] - ROWS[0]))
    assert per_row < 0.01, f"{per_row:.3f} calls a row"


def _calls(archive: Path) -> int:
    """Count calls of Python functions, in all threads, while an archive is ingested."""
    counts: Counter[int] = Counter()

    def count(_frame: object, event: str, _arg: object) -> None:
        if event == "call":
            counts[threading.get_ident()] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        ingest(archive, archive.parent / "trace", "")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return counts.total()


def _head(archive: Path, out: Path, rows: int) -> Path:
    """Copy an archive with only the first rows of each utilisation file."""
    out.mkdir()
    for file in archive.iterdir():
        with file.open() as lines, (out / file.name).open("w") as copy:
            copy.writelines(islice(lines, rows) if file.name.endswith("_util") else lines)
    return out
