"""Read a table map: a TOML file that maps columns to fields, with their units and formats."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from philly_analysis.errors import InputError, UnknownNameError, file_errors
from philly_analysis.ingest.table.map_keys import (
    KEYS,
    ORIGINS,
    Kind,
    Parse,
    delimiter,
    text,
    texts,
    true,
)
from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace import ATTEMPTS, JOBS, MACHINES, SELECTION_CRITERIA, Column, Sample

SHIPPED = Path(__file__).parent / "maps"
"""Folder of the maps that ship with the package."""

_NOT_MAPPED = ("attempt", "flag", "gpus_listed", "guest", "work_s", "lost_s")
_KINDS: dict[str, Kind] = {"varchar": "text", "timestamp": "time"}


def _kinds(*columns: Column) -> dict[str, Kind]:
    return {c.name: _KINDS.get(c.type, "number") for c in columns if c.name not in _NOT_MAPPED}


FIELDS: dict[str, dict[str, Kind]] = {
    # one row is a job and its one attempt; a wait puts its start after its submission
    "jobs": {**_kinds(*ATTEMPTS.columns, *JOBS.columns), "wait_s": "number"},
    "machines": _kinds(*MACHINES.columns),
}
"""Fields that a map may define, by table: columns of the schema, with their kinds."""

NEEDED = {"jobs": ("submitted_at",), "machines": ("machine_id", "gpus")}
"""Fields that a map must define."""

ALLOWED = {"status": STATUSES, "end_reason": END_REASONS}
"""Columns with a fixed set of values."""

PER_PART = ("gpus", "cpus", "mem_gb")
"""Columns that tables may give per worker or server, multiplied by their number."""


@dataclass(frozen=True, slots=True)
class Field:
    """Origin of one field.

    Attributes
    ----------
    column, value, file_name
        One of the three: a raw column, a constant, or a pattern whose group in the file's name
        is the value.
    nulls
        Texts for a missing value, beside the null texts of the table.
    rule
        How the text is converted: keys of `KEYS` for its kind.
    """

    column: str | None = None
    value: str | None = None
    file_name: str | None = None
    nulls: tuple[str, ...] = ()
    rule: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Layout:
    """Format of the files of one table, and the fields read from them.

    Attributes
    ----------
    files
        Pattern of the files' names, without ``.gz``.
    delimiter
        One character, or `WHITESPACE`.
    comment
        Prefix of comment lines; empty: the file has no comments.
    header
        Names of the columns, for files without a header.
    nulls
        Texts for a missing value.
    parts
        Whether rows of one job_id are parts of one job, which start together.
    """

    files: str = ""
    delimiter: str = ","
    comment: str = ""
    header: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    parts: bool = False
    fields: dict[str, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table map."""

    path: Path
    what: str
    lacks: str
    sample: Sample | None
    tables: dict[str, Layout]


def load_map(name: str | Path) -> TableMap:
    """Read a map: a file, or the name of a shipped map.

    Raises
    ------
    UnknownNameError
        There is no shipped map of that name.
    InputError
        The map is not valid; the message names the key.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = SHIPPED / f"{name}.toml"
        if path.parent != SHIPPED or not path.is_file():
            raise UnknownNameError("map", str(name), (p.stem for p in SHIPPED.glob("*.toml")))
    try:
        with file_errors(InputError, f"{path} cannot be read", "."):
            raw = tomllib.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from None
    root = _Section(path, "", raw)
    root.check_keys("what", "lacks", "sample", *FIELDS)
    tables = {t: _layout(root.section(t), t) for t in FIELDS if t in raw}
    if "jobs" not in tables:
        raise root.error("it should have a table [jobs]")
    sample = _sample(root.section("sample")) if "sample" in raw else None
    return TableMap(path, root.get("what", text, ""), root.get("lacks", text, ""), sample, tables)


def _sample(section: "_Section") -> Sample:
    section.check_keys("how", "by")
    by = section.get("by", texts, ())
    if unknown := [word for word in by if word not in SELECTION_CRITERIA]:
        raise section.error(f"{unknown[0]!r} is none of {', '.join(SELECTION_CRITERIA)}", "by")
    return Sample(section.get("how", text), by)


def _layout(section: "_Section", table: str) -> Layout:
    kinds = FIELDS[table]
    keys = ("files", "delimiter", "comment", "header", "nulls")
    section.check_keys(*keys, *(("parts",) if table == "jobs" else ()), *kinds)
    for name in NEEDED[table]:
        if name not in section.raw:
            raise section.error(f"it should define {name}")
    return Layout(
        files=section.get("files", text, "*"),
        delimiter=section.get("delimiter", delimiter, ","),
        comment=section.get("comment", text, ""),
        header=section.get("header", texts, ()),
        nulls=("", *section.get("nulls", texts, ())),
        parts="parts" in section.raw and section.get("parts", true),
        fields={
            name: _field(section.field(name), name, kind)
            for name, kind in kinds.items()
            if name in section.raw
        },
    )


def _field(section: "_Section", name: str, kind: Kind) -> Field:
    applies = {
        "times": name in PER_PART,
        "unit": kind == "time" or name.endswith("_s"),
        "since_row_before": name == "submitted_at",
    }
    section.check_keys(*ORIGINS, "nulls", *(k for k in KEYS[kind] if applies.get(k, True)))
    if len(section.raw.keys() & ORIGINS.keys()) != 1:
        raise section.error(f"should have one of {', '.join(ORIGINS)}")
    rule = {k: section.get(k, parse) for k, (parse, _) in KEYS[kind].items() if k in section.raw}
    _check_rule(section, name, kind, rule)
    origin = {k: section.get(k, parse) for k, parse in ORIGINS.items() if k in section.raw}
    value = origin.get("value")
    if "words" not in rule and value not in (None, *ALLOWED.get(name, (value,))):
        raise section.error(f"{value!r} is none of {', '.join(ALLOWED[name])}")
    return Field(**origin, nulls=section.get("nulls", texts, ()), rule=rule)


def _check_rule(section: "_Section", name: str, kind: Kind, rule: dict[str, Any]) -> None:
    """Refuse keys that contradict one another."""
    if kind == "time":
        counts = {"origin", "origin_after", "misread_as", "since_row_before"} & rule.keys()
        if "unit" not in rule and counts:
            raise section.error(f"{min(counts)} needs a unit: the time is a number of it")
        if "unit" in rule and (texts := {"format", "zone"} & rule.keys()):
            raise section.error(f"{min(texts)} is for times in words, and unit for numbers")
    if kind == "text":
        values = {*dict(rule.get("words", ())).values(), rule.get("otherwise", "")} - {""}
        if bad := values - set(ALLOWED.get(name, values)):
            raise section.error(f"{min(bad)!r} is none of {', '.join(ALLOWED[name])}")
        if "otherwise" in rule and "words" not in rule:
            raise section.error("otherwise needs words")


@dataclass(frozen=True, slots=True)
class _Section:
    """A table of a map, with its place for error messages."""

    path: Path
    place: str
    raw: dict[str, Any]

    def error(self, what: str, key: str = "") -> InputError:
        place = ".".join(filter(None, (self.place, key)))
        return InputError(f"{self.path}: {place}: {what}." if place else f"{self.path}: {what}.")

    def check_keys(self, *keys: str) -> None:
        if unknown := [key for key in self.raw if key not in keys]:
            raise self.error(f"is no key here. There are: {', '.join(keys)}", unknown[0])

    def section(self, key: str) -> "_Section":
        if not isinstance(self.raw[key], dict):
            raise self.error("should be a table", key)
        return _Section(self.path, f"{self.place}.{key}".lstrip("."), self.raw[key])

    def field(self, key: str) -> "_Section":
        if isinstance(self.raw[key], str):
            return _Section(self.path, f"{self.place}.{key}", {"column": self.raw[key]})
        if not isinstance(self.raw[key], dict):
            raise self.error("should be the name of a column, or a table like {column = …}", key)
        return self.section(key)

    def get(self, key: str, parse: Parse, default: Any = None) -> Any:
        """Return a parsed value, or the default if the key is absent."""
        if key not in self.raw and default is not None:
            return default
        try:
            return parse(self.raw.get(key))
        except ValueError as error:
            raise self.error(str(error), key) from None
