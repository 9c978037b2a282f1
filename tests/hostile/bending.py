"""Mutate valid input: values, JSON documents, lines of fields, and bytes of files.

Each function takes a `random.Random`, seeded by the campaign and drawn by Hypothesis, so that the
same documents serve both.
"""

import gzip
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

NAMES = (
    "<script>document.title='ran'</script>",
    '"><img src=x onerror="document.title=\'ran\'">',
    "<svg/onload=document.title='ran'>",
    "</style><script>document.title='ran'</script>",
    "javascript:document.title='ran'",
    "&lt;b&gt;",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.invalid?"&A1,"x")',
    "+1+1",
    "-2+3+cmd",
    "@SUM(1+1)*cmd",
    "\t=1+1",
    "\r=1+1",
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m",
    "a\x00b",
    "\x07\x08\x7f",
    "\u202egpj.exe",
    "\u2066a\u2069\u200f",
    "line\nbreak",
    "line\r\nbreak",
    "next\x85line\u2028para\u2029",
    "\ufeff",
    "\U0001f4a5" * 5,
    "e\u0301" * 30,
    "[bold red]markup[/]",
    "{{x}} ${y} %s %n",
    "$name",
    "'; drop table jobs; --",
    'a"b',
    "a,b;c|d",
    "../../../../etc/passwd",
    "/etc/passwd",
    "C:\\Windows",
    "file:///etc/passwd",
    "*",
    "con",
    "x" * 5_000,
    "",
    " ",
)
"""Names of users, queues, jobs and machines that mean harm where they are shown."""

TEXTS = (
    "0",
    "-0",
    "-1",
    "1e999",
    "1e-999",
    "9" * 30,
    "9" * 5_000,
    "0x10",
    "1_000",
    "٣",
    "½",
    "NaN",
    "nan",
    "inf",
    "-Infinity",
    "null",
    "None",
    "NA",
    "N/A",
    "Unknown",
    "true",
    "2017-10-09 07:01:55",
    "2017-10-09T07:01:55Z",
    "2017-02-30 00:00:00",
    "2017-11-05 01:30:00 PDT",
    "0000-00-00 00:00:00",
    "0001-01-01 00:00:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31 23:59:59",
    "9999-12-31T23:59:59-14:00",
    "290309-12-22 00:00:00",
    "294247-01-10 04:00:54",
    "1969-12-31 23:59:59",
    "-4713-11-24",
    "infinity",
    "epoch",
    "24:00:00",
    "4294967294",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "gpu0",
    "gpu-1",
    "gpu99999999999999999999",
    "gpu[001-999999999]",
    "[[[[[[",
    "]]]]",
    "a[1-3][1-3][1-3]",
    "gres/gpu:a100=-4",
    "1-1:1:1",
    "JS1:H4sIAAAAAAAC/wMAAAAAAAAAAAA=",
    "JS1:!!!!",
)
"""Texts that are nearly numbers, times, lists, or words for nothing."""

NUMBERS: tuple[Any, ...] = (
    0,
    -0.0,
    -1,
    1,
    0.5,
    True,
    1e308,
    -1e308,
    1e-320,
    float("nan"),
    float("inf"),
    float("-inf"),
    2**31 - 1,
    2**31,
    2**32 - 2,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    -(2**63) - 1,
    10**40,
    10**400,
)
_DIGITS = "@digits@"
_DEEP = "@deep@"


def odd(rng: Random) -> Any:
    """A value that is seldom meant: of another type, huge, or a hostile name."""
    return rng.choice(
        (
            lambda: rng.choice(NAMES),
            lambda: rng.choice(TEXTS),
            lambda: rng.choice(NUMBERS),
            lambda: None,
            dict,
            list,
            lambda: [rng.choice(NAMES)],
            lambda: {rng.choice(NAMES): rng.choice(NUMBERS)},
            lambda: [[[[None]]]],
            lambda: "\ud800",
            lambda: _DIGITS,
            lambda: _DEEP,
        )
    )()


def chance(rng: Random) -> float:
    """How likely each part of a document is bent: not at all, seldom, or often."""
    return rng.choice((0.0, 0.01, 0.03, 0.1, 0.3))


def bent(rng: Random, value: Any, p: float) -> Any:
    """A value with some of its parts bent: lost, doubled, renamed, of another kind."""
    if rng.random() < p / 2:
        return odd(rng)
    if isinstance(value, dict):
        items = [(k, bent(rng, v, p)) for k, v in value.items() if rng.random() >= p / 2]
        if items and rng.random() < p:
            items.append((rng.choice((*NAMES, items[0][0].upper())), odd(rng)))
        return dict(items)
    if isinstance(value, list):
        found = [bent(rng, v, p) for v in value if rng.random() >= p / 2]
        if found and rng.random() < p:
            found.insert(rng.randrange(len(found)), rng.choice(found))
        if rng.random() < p:
            found.append(odd(rng))
        return found
    if isinstance(value, str) and rng.random() < p:
        return bent_text(rng, value)
    return value


def bent_text(rng: Random, text: str) -> str:
    """A text that is cut, doubled, spliced with a hostile one, or replaced by one."""
    at = rng.randrange(len(text) + 1)
    new = rng.choice(NAMES if rng.random() < 0.5 else TEXTS)
    return rng.choice((text[:at], text + text, text[:at] + new + text[at:], new, text[::-1]))


def json_text(rng: Random, value: Any, p: float) -> str:
    """A document in JSON, in which keys may repeat and nesting be deep."""
    gap = rng.choice((None, None, 1))
    text = json.dumps(value, ensure_ascii=rng.random() < 0.8, indent=gap)
    text = text.replace(f'"{_DIGITS}"', "9" * 5_000)
    if _DEEP in text:
        depth = rng.choice((50, 1_000, 20_000))
        text = text.replace(f'"{_DEEP}"', "[" * depth + "]" * rng.choice((depth, 0)))
    if rng.random() < p and (keys := re.findall(r'"(\w+)":', text)):
        one, other = rng.choice(keys), rng.choice(keys)
        text = text.replace(f'"{one}":', f'"{other}":', 1)
    return text


def field_line(rng: Random, fields: Sequence[str], delimiter: str, p: float) -> str:
    """A line of fields, some of them bent, lost or doubled."""
    found = [bent_text(rng, field) if rng.random() < p else field for field in fields]
    if rng.random() < p and found:
        found.pop(rng.randrange(len(found)))
    if rng.random() < p:
        found.insert(rng.randrange(len(found) + 1), rng.choice(TEXTS))
    return delimiter.join(found)


def as_bytes(text: str) -> bytes:
    """UTF-8, in which a lone surrogate is three bytes that no text has."""
    return text.encode("utf-8", "surrogatepass")


def spoiled(rng: Random, data: bytes, p: float, other: bytes = b"") -> bytes:
    """The bytes of a file: as they are, mostly, or spoiled once or twice."""
    while rng.random() < p:
        data = rng.choice(_SPOILS)(rng, data, other)
    return data


def _at(rng: Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flipped(rng: Random, data: bytes, other: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(rng.randrange(1, 4) if found else 0):
        found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _inserted(rng: Random, data: bytes, other: bytes) -> bytes:
    at = _at(rng, data)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _spliced(rng: Random, data: bytes, other: bytes) -> bytes:
    return data[: _at(rng, data)] + other[_at(rng, other) :]


def _lines_moved(rng: Random, data: bytes, other: bytes) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))
    return b"\n".join(lines)


def _line_again(rng: Random, data: bytes, other: bytes) -> bytes:
    lines = data.split(b"\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(lines)


_PIECES = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\n\n\n",
    b"\x1b[2J",
    b'"',
    b"'",
    b"\\",
    b",",
    b"{",
    b"[",
    b"]",
    b"#",
    b"\x1f\x8b\x08",
)

_SPOILS: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    lambda rng, data, other: data[: _at(rng, data)],
    lambda rng, data, other: data[_at(rng, data) :],
    lambda rng, data, other: b"\xef\xbb\xbf" + data,
    lambda rng, data, other: data.replace(b"\n", b"\r\n"),
    lambda rng, data, other: data.replace(b"\n", b"\r"),
    lambda rng, data, other: data.decode("utf-8", "replace").encode("utf-16"),
    lambda rng, data, other: gzip.compress(data, 1),
    lambda rng, data, other: gzip.compress(data, 1)[: _at(rng, data)],
    lambda rng, data, other: _flipped(rng, gzip.compress(data, 1), other),
    lambda rng, data, other: data + data,
    lambda rng, data, other: b"",
    _flipped,
    _flipped,
    _inserted,
    _inserted,
    _spliced,
    _lines_moved,
    _line_again,
)
