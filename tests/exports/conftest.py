"""Fixtures for tests of exports: files of speeds, and an exporter of the five jobs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import export
from philly_analysis.exports import Exported
from philly_analysis.workload import Workload
from tests.exports import consumers
from tests.exports.readers import READERS
from tests.exports.tiny import TINY


@dataclass(frozen=True)
class Exporter:
    """Export workloads to `out`, with the file of speeds that a dialect needs."""

    out: Path
    speeds: dict[tuple[str, str], Path]

    def __call__(
        self, name: str, dialect: str | None = None, workload: Workload = TINY, **options: Any
    ) -> Exported:
        usual = {"dialect": dialect, "throughputs": self.speeds.get((name, dialect or name))}
        return export(workload, name, self.out, **usual | options)

    def read(self, name: str, dialect: str | None = None) -> int:
        """Read the exported files as their program does, and count the records."""
        key = (name, dialect or name)
        return READERS[key](self.out, self.speeds.get(key))


@pytest.fixture(scope="session")
def speeds(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return files of measured speeds by (format, dialect)."""
    return consumers.all_of(tmp_path_factory.mktemp("consumers"))


@pytest.fixture
def exported(speeds: dict[tuple[str, str], Path], tmp_path: Path) -> Exporter:
    """Return an exporter to ``out``."""
    return Exporter(tmp_path / "out", speeds)
