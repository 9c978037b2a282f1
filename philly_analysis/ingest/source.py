"""Declare what a source of raw logs provides: files, SELECTs, streams and counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import TABLES, Sample

NO_TIME = np.iinfo(np.int64).min
"""Time of a line without a valid time."""


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """Rows parsed from lines of a raw CSV file, one for each line.

    Attributes
    ----------
    sampled_at
        Microseconds since 1970, UTC, or `NO_TIME`.
    columns
        Columns of the table.
    valid
        True for rows that certainly pass the table's checks; the checks run on all other rows.
    """

    sampled_at: npt.NDArray[np.int64]
    columns: dict[str, pa.Array]
    valid: npt.NDArray[np.bool_]


Parser = Callable[[pa.Table], ParsedRows]
"""Parses lines as :class:`CsvFile` reads them; their column ``machine_id`` needs no parsing."""


@dataclass(frozen=True, slots=True)
class Stream:
    """How a raw CSV file fills columns of a streamed table.

    Attributes
    ----------
    file
        Name of the file.
    table
        The table; rows of several files for one table are joined on its key.
    columns
        Columns that the file fills, beside the key.
    open
        Returns the parser of its lines, which several threads call at once.
    time_error
        Reason for rejecting a line whose time is `NO_TIME`.
    relations
        Relations that `open` reads.
    """

    file: str
    table: str
    columns: tuple[str, ...]
    open: Callable[[duckdb.DuckDBPyConnection], Parser]
    time_error: str
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Raw files that were found and opened.

    Attributes
    ----------
    files
        All files read, for the manifest; empty: earlier ingests read them all.
    csv
        Files of the streamed tables, by the name of their stream.
    records
        Raw records meant for each table, counted by the reader and not by the SELECT that fills
        the table: the account of rows fails if a SELECT drops a record. Tables that combine
        several records or are derived are absent. Streamed tables count the lines of their files.
    dropped
        Records counted that earlier ingests read and did not store, by table and reject reason.
    notes
        Notes for readers of the trace: files that are missing, digests that differ.
    synthetic
        True where the files declare that they were not recorded on a cluster.
    sample
        How the rows were selected, where they are known not to be all of the cluster's.
    touched
        Relation of records that has only records of jobs that new records touch, to derive only
        these jobs; empty: all records are there. `records` and `dropped` then count what this
        ingest read and dropped.
    """

    files: tuple[Path, ...]
    csv: dict[str, CsvFile] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    synthetic: bool = False
    sample: Sample | None = None
    touched: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of raw logs.

    Attributes
    ----------
    name
        Name on the command line, and in ``sources.toml``, which describes the source.
    folder
        Folder of its ``.sql`` files, one SELECT each. A file named as a table fills it: the
        table's columns that are known, then ``source_file``, ``source_line`` (null for a derived
        row), ``raw`` and ``reject`` (the reason to reject the row, or null). ``notes.sql`` returns
        one ``note`` per row for the manifest, ``macros.sql`` defines functions, and any other file
        is a relation that the SELECTs may read.
    prepare
        Opens the raw files: creates their relations on the connection of the trace under
        construction. Relations passed to the ``merge`` of its store include the records of earlier
        ingests. Raises InputError.
    streams
        How raw files fill streamed tables.
    """

    name: str
    folder: Path
    prepare: Callable[[TraceBuilder, Path], RawFiles]
    streams: tuple[Stream, ...] = ()

    @property
    def fills(self) -> tuple[str, ...]:
        """Tables that the source can fill, by name."""
        filled = {path.stem for path in self.folder.glob("*.sql")} | {s.table for s in self.streams}
        return tuple(name for name in TABLES if name in filled)
