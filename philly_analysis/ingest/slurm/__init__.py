"""A Slurm accounting log: the text that ``sacct --parsable2`` prints, one record an attempt."""

from pathlib import Path

import duckdb
import pyarrow as pa

from philly_analysis.errors import InputError
from philly_analysis.ingest.csv_file import glob_safe
from philly_analysis.ingest.slurm.node_list import hosts
from philly_analysis.ingest.source import Raw, Source

NEEDED = ("JobIDRaw", "State", "Submit", "Start", "End")
USED = (
    "JobID", "Partition", "User", "ExitCode", "Eligible", "TimelimitRaw", "NNodes", "NCPUS",
    "ReqTRES", "AllocTRES", "NodeList",
)  # fmt: skip
"""Fields that are read where they are there; any other field is passed over."""

SACCT = (
    "TZ=UTC sacct -a -X -D -P --noconvert --delimiter='^|^' -S 2026-01-01 -E 2026-02-01 "
    "-o JobIDRaw,JobID,Partition,User,State,ExitCode,Submit,Eligible,Start,End,TimelimitRaw,"
    "NNodes,NCPUS,ReqTRES,AllocTRES,NodeList > sacct-2026-01.txt"
)
"""How to ask for the text, a month at a time; a field that an older release lacks may be left
out."""

DELIMITERS = ("^|^", ";|;", "|#", "\x1f", "|")
"""Delimiters in use, those that contain others first."""


def prepare(con: duckdb.DuckDBPyConnection, raw: Path, scratch: Path) -> Raw:
    """Open one file of sacct output, or a folder of them, read in the order of their names.

    Raises
    ------
    InputError
        There is no such file, or a file's first line does not name the fields that are needed.
    """
    files = _files(raw)
    parts = [_records(con, file, i) for i, file in enumerate(files)]
    con.execute("create view sacct as " + " union all by name ".join(parts))
    lists = con.sql("select distinct nodelist from sacct where nodelist is not null").fetchall()
    held = [(text, host) for (text,) in lists for host in hosts(text)]
    con.register(
        "node_lists",
        pa.table(
            {
                "node_list": pa.array([text for text, _ in held], pa.string()),
                "machine_id": pa.array([host for _, host in held], pa.string()),
            }
        ),
    )
    [(records,)] = con.sql("select count(*) from sacct").fetchall()
    return Raw(files=files, records={"attempts": records})


def _files(raw: Path) -> tuple[Path, ...]:
    if raw.is_dir():
        found = sorted(p for p in raw.iterdir() if p.is_file() and not p.name.startswith("."))
    else:
        found = [raw] if raw.is_file() else []
    if not found:
        raise InputError(f"no sacct output at {raw}: give a file, or a folder of files")
    return tuple(found)


def _records(con: duckdb.DuckDBPyConnection, file: Path, number: int) -> str:
    """Create a table of a file's lines, and return the SELECT that names their fields."""
    lines = f"sacct_lines_{number}"
    try:
        con.execute(
            f"create table {lines} as select line, row_number() over () as source_line "
            "from read_csv($path, columns = {'line': 'varchar'}, header = false, quote = '', "
            "escape = '', delim = $never, null_padding = true, parallel = false, "
            "max_line_size = 16777216, comment = '')",
            {"path": glob_safe(file), "never": "\x01"},
        )
    except duckdb.Error as error:
        raise InputError(f"{file} cannot be read: {str(error).splitlines()[0]}") from None
    first = con.sql(f"select line from {lines} where source_line = 1").fetchall()
    header = "".join(line or "" for (line,) in first)
    delimiter = next((d for d in DELIMITERS if d in header), "|")
    place = {name.lower(): i + 1 for i, name in enumerate(header.split(delimiter))}
    if missing := [name for name in NEEDED if name.lower() not in place]:
        raise InputError(
            f"{file}: its first line should name the fields of sacct, and lacks "
            f"{', '.join(missing)}. Run sacct with --parsable2, with its header, and -o "
            f"{','.join((*NEEDED, *USED))}."
        )
    fields = ", ".join(_field(name, place) for name in (*NEEDED, *USED))
    return (
        f"select '{_quoted(file.name)}' as source_file, source_line, line as raw, "
        f"len(f) = {len(place)} as whole, {fields} "
        f"from (select *, string_split(line, '{delimiter}') as f from {lines} "
        "where source_line > 1 and trim(line) <> '')"
    )


def _field(name: str, place: dict[str, int]) -> str:
    if name.lower() not in place:
        return f'null::varchar as "{name.lower()}"'
    return (
        f"case when trim(f[{place[name.lower()]}]) not in "
        "('', 'Unknown', 'None', 'None assigned', 'N/A') "
        f'then trim(f[{place[name.lower()]}]) end as "{name.lower()}"'
    )


def _quoted(text: str) -> str:
    return text.replace("'", "''")


SLURM = Source(
    name="slurm",
    what="A Slurm accounting log, as sacct --parsable2 prints it with its header.",
    files=f"Text of any name, or a folder of it, a month a file: {SACCT}",
    lacks="Which GPU of a server a job held, utilisation, and why a job waited.",
    folder=Path(__file__).parent,
    prepare=prepare,
)
