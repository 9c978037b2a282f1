"""Write the tables of stated reasons and causes for the docs.

Run ``python -m tests.slurm_lab.table``.
"""

import csv
import tempfile
from pathlib import Path

from tests.slurm_lab import computed
from tests.slurm_lab.recording import SHIPPED, unpack
from tests.slurm_lab.stated import cause_of, stated_reasons
from tests.support.repository import ROOT

TABLE = ROOT / "docs" / "measured" / "slurm-lab.csv"
CAUSES_TABLE = TABLE.with_name("slurm-lab-causes.csv")
HEADER = ("cause", "reason in squeue", "% of waiting time", "% weighted by GPUs")


def shares(recording: Path) -> list[tuple[str, str, str, str]]:
    """Return each reason with its cause and shares, the largest share first."""
    reasons = stated_reasons(recording)
    total_s, total_gpu_s = (sum(parts) for parts in zip(*reasons.values(), strict=True))
    return [
        (cause_of(reason), reason, f"{100 * s / total_s:.1f}", f"{100 * gpu_s / total_gpu_s:.1f}")
        for reason, (s, gpu_s) in sorted(reasons.items(), key=lambda one: -one[1][0])
    ]


def main() -> None:
    """Write the tables of the shipped recording."""
    with tempfile.TemporaryDirectory() as folder:
        recording, ingested = Path(folder, "recording"), Path(folder, "ingested")
        unpack(SHIPPED, recording)
        trace = computed.ingest_recording(recording, ingested, computed.SNAPSHOTS["scontrol"])
        write(TABLE, [HEADER, *shares(recording)])
        write(CAUSES_TABLE, [computed.HEADER, *computed.compared(trace)])


def write(table: Path, rows: list[tuple[str, ...]]) -> None:
    """Write rows as CSV."""
    with table.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
