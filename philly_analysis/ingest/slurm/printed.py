"""Read the text output of sacct: any fields in any order, any delimiter, header or not.

The database splits lines that are complete records. :mod:`rejoin` splits other records, whose free
text contains the delimiter or a line break.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from struct import pack

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.raw_file import open_bytes, read_line
from philly_analysis.ingest.raw_tables import RAW_TABLES
from philly_analysis.ingest.slurm.fields import (
    DELIMITERS,
    LISTS,
    NOTHING,
    READ,
    STATES,
    is_header,
    missing_fields,
    slurm_command,
)
from philly_analysis.ingest.slurm.rejoin import Header, Layout, Record, rejoin
from philly_analysis.ingest.sql import arrow_table, create_table

_BLOCK_BYTES = 16 << 20
_BATCH_RECORDS = 20_000

_INCOMPLETE = "the line is no complete record"
"""Fault of lines that are split again, while they are."""

_HEADER = re.compile(r"(?P<first>[A-Za-z]\w*)(?P<delimiter>[^\w\s]+|\s)")


def parse_header(first: str) -> Header | None:
    """Return the layout in a first line, or None if it does not name fields of sacct."""
    start = _HEADER.match(first)
    if start is None:
        return None
    delimiter = start["delimiter"]
    names = first.split(delimiter)
    ends = names[-1] == ""
    names = names[:-1] if ends else names
    named = all(re.fullmatch(r"\w+", name) for name in names) and is_header(names)
    return Header(tuple(names), delimiter, ends) if named else None


def detect_header(lines: Sequence[str], others: Sequence[Header]) -> Header | None:
    """Return the layout of a file without a header: a known list of fields, or another file's."""
    lists = [Header(names, d, ends=False, lines=0) for d in DELIMITERS for names in LISTS]
    others = [replace(header, lines=0) for header in others]
    filled = [line for line in lines if line.strip()]
    for header in (*lists, *others):
        records = list(map(Layout(header, users=()).parse, filled))
        fit = sum(isinstance(record, dict) for record in records)
        if filled and fit * 2 > len(filled):
            return header
    return None


def read_printed(con: duckdb.DuckDBPyConnection, header: Header, path: Path) -> None:
    """Add the records of a file to the table ``sacct``.

    Raises
    ------
    InputError
        The header lacks a required field, or the file is truncated.
    """
    if missing := missing_fields(header.names):
        raise InputError(
            f"it lacks the {'fields' if missing[1:] else 'field'} {', '.join(missing)}. "
            f"Print it with: {slurm_command()}"
        )
    place = {name.lower(): i + 1 for i, name in enumerate(header.names)}
    _insert_lines(con, header, place, path)
    first = header.delimiter.join(header.names)
    incomplete = con.execute(
        "select source_line, raw from sacct where source_file = $file and fault = $fault "
        "and raw <> $header order by source_line",
        {
            "file": path.name,
            "fault": _INCOMPLETE,
            "header": first + (header.delimiter if header.ends else ""),
        },
    ).fetchall()
    con.execute("delete from sacct where fault = $fault", {"fault": _INCOMPLETE})
    if incomplete:
        layout = Layout(header, _users(con, header, place, path))
        insert_records(con, path, rejoin(layout, incomplete))


def _insert_lines(
    con: duckdb.DuckDBPyConnection, header: Header, place: dict[str, int], path: Path
) -> None:
    """Add the lines of a file to the table ``sacct``; incomplete records have a fault.

    Raises
    ------
    InputError
        The file is truncated.
    """
    fields = ", ".join(
        f'{_value(f"f[{place[name]}]")} as "{name}"' for name in READ if name in place
    )
    blocks = pa.RecordBatchReader.from_batches(RAW_TABLES["sacct_blocks"], _blocks(path))
    con.register("blocks", blocks)
    try:
        con.execute(
            "insert into sacct by name with block_lines as ("
            "select source_line, string_split(text, chr(10)) as texts from blocks), "
            "lines as (select source_line + unnest(range(len(texts))) as source_line, "
            "rtrim(unnest(texts), chr(13)) as line from block_lines) "
            "select $file as source_file, source_line, line as raw, "
            f"case when not (len(f) = $count and {_is_record(place, header)}) then $fault end "
            f"as fault, {fields} "
            "from (select source_line, line, string_split(line, $delimiter) as f from lines) "
            "where source_line > $skipped",
            {
                "file": path.name,
                "count": len(header.names) + header.ends,
                "fault": _INCOMPLETE,
                "delimiter": header.delimiter,
                "skipped": header.lines,
            },
        )
    except duckdb.InvalidInputException as error:
        raise InputError(f"it was cut off or is not gzip: {str(error).splitlines()[0]}") from None
    finally:
        con.unregister("blocks")


def _users(
    con: duckdb.DuckDBPyConnection, header: Header, place: dict[str, int], path: Path
) -> set[str]:
    """Return the users of the complete records of a file."""
    if "user" not in place:
        return set()
    users = con.execute(
        f"select distinct string_split(raw, $delimiter)[{place['user']}] from sacct "
        "where source_file = $file",
        {"delimiter": header.delimiter, "file": path.name},
    ).fetchall()
    return {user for (user,) in users}


def insert_records(con: duckdb.DuckDBPyConnection, path: Path, records: Iterator[Record]) -> None:
    """Add records to the table ``sacct``, in batches."""
    while batch := list(islice(records, _BATCH_RECORDS)):
        rows = ((path.name, r.line, r.raw, r.fault, *map(r.fields.get, READ)) for r in batch)
        create_table(con, "sacct_batch", arrow_table(rows, RAW_TABLES["sacct"]))
        fields = ", ".join(f'{_value(f"{chr(34)}{n}{chr(34)}")} as "{n}"' for n in READ)
        con.execute(
            "insert into sacct by name "
            f"select source_file, source_line, raw, fault, {fields} from sacct_batch"
        )


def _is_record(place: dict[str, int], header: Header) -> str:
    """Return the condition that the fields of a record have valid values."""
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
    missing = ", ".join(f"'{word}'" for word in NOTHING)
    return f"case when trim({text}) not in ({missing}) then trim({text}) end"


def _blocks(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield blocks of whole lines, one per batch, so that each thread of the engine splits one."""
    with open_bytes(path) as file:
        number = 1
        while text := file.read(_BLOCK_BYTES):
            text += b"" if text.endswith(b"\n") else read_line(file, path)
            lines = text.decode("utf-8", "replace").removesuffix("\n").encode()
            # without buffers of our own, pyarrow would import pandas
            columns = [
                pa.Array.from_buffers(pa.int64(), 1, [None, pa.py_buffer(pack("q", number))]),
                pa.StringArray.from_buffers(
                    1, pa.py_buffer(pack("ii", 0, len(lines))), pa.py_buffer(lines)
                ),
            ]
            yield pa.record_batch(columns, RAW_TABLES["sacct_blocks"])
            number += lines.count(b"\n") + 1
