"""Read raw files of any name: unpacked, line by line, or as lists in JSON."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from philly_analysis.errors import InputError, file_errors

LONGEST_LINE_BYTES = 64 << 20
"""Limit on the length of a line; a longer one is not read."""
_BLOCK_CHARS = 1 << 20
_LIST_CHARS = 1024
"""The name of a list and its first bracket are shorter."""
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""A surrogate as JSON may escape it: text that no file can store."""
_POINTER_BYTES = 1024
"""A Git LFS pointer is smaller, by its specification."""
_FIRST_LINES = 50
"""Lines by which the kind of a file is detected."""


def is_gzipped(path: Path) -> bool:
    """Whether a file is gzipped, so that it can only be read from its start."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file for reading bytes, unpacked if it is gzipped, whatever its name."""
    return gzip.open(path) if is_gzipped(path) else path.open("rb")  # type: ignore[return-value]


@contextmanager
def gzip_errors(path: Path) -> Iterator[None]:
    """Refuse a gzipped file that is truncated or damaged.

    Raises
    ------
    InputError
        The file is truncated or damaged.
    """
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} was cut off or is not gzip: {error}. Fetch it again.") from None


def read_line(file: IO[bytes], path: Path) -> bytes:
    """Read one line, with its end.

    Raises
    ------
    InputError
        The line is longer than any line of a log.
    """
    line = file.readline(LONGEST_LINE_BYTES)
    if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
        raise InputError(
            f"{path} has a line of more than {LONGEST_LINE_BYTES >> 20} MB: it is damaged, or no "
            "log."
        )
    return line


def decode_line(line: bytes) -> str:
    """Return a line as text, without its end."""
    return line.decode("utf-8", "replace").rstrip("\r\n")


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, unpacked if it is gzipped, with their numbers from 1.

    Raises
    ------
    InputError
        The file is truncated, or a line is longer than any line of a log.
    """
    with gzip_errors(path), open_bytes(path) as file:
        number = 0
        while line := read_line(file, path):
            number += 1
            yield number, decode_line(line)


def first_lines(path: Path, lines: int = _FIRST_LINES) -> list[str]:
    """Return the first lines of a file, without their ends.

    Raises
    ------
    InputError
        The file cannot be read.
    """
    with file_errors(InputError, f"{path} cannot be read"):
        return [line for _, line in islice(text_lines(path), lines)]


Read = Callable[[Path], object]
"""Reads a file; raises InputError if it cannot be read."""

Detect = Callable[[Path], Read | None]
"""Returns what reads a file, or None for an unknown kind; raises InputError for another kind."""


def read_files(
    files: Iterable[Path], *detectors: Detect, begin: Callable[[Path], None] = lambda _: None
) -> dict[Path, str]:
    """Read each file by the first detector that recognises the file, after a call of `begin`.

    A detector runs on all files that earlier detectors did not recognise. A later detector may
    therefore compare a file without a header with files that were read.

    Returns
    -------
    dict
        Reason for each file that could not be read.
    """
    refused: dict[Path, str] = {}
    unread = list(files)
    for detect in detectors:
        unknown = []
        for file in unread:
            try:
                if read := detect(file):
                    begin(file)
                    read(file)
                else:
                    unknown.append(file)
            except InputError as error:
                refused[file] = str(error)
        unread = unknown
    return refused


def _others(files: int) -> str:
    """Return the sentence on further files that are of another kind."""
    if not files:
        return ""
    nouns = "other file was" if files == 1 else "other files were"
    return f" ({files:,} {nouns} not recognised either.)"


def kind_error(refused: dict[Path, str], kind: str) -> InputError:
    """Return the error for files none of which is of the wanted kind."""
    file, reason = next(iter(refused.items()))
    others = _others(len(refused) - 1)
    return InputError(f"{file} is no {kind}: {reason}{others}")


def refuse_lfs_pointers(*paths: Path | None) -> None:
    """Refuse Git LFS pointers, which Git stores in the place of large files.

    Raises
    ------
    InputError
        A file, or a file in a folder, is a Git LFS pointer.
    """
    for path in filter(None, paths):
        for file in path.rglob("*") if path.is_dir() else [path]:
            text = b""
            with suppress(OSError):  # its reader reports the error
                if file.is_file() and file.stat().st_size <= _POINTER_BYTES:
                    text = file.read_bytes()
            if text.startswith(b"version https://git-lfs"):
                size = re.search(rb"^size (\d+)$", text, re.MULTILINE)
                of = f" of {int(size[1]):,} bytes" if size else ""
                raise InputError(
                    f"{file} is a Git LFS pointer, in the place of a file{of}. Get the file with "
                    "`git lfs pull` in the clone that it came from."
                )


@contextmanager
def nesting_errors() -> Iterator[None]:
    """Refuse JSON that is nested too deeply to be processed.

    Raises
    ------
    InputError
        The JSON is nested too deeply.
    """
    try:
        yield
    except RecursionError:
        raise InputError("it is nested deeper than any such file.") from None


def encodable(value: Any) -> Any:
    """Return a value of JSON with lone surrogates replaced, so that its texts can be stored."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [encodable(one) for one in value]
    if isinstance(value, dict):
        return {encodable(key): encodable(one) for key, one in value.items()}
    return value


def json_items(path: Path, *lists: str) -> Iterator[Any]:
    """Yield the items of the first list with one of the given names in a JSON file.

    The file is read in blocks, as it may be larger than memory.

    Raises
    ------
    InputError
        The file has no such list, is truncated within the list, or is not JSON.
    """
    start = re.compile(rf'"(?:{"|".join(lists)})"\s*:\s*\[')
    decoder = json.JSONDecoder(strict=False)
    names = " or ".join(lists)
    with (
        gzip_errors(path),
        open_bytes(path) as raw,
        io.TextIOWrapper(raw, "utf-8", "replace") as file,
    ):
        text, in_list, wanted, block = "", False, 0, "more"
        while block:
            block = file.read(_BLOCK_CHARS)
            text += block
            if not in_list and (begin := start.search(text)):
                in_list, text = True, text[begin.end() :]
            if not in_list:
                text = text[-_LIST_CHARS:]
                continue
            # an incomplete item is parsed again when the text is twice as long
            if block and len(text) < wanted:
                continue
            if len(text) > LONGEST_LINE_BYTES + _BLOCK_CHARS:
                raise InputError(f"one of its {names} is longer than in any such file.")
            at = 0
            while text[(at := _skip_separators(text, at)) : at + 1] != "]":
                try:
                    with nesting_errors():
                        value, end = decoder.raw_decode(text, at)
                        value = encodable(value) if _SURROGATE.search(text, at, end) else value
                except json.JSONDecodeError:
                    break
                except ValueError:  # Python refuses to convert so many digits
                    raise InputError("it has a number longer than in any such file.") from None
                yield value
                at = end
            else:
                return
            text = text[at:]
            wanted = 2 * len(text)
    if not in_list:
        raise InputError(f"it has no list named {names}")
    raise InputError("it was cut off in the middle. Print it again.")


def _skip_separators(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at
