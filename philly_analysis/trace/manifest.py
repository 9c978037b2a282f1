"""The record of a trace: where it came from and what became of each raw row."""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Self

import duckdb

from philly_analysis.atomic import recover
from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import Digest, is_digest
from philly_analysis.trace.schema import REJECTS, TABLES, VERSION

MANIFEST = "manifest.json"
"""File name of the record; written last, so a folder that has it is whole."""
_SEAL = "sha256"
"""What it says of itself; it is not there in older ones."""
DERIVED = "derived"
"""Folder in a trace of what was computed from it; it can be removed at any time."""
RAW = "raw"
"""Folder of the raw records that a trace keeps, a Parquet file per relation of its source."""


@dataclass(frozen=True, slots=True)
class Input:
    """A raw file that a trace was made from."""

    file: str
    bytes: int
    digest: str


DUPLICATES = ("the same record, printed again", "an earlier reading of a record")
"""Reasons for which a raw row is not kept though nothing is wrong with it: another says as much."""


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

    @property
    def duplicates(self) -> int:
        """How many of the rejected rows only say again what others say."""
        return sum(self.rejected.get(reason, 0) for reason in DUPLICATES)


SELECTION_CRITERIA = {
    "status": "how jobs ended",
    "gang": "gang size",
    "run_time": "run time",
    "tails": "extremes that were left out",
    "attempts": "attempt and not by job",
    "window": "a stretch of time",
    "selection": "what was asked for",
}
"""What the rows of a sample may have been chosen by."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How the rows of a trace were chosen, where they are not all that the cluster had.

    Attributes
    ----------
    how
        A sentence.
    by
        Keys of :data:`CHOSEN_BY`: what this sample cannot be asked, or only with care.
    """

    how: str
    by: tuple[str, ...]


_KINDS: dict[str, type] = {
    **dict.fromkeys(("name", "source", "created_at"), str),
    **dict.fromkeys(("rows", "versions"), dict),
    **dict.fromkeys(("generation", "schema"), int),
    "synthetic": bool,
}
"""What stands in its JSON as it does in the object."""


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
    files
        Parquet files of each table, and of ``raw/<relation>`` the raw records that are kept, as
        paths in the trace's folder. No other file there is part of the trace.
    digests
        Bytes and digest of each file by its path, as they were written; none: an older trace.
    generation
        How many ingests made it: 1, and one more with each append.
    sample
        How the rows were chosen, where the source knows that they are not all.
    schema
        Version of the schema that the tables have (see `philly_analysis.trace.schema.VERSION`).
    """

    name: str
    source: str
    synthetic: bool
    inputs: tuple[Input, ...] = ()
    accounts: tuple[Account, ...] = ()
    notes: tuple[str, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    digests: dict[str, Digest] = field(default_factory=dict)
    generation: int = 1
    sample: Sample | None = None
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
        told = asdict(self)
        return json.dumps(told | {_SEAL: _seal(told)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a manifest back from JSON text."""
        told = json.loads(text)
        if told.pop(_SEAL, seal := _seal(told)) != seal:
            raise ValueError("it is not as it was written")
        raw = {"schema": 1, **told}
        for key, kind in _KINDS.items():
            if not isinstance(raw.get(key, kind()), kind):
                raise ValueError(f"its {key} is no {kind.__name__}")
        raw["inputs"] = tuple(
            Input(i["file"], i["bytes"], i["digest"] if "digest" in i else i["sha256"])
            for i in raw["inputs"]
        )
        raw["accounts"] = tuple(Account(**a) for a in raw["accounts"])
        raw["notes"] = tuple(raw["notes"])
        raw["files"] = {name: tuple(files) for name, files in raw.get("files", {}).items()}
        told = raw.get("digests", {})
        for file in chain(*raw["files"].values(), told):
            if ".." in (path := PurePosixPath(file)).parts or path.is_absolute():
                raise ValueError(f"{file} is not in the trace")
        for _, digest in told.values():
            if not is_digest(digest):  # a copy is named by it while it is fetched
                raise ValueError(f"{digest} is no digest")
        raw["digests"] = {file: (int(size), str(digest)) for file, (size, digest) in told.items()}
        if chosen := raw.get("sample"):
            raw["sample"] = Sample(chosen["how"], tuple(chosen["by"]))
        return cls(**raw)

    @classmethod
    def read(cls, trace: Path) -> Self:
        """Read the manifest of a trace; one written before `files` was there names what it finds.

        Raises
        ------
        TraceError
            The folder holds no manifest, or one that cannot be read.
        """
        file = recover(trace) / MANIFEST
        if not file.is_file():
            raise TraceError(
                f"{trace} is not a trace: it has no {MANIFEST}. Make one with "
                "ingest(SOURCE, RAW, OUT)."
            )
        try:
            manifest = cls.from_json(file.read_text("utf-8"))
        except (
            *(OSError, ValueError, TypeError, KeyError, AttributeError),
            *(OverflowError, RecursionError),
        ) as error:
            raise TraceError(f"{file} cannot be read: {error}. Ingest the trace again.") from None
        return manifest if manifest.files else replace(manifest, files=find_files(trace))

    @property
    def every_file(self) -> list[str]:
        """The files of all tables and raw records."""
        return [file for files in self.files.values() for file in files]

    def paths(self, trace: Path, name: str) -> list[Path]:
        """Return the files of a table, or of ``raw/<relation>``; none: the trace has none."""
        return [trace / file for file in self.files.get(name, ())]


def _seal(told: dict[str, object]) -> str:
    """Return a digest of what a manifest says, however it is laid out."""
    plain = {name: value for name, value in told.items() if name != _SEAL}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def find_files(folder: Path) -> dict[str, tuple[str, ...]]:
    """Find the files that one ingest wrote: ``jobs.parquet``, all in ``gpu_samples/``, ``raw/``."""
    found = {name: [folder / f"{name}.parquet"] for name in (*TABLES, REJECTS.name)}
    for table in TABLES.values():
        if table.streamed:
            found[table.name] = sorted((folder / table.name).glob("*.parquet")) or found[table.name]
    found |= {f"{RAW}/{file.stem}": [file] for file in sorted((folder / RAW).glob("*.parquet"))}
    return {
        name: tuple(file.relative_to(folder).as_posix() for file in files)
        for name, files in found.items()
        if files and files[0].is_file()
    }
