"""What a source of raw logs must say about itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.trace import TABLES, Sample

NEVER = np.iinfo(np.int64).min
"""The moment of a line that tells none."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What lines of a raw CSV file say, one value for each of them.

    Attributes
    ----------
    sampled_at
        Microseconds since 1970, UTC, or `NEVER`.
    columns
        Columns of the table.
    sound
        True where they surely pass the table's checks; elsewhere the checks are asked.
    """

    sampled_at: npt.NDArray[np.int64]
    columns: dict[str, pa.Array]
    sound: npt.NDArray[np.bool_]


Read = Callable[[pa.Table], Readings]
"""Reads lines as :class:`CsvFile` parses them; their column ``machine_id`` needs no reading."""


@dataclass(frozen=True, slots=True)
class Stream:
    """How a raw CSV file fills columns of a streamed table.

    Attributes
    ----------
    file
        Name of the file.
    table
        The table: where several files fill one, their rows are joined on its key.
    columns
        Columns that it fills, beside the key.
    open
        Returns what reads its lines, from several threads at once; they may ask the connection
        by cursors of their own.
    untimely
        Why a line is rejected whose moment is `NEVER`.
    reads
        Relations that it asks.
    """

    file: str
    table: str
    columns: tuple[str, ...]
    open: Callable[[duckdb.DuckDBPyConnection], Read]
    untimely: str
    reads: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raw:
    """Raw files that were found and opened.

    Attributes
    ----------
    files
        Every file read, for the manifest; none: the trace has read them all before.
    csv
        Files that streamed tables are filled from, by the name of their stream.
    records
        Raw records meant for a table, as counted where they were read and not by the SELECT that
        fills it: the account begins with them, so a SELECT that drops one makes it fail. A table
        that is put together of several records, or of what others say, is not named. Streamed
        tables count the lines of their files.
    again
        Of the records counted, those of earlier ingests that are no longer kept, by table and by
        the reason why they are rejected.
    notes
        What a reader should know about them: files that are missing, digests that differ.
    synthetic
        True where the files themselves say that nothing in them was recorded.
    sample
        How the rows were chosen, where they are known not to be all that the cluster had.
    """

    files: tuple[Path, ...]
    csv: dict[str, CsvFile] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    again: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    synthetic: bool = False
    sample: Sample | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of raw logs.

    Attributes
    ----------
    name
        The word for it on the command line.
    what
        One sentence: what the raw files are.
    files
        One sentence: how they are named, or how one gets them.
    lacks
        One sentence: what they do not say.
    folder
        Its ``.sql`` files, one SELECT each. A file named as a table fills it: the columns of the
        table that it knows, then ``source_file``, ``source_line``, ``raw`` and ``reject``, the
        reason why the row cannot be taken, or null; a row that is put together of what the raw
        files say elsewhere has no ``source_line``. ``host_samples.cpu.sql`` and
        ``host_samples.mem.sql`` fill one streamed table in parts, joined on its key.
        ``notes.sql`` gives one ``note`` a row for the manifest. Any other file is a relation that
        these may read; ``macros.sql`` holds functions that they call. A streamed part may add
        ``sound``, true where the SELECT knows already that the row passes the table's checks.
    prepare
        Opens the raw files: creates their relations on the connection. It may use the folder,
        which is removed at the end. What it hands to :meth:`Kept.keep` is there again when the
        trace grows; files that `Kept` knows were read before. Raises InputError.
    streams
        How raw files fill streamed tables.
    """

    name: str
    what: str
    files: str
    lacks: str
    folder: Path
    prepare: Callable[[duckdb.DuckDBPyConnection, Path, Path, Kept], Raw]
    streams: tuple[Stream, ...] = ()

    @property
    def fills(self) -> tuple[str, ...]:
        """Tables that it can fill, by name."""
        filled = {path.stem for path in self.folder.glob("*.sql")} | {s.table for s in self.streams}
        return tuple(name for name in TABLES if name in filled)
