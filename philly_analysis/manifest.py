"""The record of a trace: where it came from and what became of each raw row."""

import json
import platform
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Self

import duckdb

from philly_analysis.errors import TraceError
from philly_analysis.schema import VERSION

MANIFEST = "manifest.json"
"""File name of the record; written last, so a folder that has it is whole."""


@dataclass(frozen=True, slots=True)
class Input:
    """A raw file that a trace was made from."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the raw rows meant for one table: read = kept + rejected."""

    table: str
    read: int
    kept: int
    rejected: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lost = self.read - self.kept - sum(self.rejected.values())
        if lost:
            raise TraceError(
                f"{self.table}: {self.read:,} rows read, {self.kept:,} kept, "
                f"{sum(self.rejected.values()):,} rejected: {lost:,} unaccounted for"
            )


@dataclass(frozen=True, slots=True)
class Manifest:
    """Where a trace came from and what became of each raw row.

    Attributes
    ----------
    source
        What made it: the name of an ingestor, ``sample`` or ``simulate``.
    synthetic
        True unless every row was recorded on a real cluster.
    notes
        Sentences that a reader of any result should know: warnings, estimates, provenance.
    rows
        Rows by table, as written.
    schema
        Version of the schema that the tables have (see `philly_analysis.schema.VERSION`).
    """

    name: str
    source: str
    synthetic: bool
    inputs: tuple[Input, ...] = ()
    accounts: tuple[Account, ...] = ()
    notes: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    schema: int = VERSION
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    versions: dict[str, str] = field(
        default_factory=lambda: {
            "philly-analysis": version("philly-analysis"),
            "duckdb": duckdb.__version__,
            "python": platform.python_version(),
        }
    )

    def to_json(self) -> str:
        """Return the manifest as JSON text."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a manifest back from JSON text."""
        raw = {"schema": 1, **json.loads(text)}
        raw["inputs"] = tuple(Input(**i) for i in raw["inputs"])
        raw["accounts"] = tuple(Account(**a) for a in raw["accounts"])
        raw["notes"] = tuple(raw["notes"])
        return cls(**raw)
