"""Opens raw files whatever they are called: unpacked, their first lines, their lists in JSON."""

import gzip
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

from philly_analysis.errors import InputError
from philly_analysis.ingest.csv_file import LONGEST_LINE_BYTES, read_line, whole

_BLOCK_CHARS = 1 << 20
_LIST_CHARS = 1024
"""The name of a list and its first bracket are shorter."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character, as JSON may write it: text that no file can hold."""
_POINTER_BYTES = 1024
"""A Git LFS pointer is smaller, by its specification."""
_LOOKED_AT = 50
"""Lines by which a file is known."""


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, unpacked if it is gzipped, whatever its name."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")  # type: ignore[return-value]


def refuse_pointers(*given: str | Path | None) -> None:
    """Refuse what Git put in the place of large files, which it keeps elsewhere (Git LFS).

    Raises
    ------
    InputError
        One of these files, or a file in one of these folders, is such a pointer.
    """
    for path in (Path(one) for one in given if one is not None):
        for file in path.rglob("*") if path.is_dir() else [path]:
            try:
                if not file.is_file() or file.stat().st_size > _POINTER_BYTES:
                    continue
                text = file.read_bytes()
            except OSError:
                continue  # whoever reads it says so
            if text.startswith(b"version https://git-lfs"):
                size = re.search(rb"^size (\d+)$", text, re.MULTILINE)
                of = f" of {int(size[1]):,} bytes" if size else ""
                raise InputError(
                    f"{file} is a Git LFS pointer: it stands for the file{of} and does not hold "
                    "it. Get the file with `git lfs pull` in the clone that it came from."
                )


def first_lines(path: Path, lines: int = _LOOKED_AT) -> list[str]:
    """Return the first lines of a file, without their ends.

    Raises
    ------
    InputError
        It cannot be read.
    """
    try:
        return [line_text(line) for _, line in islice(numbered_lines(path), lines)]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def line_text(line: bytes) -> str:
    """Return a line as text, without its end."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, unpacked if it is gzipped, and their numbers from 1.

    Raises
    ------
    InputError
        It was cut off, or a line is longer than that of any log.
    """
    with whole(path), open_bytes(path) as file:
        for number in count(1):
            if not (line := read_line(file, path)):
                return
            yield number, line


@contextmanager
def not_too_deep() -> Iterator[None]:
    """Refuse JSON so deep that what is in it cannot even be shown.

    Raises
    ------
    InputError
        It is.
    """
    try:
        yield
    except RecursionError:
        raise InputError("it is nested deeper than any such file.") from None


def storable(value: Any) -> Any:
    """Return a value of JSON whose texts can be stored: halves of characters are replaced."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(key): storable(one) for key, one in value.items()}
    return value


def objects(path: Path, *lists: str) -> Iterator[Any]:
    """Yield what stands in the first of these lists that the file holds at its top.

    That should be objects, and may be anything. The file is read in blocks: it may be larger than
    memory.

    Raises
    ------
    InputError
        It has no such list, was cut off in the middle of it, or holds what no such file does.
    """
    start = re.compile(rf'"(?:{"|".join(lists)})"\s*:\s*\[')
    decoder = json.JSONDecoder(strict=False)
    with whole(path), open_bytes(path) as raw, io.TextIOWrapper(raw, "utf-8", "replace") as file:
        text, found, wanted, block = "", False, 0, "more"
        while block:
            block = file.read(_BLOCK_CHARS)
            text += block
            if not found and (begin := start.search(text)):
                found, text = True, text[begin.end() :]
            if not found:
                text = text[-_LIST_CHARS:]
                continue
            # what was no whole object is tried again when there is twice as much of it
            if block and len(text) < wanted:
                continue
            if len(text) > LONGEST_LINE_BYTES + _BLOCK_CHARS:
                raise InputError(
                    f"one of its {' or '.join(lists)} is longer than in any such file."
                )
            at = 0
            while text[(at := _past(text, at)) : at + 1] != "]":
                try:
                    value, end = decoder.raw_decode(text, at)
                    value = storable(value) if _HALF.search(text, at, end) else value
                except json.JSONDecodeError:
                    break
                except RecursionError:
                    raise InputError("it is nested deeper than any such file.") from None
                except ValueError:  # of so many digits Python makes no number
                    raise InputError("it has a number longer than in any such file.") from None
                yield value
                at = end
            else:
                return
            text = text[at:]
            wanted = 2 * len(text)
    if not found:
        raise InputError(f"it has no list named {' or '.join(lists)}")
    raise InputError("it was cut off in the middle. Print it again.")


def _past(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at
