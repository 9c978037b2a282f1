"""Read any table of jobs, CSV or Parquet, by a TOML map of its columns."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.table.rows import open_text, raw_fields, store
from philly_analysis.ingest.table.table_map import (
    FIELDS,
    PER_PART,
    Kind,
    Layout,
    TableMap,
    load_map,
)
from philly_analysis.trace import JOBS

_MAP = "map.toml"
_MACROS = Path(__file__).with_name("macros.sql")


def prepare(
    con: duckdb.DuckDBPyConnection,
    raw: Path,
    scratch: Path,
    raw_store: RawStore,
    table_map: str | Path | None = None,
) -> RawFiles:
    """Open the files of a map: a folder of them, or the one with the jobs.

    Raises
    ------
    UnknownNameError
        There is no shipped map of that name.
    InputError
        There are no such files, they lack a column, or the map is not valid, or not that of the
        trace to append to.
    """
    chosen = load_map(table_map or _default_map(raw))
    if raw_store.before and not raw_store.was_read(chosen.path):
        raise InputError(
            f"{chosen.path} is not the map of {raw_store.trace}. Ingest all of its rows anew."
        )
    files = {table: _files(raw, layout) for table, layout in chosen.tables.items()}
    if not files["jobs"]:
        raise InputError(
            f"{raw} has no file {chosen.tables['jobs'].files}, in which the map "
            f"{chosen.path.stem} expects jobs."
        )
    new = {table: raw_store.new_files(found) for table, found in files.items()}
    relative = any("origin_after" in f.rule for f in chosen.tables["jobs"].fields.values())
    if raw_store.before and new["jobs"] and relative:
        raise InputError(
            f"{raw} counts time from its own origin, so it cannot be appended to "
            f"{raw_store.trace}. Make a trace of it alone."
        )
    # texts with an offset do not depend on the zone; the others are read in this one
    con.execute("set TimeZone = 'UTC'")
    con.register("map", _rules(chosen, files["jobs"]))
    con.execute("set variable map = (select map from map)")
    con.unregister("map")
    con.execute(_MACROS.read_text("utf-8"))
    records = {}
    for table in FIELDS:
        layout = chosen.tables.get(table, Layout())
        fields = raw_fields(table, layout)
        records[table] = store(
            con, f"{table}_rows", layout, fields, new.get(table, []), scratch
        ) + raw_store.merge(con, f"{table}_rows")
        con.execute(f"create view {table}_fields as {_interpreted(table)}")
    lost = [t for t in files if not files[t] and not records[t]]
    read = tuple(file for found in new.values() for file in found)
    return RawFiles(
        files=read if raw_store.before else (chosen.path, *read),
        records={**records, "attempts": records["jobs"]},
        notes=(
            *filter(None, (chosen.what, chosen.lacks)),
            *(f"There is no {chosen.tables[t].files}, so the trace has no {t}." for t in lost),
        ),
        sample=chosen.sample,
    )


def mapped_source(table_map: str | Path) -> Source:
    """Return the source of tables with this map: a file, or the name of a shipped map."""
    return replace(TABLE, prepare=partial(prepare, table_map=table_map))


def _default_map(raw: Path) -> Path:
    """Return the map beside the files: ``map.toml``, or the TOML file named as the only file."""
    found = raw / _MAP if raw.is_dir() else raw.with_name(f"{raw.name.split('.')[0]}.toml")
    if not found.is_file():
        raise InputError(f"{raw} has no map: write {found}, or name one with map=NAME.")
    return found


def _files(raw: Path, layout: Layout) -> list[Path]:
    if not raw.is_dir():
        return [raw] if raw.is_file() else []
    found = sorted(file for file in raw.iterdir() if file.is_file() and file.name != _MAP)
    names = {file: (file.name, file.name.removesuffix(".gz")) for file in found}
    return [file for file in found if any(fnmatch(name, layout.files) for name in names[file])]


def _interpreted(table: str) -> str:
    """Return the SELECT of a table's rows with each field interpreted by the map, and ``reject``.

    Only names of the schema and of its fields are inserted.
    """
    order: list[Kind] = ["text", "number", "time"]
    # of several faults in a row the first is reported: a job's before its attempt's
    kinds = sorted(
        FIELDS[table].items(), key=lambda f: (order.index(f[1]), f[0] not in JOBS.column_names)
    )
    columns, faults = [], ["fault"]
    for name, kind in kinds:
        text, rule = f"{name}_said", f"getvariable('map').{table}.{name}"
        if kind == "text":
            columns.append(f'meaning({text}, {rule}) as "{name}"')
            faults.append(f"unknown_word('{name}', {text}, {rule})")
        else:
            factor = f"{name}_times" if name in PER_PART else "null"
            arguments = f"{text}, {factor}, {rule}" if kind == "number" else f"{text}, {rule}"
            columns.append(
                f'{"quantity" if kind == "number" else "moment"}({arguments}) as "{name}"'
            )
            faults.append(f"unread('{name}', {text}, \"{name}\", '{kind}')")
    faults.append("if(gpus <> round(gpus), 'gpus is not a whole number', null)")
    rows = _SUMMED if table == "jobs" else f"from {table}_rows"
    return (
        f"with rows as ({rows}), interpreted as (select *, {', '.join(columns)} from rows) "
        f"select *, coalesce({', '.join(faults)}) as reject from interpreted"
    )


_SUMMED = """
select * replace (
  if(
    getvariable('map').jobs.submitted_at.since_row_before
    and try_cast(submitted_at_said as double) is not null,
    sum(try_cast(submitted_at_said as double)) over (
      partition by source_file order by source_line
    )::varchar,
    submitted_at_said
  ) as submitted_at_said
)
from jobs_rows
"""
"""Rows whose submission time is the sum of the intervals so far, where the map defines it so."""


_RULES = {
    "text": {"words": pa.map_(pa.string(), pa.string()), "otherwise": pa.string()},
    "number": {
        "unit": pa.float64(),
        "scale": pa.float64(),
        "pattern": pa.string(),
        "otherwise": pa.float64(),
        "at_most": pa.float64(),
        "round_up": pa.bool_(),
        "times": pa.bool_(),
    },
    "time": {
        "unit": pa.float64(),
        "origin": pa.timestamp("us"),
        "since_row_before": pa.bool_(),
        "misread_as": pa.string(),
        "zone": pa.string(),
        "format": pa.string(),
    },
}


def _rules(chosen: TableMap, jobs: list[Path]) -> pa.Table:
    """Return the rule of each field, as one struct in one row: the variable of the SELECTs."""
    given = {
        table: {
            name: {k: _arrow(v) for k, v in field.rule.items()}
            | {"times": field.times is not None}
            | _origin(field.rule, chosen, jobs)
            for name, field in layout.fields.items()
        }
        for table, layout in chosen.tables.items()
    }
    rules = pa.struct(
        {
            table: pa.struct({name: pa.struct(_RULES[kind]) for name, kind in kinds.items()})
            for table, kinds in FIELDS.items()
        }
    )
    complete = {t: {n: given.get(t, {}).get(n, {}) for n in kinds} for t, kinds in FIELDS.items()}
    return pa.table({"map": pa.array([complete], rules)})


def _arrow(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return list(value.items()) if isinstance(value, dict) else value


def _origin(rule: Mapping[str, object], chosen: TableMap, jobs: list[Path]) -> dict[str, object]:
    """Return the origin of time from a comment line of the file, where the map requires it."""
    if "origin_after" not in rule:
        return {}
    comment, words = chosen.tables["jobs"].comment, str(rule["origin_after"])
    if len(jobs) > 1:
        raise InputError(f"{chosen.path} reads one file at a time: {jobs[0].parent} has several.")
    with open_text(jobs[0]) as lines:
        for line in lines:
            found = re.search(re.escape(words) + r"\s*([0-9]{1,11})\b", line)
            if comment and line.startswith(comment) and found:
                return {"origin": _arrow(datetime.fromtimestamp(int(found[1]), UTC))}
    raise InputError(f"{jobs[0]} has no origin of time: no comment line has {words!r}.")


TABLE = Source(
    name="table",
    what="Any table of jobs, CSV or Parquet, by a map of its columns: a small TOML file.",
    files="Those of the map: the name of a shipped map, or map.toml beside them.",
    lacks="Fields that its map does not define; never placements or utilisation.",
    folder=Path(__file__).parent,
    prepare=prepare,
)
