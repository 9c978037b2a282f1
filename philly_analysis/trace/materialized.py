"""Relations that a trace computes once: in Parquet, and week by week where they count samples."""

import hashlib
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
from philly_analysis.parallel import map_ordered, require_visible
from philly_analysis.progress import step
from philly_analysis.trace import histograms, sample_reader
from philly_analysis.trace.integrity import parts_intact, write_part_checksums
from philly_analysis.trace.manifest import DERIVED, Manifest
from philly_analysis.trace.relations import MACROS, Relation, escape_glob, required_relations
from philly_analysis.trace.schema import LONGEST_READING, REJECTS, TABLES

_GENERATION = re.compile(r"-\d{6}-")
_WEEK = "date_trunc('week', {})::timestamp"
_SLICE = 1_000_000
"""About how many samples are counted at once: this bounds memory, whatever the trace's size."""
_ADDED_UP = 4_000_000
"""Counts of a week that are held, beside what others add up to, until they are added up."""
_SOURCES = tuple(map(inspect.getsource, (histograms, sample_reader)))
"""What counts samples, of which a count is only good for what it was then."""
_AHEAD = 64
"""Slices that an executor may have at once: more than machines have cores, mostly."""


@dataclass(frozen=True, slots=True)
class _Room:
    """Where a stored relation is to be written.

    Attributes
    ----------
    code
        All that it is computed by.
    partial
        The folder to fill; it gets its name when it is whole.
    before
        Folders of the last generation, whose weeks may be taken over.
    """

    relation: Relation
    code: str
    partial: Path
    before: list[Path]


@dataclass(frozen=True, slots=True)
class _Week:
    """A week of samples: its Monday, the files that have any of it, and how many they have."""

    begins: datetime
    files: tuple[Path, ...]
    samples: int

    @property
    def ends(self) -> datetime:
        return self.begins + timedelta(weeks=1)

    def slices(self) -> Iterator[tuple[datetime, datetime]]:
        """Cut it into equal times of about :data:`_SLICE` samples."""
        parts = max(1, ceil(self.samples / _SLICE))
        yield from pairwise(self.begins + timedelta(weeks=1) * i / parts for i in range(parts + 1))


@dataclass(frozen=True, slots=True)
class _Part:
    """A slice of a week, and the file that each relation's week is to become."""

    week: _Week
    files: dict[str, Path]
    counts: histograms.Slice


@dataclass(frozen=True)
class Storage:
    """Where the files of a trace are, and the connection that reads them.

    Attributes
    ----------
    held
        The trace's folder by a name that no other folder gets while it is open.
    scratch
        A folder of this session, for what the trace's own cannot take.
    executor
        Where samples are counted; None: in this process.
    """

    con: duckdb.DuckDBPyConnection
    trace: Path
    held: Path
    scratch: Path
    manifest: Manifest
    executor: Executor | None = None

    @cached_property
    def said(self) -> str:
        """All that the manifest says, on which rests what is made of the trace."""
        return self.manifest.to_json()

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table; columns that it was written without, being older than they, are null."""
        files = [escape_glob(file) for file in self.manifest.paths(self.held, name)]
        return self.con.read_parquet(files, union_by_name=True).select(self._columns(name))

    def create(self, found: Sequence[Relation]) -> None:
        """Create the views of relations, and write those that are to be stored and are not yet.

        Those of the same samples are made in one pass over them.
        """
        for relation in found:
            if not relation.stored:
                self.con.sql(relation.sql).create_view(relation.name, replace=True)
            elif not relation.samples:
                self._store([relation])
        sampled = sorted((r for r in found if r.samples), key=attrgetter("samples"))
        for _, same in groupby(sampled, attrgetter("samples")):
            self._store(list(same))

    def _store(self, found: Sequence[Relation]) -> None:
        """Write relations that read the same, in the trace or where that takes nothing in scratch.

        Raises
        ------
        TraceError
            Neither takes it.
        """
        for home in (self.trace / DERIVED, self.scratch):
            try:
                with self._rooms(found, home) as rooms:
                    if rooms and (table := found[0].samples):
                        self._count(table, rooms)
                    elif rooms:
                        [room] = rooms
                        _write(self.con.sql(room.relation.sql), room.partial / "all.parquet")
            except (OSError, duckdb.IOException) as error:  # it is read-only, or full
                failed = str(error).split("\n", 1)[0]
            else:
                return
        names = ", ".join(relation.name for relation in found)
        raise TraceError(
            f"{names} of {self.trace} cannot be kept, neither there nor in {self.scratch.parent}: "
            f"{failed}. Free some disk space, or say where there is some with TMPDIR."
        )

    @property
    def _counted(self) -> Path:
        """The trace's folder by a name that whoever counts its samples knows."""
        return self.trace if self.executor else self.held

    def _columns(self, table: str) -> str:
        """Return what to SELECT from the files of a table, so that it has all of its columns."""
        files = [escape_glob(file) for file in self.manifest.paths(self.held, table)]
        stored = self.con.read_parquet(files, union_by_name=True).columns
        declared = TABLES.get(table, REJECTS)
        return "*" if stored == list(declared.column_names) else declared.completed(stored)

    @contextmanager
    def _rooms(self, found: Sequence[Relation], home: Path) -> Iterator[list[_Room]]:
        """Give room to those that are to be written; create the views of all at the end."""
        with ExitStack() as stack:
            rooms = [stack.enter_context(self._room(relation, home)) for relation in found]
            due = [room for _, room in rooms if room]
            names = ", ".join(room.relation.name for room in due)
            with step(f"computing {names}", self.con) if due else nullcontext():
                yield due
        for relation, (folder, _) in zip(found, rooms, strict=True):
            files = [escape_glob(file) for file in sorted(folder.glob("*.parquet"))]
            self.con.read_parquet(files).create_view(relation.name, replace=True)

    @contextmanager
    def _room(self, relation: Relation, home: Path) -> Iterator[tuple[Path, _Room | None]]:
        """Give the folder of a stored relation, and room to write it unless it is there."""
        order, _ = required_relations([relation.name])
        # sorted: relations of equal rank come in an order that differs from process to process
        code = "\n".join([MACROS, *sorted(r.sql for r in order), *_SOURCES])
        stem = f"{relation.name}-{self.manifest.generation:06}-"
        key = digest_of(self.said, code)
        folder = home / f"{stem}{key}.parquet"
        if parts_intact(kept := self.trace / DERIVED / folder.name):
            yield kept, None
            return
        others = sorted(kept.parent.glob(f"{relation.name}-*.parquet/"))
        # the last generation's may still be read: weeks are taken over from it, and it stays
        before = [f for f in others if _GENERATION.search(f.name) and f.name < stem][-1:]
        shutil.rmtree(folder, ignore_errors=True)  # damaged, if it is there
        with atomic_write(folder, keep_existing=True) as partial:
            partial.mkdir()
            for stale in set(others) - set(before):
                shutil.rmtree(stale, ignore_errors=True)
            yield folder, _Room(relation, code, partial, before)
            write_part_checksums(partial, folder.name)

    def _count(self, table: str, rooms: Sequence[_Room]) -> None:
        """Count or list the readings of each week, or take over what was made of it before."""
        # in this process one thread reads while the other counts; more would wait for each other,
        # but they are to have work while a week is written
        executor = nullcontext(self.executor) if self.executor else ThreadPoolExecutor(2)
        ahead = _AHEAD if self.executor else 6
        with executor as workers:
            counted = map_ordered(workers, _counted, self._parts(table, rooms), ahead=ahead)
            for _, week in groupby(counted, lambda found: found[0].week.begins):
                self._write_week(week)

    def _parts(self, table: str, rooms: Sequence[_Room]) -> Iterator[_Part]:
        """Yield what is to be counted, in order of time.

        A file's name is a digest of just what the week's count rests on: a file of this name
        holds what would be counted now.
        """
        stretches = {room.relation.name: self._stretches(room.relation) for room in rooms}
        listed = frozenset(room.relation.name for room in rooms if room.relation.listed)
        for week in self._weeks(table):
            sizes = [
                f"{file.relative_to(self._counted).as_posix()} {file.stat().st_size}"
                for file in week.files
            ]
            files: dict[str, Path] = {}
            here = {name: self._within(every, week) for name, every in stretches.items()}
            for room in rooms:
                name = room.relation.name
                met = self.con.from_arrow(here[name].rows)
                digest = digest_of(room.code, *sizes, _rows_digest(met))
                file = room.partial / f"{week.begins:%Y-%m-%d}-{digest}.parquet"
                if not any(_taken_over(other / file.name, file) for other in room.before):
                    files[name] = file
            for begins, ends in week.slices() if files else ():
                counts = histograms.Slice(
                    table=table,
                    files=tuple(map(str, week.files)),
                    begins=begins,
                    ends=ends,
                    stretches={name: here[name].within(begins, ends).rows for name in files},
                    listed=listed,
                )
                yield _Part(week, files, counts)
        for written in stretches.values():
            written.unlink()

    def _write_week(self, found: Iterable[tuple[_Part, dict[str, pa.Table]]]) -> None:
        given: defaultdict[str, list[pa.Table]] = defaultdict(list)
        for part, counted in found:  # parts of one week
            for name, rows in counted.items():
                given[name].append(rows)
                many = sum(map(len, given[name][1:])) > _ADDED_UP
                if many and name not in part.counts.listed:
                    given[name] = [histograms.added_up(given[name])]
        for name, file in part.files.items():
            listed = name in part.counts.listed
            rows = (pa.concat_tables if listed else histograms.added_up)(given.pop(name))
            own = histograms.LISTED if listed else histograms.COUNTS
            keys = [column for column in rows.column_names if column not in own]
            week = pa.scalar(part.week.begins, pa.timestamp("us"))
            rows = rows.add_column(len(keys), "week", pa.repeat(week, len(rows)))
            # all but the last column repeats; single readings hardly get smaller
            pq.write_table(
                rows,
                file,
                compression="none" if listed else "zstd",
                use_dictionary=rows.column_names[:-1],
            )

    def _stretches(self, relation: Relation) -> Path:
        """Write the stretches of time that a relation asks about: a week's are held at once."""
        file = self.scratch / f"{relation.name}.parquet"
        self.con.sql(relation.sql).write_parquet(str(file), compression="lz4")
        return file

    def _within(self, stretches: Path, week: _Week) -> histograms.Stretches:
        """Read the stretches of time that may have readings of a week, cut to it."""
        rows = self.con.read_parquet(escape_glob(stretches))
        late = ConstantExpression(week.ends + LONGEST_READING)
        rows = rows.filter(ColumnExpression("from_at") < late)
        rows = rows.filter(ColumnExpression("until_at") > ConstantExpression(week.begins))
        others = [column for column in rows.columns if column != "from_at"]
        # in one order, so that what is added up of them is, too
        order = ", ".join(f'"{column}"' for column in ("from_at", *others))
        found = histograms.Stretches.of(rows.order(order).to_arrow_table())
        return found.within(week.begins, week.ends)

    def _weeks(self, table: str) -> list[_Week]:
        """Return the weeks that a table of samples has rows in; one without rows if it has none."""
        paths = {str(path): path for path in self.manifest.paths(self._counted, table)}
        found = self.con.sql(
            f"select {_WEEK.format('min(stats_min_value::timestamp)')} as week, file_name, "
            f"{_WEEK.format('max(stats_max_value::timestamp)')} = week, sum(num_values)::bigint "
            "from parquet_metadata($files) where path_in_schema = 'sampled_at' group by all",
            params={"files": [escape_glob(path) for path in paths.values()]},
        ).fetchall()
        known = [(week, name, samples) for week, name, whole, samples in found if whole]
        others = [escape_glob(paths[name]) for _, name, whole, _ in found if not whole]
        if others:
            rows = self.con.read_parquet(others, filename=True)
            week = f"{_WEEK.format('sampled_at')} as week"
            known += rows.aggregate(f"{week}, filename, count(*) as samples").fetchall()
        weeks = []
        for begins, same in groupby(sorted(known), itemgetter(0)):
            _, names, samples = zip(*same, strict=True)
            weeks.append(_Week(begins, tuple(paths[name] for name in names), sum(samples)))
        return weeks or [_Week(datetime(1970, 1, 5), tuple(paths.values()), 0)]


def _counted(part: _Part) -> tuple[_Part, dict[str, pa.Table]]:
    require_visible(part.week.files)
    return part, part.counts.counted()


def _rows_digest(rows: duckdb.DuckDBPyRelation) -> str:
    """Return a digest of rows, in whatever order they are."""
    columns = ", ".join(f'"{column}"' for column in rows.columns)
    found = rows.aggregate(f"count(*), sum(hash(row({columns}))::hugeint)").fetchall()
    return repr(found)


def _write(rows: duckdb.DuckDBPyRelation, file: Path) -> None:
    rows.write_parquet(str(file), compression="zstd")


def digest_of(*texts: str) -> str:
    """Return a name for what is made of some texts."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def _taken_over(old: Path, new: Path) -> bool:
    """Give a file a second name, or copy it where that cannot be; tell whether it was there."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        return False
    except OSError:
        shutil.copyfile(old, new)
    return True
