"""State what functions on workloads need of one."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Protocol, TypeVar

import polars as pl

from philly_analysis.study import RunPolicy
from philly_analysis.workload.machines import Machine


class JobTables(Protocol):
    """Tables of jobs and machines, and relations on them."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """Name of the workload."""

    @property
    def jobs(self) -> Any:
        """Rows of the table jobs."""

    @property
    def attempts(self) -> Any:
        """Rows of the table attempts."""

    @property
    def placements(self) -> Any:
        """Rows of the table placements."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions, seeds and sources."""

    @property
    def origin_at(self) -> datetime | None:
        """First submission of a job that is not excluded."""

    def answer(self, name: str, *, run_policy: RunPolicy | str = RunPolicy.SUM) -> pl.DataFrame:
        """Return one relation of the package, computed on the tables."""

    def servers(self) -> list[Machine]:
        """Return the machines."""


class JobFrames(JobTables, Protocol):
    """Tables of jobs and machines as frames, and several relations on them at once."""

    @property
    def frames(self) -> Mapping[str, pl.DataFrame]:
        """Each table as a polars frame, by name."""

    def answers(
        self, names: Sequence[str], *, run_policy: RunPolicy | str = RunPolicy.SUM
    ) -> dict[str, pl.DataFrame]:
        """Return relations of the package by name, computed on the tables."""


Tables = TypeVar("Tables", bound=JobTables)
