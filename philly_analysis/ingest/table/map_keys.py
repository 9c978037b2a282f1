"""Declare the keys of a table map: the values that each may have, and its type in SQL."""

import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.timezones import find_zone

Kind = Literal["text", "number", "time"]

Parse = Callable[[Any], Any]
"""Returns the value of a key, or raises ValueError with the form that it should have."""

UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Units of times and durations, in seconds."""

WHITESPACE = "whitespace"
"""Delimiter of files whose fields are separated by any number of blanks."""


def _parser(
    valid: Callable[[Any], bool], fault: str, convert: Parse = lambda value: value
) -> Parse:
    def parse(value: Any) -> Any:
        if not valid(value):
            raise ValueError(fault)
        return convert(value)

    return parse


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and "\x00" not in value


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_zone(value: Any) -> bool:
    try:
        return _is_text(value) and bool(find_zone(value))
    except InputError:
        return False


text = _parser(_is_text, "should be text")
texts = _parser(
    lambda v: isinstance(v, list) and _are_texts(v), "should be a list of texts", convert=tuple
)
constant = _parser(
    lambda v: isinstance(v, str) or _is_number(v), "should be text or a number", convert=str
)
delimiter = _parser(
    lambda v: _is_text(v) and (len(v) == 1 or v == WHITESPACE),
    f"should be one character, or {WHITESPACE!r}",
)
_words = _parser(
    lambda v: isinstance(v, dict) and _are_texts(v.values()),
    'should be a table of texts, like {COMPLETED = "Pass"}',
    convert=lambda v: tuple(v.items()),
)
_number = _parser(
    lambda v: _is_number(v) and abs(v) <= sys.float_info.max, "should be a number", convert=float
)
_unit = _parser(
    lambda v: isinstance(v, str) and v in UNITS_S,
    f"should be one of {', '.join(UNITS_S)}",
    convert=UNITS_S.__getitem__,
)
_zone = _parser(_is_zone, "should be a time zone, like Europe/Berlin")
_time = _parser(
    lambda v: isinstance(v, datetime) and v.tzinfo is not None,
    "should be a time with its offset: 2021-03-04T00:00:00Z",
    convert=lambda v: v.astimezone(UTC).replace(tzinfo=None),
)
true = _parser(lambda v: v is True, "should be true, or absent")
_time_format = _parser(
    lambda v: _is_text(v) and "%z" not in v.lower(),
    "should be text, and may not read offsets or zones; without format, offsets are read",
)


def pattern(value: Any) -> str:
    """Return a regular expression with one group."""
    try:
        groups = re.compile(text(value)).groups
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if groups != 1:
        raise ValueError("should have one group: (…)")
    return str(value)


ORIGINS: dict[str, Parse] = {"column": text, "value": constant, "file_name": pattern}
"""The keys for the origin of a field."""

KEYS: dict[Kind, dict[str, tuple[Parse, pa.DataType]]] = {
    "text": {
        "pattern": (pattern, pa.string()),
        "words": (_words, pa.map_(pa.string(), pa.string())),
        "otherwise": (text, pa.string()),
    },
    "number": {
        "times": (text, pa.string()),
        "unit": (_unit, pa.float64()),
        "scale": (_number, pa.float64()),
        "pattern": (pattern, pa.string()),
        "otherwise": (_number, pa.float64()),
        "at_most": (_number, pa.float64()),
        "round_up": (true, pa.bool_()),
    },
    "time": {
        "unit": (_unit, pa.float64()),
        "origin": (_time, pa.timestamp("us")),
        "origin_after": (text, pa.string()),
        "since_row_before": (true, pa.bool_()),
        "misread_as": (_zone, pa.string()),
        "zone": (_zone, pa.string()),
        "format": (_time_format, pa.string()),
    },
}
"""Keys of a field's rule by kind of field; each key has its parser, and its type in the macros."""
