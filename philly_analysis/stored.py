"""Relations that a trace computes once: in Parquet, and week by week where they are of samples."""

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from philly_analysis.manifest import Manifest
from philly_analysis.progress import step
from philly_analysis.relations import MACROS, Relation, needed, relations
from philly_analysis.schema import LONGEST_READING, REJECTS, TABLES

DERIVED = "derived"
"""Folder in a trace of what was computed from it; it can be removed at any time."""

_GENERATION = re.compile(r"-\d{6}-")


@dataclass(frozen=True, slots=True)
class Storage:
    """Where the files of a trace are, and the connection that reads them.

    Attributes
    ----------
    scratch
        A folder of this session, for what the trace's own cannot take.
    """

    con: duckdb.DuckDBPyConnection
    trace: Path
    scratch: Path
    manifest: Manifest

    def table(self, name: str) -> duckdb.DuckDBPyRelation:
        """Return a table; columns that it was written without, being older than they, are null."""
        stored = self.con.read_parquet(self._files(name), union_by_name=True)
        table = TABLES.get(name, REJECTS)
        if stored.columns == list(table.column_names):
            return stored
        return stored.select(table.completed(stored.columns))

    def create(self, relation: Relation) -> None:
        """Create the view of a relation, and write it where it is to be stored and is not yet."""
        if relation.stored:
            found = self.con.read_parquet([glob_safe(file) for file in self._stored(relation)])
        else:
            found = self.con.sql(relation.sql)
        found.create_view(relation.name, replace=True)

    def folders(self, kind: str, *texts: str) -> list[Path]:
        """Return the folders for what is made of the trace as it stands, and of `texts`.

        The trace's own, and this session's, for what the former cannot take; neither may be there.
        """
        files = [self.trace / file for files in self.manifest.files.values() for file in files]
        sizes = " ".join(str(file.stat().st_size) for file in files)
        name = f"{kind}-{_digest(self.manifest.to_json(), sizes, *texts)}"
        return [self.trace / DERIVED / name, self.scratch / name]

    def _files(self, table: str) -> list[str]:
        return [glob_safe(file) for file in self.manifest.paths(self.trace, table)]

    def _stored(self, relation: Relation) -> list[Path]:
        """Return the files of a stored relation, computed now if they are not there yet."""
        order, _ = needed([relation.name])
        # sorted: relations of equal rank come in an order that differs from process to process
        code = "\n".join([MACROS, *sorted(r.sql for r in order)])
        stem = f"{relation.name}-{self.manifest.generation:06}-"
        key = _digest(self.manifest.to_json(), code)
        folder = self.trace / DERIVED / f"{stem}{key}.parquet"
        if folder.is_dir():
            return sorted(folder.iterdir())
        others = sorted(folder.parent.glob(f"{relation.name}-*.parquet/"))
        # the last generation's may still be read: weeks are taken over from it, and it stays
        before = [f for f in others if _GENERATION.search(f.name) and f.name < stem][-1:]
        partial = folder.with_suffix(f".partial-{os.getpid()}")
        try:
            partial.mkdir(parents=True)
            for stale in set(others) - set(before):
                shutil.rmtree(stale)
        except OSError:  # a trace on a read-only disk: keep it for this session only
            folder = self.scratch / folder.name
            partial = folder.with_suffix(".partial")
            partial.mkdir()
        try:
            with step(f"computing {relation.name}", self.con):
                if relation.sliced is None:
                    self._write(relation, partial / "all.parquet")
                else:
                    self._write_weeks(relation, relation.sliced, code, partial, before)
            if not folder.is_dir():  # somebody else was quicker
                partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return sorted(folder.iterdir())

    def _write(self, relation: Relation, file: Path) -> None:
        self.con.sql(relation.sql).write_parquet(str(file), compression="zstd")

    def _write_weeks(
        self, relation: Relation, table: str, code: str, folder: Path, before: list[Path]
    ) -> None:
        """Write a file per week of a table of samples, or take over the one of before.

        A week's groups are finished before the next week's begin, so that memory holds a week;
        over all samples at once the engine would spill most of what it reads. The SELECT is shown
        what concerns the week and nothing else, and the file's name is a digest of just that: a
        file of this name holds what would be computed now.
        """
        sampled_at, from_at, until_at = map(
            duckdb.ColumnExpression, ("sampled_at", "from_at", "until_at")
        )
        with self._inputs(relation, table) as inputs:
            timed = {n: r for n, r in inputs.items() if {"from_at", "until_at"} <= set(r.columns)}
            always = [self._digest_of(name) for name in inputs.keys() - timed.keys()]
            for week, files in self._weeks(table).items():
                begins, ends, late = map(
                    duckdb.ConstantExpression,
                    (week, week + timedelta(weeks=1), week + timedelta(weeks=1) + LONGEST_READING),
                )
                for name, whole in timed.items():
                    shown = whole.filter((from_at < late) & (until_at > begins))
                    shown.create_view(name, replace=True)
                digests = sorted([*always, *map(self._digest_of, timed)])
                file = folder / f"{week:%Y-%m-%d}-{_digest(code, *files, *digests)}.parquet"
                if not any(_taken_over(other / file.name, file) for other in before):
                    samples = self.table(table).filter((sampled_at >= begins) & (sampled_at < ends))
                    samples.create_view(table, replace=True)
                    self._write(relation, file)

    @contextmanager
    def _inputs(
        self, relation: Relation, table: str
    ) -> Iterator[dict[str, duckdb.DuckDBPyRelation]]:
        """Give all that a relation reads but the samples and what is made of these, computed.

        The views of relations among them may be replaced while the block runs.
        """
        known = relations()
        found: dict[str, duckdb.DuckDBPyRelation] = {}
        reads = sorted(relation.reads - {table})
        for name in reads:  # grows while it is walked
            if name not in known:
                found[name] = self.con.table(name)
            elif table in needed([name])[1]:
                reads += sorted(known[name].reads - {table, *reads})
            else:
                file = self.scratch / f"{name}.input.parquet"
                self.con.table(name).write_parquet(str(file), compression="zstd")
                found[name] = self.con.read_parquet(glob_safe(file))
        computed = found.keys() & known.keys()
        try:
            for name in computed:
                found[name].create_view(name, replace=True)
            yield found
        finally:
            for name in computed:
                self.create(known[name])
            self.table(table).create_view(table, replace=True)

    def _weeks(self, table: str) -> dict[datetime, list[str]]:
        """Return the weeks that a table of samples has rows in, and the files of these rows."""
        paths = {str(path): path for path in self.manifest.paths(self.trace, table)}
        rows = self.con.read_parquet(self._files(table), filename=True)
        found: dict[datetime, list[str]] = {}
        weeks = rows.select(
            "date_trunc('week', sampled_at)::timestamp as week, filename"
        ).distinct()
        for week, name in weeks.order("all").fetchall():
            file = paths[name]
            size = file.stat().st_size
            found.setdefault(week, []).append(f"{file.relative_to(self.trace).as_posix()} {size}")
        return found or {datetime(1970, 1, 5): []}

    def _digest_of(self, name: str) -> str:
        """Return a digest of the rows of a relation, in whatever order they are."""
        [(rows, total)] = self.con.sql(
            f"select count(*), sum(hash(whole_row)::hugeint) from {name} as whole_row"
        ).fetchall()
        return f"{name} {rows} {total}"


def glob_safe(path: Path) -> str:
    """Return a path in which the engine finds no wildcard."""
    return "".join(f"[{c}]" if c in "[*?" else c for c in str(path))


def _digest(*texts: str) -> str:
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
