"""Recordings of the laboratory and the traces made of them, shared by all tests of a run."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from tests.slurm_lab.cluster import running_cluster
from tests.slurm_lab.computed import SNAPSHOTS, ingest_recording
from tests.slurm_lab.recorder import record
from tests.slurm_lab.recording import SHIPPED, unpack


@dataclass(frozen=True)
class Lab:
    """A folder of recordings and traces; each is made once for all of xdist's workers."""

    folder: Path

    def recording(self, kind: str) -> Path:
        """Return the folder of a recording: shipped or live."""
        return self._once(f"slurm-lab-{kind}", _record if kind == "live" else _unpack)

    def trace(self, recording: Path, snapshots: str = "scontrol") -> Path:
        """Return the trace of a recording with snapshots by some commands."""

        def make(folder: Path) -> None:
            ingest_recording(recording, folder, SNAPSHOTS[snapshots])

        return self._once(f"{recording.name} {snapshots}", make) / "trace"

    def _once(self, name: str, make: Callable[[Path], None]) -> Path:
        folder = self.folder / name
        with FileLock(f"{folder}.lock"):
            if not folder.is_dir():
                making = folder.with_suffix(".part")
                make(making)
                making.rename(folder)
        return folder


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    folder = tmp_path_factory.getbasetemp()
    return Lab(folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder)


def _unpack(folder: Path) -> None:
    unpack(SHIPPED, folder)


def _record(folder: Path) -> None:
    with running_cluster() as cluster:
        record(cluster, folder)
