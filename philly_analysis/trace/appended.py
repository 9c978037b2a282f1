"""Merge the rows that a relation had before an append with the rows that the append may change.

An append adds jobs, and brings later records of some earlier jobs: the trace lists both, with the
moment at which each job began (``raw/appended_jobs``). The *cut* is the moment at which the first
listed job began, or the first job that had not ended. Nothing before the cut has changed, and a job
that ended before the cut has the rows that it had.

A relation marked ``by job_id`` or ``by moment`` is therefore evaluated on recent jobs only, and
merged with the file that was written for all jobs:

- ``by moment``: earlier rows before the cut, and evaluated rows from the cut on. The recent jobs
  are those that ended after the cut, and all jobs that ran or waited beside any of them.
- ``by job_id``: earlier rows of jobs that ended before the cut, and evaluated rows of the others.

A relation marked ``by clock`` counts time from the start of the log. Differences between two of its
rows are right on recent jobs, so that merged relations may read it; for other readers it is
computed as a whole.

A relation may have a mark if a row of it is determined by the rows of its job, by jobs that
waited or ran at the time, and by relations without the mark, which are computed for all jobs. Such
relations must have the rows that they had; otherwise the relation is computed as a whole. The
exception is the end of the log, on which only jobs that have not ended depend.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from philly_analysis.atomic import link_or_copy
from philly_analysis.trace.checksums import rows_digest, text_digest
from philly_analysis.trace.connection import OPTIONAL, SETTINGS, create_optional, escape_glob
from philly_analysis.trace.folder import TraceFolder
from philly_analysis.trace.manifest import RAW
from philly_analysis.trace.relations import Relation, relations
from philly_analysis.trace.schema import TABLES

APPENDED_JOBS = f"{RAW}/appended_jobs"
"""Files with the jobs of each append: generation, job_id, and began_at."""
JOB_TABLES = frozenset(name for name, table in TABLES.items() if "job_id" in table.key)
"""Tables whose rows belong to jobs."""
_END_OF_LOG = "snapshot"
"""Relation that may change although the rows of earlier jobs do not."""
_RECENT, _REPLACED = "recent.parquet", "replaced.parquet"
"""Files of a merged relation: evaluated rows, and which rows of the earlier file they replace.

The latter has numbers of rows, or the moment of the first row. Identifiers of jobs would be
compared at each read, which takes ten times as long as the read.
"""
FEWEST_JOBS = 100_000
"""Jobs of a trace below which relations are computed as a whole, which takes no longer."""
_MOST_CHANGED = 0.5
"""Share of jobs above which a relation is computed as a whole."""
_MARGIN_US = 86_400_000_000
"""Longest time in which the end of a job changes the state of a server (see server_outages)."""

_RUNS = """
create temp view runs as
select
  job_id,
  attempt,
  started_at,
  ended_at is null as open,
  greatest(started_at, ended_at, started_at + to_microseconds((1e6 * run_s)::bigint)) as until_at
from memory.main.attempts
"""
_OPEN_JOBS = """
create temp table open_jobs as
select job_id from runs semi join (from runs where open) as unended using (job_id)
group by job_id having arg_max(open, attempt)
union all
select job_id from memory.main.jobs anti join runs using (job_id)
"""
_CUT = """
select case when bool_and(from_at is not null) then epoch_us(min(from_at)) end
from (
  select began_at as from_at from touched_jobs
  union all
  select least(submitted_at, started_at) as from_at
  from memory.main.jobs
  semi join open_jobs using (job_id)
  left join (
    select job_id, min(started_at) as started_at
    from runs semi join open_jobs using (job_id) group by job_id
  ) as first_runs using (job_id)
  union all
  -- the end of the log before the appends is no earlier
  select greatest(
    (select max(submitted_at) from memory.main.jobs anti join touched_jobs using (job_id)),
    (select max(until_at) from runs anti join touched_jobs using (job_id))
  ) as from_at
) as changes
"""
_JOBS_FROM = """
create temp table {name} as
select job_id from {others}
union
select job_id from memory.main.jobs where epoch_us(submitted_at) >= {from_us}
union
select job_id from runs where epoch_us(until_at) >= {from_us}
"""
_FIRST_CHANGED = """
select least(
  (select min(epoch_us(submitted_at)) from memory.main.jobs semi join changed_jobs using (job_id)),
  (select min(epoch_us(started_at)) from runs semi join changed_jobs using (job_id))
)
"""


@dataclass(frozen=True)
class RecentJobs:
    """The jobs that appends may have changed, and relations evaluated on jobs of the same time.

    Attributes
    ----------
    con
        Connection whose temporary tables and views have the names of the package, and the rows of
        recent jobs.
    all_jobs
        Connection with the rows of all jobs, in the schema ``main`` of the same database.
    tables
        Names of the tables that the trace has.
    cut_us
        Microseconds since 1970 of the first moment that may have changed.
    """

    con: duckdb.DuckDBPyConnection
    all_jobs: duckdb.DuckDBPyConnection
    tables: frozenset[str]
    cut_us: int
    _created: set[str] = field(default_factory=set)

    def write(self, relation: Relation, earlier: Path, folder: Path) -> None:
        """Write rows that may have changed, and which rows of the earlier file they replace."""
        self._create(relation.reads)
        if relation.key == "moment":
            first = 2 * self.cut_us  # moments are doubled
            replaced, changed = f"select {first}::bigint as moment", f"where moment >= {first}"
        else:
            changed = "semi join changed_jobs using (job_id)"
            replaced = f"select file_row_number as row_number from {_read(earlier)} {changed}"
        self.con.sql(replaced).write_parquet(str(folder / _REPLACED))
        rows = self.con.sql(f"from ({relation.sql}) as evaluated {changed}")
        rows.write_parquet(str(folder / _RECENT), compression="lz4")

    def _create(self, names: Iterable[str]) -> None:
        """Create the temporary tables and views that a SELECT reads in place of all jobs' rows."""
        for name in sorted(names):
            if name in self._created:
                continue
            self._created.add(name)
            relation = relations().get(name)
            if name in OPTIONAL:
                self._create({OPTIONAL[name].name} & self.tables)
            elif name in JOB_TABLES or _is_stored_by_job(relation):
                self.con.execute(
                    f"create temp table {name} as from memory.main.{name} "
                    "semi join recent_jobs using (job_id)"
                )
            elif relation and relation.key:
                self._create(relation.reads)
                kind = "table" if relation.materialized else "view"
                self.con.execute(f"create temp {kind} {name} as {relation.sql}")
            elif relation and not relation.materialized:
                # a view of all jobs would find recent jobs by the names that it reads
                self.con.register(name, self.all_jobs.table(name).to_arrow_table())


def _is_stored_by_job(relation: Relation | None) -> bool:
    return relation is not None and relation.materialized and relation.key == "job_id"


def _computed_whole(relation: Relation) -> set[str]:
    """Return the names that a relation reads, also by others, and that all jobs determine."""
    names: set[str] = set()
    for name in relation.reads - {_END_OF_LOG}:
        other = relations().get(name)
        if other and other.key:
            names |= _computed_whole(other)
        elif (OPTIONAL[name].name if name in OPTIONAL else name) not in JOB_TABLES:
            names.add(name)
    return names


@dataclass(frozen=True)
class Merger:
    """Writes relations with a key: as a whole, or merged with the rows before an append.

    Attributes
    ----------
    con
        Connection with all jobs, in its schema ``main``.
    """

    con: duckdb.DuckDBPyConnection
    folder: TraceFolder
    _digests: dict[str, str] = field(default_factory=dict)
    _recent: dict[int, RecentJobs | None] = field(default_factory=dict)

    def write(self, relation: Relation, code: str, partial: Path, before: Path | None) -> None:
        """Write the files of a relation, into which a file of the folder before is linked.

        Parameters
        ----------
        code
            All code that computes the relation.
        before
            Folder of the relation as it was before; None: it was never written.
        """
        digest = text_digest(code, *map(self._rows, sorted(_computed_whole(relation))))
        for file in before.glob(f"*-{digest}.parquet") if before else ():
            recent = self._since(int(file.name.partition("-")[0]))
            if recent and link_or_copy(file, partial / file.name):
                recent.write(relation, file, partial)
                return
        name = f"{self.folder.manifest.generation:06}-{digest}.parquet"
        self.con.sql(relation.sql).write_parquet(str(partial / name), compression="lz4")

    def close(self) -> None:
        """Close the connections with recent jobs, which would keep the database open."""
        for recent in self._recent.values():
            if recent:
                recent.con.close()

    def _rows(self, name: str) -> str:
        """Return a name, and a digest of the rows of the table or relation."""
        if name not in self._digests:
            self._digests[name] = f"{name} {rows_digest(self.con.table(name))}"
        return self._digests[name]

    def _since(self, generation: int) -> RecentJobs | None:
        """Return the jobs that appends after a generation may have changed.

        None: it is not recorded which jobs were appended, or that would save nothing.
        """
        if generation not in self._recent:
            self._recent[generation] = self._find_recent(generation)
        return self._recent[generation]

    def _find_recent(self, generation: int) -> RecentJobs | None:
        files = self.folder.manifest.paths(self.folder.files, APPENDED_JOBS)
        if not files or self.folder.manifest.rows["jobs"] < FEWEST_JOBS:
            return None
        con = self.con.cursor()
        self.folder.check([APPENDED_JOBS])
        con.execute(
            "create temp table touched_jobs as "
            "from read_parquet($files) where generation > $before",
            {"files": [escape_glob(file) for file in files], "before": generation},
        )
        [(recorded,)] = con.sql("select count(distinct generation) from touched_jobs").fetchall()
        if recorded < self.folder.manifest.generation - generation:
            return None
        con.execute(_RUNS)
        con.execute(_OPEN_JOBS)
        [(cut_us,)] = con.sql(_CUT).fetchall()
        if cut_us is None:
            return None
        others = "(from open_jobs union all select job_id from touched_jobs)"
        con.execute(_JOBS_FROM.format(name="changed_jobs", others=others, from_us=cut_us))
        if len(con.table("changed_jobs")) > _MOST_CHANGED * len(con.table("memory.main.jobs")):
            return None
        [(first_us,)] = con.sql(_FIRST_CHANGED).fetchall()
        from_us = first_us - _MARGIN_US
        con.execute(_JOBS_FROM.format(name="recent_jobs", others="changed_jobs", from_us=from_us))
        tables = frozenset(self.folder.manifest.files)
        create_optional(con, tables)
        con.register(SETTINGS, self.con.table(SETTINGS).to_arrow_table())
        return RecentJobs(con, self.con, tables, cut_us)


def merged_rows(relation: Relation, folder: Path) -> str:
    """Return the SELECT of the rows of a relation with a key, from the files of its folder."""
    files = {file.name: _read(file) for file in folder.glob("*.parquet")}
    recent, replaced = (files.pop(name, None) for name in (_RECENT, _REPLACED))
    [earlier] = files.values()
    if not recent:
        return f"from {earlier}"
    kept = (
        f"where moment < (select moment from {replaced})"
        if relation.key == "moment"
        else f"anti join {replaced} as replaced on replaced.row_number = earlier.file_row_number"
    )
    return f"from {earlier} as earlier {kept} union all by name from {recent}"


def _read(file: Path) -> str:
    return "read_parquet('" + escape_glob(file).replace("'", "''") + "')"
