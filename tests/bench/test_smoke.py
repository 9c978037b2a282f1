"""Check the CPU time per row of ingest against that of a bare scan in the same process."""

from itertools import islice
from pathlib import Path

from tests.bench.archive import write
from tests.bench.steps import cpu_s, ingest, scan

ROWS = (3_000, 80_000)
"""Rows of each utilisation file, in the small archive and in the large one.

Their difference cancels the fixed cost of ingest. The scan is faster and reads a larger archive."""

TIMES_SCAN = 7.0
"""CPU time per row of ingest as a multiple of the scan's, on 2026-11-22.

Lower it when ingest gets faster."""


def test_cpu_per_row_of_ingest_is_less_than_half_above_the_last_measurement(tmp_path: Path) -> None:
    found = times_scan(tmp_path)
    assert found < 1.5 * TIMES_SCAN, f"{found:.1f} times the scan, {TIMES_SCAN} when last measured"


def times_scan(folder: Path) -> float:
    """Return CPU time per row of ingest as a multiple of the scan's, each the minimum of three."""
    full = folder / "full"
    # a plain archive: in a hard one of this size, one of two machines writes 16 values a row
    write(full, 0.006)
    small, large = (_head(full, folder / str(rows), rows) for rows in ROWS)
    lines = (full / "cluster_cpu_util").read_bytes().count(b"\n")
    scans: dict[Path, list[float]] = {small: [], full: []}
    ingests: dict[Path, list[float]] = {small: [], large: []}
    for _ in range(3):
        for step, costs in ((scan, scans), (ingest, ingests)):
            for raw, took in costs.items():
                begin = cpu_s()
                step(raw, folder / "trace", "")
                took.append(cpu_s() - begin)
    per_scan = (min(scans[full]) - min(scans[small])) / (lines - ROWS[0])
    per_ingest = (min(ingests[large]) - min(ingests[small])) / (ROWS[1] - ROWS[0])
    return per_ingest / per_scan


def _head(archive: Path, out: Path, rows: int) -> Path:
    """Copy an archive with only the first rows of each utilisation file."""
    out.mkdir()
    for file in archive.iterdir():
        with file.open() as lines, (out / file.name).open("w") as copy:
            copy.writelines(islice(lines, rows) if file.name.endswith("_util") else lines)
    return out
