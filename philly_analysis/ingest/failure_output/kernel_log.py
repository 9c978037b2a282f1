"""Read GPU and memory events from kernel logs: time, machine and message."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from philly_analysis.ingest.raw_file import gzip_errors, open_bytes

EVENT = re.compile(
    r"NVRM: (?:Xid|.{0,80}(?:fallen off the bus|GPU is lost|RmInitAdapter failed))"
    r"|Out of memory: Kill|Memory cgroup out of memory|oom-kill:constraint|invoked oom-killer",
    re.IGNORECASE,
)
_ISO = re.compile(
    r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\s?(Z|[+-]\d\d:?\d\d)?\]?\s{1,4}(.*)$"
)
_CTIME = re.compile(r"^\[(\w{3} \w{3}\s{1,2}\d{1,2} \d\d:\d\d:\d\d \d{4})\]\s{0,4}(.*)$")
_SYSLOG = re.compile(r"^(\w{3}\s{1,2}\d{1,2} \d\d:\d\d:\d\d)\s{1,4}(.*)$")
_HOST = re.compile(r"^([\w.-]{1,255})\s{1,4}kernel: ")
_FILE_MACHINE = re.compile(
    r"(?:kern(?:el)?|dmesg|messages|syslog|journal)[._-]?|\.(?:log|txt|gz|out)\b", re.IGNORECASE
)
_LONGEST_LINE = 4096


@dataclass(frozen=True, slots=True)
class Event:
    """A line of a kernel log about a GPU or memory fault.

    Attributes
    ----------
    at
        Time, UTC without a zone; None where the line has none.
    machine_id
        Host of the line if it has one, else from the file's name; may be "".
    """

    at: datetime | None
    machine_id: str
    text: str
    file: str
    line: int


def read_events(file: Path, *, around: datetime, clock: tzinfo = UTC) -> Iterator[Event]:
    """Yield the events of a kernel log.

    Parameters
    ----------
    file
        Output of ``dmesg -T``, ``journalctl -k`` or a syslog, plain or gzip. If the lines
        have no host, the file name contains the machine, e.g. ``m12.dmesg``.
    around
        Time in the trace: a time without a year gets the year that is nearest to this time.
    clock
        Time zone of times without a zone.

    Raises
    ------
    InputError
        The log is truncated.
    """
    named = _FILE_MACHINE.sub("", file.name).strip("._-")
    with gzip_errors(file), open_bytes(file) as lines:
        number, begins = 1, True
        while raw := lines.readline(_LONGEST_LINE):
            if begins and EVENT.search(text := raw.decode("utf-8", "replace").rstrip()):
                at, entry = _parse_time(text, around, clock)
                host = _HOST.match(entry)
                machine = host.group(1).split(".")[0] if host else named
                message = entry[host.end() :] if host else entry
                yield Event(at, machine, message, file.name, number)
            # only the start of a longer line is read
            begins = raw.endswith(b"\n")
            number += begins


def _parse_time(text: str, around: datetime, clock: tzinfo) -> tuple[datetime | None, str]:
    try:
        if match := _ISO.match(text):
            at = datetime.fromisoformat(match.group(1).replace(",", "."))
            zone = match.group(2)
            if zone:
                offset = datetime.fromisoformat(f"2000-01-01T00:00:00{zone}").utcoffset()
                return at - (offset or timedelta()), match.group(3)
            return _utc(at, clock), match.group(3)
        if match := _CTIME.match(text):
            at = datetime.strptime(match.group(1), "%a %b %d %H:%M:%S %Y")
            return _utc(at, clock), match.group(2)
        if match := _SYSLOG.match(text):
            years = (around.year - 1, around.year, around.year + 1)
            dated = [_in_year(match.group(1), year) for year in years]
            at = min((d for d in dated if d), key=lambda d: abs(d - around))
            return _utc(at, clock), match.group(2)
    except (ValueError, OverflowError):  # a date that does not exist
        return None, text
    return None, text


def _in_year(text: str, year: int) -> datetime | None:
    try:
        return datetime.strptime(f"{year} {text}", "%Y %b %d %H:%M:%S")
    except ValueError:  # 29 February
        return None


def _utc(at: datetime, clock: tzinfo) -> datetime:
    return at.replace(tzinfo=clock).astimezone(UTC).replace(tzinfo=None)
