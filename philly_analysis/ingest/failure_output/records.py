"""Find the output of failed attempts: files per attempt, JSON lines, Slurm files."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import encodable, open_bytes

PATTERNS = (
    r"slurm-(?P<job_id>\d+(?:[_+]\d+)?)\.(?P<stream>out|err)",
    r"(?P<job_id>.+?)[._-](?:attempt[_-]?)?(?P<attempt>\d+)\.(?P<stream>out|err|log|stdout|stderr|txt)",
    r"(?P<job_id>.+?)\.(?P<stream>out|err|log|stdout|stderr|txt)",
)
"""Names of output files without ``.gz``; the first pattern that matches completely decides."""

KERNEL_LOG = re.compile(r"(?:kern|dmesg|messages|syslog|journal)", re.IGNORECASE)
JSON_LINES = (".jsonl", ".ndjson")
LONGEST_RECORD_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class FailureOutput:
    """Output of failed attempts.

    Attributes
    ----------
    path
        Folder or file: files per attempt, JSON lines, kernel logs.
    patterns
        Names of output files: see :func:`find_records`.
    clock
        Time zone of kernel logs without a zone.
    """

    path: Path
    patterns: tuple[str, ...]
    clock: tzinfo


@dataclass(frozen=True, slots=True)
class Record:
    """Output of one attempt: its files, or the text of a JSON line.

    Attributes
    ----------
    attempt
        Number of the attempt; None: the job's last.
    files
        Files of the output, stdout before stderr; empty if `text` is the output.
    source, entry
        File and line, for rejects.
    """

    job_id: str
    attempt: int | None
    files: tuple[Path, ...]
    text: bytes
    source: str
    entry: int | None


class Unreadable(NamedTuple):
    """A raw file or line that is no record, and the reason."""

    source: str
    entry: int | None
    reason: str
    raw: str


def compile_patterns(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile file-name patterns.

    Raises
    ------
    InputError
        A pattern is no regular expression, or has no group ``job_id``.
    """
    names = []
    for pattern in patterns:
        try:
            name = re.compile(pattern)
        except re.error as error:
            raise InputError(f"file pattern {pattern!r} cannot be read: {error}") from None
        if "job_id" not in name.groupindex:
            raise InputError(
                f"file pattern {pattern!r} has no group (?P<job_id>…); attempt and stream are "
                "optional groups"
            )
        names.append(name)
    return tuple(names)


def list_files(path: Path) -> list[Path]:
    """Return the files of a folder, at any depth, in order of name; or the file itself.

    Raises
    ------
    InputError
        There is nothing at `path`.
    """
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
    if path.is_file():
        return [path]
    raise InputError(f"no failure output at {path}: give a folder of files, or one file")


def is_kernel_log(file: Path) -> bool:
    """Whether a file is a kernel log, by its name."""
    return KERNEL_LOG.search(file.name) is not None


def find_records(path: Path, patterns: tuple[str, ...] = PATTERNS) -> Iterator[Record | Unreadable]:
    """Yield every record in a folder or file, except kernel logs.

    Parameters
    ----------
    path
        Folder or file. ``.jsonl`` files have one record per line, others are one stream each.
    patterns
        Regular expressions for the names of output files, with the group ``job_id`` and optional
        groups ``attempt`` and ``stream``. The path below the folder is tried before the name.
    """
    names = compile_patterns(patterns)
    root = path if path.is_dir() else path.parent
    streams: dict[tuple[str, int | None], dict[str, Path]] = {}
    for file in list_files(path):
        below = file.relative_to(root).as_posix()
        if is_kernel_log(file):
            continue
        if below.removesuffix(".gz").endswith(JSON_LINES):
            yield from _json_lines(file, below)
            continue
        parsed = _parse_name(below.removesuffix(".gz"), names)
        if parsed is None:
            yield Unreadable(below, None, "the file's name says no job", below)
            continue
        job_id, attempt, stream = parsed
        others = streams.setdefault((job_id, attempt), {})
        if stream in others:
            yield Unreadable(below, None, "the same stream of the attempt repeats", below)
        else:
            others[stream] = file
    for (job_id, attempt), parts in streams.items():
        ordered = sorted(parts, key=lambda stream: (stream in ("err", "stderr"), stream))
        files = tuple(parts[stream] for stream in ordered)
        yield Record(job_id, attempt, files, b"", files[0].relative_to(root).as_posix(), None)


def _parse_name(
    below: str, names: tuple[re.Pattern[str], ...]
) -> tuple[str, int | None, str] | None:
    for name in names:
        for text in (below, below.rsplit("/", 1)[-1]):
            if match := name.fullmatch(text):
                parts = match.groupdict()
                attempt = parts.get("attempt")
                return parts["job_id"], int(attempt) if attempt else None, parts.get("stream") or ""
    return None


def _json_lines(file: Path, below: str) -> Iterator[Record | Unreadable]:
    entry = 0
    with open_bytes(file) as lines:
        try:
            while line := lines.readline(LONGEST_RECORD_BYTES):
                entry += 1
                if len(line) == LONGEST_RECORD_BYTES and not line.endswith(b"\n"):
                    while line and not line.endswith(b"\n"):
                        line = lines.readline(LONGEST_RECORD_BYTES)
                    yield Unreadable(below, entry, "the record is longer than 64 MB", "")
                elif line.strip():
                    yield _json_line(below, entry, line)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield Unreadable(below, entry + 1, "the compressed file is damaged", "")


def _json_line(source: str, entry: int, line: bytes) -> Record | Unreadable:
    start = line[:500].decode("utf-8", "replace")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return Unreadable(source, entry, "the line is no JSON", start)
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        return Unreadable(source, entry, "the record has no text", start)
    job_id, attempt = record.get("job_id"), record.get("attempt")
    if not isinstance(job_id, str | int) or isinstance(job_id, bool) or job_id == "":
        return Unreadable(source, entry, "the record has no job_id", start)
    if attempt is not None and (not isinstance(attempt, int) or isinstance(attempt, bool)):
        return Unreadable(source, entry, "the attempt is no number", start)
    text = record["text"].encode("utf-8", "replace")
    return Record(encodable(str(job_id)), attempt, (), text, source, entry)
