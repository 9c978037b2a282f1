"""Ingest does not grow slow unseen: CPU seconds per row, beside a bare scan's in this process."""

from itertools import islice
from pathlib import Path

from tests.bench.archive import write
from tests.bench.steps import cpu_s, ingest, scan

ROWS = (3_000, 80_000)
"""Rows of each utilisation file, in the small archive and in the large one. What ingest costs
whatever the rows falls away between them; the scan, so much faster, reads a still larger one."""

TIMES_SCAN = 7.0
"""CPU per row of ingest, in those of the scan, on 2026-11-22. Lower it when ingest gets faster."""


def test_cpu_per_row_of_ingest_stays_below_half_again_as_much(tmp_path: Path) -> None:
    found = times_scan(tmp_path)
    assert found < 1.5 * TIMES_SCAN, f"{found:.1f} times the scan, once {TIMES_SCAN}"


def times_scan(folder: Path) -> float:
    """Measure CPU per row of ingest in those of the scan: each the least of three."""
    whole = folder / "whole"
    # as many machines as report in a minute of Philly; of two, as in a hard archive of this size,
    # one writes 16 values a row
    write(whole, 0.006)
    small, large = (_head(whole, folder / str(rows), rows) for rows in ROWS)
    lines = (whole / "cluster_cpu_util").read_bytes().count(b"\n")
    scans: dict[Path, list[float]] = {small: [], whole: []}
    ingests: dict[Path, list[float]] = {small: [], large: []}
    for _ in range(3):
        for step, costs in ((scan, scans), (ingest, ingests)):
            for raw, took in costs.items():
                begin = cpu_s()
                step(raw, folder / "trace", "")
                took.append(cpu_s() - begin)
    per_scan = (min(scans[whole]) - min(scans[small])) / (lines - ROWS[0])
    per_ingest = (min(ingests[large]) - min(ingests[small])) / (ROWS[1] - ROWS[0])
    return per_ingest / per_scan


def _head(whole: Path, out: Path, rows: int) -> Path:
    """Copy an archive, of each utilisation file only the first rows."""
    out.mkdir()
    for file in whole.iterdir():
        with file.open() as lines, (out / file.name).open("w") as copy:
            copy.writelines(islice(lines, rows) if file.name.endswith("_util") else lines)
    return out
