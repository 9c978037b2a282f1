"""The causes of waiting that the package computes for a recording."""

import shutil
from collections import defaultdict
from pathlib import Path

from philly_analysis import analyze, ingest

SETTINGS = (
    "sacctmgr-assoc.txt",
    "sacctmgr-qos.txt",
    "scontrol-partition.txt",
    "sacctmgr-event.txt",
)
"""Files with the limits that the administrator set, and the servers that were down or drained."""

SNAPSHOTS = {
    "squeue and scontrol": ("squeue-*", "scontrol-job-*"),
    "scontrol": ("scontrol-job-*",),
}
"""Files of snapshots of the queue, by the commands that printed the files."""

STATED = {
    "priority": "priority",
    "limit": "a limit",
    "resources": "resources",
    "held": "held",
    "start_up": "start-up",
}
COMPUTED = {
    "limit": "limit",
    "too_few": "too few GPUs",
    "fragmented": "fragmented",
    "stranded": "stranded",
    "behind": "behind other jobs",
    "room": "nothing",
}
HEADER = ("stated by Slurm", "% of waiting time", *COMPUTED.values())


def ingest_recording(recording: Path, folder: Path, snapshots: tuple[str, ...]) -> Path:
    """Ingest accounting, limits, servers and snapshots, and return the folder of the trace."""
    raw = folder / "raw"
    raw.mkdir(parents=True)
    files = [recording / "other" / name for name in SETTINGS]
    for pattern in ("sacct.txt", "scontrol-node-*", "scontrol-reservation-*", *snapshots):
        files += (recording / "collected").glob(pattern)
    for file in files:
        shutil.copy(file, raw)
    ingest("slurm", raw, folder / "trace")
    return folder / "trace"


def compared(trace: Path) -> list[tuple[str, ...]]:
    """Return, for each stated cause of eligible time, its share and the shares computed in it."""
    table = analyze(trace, ["stated_causes"])["stated_causes"].table
    hours: dict[str, dict[str, float]] = defaultdict(dict)
    for stated, computed, wait_h in zip(
        table["stated"], table["computed"], table["wait_h"], strict=True
    ):
        hours[stated][computed] = wait_h
    total_h = sum(sum(parts.values()) for parts in hours.values())
    rows = []
    for stated, label in STATED.items():
        sum_h = sum(hours[stated].values())
        parts = (hours[stated].get(computed, 0.0) for computed in COMPUTED)
        rows.append(
            (label, f"{100 * sum_h / total_h:.1f}", *(f"{100 * h / sum_h:.0f}" for h in parts))
        )
    return rows
