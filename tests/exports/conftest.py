"""Fixtures for tests of exports: files of speeds, and an exporter of the five jobs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from philly_analysis import export
from philly_analysis.exports import Exported, validate
from philly_analysis.workload import Workload
from tests.exports import consumers
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

    def violations(self, name: str, dialect: str | None = None) -> str:
        """Return what the validator finds in the exported files."""
        speeds = self.speeds.get((name, dialect or name))
        return "; ".join(validate(self.out, name, dialect=dialect, throughputs=speeds))


@pytest.fixture(scope="session")
def speeds(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    """Return files of measured speeds by (format, dialect)."""
    return consumers.all_of(tmp_path_factory.mktemp("consumers"))


@pytest.fixture
def exported(speeds: dict[tuple[str, str], Path], tmp_path: Path) -> Exporter:
    """Return an exporter to ``out``."""
    return Exporter(tmp_path / "out", speeds)
