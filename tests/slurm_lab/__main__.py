"""Record the laboratory: ``python -m tests.slurm_lab FOLDER [long]``."""

import sys
from pathlib import Path

from tests.slurm_lab import long_scenario
from tests.slurm_lab.cluster import missing, running_cluster
from tests.slurm_lab.recorder import record
from tests.slurm_lab.recording import pack


def main(folder: Path, kind: str = "short") -> None:
    """Start a Slurm, record the short or the long scenario, stop it; pack the recording."""
    if reason := missing():
        raise SystemExit(reason)
    if kind == "long":
        with running_cluster(long_scenario.LIFE_S) as cluster:
            long_scenario.record(cluster, folder)
    else:
        with running_cluster() as cluster:
            record(cluster, folder)
    pack(folder, folder.with_name(f"{folder.name}.tar.xz"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
