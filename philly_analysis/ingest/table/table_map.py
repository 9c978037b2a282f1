"""Reads a map, a small TOML file that says which columns of a table mean what, in which unit."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from philly_analysis.errors import InputError, UnknownNameError
from philly_analysis.ingest.timezones import zone_named
from philly_analysis.study import END_REASONS, STATUSES
from philly_analysis.trace import ATTEMPTS, JOBS, MACHINES, SELECTION_CRITERIA, Column, Sample

SHIPPED = Path(__file__).parent / "maps"
"""Folder of the maps that ship with the package."""

Kind = Literal["text", "number", "time"]

_NOT_MAPPED = ("attempt", "flag", "gpus_listed")
_KINDS: dict[str, Kind] = {"varchar": "text", "timestamp": "time"}


def _kinds(*columns: Column) -> dict[str, Kind]:
    return {c.name: _KINDS.get(c.type, "number") for c in columns if c.name not in _NOT_MAPPED}


FIELDS: dict[str, dict[str, Kind]] = {
    # one row is a job and its one attempt; a wait puts its start after its submission
    "jobs": {**_kinds(*ATTEMPTS.columns, *JOBS.columns), "wait_s": "number"},
    "machines": _kinds(*MACHINES.columns),
}
"""What a map may say of a row, by table: the columns of the schema, and how each is read."""

NEEDED = {"jobs": ("submitted_at",), "machines": ("machine_id", "gpus")}
"""What a map must say."""

ALLOWED = {"status": STATUSES, "end_reason": END_REASONS}
"""Columns that hold one of a few words."""

PER_PART = ("gpus", "cpus", "mem_gb")
"""Columns that tables may give per worker or server, to be taken times their number."""

UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of times and durations, in seconds."""

WHITESPACE = "whitespace"
"""The delimiter of files whose fields are parted by any number of blanks."""


@dataclass(frozen=True, slots=True)
class Field:
    """Where one column of the schema comes from.

    Attributes
    ----------
    column, value, file_name
        One of the three: a raw column, a text that holds for every row, or a pattern of which
        the group in the file's name does.
    nulls
        Texts that stand for no value, beside those of the whole table.
    times
        For a number: another column that it is multiplied by, or none.
    rule
        How the text is understood: the keys of `KEYS` for its kind.
    """

    column: str | None
    value: str | None
    file_name: str | None
    nulls: tuple[str, ...]
    times: str | None
    rule: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the files of one table are written, and which of their columns are wanted.

    Attributes
    ----------
    files
        Pattern of the names of the files, gzipped or not.
    delimiter
        One character, or `WHITESPACE`.
    comment
        What a line begins with that is none of the rows; empty: no line does.
    header
        Names of the columns, for files whose first line does not tell.
    nulls
        Texts that stand for no value.
    """

    files: str
    delimiter: str
    comment: str
    header: tuple[str, ...]
    nulls: tuple[str, ...]
    fields: dict[str, Field]


@dataclass(frozen=True, slots=True)
class TableMap:
    """What a map says."""

    path: Path
    what: str
    lacks: str
    sample: Sample | None
    tables: dict[str, Layout]


def load_map(name: str | Path) -> TableMap:
    """Read a map: a file, or the name of one that ships.

    Raises
    ------
    UnknownNameError
        No map of that name ships.
    InputError
        It is no map; the message names the key.
    """
    path = Path(name)
    if path.suffix != ".toml":
        path = SHIPPED / f"{name}.toml"
        if path.parent != SHIPPED or not path.is_file():
            raise UnknownNameError("map", str(name), (p.stem for p in SHIPPED.glob("*.toml")))
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}.") from None
    said = _Said(path, "", raw)
    said.only("what", "lacks", "sample", *FIELDS)
    tables = {t: _layout(said.table(t), t) for t in FIELDS if t in raw}
    if "jobs" not in tables:
        raise said.wrong("it should have a table [jobs]")
    chosen = _sample(said.table("sample")) if "sample" in raw else None
    return TableMap(path, said.text("what", ""), said.text("lacks", ""), chosen, tables)


def _sample(said: "_Said") -> Sample:
    said.only("how", "by")
    by = said.texts("by")
    if unknown := [word for word in by if word not in SELECTION_CRITERIA]:
        raise said.wrong(f"{unknown[0]!r} is none of {', '.join(SELECTION_CRITERIA)}", "by")
    return Sample(said.text("how"), by)


def _layout(said: "_Said", table: str) -> Layout:
    own = ("files", "delimiter", "comment", "header", "nulls")
    kinds = FIELDS[table]
    said.only(*own, *kinds)
    for name in NEEDED[table]:
        if name not in said.raw:
            raise said.wrong(f"it should say where {name} comes from")
    delimiter = said.text("delimiter", ",")
    if len(delimiter) != 1 and delimiter != WHITESPACE:
        raise said.wrong(f"should be one character, or {WHITESPACE!r}", "delimiter")
    return Layout(
        files=said.text("files", "*"),
        delimiter=delimiter,
        comment=said.text("comment", ""),
        header=said.texts("header"),
        nulls=("", *said.texts("nulls")),
        fields={n: _field(said.field(n), n, kind) for n, kind in kinds.items() if n in said.raw},
    )


_SAYS = ("column", "value", "file_name")


def _field(said: "_Said", name: str, kind: Kind) -> Field:
    seconds = kind == "number" and name.endswith("_s")
    per = ("times",) if name in PER_PART else ()
    since = ("since_row_before",) if name == "submitted_at" else ()
    units = ("unit",) if seconds or kind == "time" else ()
    keys = [k for k in KEYS[kind] if k not in ("unit", "since_row_before")]
    said.only(*_SAYS, "nulls", *per, *units, *since, *keys)
    if len(said.raw.keys() & set(_SAYS)) != 1:
        raise said.wrong(f"should have one of {', '.join(_SAYS)}")
    rule = {k: read(said, k) for k, read in KEYS[kind].items() if k in said.raw}
    _agree(said, name, kind, rule)
    value = said.raw.get("value")
    if "value" in said.raw and (
        isinstance(value, bool) or not isinstance(value, str | int | float)
    ):
        raise said.wrong("should be text or a number", "value")
    if value is not None and "words" not in rule and value not in ALLOWED.get(name, (value,)):
        raise said.wrong(f"{value!r} is none of {', '.join(ALLOWED[name])}")
    return Field(
        column=said.text("column") if "column" in said.raw else None,
        value=None if value is None else str(value),
        file_name=said.pattern("file_name") if "file_name" in said.raw else None,
        nulls=said.texts("nulls"),
        times=said.text("times") if "times" in said.raw else None,
        rule=rule,
    )


def _agree(said: "_Said", name: str, kind: Kind, rule: dict[str, Any]) -> None:
    """Refuse what its keys cannot mean together."""
    if kind == "time":
        counts = {"origin", "origin_after", "misread_as", "since_row_before"} & rule.keys()
        if "unit" not in rule and counts:
            raise said.wrong(f"{min(counts)} needs a unit: the time is a number of it")
        if "unit" in rule and (texts := {"format", "zone"} & rule.keys()):
            raise said.wrong(f"{min(texts)} is for times in words, and unit for numbers")
    if kind == "text":
        means = {*rule.get("words", {}).values(), *filter(None, [rule.get("otherwise")])} - {""}
        if bad := means - set(ALLOWED.get(name, means)):
            raise said.wrong(f"{min(bad)!r} is none of {', '.join(ALLOWED[name])}")
        if "otherwise" in rule and "words" not in rule:
            raise said.wrong("otherwise needs words")


@dataclass(frozen=True, slots=True)
class _Said:
    """A table of a map, which knows where it stands in it."""

    path: Path
    where: str
    raw: dict[str, Any]

    def wrong(self, what: str, key: str = "") -> InputError:
        at = ".".join(filter(None, (self.where, key)))
        return InputError(f"{self.path}: {at}: {what}." if at else f"{self.path}: {what}.")

    def only(self, *keys: str) -> None:
        if unknown := [key for key in self.raw if key not in keys]:
            raise self.wrong(f"is no key here. There are: {', '.join(keys)}", unknown[0])

    def table(self, key: str) -> "_Said":
        if not isinstance(self.raw[key], dict):
            raise self.wrong("should be a table", key)
        return _Said(self.path, f"{self.where}.{key}".lstrip("."), self.raw[key])

    def field(self, key: str) -> "_Said":
        if isinstance(self.raw[key], str):
            return _Said(self.path, f"{self.where}.{key}", {"column": self.raw[key]})
        if not isinstance(self.raw[key], dict):
            raise self.wrong("should be the name of a column, or a table like {column = …}", key)
        return self.table(key)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.raw.get(key, default)
        if not isinstance(value, str) or "\x00" in value:
            raise self.wrong("should be text", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.raw.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong("should be a list of texts", key)
        return tuple(value)

    def words(self, key: str) -> dict[str, str]:
        value = self.raw[key]
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.wrong('should be a table of texts, like {COMPLETED = "Pass"}', key)
        return value

    def number(self, key: str) -> float:
        value = self.raw[key]
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise self.wrong("should be a number", key)
        return float(value)

    def true(self, key: str) -> bool:
        if self.raw[key] is not True:
            raise self.wrong("should be true, or not be there", key)
        return True

    def unit(self, key: str) -> float:
        if self.raw[key] not in UNITS_S:
            raise self.wrong(f"should be one of {', '.join(UNITS_S)}", key)
        return UNITS_S[self.raw[key]]

    def zone(self, key: str) -> str:
        name = self.text(key)
        try:
            zone_named(name)
        except InputError:
            raise self.wrong("should be a time zone, like Europe/Berlin", key) from None
        return name

    def moment(self, key: str) -> datetime:
        value = self.raw[key]
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise self.wrong("should be a time with its offset: 2021-03-04T00:00:00Z", key)
        return value

    def clock(self, key: str) -> str:
        if "%z" in (text := self.text(key)).lower():
            raise self.wrong("may not read offsets or zones; without format, offsets are read", key)
        return text

    def pattern(self, key: str) -> str:
        try:
            groups = re.compile(text := self.text(key)).groups
        except re.error as error:
            raise self.wrong(f"is no regular expression: {error}", key) from None
        if groups != 1:
            raise self.wrong("should have one group: (…)", key)
        return text


KEYS: dict[Kind, dict[str, Callable[[_Said, str], Any]]] = {
    "text": {"words": _Said.words, "otherwise": _Said.text},
    "number": {
        "unit": _Said.unit,
        "scale": _Said.number,
        "pattern": _Said.pattern,
        "otherwise": _Said.number,
        "at_most": _Said.number,
        "round_up": _Said.true,
    },
    "time": {
        "unit": _Said.unit,
        "origin": _Said.moment,
        "origin_after": _Said.text,
        "since_row_before": _Said.true,
        "misread_as": _Said.zone,
        "zone": _Said.zone,
        "format": _Said.clock,
    },
}
"""The keys of a field's rule by kind, and how each is read."""
