"""Reads an attempt's output of any size in bounded memory: head, tail, and true line numbers."""

import gzip
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from philly_analysis.errors import InputError
from philly_analysis.failures.classifier import Failure, classify_text
from philly_analysis.failures.masking import mask
from philly_analysis.results import Fact, Result

HEAD_BYTES = 4 << 20
TAIL_BYTES = 12 << 20
_CHUNK_BYTES = 1 << 20
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Output:
    """What was read of one attempt's output.

    Attributes
    ----------
    text
        The whole output, or its head and its tail where it is longer than both.
    head_lines
        Lines of `text` that stand before the gap.
    skipped_lines
        Lines in the gap; 0 if nothing was left out.
    damaged
        True if the file ends before its compression does.
    """

    text: bytes
    head_lines: int
    skipped_lines: int
    damaged: bool

    def line_number(self, number: int) -> int:
        """Return a line's number in the output, given its number in the text read of it."""
        return number if number <= self.head_lines else number + self.skipped_lines


def read_output(path: Path, *, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> Output:
    """Read the head and the tail of a plain or gzip-compressed file.

    Raises
    ------
    InputError
        The file is missing or cannot be opened.
    """
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == _GZIP
        damaged: list[bool] = []
        return _gather(_chunks(path, compressed, damaged), head, tail, damaged)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _chunks(path: Path, compressed: bool, damaged: list[bool]) -> Iterator[bytes]:
    with gzip.open(path) if compressed else path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile):
            damaged.append(True)


def _gather(chunks: Iterable[bytes], head: int, tail: int, damaged: list[bool]) -> Output:
    first = bytearray()
    last: deque[bytes] = deque()
    held = skipped_lines = 0
    for chunk in chunks:
        room = max(0, head - len(first))
        first += chunk[:room]
        if rest := chunk[room:]:
            last.append(rest)
            held += len(rest)
        while last and held - len(last[0]) >= tail:
            gone = last.popleft()
            held -= len(gone)
            skipped_lines += gone.count(b"\n")
    return Output(
        text=bytes(first) + b"".join(last),
        head_lines=first.count(b"\n") + 1,
        skipped_lines=skipped_lines,
        damaged=bool(damaged),
    )


def classify_output(output: Output) -> Failure:
    """Classify an output; line numbers are those of the whole file."""
    failure = classify_text(output.text)
    if not output.skipped_lines:
        return failure
    return replace(
        failure,
        line_number=output.line_number(failure.line_number),
        chain=tuple(
            replace(link, line_number=output.line_number(link.line_number))
            for link in failure.chain
        ),
    )


def classify(files: str | Path | Iterable[str | Path]) -> Result:
    """Say why runs failed, from their output.

    Parameters
    ----------
    files
        Output of failed runs, one file each: files, and folders whose files are meant, in the
        order of their names; one of them, or several.

    Returns
    -------
    Result
        One row per file: file, reason, tiers, fine, rule, line_number, line (nothing secret in it).

    Raises
    ------
    InputError
        A file is missing or cannot be opened.
    """
    named = [files] if isinstance(files, str | Path) else files
    paths = [file for path in named for file in _files(Path(path))]
    verdicts = [(str(path), classify_output(read_output(path))) for path in paths]
    table = pd.DataFrame(
        [
            (file, f.reason, "+".join(f.tiers), f.fine, f.rule, f.line_number or None, mask(f.line))
            for file, f in verdicts
        ],
        columns=["file", "reason", "tiers", "fine", "rule", "line_number", "line"],
    ).astype({"line_number": "Int64"})
    matched = sum(bool(f.rule) for _, f in verdicts)
    return Result(
        name="classify",
        table=table,
        facts=(
            Fact("files", len(verdicts), "files read"),
            Fact("matched", matched, "files whose output tells how the attempt ended"),
        ),
    )


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(p for p in path.iterdir() if p.is_file())
    if not found:
        raise InputError(f"{path} holds no file: the output of failed runs was asked for.")
    return found
