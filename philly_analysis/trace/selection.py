"""Select jobs of a trace by a condition, and write them as a trace of this session."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.atomic import scratch_folder
from philly_analysis.errors import QueryError, TraceError, UnknownNameError
from philly_analysis.trace.connection import first_line
from philly_analysis.trace.manifest import Manifest, Sample
from philly_analysis.trace.schema import JOBS, TABLES
from philly_analysis.trace.writer import create_trace, table_file, write_manifest

_CRITERION = "selection"
_BATCH_ROWS = 100_000
_SHOWN = 12
Sql = Callable[..., duckdb.DuckDBPyRelation]


@dataclass(frozen=True, slots=True)
class Selection:
    """A condition on the jobs of a trace.

    Attributes
    ----------
    condition, values
        An SQL condition on the columns of ``jobs``, and the values of its ``$name``.
    description
        What the jobs have in common, in words.
    since
        Moment of the first samples to select; None: all samples.
    """

    condition: str
    values: Mapping[str, object]
    description: str
    since: str | None = None

    @classmethod
    def between(cls, start: str | None, end: str | None) -> Self:
        """Select the jobs submitted from one moment on, and before another; None: no bound."""
        conditions, values, words = ["true"], {}, []
        if start is not None:
            conditions.append("submitted_at >= $start::timestamp")
            values["start"] = start
            words.append(f"from {start}")
        if end is not None:
            conditions.append("submitted_at < $end::timestamp")
            values["end"] = end
            words.append(f"before {end}" if start is None else f"to before {end}")
        when = " ".join(words) or "at any time"
        return cls(" and ".join(conditions), values, f"submitted {when} (UTC)", start)

    @classmethod
    def where(cls, condition: str, columns: Mapping[str, object]) -> Self:
        """Select the jobs that meet a condition and have these values in some columns.

        Raises
        ------
        UnknownNameError
            ``jobs`` has no such column.
        """
        if not isinstance(condition, str):
            raise QueryError('a condition is SQL. Use where("gpus > 4") or where(gpus=8).')
        conditions = [f"({condition})"] * bool(condition)
        words = [condition] * bool(condition)
        values = {}
        for column, value in columns.items():
            if column not in JOBS.column_names:
                raise UnknownNameError("column of jobs", column, JOBS.column_names)
            several = isinstance(value, Iterable) and not isinstance(value, str)
            options = list(cast("Iterable[object]", value)) if several else [value]
            values[column] = sorted(str(option) for option in options if option is not None)
            listed = f'"{column}"::varchar in (select unnest(${column}))'
            conditions.append(f'({listed} or "{column}" is null)' if None in options else listed)
            words.append(f"{column} {quoted(options)}")
        description = f"with {', '.join(words)}" if words else "all"
        return cls(" and ".join(conditions) or "true", values, description)

    def write(self, sql: Sql, tables: Collection[str], manifest: Manifest) -> Path:
        """Write the selected jobs, and the rows of other tables that belong to them, as a trace.

        Parameters
        ----------
        sql, tables, manifest
            Query method, tables and manifest of the trace to select from.

        Raises
        ------
        QueryError
            The condition is not valid.
        TraceError
            No job meets it.
        """
        try:
            query = f"select job_id from jobs where {self.condition}"
            names = [name for (name,) in sql(query, **self.values).fetchall()]
        except duckdb.Error as error:
            raise QueryError(f"jobs {self.description}: {first_line(error)}") from None
        if not names:
            raise TraceError(
                f"{manifest.name} has no job {self.description}. Its jobs {self._present(sql)}."
            )
        before = manifest.sample
        how = (
            f"Only the {len(names):,} of {manifest.rows.get(JOBS.name, 0):,} jobs "
            f"{self.description}; this trace has no other jobs, nor their GPUs."
        )
        name = f"{manifest.name}: {self.description}"
        made = Manifest(
            name=name,
            source=manifest.source,
            synthetic=manifest.synthetic,
            notes=manifest.notes,
            sample=Sample(
                f"{before.how} {how}" if before else how,
                tuple(dict.fromkeys([*(before.by if before else ()), _CRITERION])),
            ),
        )
        out = scratch_folder() / re.sub(r"\W+", "-", name).strip("-")
        with create_trace(out) as folder:
            rows = {t: _write(folder, t, self._rows(sql, t, names)) for t in sorted(tables)}
            write_manifest(folder, made, rows)
        return out

    def _present(self, sql: Sql) -> str:
        """Return what jobs there are, by the columns of the condition."""
        of = [c for c in self.values if c in JOBS.column_names]
        if of:
            values = sql(f'select distinct "{of[0]}" from jobs order by all limit {_SHOWN}')
            return f"have {of[0]} {', '.join(str(value) for (value,) in values.fetchall())}"
        first, last = sql("select min(submitted_at), max(submitted_at) from jobs").fetchall()[0]
        return f"were submitted from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"

    def _rows(self, sql: Sql, table: str, names: list[str]) -> duckdb.DuckDBPyRelation:
        columns = TABLES[table].column_names
        selected = "job_id in (select unnest($names))"
        if "job_id" in columns:
            return sql(f"select * from {table} where {selected}", names=names)
        if "sampled_at" in columns and self.since is not None:
            return sql(
                f"select * from {table} where sampled_at >= $since::timestamp and sampled_at <= "
                f"coalesce((select max(ended_at) from attempts where {selected}), sampled_at)",
                since=self.since,
                names=names,
            )
        return sql(f"select * from {table}")


def _write(folder: Path, table: str, rows: duckdb.DuckDBPyRelation) -> int:
    """Write rows as a table of a trace in batches, and return their number."""
    schema, count = TABLES[table].arrow, 0
    with pq.ParquetWriter(table_file(folder, TABLES[table]), schema, compression="zstd") as file:
        for batch in rows.to_arrow_reader(_BATCH_ROWS):
            file.write_table(pa.Table.from_batches([batch]).cast(schema))
            count += batch.num_rows
    return count


def is_selected(manifest: Manifest) -> bool:
    """Return whether the jobs of a trace were selected from a larger trace."""
    return manifest.sample is not None and _CRITERION in manifest.sample.by


def quoted(values: Iterable[object]) -> str:
    """Return values as a list of quoted words."""
    return ", ".join(f"“{value}”" for value in values)
