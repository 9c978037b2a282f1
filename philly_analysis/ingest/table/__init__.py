"""Read any table of jobs, CSV or Parquet, by a TOML map of its columns."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.ingest.sql import create_table
from philly_analysis.ingest.table.map_keys import KEYS, Kind
from philly_analysis.ingest.table.rows import files_of, open_text, raw_fields, store
from philly_analysis.ingest.table.table_map import FIELDS, PER_PART, Layout, TableMap, load_map
from philly_analysis.ingest.trace_builder import TraceBuilder
from philly_analysis.trace import JOBS

_OWN_MAP = "map.toml"
_MACROS = Path(__file__).with_name("macros.sql")
_SUMMED = Path(__file__).parent / "opening" / "summed_jobs.sql"
_CONVERSIONS: dict[Kind, str] = {"text": "meaning", "number": "quantity", "time": "moment"}
"""Macros that convert texts, by kind."""


def prepare(builder: TraceBuilder, raw: Path, table_map: str | Path | None = None) -> RawFiles:
    """Open the files of a map: a folder of files, or the file of jobs.

    Raises
    ------
    UnknownNameError
        There is no shipped map of that name.
    InputError
        There are no such files, a file lacks a column, the map is not valid, or the trace to
        append to has another map.
    """
    con, raw_store = builder.con, builder.store
    chosen = load_map(table_map or _written_map(raw))
    if raw_store.before and not raw_store.was_read(chosen.path):
        raise InputError(
            f"{chosen.path} is not the map of {raw_store.trace}. Ingest all of its rows anew."
        )
    files = {table: files_of(raw, layout) for table, layout in chosen.tables.items()}
    if not files["jobs"]:
        raise InputError(
            f"{raw} has no file {chosen.tables['jobs'].files}, in which the map "
            f"{chosen.path.stem} expects jobs."
        )
    new = {table: raw_store.new_files(paths) for table, paths in files.items()}
    relative = any("origin_after" in f.rule for f in chosen.tables["jobs"].fields.values())
    if raw_store.before and new["jobs"] and relative:
        raise InputError(
            f"{raw} counts time from its own origin, so it cannot be appended to "
            f"{raw_store.trace}. Make a trace of it alone."
        )
    # texts with an offset do not depend on the zone; the others are read in this one
    con.execute("set TimeZone = 'UTC'")
    create_table(con, "map", _rules(chosen, files["jobs"]))
    for table, kinds in FIELDS.items():
        for name in kinds:
            con.execute(f'set variable {table}_{name} = (select map.{table}."{name}" from map)')
    parts = chosen.tables["jobs"].parts
    con.execute("set variable jobs_are_parts = $parts", {"parts": parts})
    con.execute(_MACROS.read_text("utf-8"))
    records = {}
    for table in FIELDS:
        layout = chosen.tables.get(table, Layout())
        fields = raw_fields(table, layout)
        records[table] = store(builder, f"{table}_rows", layout, fields, new.get(table, []))
        con.execute(f"create view {table}_fields as {_interpreted(table)}")
    lost = [t for t in files if not files[t] and not records[t]]
    read = tuple(file for paths in new.values() for file in paths)
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


def own_map(raw: Path) -> Path:
    """Return the place of a map beside the files: ``map.toml``, or named as the only file."""
    return raw / _OWN_MAP if raw.is_dir() else raw.with_name(f"{raw.name.split('.')[0]}.toml")


def _written_map(raw: Path) -> Path:
    """Return the map that a user wrote beside the files."""
    file = own_map(raw)
    if not file.is_file():
        raise InputError(f"{raw} has no map: write {file}, or name one with map=NAME.")
    return file


def _interpreted(table: str) -> str:
    """Return the SELECT of a table's rows with each field interpreted by the map, and ``reject``.

    Only names of the schema and of its fields are inserted.
    """
    # of several faults in a row the first is reported: a job's before its attempt's
    order = list(_CONVERSIONS)
    kinds = sorted(
        FIELDS[table].items(), key=lambda f: (order.index(f[1]), f[0] not in JOBS.column_names)
    )
    columns, faults = [], ["fault"]
    for name, kind in kinds:
        text, rule = f"{name}_said", f"getvariable('{table}_{name}')"
        factor = f" * factor({name}_times, {rule})" if name in PER_PART else ""
        columns.append(f'{_CONVERSIONS[kind]}({text}, {rule}){factor} as "{name}"')
        faults.append(
            f"unknown_word('{name}', {text}, {rule})"
            if kind == "text"
            else f"unread('{name}', {text}, \"{name}\", '{kind}')"
        )
    faults.append("if(gpus <> round(gpus), 'gpus is not a whole number', null)")
    rows = _SUMMED.read_text("utf-8") if table == "jobs" else f"from {table}_rows"
    return (
        f"with rows as ({rows}), interpreted as (select *, {', '.join(columns)} from rows) "
        f"select *, coalesce({', '.join(faults)}) as reject from interpreted"
    )


def _rules(chosen: TableMap, jobs: list[Path]) -> pa.Table:
    """Return the rule of each field, as one struct in one row, for the variables of the SELECTs."""
    rules = {
        table: {
            name: {**field.rule, **_origin(field.rule, chosen, jobs)}
            for name, field in layout.fields.items()
        }
        for table, layout in chosen.tables.items()
    }
    types = {
        table: pa.struct(
            {
                name: pa.struct({key: kept for key, (_, kept) in KEYS[kind].items()})
                for name, kind in kinds.items()
            }
        )
        for table, kinds in FIELDS.items()
    }
    return pa.table({"map": pa.array([rules], pa.struct(types))})


def _origin(rule: Mapping[str, object], chosen: TableMap, jobs: list[Path]) -> dict[str, object]:
    """Return the origin of time from a comment line of the file, where the map requires it."""
    if "origin_after" not in rule:
        return {}
    comment, words = chosen.tables["jobs"].comment, str(rule["origin_after"])
    if len(jobs) > 1:
        raise InputError(f"{chosen.path} reads one file at a time: {jobs[0].parent} has several.")
    with open_text(jobs[0]) as lines:
        for line in lines:
            match = re.search(re.escape(words) + r"\s*([0-9]{1,11})\b", line)
            if comment and line.startswith(comment) and match:
                return {"origin": datetime.fromtimestamp(int(match[1]), UTC).replace(tzinfo=None)}
    raise InputError(f"{jobs[0]} has no origin of time: no comment line has {words!r}.")


TABLE = Source("table", Path(__file__).parent, prepare)
