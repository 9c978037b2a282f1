"""Parse host, start and interval in the names of telemetry files.

``HOST[_WORDS][_TIME][_INTERVAL].ENDING``, as in ``gpu01_2026-01-31T12-00-00_10s.txt`` or
``gpu01.cluster.example_nvidia-smi.csv.gz``. A folder may be named after the host or the cluster.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from philly_analysis.ingest.telemetry.clock import Clock

_TIME = re.compile(
    r"(?<!\d)(?P<text>\d{4}-?\d\d-?\d\d[T_-]?\d\d[:-]?\d\d[:-]?\d\d)(?P<utc>Z?)(?!\d)"
    r"|(?<!\d)(?P<epoch>1\d{9})(?!\d)"
)
_INTERVAL = re.compile(r"(?<![A-Za-z\d.])(\d{1,9}(?:\.\d{1,9})?)(ms|s)(?![A-Za-z\d])")
_ENDING = re.compile(r"\.(gz|csv|txt|log|out|json|prom|metrics|dmon|smi)$", re.IGNORECASE)
_WORDS = re.compile(
    r"(?<![A-Za-z\d])(nvidia[-_]smi|smi|dcgmi?|dmon|dcgm-exporter|node-exporter|exporter|prometheus"
    r"|metrics|scrape|telemetry|gpus?|util(isation|ization)?|samples?|log)(?![A-Za-z\d])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FileName:
    """Parts of a file's name.

    Attributes
    ----------
    hosts
        Possible names of the machine, the likeliest first.
    at_us
        Time of the first reading, microseconds since 1970.
    step_us
        Microseconds from one reading to the next.
    """

    hosts: tuple[str, ...] = ()
    at_us: int | None = None
    step_us: int | None = None


def parse_name(file: Path, top: Path, clock: Clock) -> FileName:
    """Parse the names of a file and of its folders below `top`."""
    name = file.name
    while ending := _ENDING.search(name):
        name = name[: ending.start()]
    at_us = None
    if match := _TIME.search(name):
        if match["epoch"]:
            at_us = int(match["epoch"]) * 10**6
        else:
            at_us = _parse_time(match["text"], clock, utc=bool(match["utc"]))
        name = name.replace(match[0], "_")
    step_us = None
    if match := _INTERVAL.search(name):
        step_us = round(float(match[1]) * (1_000 if match[2] == "ms" else 1_000_000)) or None
        name = name.replace(match[0], "_")
    folders = [p.name for p in file.parents if p != top and top in p.parents]
    parts = [part for text in (name, *folders) for part in text.split("_")]
    hosts = [host for part in parts if (host := _WORDS.sub("", part).strip("._- "))]
    # where clusters share names of servers, a folder may be named after the cluster
    hosts += [f"{folder}:{host}" for folder in folders for host in hosts]
    return FileName(tuple(dict.fromkeys(hosts)), at_us, step_us)


def _parse_time(text: str, clock: Clock, *, utc: bool) -> int | None:
    digits = re.sub(r"\D", "", text)
    try:
        local = datetime.strptime(digits, "%Y%m%d%H%M%S")
    except ValueError:
        return None
    return clock.utc_us(local, zoned=utc)
