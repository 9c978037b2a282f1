"""A trace that grows is that of one ingest of all, old or new at every moment, and quick to grow."""

import os
import random
import shutil
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from philly_analysis.errors import InputError, TraceError
from philly_analysis.ingest import ingest
from philly_analysis.manifest import Manifest
from philly_analysis.schema import TABLES
from philly_analysis.trace import Trace
from tests.ingest.conftest import attempt, job, write_archive
from tests.ingest.test_slurm_output import OPEN, PRINTED, records, seen, write

SERVERS = ["scontrol_show_node_o.alpha.txt", "scontrol_show_node_o.beta.txt"]


def tables(trace: Path) -> dict[str, pl.DataFrame]:
    """The rows of each table, in an order of their own."""
    with Trace(trace) as opened:
        return {name: opened.answer(name).pl().sort(pl.all()) for name in opened.tables}


def assert_same(grown: Path, whole: Path) -> None:
    one, other = tables(grown), tables(whole)
    assert one.keys() == other.keys()
    for name, rows in one.items():
        assert rows.equals(other[name]), name
    counts = [
        {a.table: (a.read, a.kept) for a in Manifest.read(trace).accounts}
        for trace in (grown, whole)
    ]
    assert counts[0] == counts[1]


def printed(out: Path, files: Iterable[Path]) -> Path:
    out.mkdir()
    for file in files:
        shutil.copyfile(file, out / file.name)
    return out


def grow(source: str, pages: Iterable[Path], out: Path, **options: object) -> Manifest:
    for page in pages:
        manifest = ingest(source, page, out, append=True, **options)  # type: ignore[arg-type]
    return manifest


@pytest.mark.parametrize("seed", range(2))
def test_windows_as_they_were_printed_appended_in_any_order_are_one_ingest(
    tmp_path: Path, seed: int
) -> None:
    pages = [
        *sorted((PRINTED / "windows").iterdir()),
        *sorted((PRINTED / "live").iterdir()),
        *(PRINTED / f"{name}.gz" for name in ("wide_noD.txt", "sacct_D.alpha.json", *SERVERS)),
    ]
    pages.remove(PRINTED / "live" / "215109_sacct_sofar.txt.gz")  # the same as the one before it
    pages = random.Random(seed).sample(pages, 8)
    grow("slurm", pages, tmp_path / "grown")
    ingest("slurm", printed(tmp_path / "all", pages), tmp_path / "whole")
    assert_same(tmp_path / "grown", tmp_path / "whole")
