"""Any table of jobs, CSV or Parquet, read by a map: a small TOML file about its columns."""

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
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.source import Raw, Source
from philly_analysis.ingest.table.rows import mapped, open_text, store
from philly_analysis.ingest.table.table_map import FIELDS, Layout, TableMap, load_map

_MAP = "map.toml"


def prepare(
    con: duckdb.DuckDBPyConnection,
    raw: Path,
    scratch: Path,
    kept: Kept,
    table_map: str | Path | None = None,
) -> Raw:
    """Open the files that a map names: a folder of them, or the one with the jobs.

    Raises
    ------
    UnknownNameError
        No map of that name ships.
    InputError
        There are no such files, they lack a column, or the map is none, or not that of a trace
        that is to grow.
    """
    chosen = load_map(table_map or _beside(raw))
    if kept.before and not kept.knows(chosen.path):
        raise InputError(
            f"{chosen.path} is not the map that {kept.trace} was made with. Ingest its rows anew."
        )
    files = {table: _files(raw, layout) for table, layout in chosen.tables.items()}
    if not files["jobs"]:
        raise InputError(
            f"{raw} has no file {chosen.tables['jobs'].files}, where the map "
            f"{chosen.path.stem} looks for jobs."
        )
    fresh = {table: kept.fresh(found) for table, found in files.items()}
    counts = any("origin_after" in f.rule for f in chosen.tables["jobs"].fields.values())
    if kept.before and fresh["jobs"] and counts:
        raise InputError(
            f"{raw} counts time from an origin of its own, so {kept.trace} cannot grow by it. "
            "Make a trace of it alone."
        )
    # texts that name their offset are read right in any zone, the others in this one
    con.execute("set TimeZone = 'UTC'")
    con.register("map", _rules(chosen, files["jobs"]))
    con.execute("set variable map = (select map from map)")
    con.unregister("map")
    records = {}
    for table in FIELDS:
        layout = chosen.tables.get(table, Layout("", ",", "", (), (), {}))
        fields = mapped(table, layout)
        found = fresh.get(table, [])
        records[table] = store(con, f"{table}_rows", layout, fields, found, scratch)
        records[table] += kept.keep(con, f"{table}_rows")
    lost = [t for t in files if not files[t] and not records[t]]
    read = tuple(file for found in fresh.values() for file in found)
    return Raw(
        files=read if kept.before else (chosen.path, *read),
        records={**records, "attempts": records["jobs"]},
        notes=(
            *filter(None, (chosen.what, chosen.lacks)),
            *(f"There is no {chosen.tables[t].files}, so the trace has no {t}." for t in lost),
        ),
        sample=chosen.sample,
    )


def by_map(table_map: str | Path) -> Source:
    """Return the source of tables that a map describes: a file, or the name of one that ships."""
    return replace(TABLE, prepare=partial(prepare, table_map=table_map))


def _beside(raw: Path) -> Path:
    """Return the map that lies with the files: ``map.toml``, or named as the one file."""
    found = raw / _MAP if raw.is_dir() else raw.with_name(f"{raw.name.split('.')[0]}.toml")
    if not found.is_file():
        raise InputError(f"{raw} has no map: write {found}, or name one with map=NAME.")
    return found


def _files(raw: Path, layout: Layout) -> list[Path]:
    if not raw.is_dir():
        return [raw] if raw.is_file() else []
    return [
        file
        for file in sorted(raw.iterdir())
        if file.is_file()
        and file.name != _MAP
        and (
            fnmatch(file.name, layout.files) or fnmatch(file.name.removesuffix(".gz"), layout.files)
        )
    ]


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
    """Return what the map says of each field, one struct in one row: the SELECTs' variable."""
    said = {
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
    whole = {t: {n: said.get(t, {}).get(n, {}) for n in kinds} for t, kinds in FIELDS.items()}
    return pa.table({"map": pa.array([whole], rules)})


def _arrow(value: object) -> object:
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    return list(value.items()) if isinstance(value, dict) else value


def _origin(rule: Mapping[str, object], chosen: TableMap, jobs: list[Path]) -> dict[str, object]:
    """Return the origin that a comment line of the file states, where the map says so."""
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
    raise InputError(f"{jobs[0]} does not say when it begins: no comment line has {words!r}.")


TABLE = Source(
    name="table",
    what="Any table of jobs, CSV or Parquet, by a map of its columns: a small TOML file.",
    files="Those that the map names: a map that ships, by its name, or map.toml beside them.",
    lacks="What its map does not name; never placements or utilisation.",
    folder=Path(__file__).parent,
    prepare=prepare,
)
