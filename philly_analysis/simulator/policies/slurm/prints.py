"""Read the files that Slurm's commands printed, and the records and host lists in them."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from philly_analysis.slurm_text import expand_hosts, record_fields, record_texts, time_in_name


class Print(NamedTuple):
    """Output of a command in a file; the time in the file's name is the time of the print."""

    name: str
    printed_at: datetime | None
    text: str

    @property
    def header(self) -> str:
        """The first line."""
        return self.text.partition("\n")[0].strip()

    @property
    def columns(self) -> set[str]:
        """Columns of a table of ``sacctmgr -P``."""
        return set(self.header.split("|"))


def read_prints(folder: str | Path) -> list[Print]:
    """Return the output in the files of a folder, in the order of their names."""
    prints = []
    for path in sorted(Path(folder).glob("*")) if Path(folder).is_dir() else ():
        if path.is_file():
            try:
                stamp = datetime.fromisoformat(time_in_name(path.name) or "")
                printed_at = stamp.replace(tzinfo=None)
            except ValueError:
                printed_at = None
            prints.append(Print(path.name, printed_at, path.read_text("utf-8", "replace")))
    return prints


def records_of(text: str, first_field: str) -> list[dict[str, str]]:
    """Return the fields of the records that begin with a field."""
    lines = enumerate(text.splitlines(), 1)
    records = (record_fields(record) for _, record in record_texts(lines, first_field))
    return [record for record in records if first_field in record]


def servers_in(text: str) -> frozenset[str]:
    """Return the servers of a list of hosts; none for ``(null)``."""
    return frozenset(expand_hosts(text)) - {"(null)"}
