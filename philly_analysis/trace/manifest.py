"""Describe a trace: its source, its files with checksums, and the account of raw rows."""

import hashlib
import json
import platform
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Self

import duckdb

from philly_analysis.errors import TraceError
from philly_analysis.trace.checksums import Digest, is_digest
from philly_analysis.trace.schema import REJECTS, TABLES, VERSION

MANIFEST = "manifest.json"
"""File name of the manifest, which is written last: a folder with a manifest is complete."""
_CHECKSUM = "sha256"
"""JSON key of the manifest's own checksum, which older manifests lack."""
DERIVED = "derived"
"""Folder in a trace of computed files, which can be removed at any time."""
RAW = "raw"
"""Folder in a trace of raw records, a Parquet file per relation of the source."""


@dataclass(frozen=True, slots=True)
class Input:
    """A raw file that a trace was made from."""

    file: str
    bytes: int
    digest: str


DUPLICATES = ("the same record, printed again", "an earlier reading of a record")
"""Reasons for rejecting a valid raw row that repeats another row."""


@dataclass(frozen=True, slots=True)
class Account:
    """Counts of the raw rows meant for one table: read = kept + rejected."""

    table: str
    read: int
    kept: int
    rejected: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rejected = sum(self.rejected.values())
        if missing := self.read - self.kept - rejected:
            raise TraceError(
                f"{self.table}: {self.read:,} rows read, {self.kept:,} kept, {rejected:,} "
                f"rejected: {missing:,} unaccounted for"
            )

    @property
    def duplicates(self) -> int:
        """Number of rejected rows that repeat another row."""
        return sum(self.rejected.get(reason, 0) for reason in DUPLICATES)


SELECTION_CRITERIA = {
    "status": "how jobs ended",
    "gang": "gang size",
    "run_time": "run time",
    "tails": "extremes that were excluded",
    "attempts": "attempt and not by job",
    "window": "an interval of time",
    "selection": "a query",
}
"""Criteria by which the rows of a sample may have been selected, with their descriptions."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How the rows of a trace were selected, if they are not all that the cluster had.

    Attributes
    ----------
    how
        A sentence.
    by
        Keys of :data:`SELECTION_CRITERIA`: results that depend on a listed criterion are biased.
    """

    how: str
    by: tuple[str, ...]


_TYPES: dict[str, type] = {
    **dict.fromkeys(("name", "source", "created_at"), str),
    **dict.fromkeys(("rows", "versions"), dict),
    **dict.fromkeys(("generation", "schema"), int),
    "synthetic": bool,
}
"""JSON types of the keys that are read without a conversion."""


@cache
def _package_version() -> str:
    """Return the version of this package; reading its metadata takes long."""
    return version("philly-analysis")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a trace.

    Attributes
    ----------
    source
        What made it: the name of an ingestor, ``sample`` or ``simulate``.
    synthetic
        True unless every row was recorded on a real cluster.
    notes
        Sentences for readers of any result: warnings, estimates, provenance.
    rows
        Rows by table.
    files
        Parquet files of each table, and of ``raw/<relation>`` the raw records, as paths in the
        trace's folder. No other file there is part of the trace.
    digests
        Bytes and digest of each file by its path; empty in older traces.
    generation
        Number of ingests: 1, and one more with each append.
    sample
        How the rows were selected, if the source knows that they are not all.
    schema
        Version of the tables' schema (see `philly_analysis.trace.schema.VERSION`).
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
            "philly-analysis": _package_version(),
            "duckdb": duckdb.__version__,
            "python": platform.python_version(),
        }
    )

    def to_json(self) -> str:
        """Return the manifest as JSON text, with a checksum of its content."""
        content = asdict(self)
        return json.dumps(content | {_CHECKSUM: _checksum(content)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a manifest from JSON text.

        Raises
        ------
        ValueError
            The text is no valid manifest: the message says why.
        """
        try:
            return cls._from_content(json.loads(text))
        except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(str(error)) from None

    @classmethod
    def _from_content(cls, content: dict[str, object]) -> Self:
        if content.pop(_CHECKSUM, checksum := _checksum(content)) != checksum:
            raise ValueError("its checksum does not match its content")
        raw: dict[str, Any] = {"schema": 1, **content}
        for key, kind in _TYPES.items():
            if not isinstance(raw.get(key, kind()), kind):
                raise ValueError(f"its {key} is no {kind.__name__}")
        raw["inputs"] = tuple(
            Input(i["file"], i["bytes"], i["digest"] if "digest" in i else i["sha256"])
            for i in raw["inputs"]
        )
        raw["accounts"] = tuple(Account(**account) for account in raw["accounts"])
        raw["notes"] = tuple(raw["notes"])
        raw["files"] = {name: tuple(files) for name, files in raw.get("files", {}).items()}
        digests = {
            f: (int(size), str(digest)) for f, (size, digest) in raw.get("digests", {}).items()
        }
        for file in chain(*raw["files"].values(), digests):
            if ".." in (path := PurePosixPath(file)).parts or path.is_absolute():
                raise ValueError(f"{file} is not in the trace")
        if wrong := [digest for _, digest in digests.values() if not is_digest(digest)]:
            raise ValueError(f"{wrong[0]} is no digest")
        if sample := raw.get("sample"):
            raw["sample"] = Sample(sample["how"], tuple(sample["by"]))
        return cls(**raw | {"digests": digests})

    @classmethod
    def read(cls, trace: Path) -> Self:
        """Read the manifest of a trace; a manifest that lists no files gets the folder's files.

        Raises
        ------
        TraceError
            The folder holds no manifest, or the manifest cannot be read.
        """
        file = trace / MANIFEST
        if not file.is_file():
            raise not_a_trace(trace)
        try:
            manifest = cls.from_json(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise TraceError(f"{file} cannot be read: {error}. Ingest the trace again.") from None
        return manifest if manifest.files else replace(manifest, files=find_files(trace))

    @property
    def every_file(self) -> list[str]:
        """The files of all tables and raw records."""
        return [file for files in self.files.values() for file in files]

    def paths(self, trace: Path, name: str) -> list[Path]:
        """Return the files of a table, or of ``raw/<relation>``; empty: the trace has none."""
        return [trace / file for file in self.files.get(name, ())]


def not_a_trace(place: object) -> TraceError:
    """Return the error for a folder or address without a manifest."""
    if isinstance(place, Path) and place.is_file():
        return TraceError(
            f"{place} is a file, not a trace. Use ingest(SOURCE, RAW, OUT), for a table of jobs "
            "with the source table."
        )
    return TraceError(
        f"{place} is not a trace: it has no {MANIFEST}. Make one with ingest(SOURCE, RAW, OUT)."
    )


def _checksum(content: dict[str, object]) -> str:
    """Return a digest of a manifest's content, independent of its layout."""
    plain = {name: value for name, value in content.items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def find_files(folder: Path) -> dict[str, tuple[str, ...]]:
    """Find the files that one ingest wrote: ``jobs.parquet`` or all in ``jobs/``, and ``raw/``."""
    raw = sorted(
        {path.stem for path in (folder / RAW).iterdir()} if (folder / RAW).is_dir() else ()
    )
    candidates = {
        name: sorted((folder / name).glob("*.parquet")) or [folder / f"{name}.parquet"]
        for name in (*TABLES, REJECTS.name, *(f"{RAW}/{stem}" for stem in raw))
    }
    return {
        name: tuple(file.relative_to(folder).as_posix() for file in files)
        for name, files in candidates.items()
        if files and files[0].is_file()
    }
