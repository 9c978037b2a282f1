"""Record the laboratory: ``python -m tests.slurm_lab FOLDER [short|long] [SEED]``.

With a seed, each command of the scenario is shifted by up to half a second: a log of whole seconds
hardly shows such shifts.
"""

import sys
from pathlib import Path

from tests.slurm_lab import long_scenario, recorder, scenario
from tests.slurm_lab.cluster import LIFE_S, missing, running_cluster
from tests.slurm_lab.recording import pack


def main(folder: Path, kind: str = "short", seed: str = "") -> None:
    """Start a Slurm, record the short or the long scenario, stop it; pack the recording."""
    if reason := missing():
        raise SystemExit(reason)
    steps, life_s = scenario.scenario(), LIFE_S
    end_s, snapshots = recorder.END_S, recorder.SNAPSHOTS
    if kind == "long":
        steps, life_s = long_scenario.scenario(), long_scenario.LIFE_S
        end_s, snapshots = long_scenario.END_S, long_scenario.SNAPSHOTS
    if seed:
        steps = scenario.shifted(steps, int(seed))
    with running_cluster(life_s) as cluster:
        recorder.record(cluster, folder, steps, end_s=end_s, snapshots=snapshots)
    pack(folder, folder.with_name(f"{folder.name}.tar.xz"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
