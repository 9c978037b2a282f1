"""Materialize relations as Parquet files of a trace: one file each, or one per week of samples."""

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import atomic_write, in_turn
from philly_analysis.errors import TraceError
from philly_analysis.progress import step
from philly_analysis.trace.appended import Merger, merged_rows
from philly_analysis.trace.checksums import text_digest
from philly_analysis.trace.connection import SETTINGS, escape_glob, first_line
from philly_analysis.trace.folder import TraceFolder
from philly_analysis.trace.integrity import parts_valid, write_part_checksums
from philly_analysis.trace.manifest import DERIVED
from philly_analysis.trace.relations import MACROS, Relation, required_relations
from philly_analysis.trace.schema import REJECTS, TABLES
from philly_analysis.trace.week_counts import Partition, WeekCounter


@dataclass(frozen=True)
class Materializer:
    """Reads a trace's tables, and computes its materialized relations.

    Attributes
    ----------
    scratch
        Folder of this session, used if the trace's folder cannot be written.
    executor
        Workers that count samples; an InlineExecutor: threads of this process.
    """

    con: duckdb.DuckDBPyConnection
    folder: TraceFolder
    scratch: Path
    executor: Executor

    @cached_property
    def manifest_text(self) -> str:
        """The manifest as text, on which every computed file depends."""
        return self.folder.manifest.to_json()

    @cached_property
    def _merger(self) -> Merger:
        return Merger(self.con, self.folder)

    def close(self) -> None:
        """Close the connections that this object opened."""
        self._merger.close()

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table. Columns that an older trace lacks are null."""
        paths = self.folder.manifest.paths(self.folder.files, name)
        rows = self.con.read_parquet(
            [escape_glob(path) for path in paths], union_by_name=not _have_same_columns(paths)
        )
        declared = TABLES.get(name, REJECTS)
        present = rows.columns
        if present == list(declared.column_names):
            return rows
        return rows.select(declared.completed(present))

    def create(self, due: Sequence[Relation]) -> None:
        """Create the views of relations, and materialize relations that are not stored yet.

        Relations of the same samples are computed in one pass over the samples.
        """
        for relation in due:
            if not relation.materialized:
                # a relation of DuckDB would bind the query once more before it creates the view
                self.con.execute(f"create or replace view {relation.name} as {relation.sql}")
            elif not relation.samples:
                self._materialize([relation])
        # all processes take turns in one order
        sampled = sorted((r for r in due if r.samples), key=attrgetter("samples", "name"))
        for _, same in groupby(sampled, attrgetter("samples")):
            self._materialize(list(same))

    def _materialize(self, due: Sequence[Relation]) -> None:
        """Write relations that read the same samples into the trace, or into the session's folder.

        Raises
        ------
        TraceError
            Neither folder can be written.
        """
        for home in (self.folder.path / DERIVED, self.scratch):
            try:
                with self._partitions(due, home) as partitions:
                    self._write(due[0].samples, partitions)
            except (OSError, duckdb.IOException) as error:  # the folder is read-only, or full
                failed = first_line(error)
            else:
                return
        names = ", ".join(relation.name for relation in due)
        raise TraceError(
            f"{names} of {self.folder.path} cannot be written, neither there nor in "
            f"{self.scratch.parent}: {failed}. Free some disk space, or set TMPDIR to a folder "
            "with free space."
        )

    def _write(self, samples: str | None, partitions: Sequence[Partition]) -> None:
        """Write the files of partitions of a table of samples, or of one without samples."""
        if samples and partitions:
            WeekCounter(self.con, self.folder, self.scratch, self.executor).count(
                samples, partitions
            )
            return
        for partition in partitions:
            relation = partition.relation
            if relation.merges:
                self._merger.write(relation, partition.code, partition.partial, partition.before)
                continue
            rows = self.con.sql(relation.sql)
            rows.write_parquet(str(partition.partial / "all.parquet"), compression="lz4")

    @contextmanager
    def _partitions(self, due: Sequence[Relation], home: Path) -> Iterator[list[Partition]]:
        """Return the partitions that are to be written; create the views of all at the end."""
        with ExitStack() as stack:
            pairs = [stack.enter_context(self._partition(relation, home)) for relation in due]
            absent = [partition for _, partition in pairs if partition]
            names = ", ".join(partition.relation.name for partition in absent)
            with step(f"computing {names}", self.con) if absent else nullcontext():
                yield absent
        for relation, (folder, _) in zip(due, pairs, strict=True):
            if relation.merges:
                rows = merged_rows(relation, folder)
                self.con.execute(f"create or replace view {relation.name} as {rows}")
                continue
            files = [escape_glob(file) for file in sorted(folder.glob("*.parquet"))]
            self.con.read_parquet(files).create_view(relation.name, replace=True)

    @contextmanager
    def _partition(self, relation: Relation, home: Path) -> Iterator[tuple[Path, Partition | None]]:
        """Return the folder of a relation, and its partition if it is to be written.

        The folder that was written before stays, because readers of the trace as it was may use
        it. Older folders are removed.
        """
        order, tables = required_relations([relation.name])
        policy = str(self.con.table(SETTINGS).fetchall()) if SETTINGS in tables else ""
        # sorted: the order of relations of equal rank differs between processes
        code = "\n".join([MACROS, *sorted(r.sql for r in order), _code(), policy])
        folder = home / f"{relation.name}-{text_digest(self.manifest_text, code)}.parquet"
        existing = self.folder.path / DERIVED / folder.name
        if parts_valid(existing):
            yield existing, None
            return
        with in_turn(folder):
            if parts_valid(folder):  # another process has written it meanwhile
                yield folder, None
                return
            others = set(existing.parent.glob(f"{relation.name}-*.parquet/")) - {existing}
            before = max(others, key=_written_at, default=None)
            shutil.rmtree(folder, ignore_errors=True)
            with atomic_write(folder, keep_existing=True) as partial:
                partial.mkdir()
                for stale in others - {before}:
                    shutil.rmtree(stale, ignore_errors=True)
                yield folder, Partition(relation, code, partial, before)
                write_part_checksums(partial, folder.name)


@cache
def _code() -> str:
    """Return the code that counts samples and lays out files, whose changes change their names."""
    modules = ("appended.py", "histograms.py", "sample_reader.py")
    return "\n".join(Path(__file__).with_name(name).read_text("utf-8") for name in modules)


def _have_same_columns(files: Sequence[Path]) -> bool:
    """Return whether Parquet files have the same columns, so that a read opens only some files.

    A damaged file gives False, so that the engine reports the damage.
    """
    try:
        return len({tuple(pq.read_schema(file).names) for file in files}) == 1
    except (OSError, pa.ArrowException):
        return False


def _written_at(folder: Path) -> float:
    """Return when a folder was written; 0: another process has removed it."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0
