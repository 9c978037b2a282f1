"""Finds records of failed output: files per attempt, JSON lines, Slurm's files, kernel logs."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.failures import read_output

PATTERNS = (
    r"slurm-(?P<job_id>\d+(?:_\d+)?)\.(?P<stream>out|err)",
    r"(?P<job_id>.+?)[._-](?:attempt[_-]?)?(?P<attempt>\d+)\.(?P<stream>out|err|log|stdout|stderr|txt)",
    r"(?P<job_id>.+?)\.(?P<stream>out|err|log|stdout|stderr|txt)",
)
"""Names of output files; the first that matches the whole name (less ``.gz``) decides."""

KERNEL_LOG = re.compile(r"(?:kern|dmesg|messages|syslog|journal)", re.IGNORECASE)
JSON_LINES = (".jsonl", ".ndjson")
LONGEST_RECORD_BYTES = 64 << 20
LAST = None
"""Stands for the attempt of a record that does not say which: the job's last."""


@dataclass(frozen=True, slots=True)
class Record:
    """Output of one attempt, as one raw file or one line of it gave it.

    Attributes
    ----------
    attempt : number of the attempt; None: the job's last.
    stream : which stream of the attempt, to put stdout before stderr.
    text : the output, or its head and tail; `skipped_lines` are missing after `head_lines`.
    file, entry : where it stood, for rejects.
    """

    job_id: str
    attempt: int | None
    stream: str
    text: bytes
    head_lines: int
    skipped_lines: int
    file: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A raw file or line that is no record, and why."""

    file: str
    entry: int | None
    reason: str
    raw: str


def compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    """Compile file-name patterns.

    Raises
    ------
    InputError
        A pattern is no regular expression or has no group ``job_id``.
    """
    found = []
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
        found.append(name)
    return tuple(found)


def files_of(path: Path) -> list[Path]:
    """Files of a folder, at any depth, in order of name; or the file itself.

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
    """Tell a kernel log by its name."""
    return KERNEL_LOG.search(file.name) is not None


def records(
    path: Path, patterns: tuple[str, ...] = PATTERNS
) -> Iterator[Record | Unreadable]:
    """Read every record in a folder or file, kernel logs left out, one at a time.

    Parameters
    ----------
    path
        Folder or file. ``.jsonl`` files hold one record a line, others one record each.
    patterns
        Regular expressions for the names of output files, with the group ``job_id`` and,
        optionally, ``attempt`` and ``stream``. The path below the folder is tried first, then
        the name alone.
    """
    names = compiled(patterns)
    root = path if path.is_dir() else path.parent
    for file in files_of(path):
        if is_kernel_log(file):
            continue
        plain = file.name.removesuffix(".gz")
        if plain.endswith(JSON_LINES):
            yield from _json_lines(file)
        else:
            yield _file(file, file.relative_to(root).as_posix(), names)


def _file(file: Path, below: str, names: tuple[re.Pattern[str], ...]) -> Record | Unreadable:
    texts = (below.removesuffix(".gz"), file.name.removesuffix(".gz"))
    found = next((m for name in names for text in texts if (m := name.fullmatch(text))), None)
    if found is None:
        return Unreadable(below, None, "the file's name says no job", file.name)
    parts = found.groupdict()
    try:
        output = read_output(file)
    except InputError as error:
        return Unreadable(below, None, "the file cannot be read", str(error))
    if not output.text.strip():
        reason = "the compressed file is damaged" if output.damaged else "the output is empty"
        return Unreadable(below, None, reason, "")
    return Record(
        job_id=parts["job_id"],
        attempt=int(parts["attempt"]) if parts.get("attempt") else LAST,
        stream=parts.get("stream") or "",
        text=output.text,
        head_lines=output.head_lines,
        skipped_lines=output.skipped_lines,
        file=below,
        entry=None,
    )


def _json_lines(file: Path) -> Iterator[Record | Unreadable]:
    opened = gzip.open(file) if file.name.endswith(".gz") else file.open("rb")
    entry = 0
    with opened as lines:
        try:
            while line := lines.readline(LONGEST_RECORD_BYTES):
                entry += 1
                if len(line) == LONGEST_RECORD_BYTES:
                    while line and not line.endswith(b"\n"):
                        line = lines.readline(LONGEST_RECORD_BYTES)
                    yield Unreadable(file.name, entry, "the record is longer than 64 MB", "")
                elif line.strip():
                    yield _json_line(file.name, entry, line)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            yield Unreadable(file.name, entry + 1, "the compressed file is damaged", "")


def _json_line(file: str, entry: int, line: bytes) -> Record | Unreadable:
    shown = line[:500].decode("utf-8", "replace")
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        return Unreadable(file, entry, "the line is no JSON", shown)
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        return Unreadable(file, entry, "the record has no text", shown)
    job_id, attempt = given.get("job_id"), given.get("attempt")
    if not isinstance(job_id, str | int) or isinstance(job_id, bool) or job_id == "":
        return Unreadable(file, entry, "the record has no job_id", shown)
    if attempt is not None and (not isinstance(attempt, int) or isinstance(attempt, bool)):
        return Unreadable(file, entry, "the attempt is no number", shown)
    if not given["text"].strip():
        return Unreadable(file, entry, "the output is empty", shown)
    text = given["text"].encode("utf-8", "replace")
    return Record(str(job_id), attempt, "", text, text.count(b"\n") + 1, 0, file, entry)
