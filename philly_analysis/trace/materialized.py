"""Materialize relations as Parquet files of a trace; those that count samples, week by week."""

import inspect
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby, pairwise
from math import ceil
from operator import attrgetter, itemgetter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import ColumnExpression, ConstantExpression

from philly_analysis.atomic import atomic_write
from philly_analysis.errors import TraceError
from philly_analysis.parallel import InlineExecutor, cores, map_ordered, require_visible
from philly_analysis.progress import step
from philly_analysis.trace import histograms, sample_reader
from philly_analysis.trace.checksums import text_digest
from philly_analysis.trace.connection import escape_glob, first_line
from philly_analysis.trace.folder import TraceFolder
from philly_analysis.trace.integrity import parts_valid, write_part_checksums
from philly_analysis.trace.manifest import DERIVED
from philly_analysis.trace.relations import MACROS, Relation, required_relations
from philly_analysis.trace.schema import LONGEST_READING, REJECTS, TABLES

_GENERATION = re.compile(r"-\d{6}-")
_WEEK = "date_trunc('week', {})::timestamp"
_SLICE = 500_000
"""Approximate number of samples that a thread counts at once, which bounds memory."""
_THREADS = min(cores(), 4)
"""Threads that count samples; more would wait for Python's lock."""
_MAX_COUNTS = 4_000_000
"""Counts of a week that are kept in memory before they are summed."""
_SOURCES = tuple(map(inspect.getsource, (histograms, sample_reader)))
"""Code that counts samples: its version is part of a file's name."""
_AHEAD = 64
"""Slices that an executor may work on at once: more than most machines have cores."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A materialized relation that is to be written.

    Attributes
    ----------
    code
        All code that computes it.
    partial
        The folder to write to, which is renamed when it is complete.
    before
        Folders of the last generation, whose weeks may be reused.
    """

    relation: Relation
    code: str
    partial: Path
    before: list[Path]


@dataclass(frozen=True, slots=True)
class _Week:
    """A week of samples: its Monday, the files that have samples of it, and their number."""

    begins: datetime
    files: tuple[Path, ...]
    samples: int

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(weeks=1)

    def slices(self) -> Iterator[tuple[datetime, datetime]]:
        """Split it into equal intervals of about :data:`_SLICE` samples."""
        parts = max(1, ceil(self.samples / _SLICE))
        yield from pairwise(self.begins + timedelta(weeks=1) * i / parts for i in range(parts + 1))


@dataclass(frozen=True, slots=True)
class _WeekSlice:
    """A slice of a week, and the file of the week in each partition."""

    week: _Week
    files: dict[str, Path]
    samples: histograms.Slice


@dataclass(frozen=True)
class Materializer:
    """Reads a trace's tables, and computes its materialized relations.

    Attributes
    ----------
    scratch
        A folder of this session, in case the trace's folder cannot be written.
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

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table. Columns that its files lack, because they are older, are null."""
        paths = self.folder.manifest.paths(self.folder.files, name)
        rows = self.con.read_parquet([escape_glob(path) for path in paths], union_by_name=True)
        declared = TABLES.get(name, REJECTS)
        present = rows.columns
        complete = present == list(declared.column_names)
        return rows.select("*" if complete else declared.completed(present))

    def create(self, found: Sequence[Relation]) -> None:
        """Create the views of relations, and materialize those that are due.

        Relations of the same samples are computed in one pass over them.
        """
        for relation in found:
            if not relation.materialized:
                # a relation of DuckDB would bind the query once more before it creates the view
                self.con.execute(f"create or replace view {relation.name} as {relation.sql}")
            elif not relation.samples:
                self._materialize([relation])
        sampled = sorted((r for r in found if r.samples), key=attrgetter("samples"))
        for _, same in groupby(sampled, attrgetter("samples")):
            self._materialize(list(same))

    def _materialize(self, found: Sequence[Relation]) -> None:
        """Write relations that read the same samples into the trace, or into the session's folder.

        Raises
        ------
        TraceError
            Neither can be written.
        """
        for home in (self.folder.path / DERIVED, self.scratch):
            try:
                with self._partitions(found, home) as partitions:
                    if partitions and (table := found[0].samples):
                        self._count(table, partitions)
                    elif partitions:
                        rows = self.con.sql(partitions[0].relation.sql)
                        file = partitions[0].partial / "all.parquet"
                        rows.write_parquet(str(file), compression="zstd")
            except (OSError, duckdb.IOException) as error:  # it is read-only, or full
                failed = first_line(error)
            else:
                return
        names = ", ".join(relation.name for relation in found)
        raise TraceError(
            f"{names} of {self.folder.path} cannot be written, neither there nor in "
            f"{self.scratch.parent}: {failed}. Free some disk space, or set TMPDIR to a folder "
            "with free space."
        )

    @property
    def _samples_folder(self) -> Path:
        """The trace's folder by a path that the processes which count its samples have."""
        return self.folder.files if self._here else self.folder.path

    @property
    def _here(self) -> bool:
        """Whether threads of this process count samples."""
        return isinstance(self.executor, InlineExecutor)

    @contextmanager
    def _partitions(self, found: Sequence[Relation], home: Path) -> Iterator[list[Partition]]:
        """Return the partitions that are to be written; create the views of all at the end."""
        with ExitStack() as stack:
            pairs = [stack.enter_context(self._partition(relation, home)) for relation in found]
            due = [partition for _, partition in pairs if partition]
            names = ", ".join(partition.relation.name for partition in due)
            with step(f"computing {names}", self.con) if due else nullcontext():
                yield due
        for relation, (folder, _) in zip(found, pairs, strict=True):
            files = [escape_glob(file) for file in sorted(folder.glob("*.parquet"))]
            self.con.read_parquet(files).create_view(relation.name, replace=True)

    @contextmanager
    def _partition(self, relation: Relation, home: Path) -> Iterator[tuple[Path, Partition | None]]:
        """Return the folder of a relation, and its partition if it is to be written."""
        order, _ = required_relations([relation.name])
        # sorted: the order of relations of equal rank differs between processes
        code = "\n".join([MACROS, *sorted(r.sql for r in order), *_SOURCES])
        stem = f"{relation.name}-{self.folder.manifest.generation:06}-"
        folder = home / f"{stem}{text_digest(self.manifest_text, code)}.parquet"
        if parts_valid(existing := self.folder.path / DERIVED / folder.name):
            yield existing, None
            return
        others = sorted(existing.parent.glob(f"{relation.name}-*.parquet/"))
        # readers may use the last generation: its weeks are reused, and it stays
        before = [f for f in others if _GENERATION.search(f.name) and f.name < stem][-1:]
        if folder.exists() and not parts_valid(folder):  # another process may have written it
            shutil.rmtree(folder, ignore_errors=True)
        with atomic_write(folder, keep_existing=True) as partial:
            partial.mkdir()
            for stale in set(others) - {existing, *before}:
                shutil.rmtree(stale, ignore_errors=True)
            yield folder, Partition(relation, code, partial, before)
            write_part_checksums(partial, folder.name)

    def _count(self, table: str, partitions: Sequence[Partition]) -> None:
        """Count or list the samples of each week, or reuse what was computed of it before."""
        executor = ThreadPoolExecutor(_THREADS) if self._here else nullcontext(self.executor)
        # threads need work ahead while a week is written
        ahead = _THREADS + 4 if self._here else _AHEAD
        with executor as workers:
            counted = map_ordered(
                workers, _count_slice, self._slices(table, partitions), ahead=ahead
            )
            for _, week in groupby(counted, lambda found: found[0].week.begins):
                self._write_week(week)

    def _slices(self, table: str, partitions: Sequence[Partition]) -> Iterator[_WeekSlice]:
        """Yield what is to be counted, in order of time.

        A week's file is named by a digest of all that it is computed from: an existing file of
        this name has the same rows.
        """
        intervals = {p.relation.name: self._write_intervals(p.relation) for p in partitions}
        listed = frozenset(p.relation.name for p in partitions if p.relation.listed)
        for week in self._weeks(table):
            sizes = [
                f"{file.relative_to(self._samples_folder).as_posix()} {file.stat().st_size}"
                for file in week.files
            ]
            files: dict[str, Path] = {}
            of_week = {name: self._read_intervals(file, week) for name, file in intervals.items()}
            for partition in partitions:
                name = partition.relation.name
                rows = _rows_digest(self.con.from_arrow(of_week[name]))
                digest = text_digest(partition.code, *sizes, rows)
                file = partition.partial / f"{week.begins:%Y-%m-%d}-{digest}.parquet"
                if not any(_reuse(other / file.name, file) for other in partition.before):
                    files[name] = file
            for begins, ends in week.slices() if files else ():
                samples = histograms.Slice(
                    table=table,
                    files=tuple(map(str, week.files)),
                    begins=begins,
                    ends=ends,
                    intervals={
                        name: histograms.cut_intervals(of_week[name], begins, ends)
                        for name in files
                    },
                    listed=listed,
                )
                yield _WeekSlice(week, files, samples)
        for file in intervals.values():
            file.unlink()

    def _write_week(self, found: Iterable[tuple[_WeekSlice, dict[str, pa.Table]]]) -> None:
        """Write the counts of the slices of one week."""
        counts: defaultdict[str, list[pa.Table]] = defaultdict(list)
        for part, counted in found:
            for name, rows in counted.items():
                counts[name].append(rows)
                many = sum(map(len, counts[name][1:])) > _MAX_COUNTS
                if many and name not in part.samples.listed:
                    counts[name] = [histograms.sum_counts(counts[name])]
        for name, file in part.files.items():
            listed = name in part.samples.listed
            rows = (pa.concat_tables if listed else histograms.sum_counts)(counts.pop(name))
            own = histograms.LISTED if listed else histograms.COUNTS
            keys = [column for column in rows.column_names if column not in own]
            week = pa.scalar(part.week.begins, pa.timestamp("us"))
            rows = rows.add_column(len(keys), "week", pa.repeat(week, len(rows)))
            # values repeat in all but the last column; single readings hardly compress
            pq.write_table(
                rows,
                file,
                compression="none" if listed else "zstd",
                use_dictionary=rows.column_names[:-1],
            )

    def _write_intervals(self, relation: Relation) -> Path:
        """Write the intervals of a relation to a file, of which a week is read at a time."""
        file = self.scratch / f"{relation.name}.parquet"
        self.con.sql(relation.sql).write_parquet(str(file), compression="lz4")
        return file

    def _read_intervals(self, file: Path, week: _Week) -> pa.Table:
        """Read the intervals that may have samples of a week, cut to it."""
        rows = self.con.read_parquet(escape_glob(file))
        late = ConstantExpression(week.ends + LONGEST_READING)
        rows = rows.filter(ColumnExpression("from_at") < late)
        rows = rows.filter(ColumnExpression("until_at") > ConstantExpression(week.begins))
        others = [column for column in rows.columns if column != "from_at"]
        # sorted, so that sums are added in the same order
        order = ", ".join(f'"{column}"' for column in ("from_at", *others))
        found = rows.order(order).to_arrow_table()
        return histograms.cut_intervals(found, week.begins, week.ends)

    def _weeks(self, table: str) -> list[_Week]:
        """Return the weeks of a table of samples; one without samples if it is empty."""
        files = self.folder.manifest.paths(self._samples_folder, table)
        paths = {str(path): path for path in files}
        found = self.con.sql(
            f"select {_WEEK.format('min(stats_min_value::timestamp)')} as week, file_name, "
            f"{_WEEK.format('max(stats_max_value::timestamp)')} = week, sum(num_values)::bigint "
            "from parquet_metadata($files) where path_in_schema = 'sampled_at' group by all",
            params={"files": [escape_glob(path) for path in paths.values()]},
        ).fetchall()
        known = [(week, name, samples) for week, name, one_week, samples in found if one_week]
        others = [escape_glob(paths[name]) for _, name, one_week, _ in found if not one_week]
        if others:
            rows = self.con.read_parquet(others, filename=True)
            week = f"{_WEEK.format('sampled_at')} as week"
            known += rows.aggregate(f"{week}, filename, count(*) as samples").fetchall()
        weeks = []
        for begins, same in groupby(sorted(known), itemgetter(0)):
            _, names, samples = zip(*same, strict=True)
            weeks.append(_Week(begins, tuple(paths[name] for name in names), sum(samples)))
        return weeks or [_Week(datetime(1970, 1, 5), tuple(paths.values()), 0)]


def _count_slice(part: _WeekSlice) -> tuple[_WeekSlice, dict[str, pa.Table]]:
    require_visible(part.week.files)
    return part, part.samples.count()


def _rows_digest(rows: duckdb.DuckDBPyRelation) -> str:
    """Return a digest of rows that does not depend on their order."""
    columns = ", ".join(f'"{column}"' for column in rows.columns)
    found = rows.aggregate(f"count(*), sum(hash(row({columns}))::hugeint)").fetchall()
    return repr(found)


def _reuse(old: Path, new: Path) -> bool:
    """Link a file to a new path, or copy it if it cannot be linked; return whether it exists."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        return False
    except OSError:
        shutil.copyfile(old, new)
    return True
