"""Count samples week by week for relations of utilisation, and reuse weeks that did not change."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from math import ceil
from operator import itemgetter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import ColumnExpression, ConstantExpression

from philly_analysis.atomic import link_or_copy
from philly_analysis.parallel import InlineExecutor, cores, map_ordered, require_visible
from philly_analysis.trace import histograms
from philly_analysis.trace.checksums import rows_digest, text_digest
from philly_analysis.trace.connection import escape_glob
from philly_analysis.trace.folder import TraceFolder
from philly_analysis.trace.relations import Relation
from philly_analysis.trace.schema import LONGEST_READING

_WEEK = "date_trunc('week', {})::timestamp"
_SLICE = 500_000
"""Approximate number of samples that a thread counts at once, which bounds memory."""
_THREADS = min(cores(), 4)
"""Threads that count samples; more would wait for Python's lock."""
_MAX_COUNTS = 4_000_000
"""Counts of a week that are kept in memory before they are summed."""
_AHEAD = 64
"""Slices that an executor may work on at once: more than most machines have cores."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A relation of counted samples that is to be written.

    Attributes
    ----------
    code
        All code that computes it.
    partial
        The folder to write to, which is renamed when it is complete.
    before
        The folder that was written before, whose weeks may be reused.
    """

    relation: Relation
    code: str
    partial: Path
    before: Path | None


@dataclass(frozen=True, slots=True)
class Week:
    """A week of samples: its Monday, the files with samples, and the number of samples."""

    begins: datetime
    files: tuple[Path, ...]
    samples: int

    @property
    def ends(self) -> datetime:
        """The Monday after."""
        return self.begins + timedelta(weeks=1)

    def slices(self) -> Iterator[tuple[datetime, datetime]]:
        """Split it into equal intervals of about :data:`_SLICE` samples."""
        parts = max(1, ceil(self.samples / _SLICE))
        yield from pairwise(self.begins + timedelta(weeks=1) * i / parts for i in range(parts + 1))


@dataclass(frozen=True, slots=True)
class WeekSlice:
    """A slice of a week, and the file of the week in each partition."""

    week: Week
    files: dict[str, Path]
    samples: histograms.Slice


@dataclass(frozen=True)
class WeekCounter:
    """Counts the samples of a trace.

    Attributes
    ----------
    con
        Connection with the relations of intervals.
    scratch
        A folder of this session for the intervals.
    executor
        Workers that count samples; an InlineExecutor: threads of this process.
    """

    con: duckdb.DuckDBPyConnection
    folder: TraceFolder
    scratch: Path
    executor: Executor

    @property
    def _here(self) -> bool:
        """Whether threads of this process count samples."""
        return isinstance(self.executor, InlineExecutor)

    @property
    def _readable_folder(self) -> Path:
        """The trace's folder by a path that the processes which count its samples have."""
        return self.folder.files if self._here else self.folder.path

    def count(self, table: str, partitions: Sequence[Partition]) -> None:
        """Write a file of counts, or of listed readings, per week to each partition.

        A week whose file an earlier partition has is not counted again.
        """
        executor = ThreadPoolExecutor(_THREADS) if self._here else nullcontext(self.executor)
        # threads need work ahead while a week is written
        ahead = _THREADS + 4 if self._here else _AHEAD
        with executor as workers:
            counted = map_ordered(
                workers, _count_slice, self._slices(table, partitions), ahead=ahead
            )
            for _, week in groupby(counted, lambda part: part[0].week.begins):
                _write_week(week)

    def _slices(self, table: str, partitions: Sequence[Partition]) -> Iterator[WeekSlice]:
        """Yield what is to be counted, in order of time.

        A week's file is named by a digest of all that it is computed from: an existing file of
        this name has the same rows.
        """
        intervals = {p.relation.name: self._write_intervals(p.relation) for p in partitions}
        listed = frozenset(p.relation.name for p in partitions if p.relation.listed)
        for week in self._weeks(table):
            sizes = [
                f"{file.relative_to(self._readable_folder).as_posix()} {file.stat().st_size}"
                for file in week.files
            ]
            files: dict[str, Path] = {}
            of_week = {name: self._read_intervals(file, week) for name, file in intervals.items()}
            for partition in partitions:
                name = partition.relation.name
                rows = rows_digest(self.con.from_arrow(of_week[name]))
                digest = text_digest(partition.code, *sizes, rows)
                file = partition.partial / f"{week.begins:%Y-%m-%d}-{digest}.parquet"
                if not (partition.before and link_or_copy(partition.before / file.name, file)):
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
                yield WeekSlice(week, files, samples)
        for file in intervals.values():
            file.unlink()

    def _write_intervals(self, relation: Relation) -> Path:
        """Write the intervals of a relation to a file, of which a week is read at a time."""
        file = self.scratch / f"{relation.name}.parquet"
        self.con.sql(relation.sql).write_parquet(str(file), compression="lz4")
        return file

    def _read_intervals(self, file: Path, week: Week) -> pa.Table:
        """Read the intervals that may have samples of a week, cut to the week."""
        rows = self.con.read_parquet(escape_glob(file))
        late = ConstantExpression(week.ends + LONGEST_READING)
        rows = rows.filter(ColumnExpression("from_at") < late)
        rows = rows.filter(ColumnExpression("until_at") > ConstantExpression(week.begins))
        others = [column for column in rows.columns if column != "from_at"]
        # sorted, so that sums are added in the same order
        order = ", ".join(f'"{column}"' for column in ("from_at", *others))
        intervals = rows.order(order).to_arrow_table()
        return histograms.cut_intervals(intervals, week.begins, week.ends)

    def _weeks(self, table: str) -> list[Week]:
        """Return the weeks of a table of samples; one without samples if it is empty."""
        files = self.folder.manifest.paths(self._readable_folder, table)
        paths = {str(path): path for path in files}
        parts = self.con.sql(
            f"select {_WEEK.format('min(stats_min_value::timestamp)')} as week, file_name, "
            f"{_WEEK.format('max(stats_max_value::timestamp)')} = week, sum(num_values)::bigint "
            "from parquet_metadata($files) where path_in_schema = 'sampled_at' group by all",
            params={"files": [escape_glob(path) for path in paths.values()]},
        ).fetchall()
        sizes = [(week, name, samples) for week, name, one_week, samples in parts if one_week]
        longer = [escape_glob(paths[name]) for _, name, one_week, _ in parts if not one_week]
        if longer:
            rows = self.con.read_parquet(longer, filename=True)
            week = f"{_WEEK.format('sampled_at')} as week"
            sizes += rows.aggregate(f"{week}, filename, count(*) as samples").fetchall()
        weeks = []
        for begins, same in groupby(sorted(sizes), itemgetter(0)):
            _, names, samples = zip(*same, strict=True)
            weeks.append(Week(begins, tuple(paths[name] for name in names), sum(samples)))
        return weeks or [Week(datetime(1970, 1, 5), tuple(paths.values()), 0)]


def _write_week(counted_slices: Iterable[tuple[WeekSlice, dict[str, pa.Table]]]) -> None:
    """Write the counts of the slices of one week."""
    counts: defaultdict[str, list[pa.Table]] = defaultdict(list)
    for part, counted in counted_slices:
        for name, rows in counted.items():
            counts[name].append(rows)
            many = sum(map(len, counts[name][1:])) > _MAX_COUNTS
            if many and name not in part.samples.listed:
                counts[name] = [histograms.sum_counts(counts[name])]
    for name, file in part.files.items():
        listed = name in part.samples.listed
        rows = (pa.concat_tables if listed else histograms.sum_counts)(counts.pop(name))
        values = histograms.LISTED if listed else histograms.COUNTS
        keys = [column for column in rows.column_names if column not in values]
        week = pa.scalar(part.week.begins, pa.timestamp("us"))
        rows = rows.add_column(len(keys), "week", pa.repeat(week, len(rows)))
        # values repeat in all but the last column; single readings hardly compress
        pq.write_table(
            rows,
            file,
            compression="none" if listed else "zstd",
            use_dictionary=rows.column_names[:-1],
        )


def _count_slice(part: WeekSlice) -> tuple[WeekSlice, dict[str, pa.Table]]:
    require_visible(part.week.files)
    return part, part.samples.count()
