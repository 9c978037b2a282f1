"""Reads what sacct prints as text: any fields in any order, any delimiter, with or without header.

Lines that are records by themselves are taken apart by the engine; the others, whose free text
holds the delimiter or a line break, by :mod:`rejoin`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.csv_file import read_line
from philly_analysis.ingest.raw_file import line_text, open_bytes
from philly_analysis.ingest.slurm.fields import (
    DELIMITERS,
    LISTS,
    NOTHING,
    READ,
    STATES,
    lacking,
    names_fields,
    slurm_command,
)
from philly_analysis.ingest.slurm.rejoin import Layout, Record, rejoin

_BATCH_BYTES = 16 << 20

_HEADER = re.compile(r"(?P<first>[A-Za-z]\w*)(?P<delimiter>[^\w\s]+|\s)")
_LINES = pa.schema([("source_line", pa.int64()), ("line", pa.string())])


@dataclass(frozen=True, slots=True)
class Header:
    """How a file is laid out: fields, delimiter, whether one ends each line, lines before data."""

    names: tuple[str, ...]
    delimiter: str
    ends: bool
    lines: int = 1


def header_of(first: str) -> Header | None:
    """Return the layout that a first line declares, or None if it names no fields of sacct."""
    start = _HEADER.match(first)
    if start is None:
        return None
    delimiter = start["delimiter"]
    names = first.split(delimiter)
    ends = names[-1] == ""
    names = names[:-1] if ends else names
    named = all(re.fullmatch(r"\w+", name) for name in names) and names_fields(names)
    return Header(tuple(names), delimiter, ends) if named else None


def documented(lines: Sequence[str], others: Sequence[Header]) -> Header | None:
    """Return the layout of a file without a header, if it is that of a list or a file beside it."""
    lists = [Header(names, d, ends=False, lines=0) for d in DELIMITERS for names in LISTS]
    beside = [Header(h.names, h.delimiter, h.ends, lines=0) for h in others]
    shown = [line for line in lines if line.strip()]
    for header in (*lists, *beside):
        layout = Layout(header.names, header.delimiter, ends=header.ends, users=())
        fit = sum(isinstance(layout.read(line), dict) for line in shown)
        if shown and fit * 2 > len(shown):
            return header
    return None


def read_printed(con: duckdb.DuckDBPyConnection, path: Path, header: Header) -> None:
    """Add the records of a file to the table ``sacct``.

    Raises
    ------
    InputError
        The header lacks a field that is needed, or the file was cut off.
    """
    if missing := lacking(header.names):
        raise InputError(
            f"it lacks the {'fields' if missing[1:] else 'field'} {', '.join(missing)}. "
            f"Print it with: {slurm_command()}"
        )
    con.register("sacct_read", pa.RecordBatchReader.from_batches(_LINES, _batches(path)))
    try:
        con.execute("create or replace temp table sacct_lines as from sacct_read")
    except duckdb.InvalidInputException as error:
        raise InputError(f"it was cut off or is not gzip: {str(error).splitlines()[0]}") from None
    finally:
        con.unregister("sacct_read")
    place = {name.lower(): i + 1 for i, name in enumerate(header.names)}
    count = len(header.names) + header.ends
    con.execute(
        "create or replace temp table sacct_split as "
        "select source_line, line, string_split(line, $delimiter) as f, "
        f"len(f) = $count and ({_sound(place, header)}) as whole "
        "from sacct_lines where source_line > $skipped",
        {"delimiter": header.delimiter, "count": count, "skipped": header.lines},
    )
    fields = ", ".join(
        f'{_value(f"f[{place[name]}]")} as "{name}"' for name in READ if name in place
    )
    con.execute(
        "insert into sacct by name select $file as source_file, source_line, line as raw, "
        f"{fields} from sacct_split where whole",
        {"file": path.name},
    )
    users = (
        con.sql(f"select distinct f[{place['user']}] from sacct_split where whole").fetchall()
        if "user" in place
        else []
    )
    layout = Layout(
        header.names, header.delimiter, ends=header.ends, users={user for (user,) in users}
    )
    first = header.delimiter.join(header.names)
    misshapen = con.execute(
        "select source_line, line from sacct_split where not whole and line <> $header "
        "order by source_line",
        {"header": first + (header.delimiter if header.ends else "")},
    ).fetchall()
    insert(con, path, rejoin(layout, misshapen))


def insert(con: duckdb.DuckDBPyConnection, path: Path, records: Iterator[Record]) -> None:
    """Add records to the table ``sacct``, some ten thousand at a time."""
    while batch := list(islice(records, 20_000)):
        columns: dict[str, list[object]] = {
            "source_file": [path.name] * len(batch),
            "source_line": [r.line for r in batch],
            "raw": [r.raw for r in batch],
            "fault": [r.fault for r in batch],
        }
        for name in READ:
            columns[name] = [r.fields.get(name) for r in batch]
        arrays = {
            n: pa.array(v, pa.int64() if n == "source_line" else pa.string())
            for n, v in columns.items()
        }
        con.register("sacct_read", pa.table(arrays))
        fields = ", ".join(f'{_value(f"{chr(34)}{n}{chr(34)}")} as "{n}"' for n in READ)
        con.execute(
            "insert into sacct by name "
            f"select source_file, source_line, raw, fault, {fields} from sacct_read"
        )
        con.unregister("sacct_read")


def _sound(place: dict[str, int], header: Header) -> str:
    """Condition that the fields which tell a record stand where they should."""
    tests = [
        rf"regexp_matches(f[{place[name]}], '^[0-9]+([_+.\[]|$)')"
        for name in ("jobidraw", "jobid")
        if name in place
    ]
    states = "|".join(STATES)
    tests.append(f"regexp_matches(f[{place['state']}], '^({states})')")
    tests.append(rf"regexp_full_match(f[{place['submit']}], '[0-9T:-]+|Unknown|None|')")
    if header.ends:
        tests.append(f"f[{len(header.names) + 1}] = ''")
    return " and ".join(tests)


def _value(text: str) -> str:
    nothing = ", ".join(f"'{word}'" for word in NOTHING)
    return f"case when trim({text}) not in ({nothing}) then trim({text}) end"


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    with open_bytes(path) as file:
        number = 0
        while text := file.read(_BATCH_BYTES):
            text += b"" if text.endswith(b"\n") else read_line(file, path)
            lines = text.removesuffix(b"\n").split(b"\n")
            texts = [line_text(line) for line in lines]
            numbers = range(number + 1, number + 1 + len(lines))
            yield pa.record_batch([pa.array(numbers, pa.int64()), pa.array(texts)], _LINES)
            number += len(lines)
