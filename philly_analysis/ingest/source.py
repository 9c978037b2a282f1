"""What a source of raw logs must say about itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from philly_analysis.ingest.csv_file import CsvFile
from philly_analysis.ingest.kept import Kept
from philly_analysis.manifest import Sample
from philly_analysis.schema import TABLES


@dataclass(frozen=True, slots=True)
class Raw:
    """Raw files that were found and opened.

    Attributes
    ----------
    files
        Every file read, for the manifest; none: the trace has read them all before.
    csv
        Files that streamed tables are filled from, by the stem of the ``.sql`` file that fills.
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
    """

    name: str
    what: str
    files: str
    lacks: str
    folder: Path
    prepare: Callable[[duckdb.DuckDBPyConnection, Path, Path, Kept], Raw]

    @property
    def fills(self) -> tuple[str, ...]:
        """Tables that it can fill, by name."""
        stems = {path.stem.split(".")[0] for path in self.folder.glob("*.sql")}
        return tuple(name for name in TABLES if name in stems)
