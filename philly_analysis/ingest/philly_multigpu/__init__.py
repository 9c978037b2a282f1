"""A published extract of the Philly archive: 5,910 jobs on several GPUs, with real readings.

It is laid out as the archive, and then read as the archive.
"""

import csv
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from philly_analysis.errors import InputError
from philly_analysis.ingest import philly
from philly_analysis.ingest.raw_store import Kept
from philly_analysis.ingest.source import Raw, Source
from philly_analysis.trace import Sample

JOBS = "sampled_jobs.json.gz"
READINGS = ("gpu_util.csv.gz", "cpu_util.csv.gz", "cpu_util_pm60.csv.gz", "mem_util.csv.gz")

SAMPLE = Sample(
    how="Jobs on more than one GPU that passed or failed, whose last attempt ran for five minutes "
    "or more; of each that attempt only, with readings of 14 minutes, 7 or 8 hours after its "
    "start, where it still ran then.",
    by=("status", "gang", "run_time", "attempts"),
)

MEM_TOTAL_KB = 528_272_672.0
"""The archive's own example of a machine's memory; the extract kept only the free share."""

_READING = re.compile(r"m\d+\s+(\S+)$", re.MULTILINE)
_FIRST_PST = datetime(2017, 11, 5, 2)
_TWICE_FROM = datetime(2017, 11, 5, 1)

Minute = tuple[datetime, str]
"""A minute on the wall clock and its zone's abbreviation."""


def prepare(con: duckdb.DuckDBPyConnection, raw: Path, scratch: Path, kept: Kept) -> Raw:
    """Lay the extract out as the archive, and open that.

    Raises
    ------
    InputError
        A file of the extract is missing or cannot be read.
    """
    files = tuple(raw / name for name in (JOBS, *READINGS))
    if missing := [file.name for file in files if not file.is_file()]:
        raise InputError(f"{raw} has no {missing[0]}: give the folder of the extract.")
    fresh = tuple(kept.fresh(files))
    if not fresh:
        return Raw(files=())
    archive = scratch / "archive"
    try:
        lay_out(raw, archive)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{raw} is not the published extract: {error}.") from None
    opened = philly.prepare(con, archive, scratch, kept)
    return replace(opened, files=fresh, sample=SAMPLE)


def lay_out(extract: Path, out: Path) -> None:
    """Write the extract in the archive's own layout.

    What the extract lacks, the archive lacks too: only the last attempt of each job is there;
    a machine's row holds the GPUs that some sampled job held, and ``NA`` for its other GPUs.
    The extract looked minutes up by the job's clock string, so a row's local time is that string
    with PDT or PST added. In the hour that came twice the CPU cells hold both readings and give
    two rows; GPU and memory cells there hold one of two, nobody knows which, and are left out.
    Memory in total is the archive's example value, as only the free share is known.

    Parameters
    ----------
    extract
        Folder of the extract.
    out
        Folder to create.
    """
    jobs = _jobs(extract / JOBS)
    out.mkdir(parents=True)
    log = [
        {
            "status": job["status"],
            "vc": job["vc"],
            "jobid": job["jobid"],
            "attempts": [{k: job[k] for k in ("start_time", "end_time", "detail")}],
            "submitted_time": job["submitted_time"],
            "user": job["user"],
        }
        for job in jobs
    ]
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    starts = {job["jobid"]: datetime.fromisoformat(job["start_time"]) for job in jobs}

    gpus: dict[tuple[Minute, str], dict[int, str]] = defaultdict(dict)
    for local, name, value in _cells(extract / "gpu_util.csv.gz", starts):
        machine, gpu = name.split("_gpu")
        for zone in _only(zones(local)):
            gpus[(local, zone), machine][int(gpu)] = value
    width = dict.fromkeys((d["ip"] for job in jobs for d in job["detail"]), 0)
    for job in jobs:
        for d in job["detail"]:
            held = (int(gpu.removeprefix("gpu")) for gpu in d["gpus"])
            width[d["ip"]] = max(width[d["ip"]], *(gpu + 1 for gpu in held))
    _write(
        out / "cluster_gpu_util",
        "time,machineId," + ",".join(f"gpu{g}_util" for g in range(8)),
        {
            (minute, machine): ",".join(
                by_gpu.get(g, "NA") if g < width[machine] else "" for g in range(8)
            )
            + ","
            for (minute, machine), by_gpu in gpus.items()
        },
    )

    cpu: dict[tuple[Minute, str], str] = {}
    for file in ("cpu_util.csv.gz", "cpu_util_pm60.csv.gz"):
        for local, machine, value in _cells(extract / file, starts):
            readings = _READING.findall(value) or [value]
            for zone, reading in zip(zones(local), readings, strict=True):
                cpu[(local, zone), machine] = reading
    _write(out / "cluster_cpu_util", "time,machine_id,cpu_util", cpu)

    mem: dict[tuple[Minute, str], str] = {}
    for local, machine, value in _cells(extract / "mem_util.csv.gz", starts):
        for zone in _only(zones(local)):
            mem[(local, zone), machine] = (
                "NA,NA"
                if value == "NA"
                else f"{MEM_TOTAL_KB},{MEM_TOTAL_KB * float(value) / 100!r}"
            )
    _write(out / "cluster_mem_util", "time,machine_id,mem_total,mem_free", mem)


def _jobs(file: Path) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = json.loads(gzip.decompress(file.read_bytes()))
    return jobs


def zones(local: datetime) -> tuple[str, ...]:
    """Return the abbreviations under which a Pacific wall-clock minute of late 2017 occurred."""
    if local < _TWICE_FROM:
        return ("PDT",)
    return ("PDT", "PST") if local < _FIRST_PST else ("PST",)


def _cells(file: Path, starts: dict[str, datetime]) -> Iterator[tuple[datetime, str, str]]:
    """Yield (local minute, machine or machine_gpu, value) of every cell that has a record."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows)
        first = header.index("trace") + 1
        offsets = [timedelta(minutes=int(column)) for column in header[first:]]
        for row in rows:
            start = starts[row[0]].replace(second=0)
            for offset, value in zip(offsets, row[first:], strict=True):
                if value:
                    yield start + offset, row[1], "NA" if value in ("-1", "-1.0") else value


def _only(found: tuple[str, ...]) -> tuple[str, ...]:
    """Return the zone when there is just one."""
    return found if len(found) == 1 else ()


def _write(file: Path, header: str, values: dict[tuple[Minute, str], str]) -> None:
    """Write rows by time as it passed, then machine."""
    ordered = sorted(values, key=lambda k: (k[0][0].date(), k[0][1], k[0][0], k[1]))
    with file.open("w", encoding="utf-8") as lines:
        lines.write(header + "\n")
        for (local, zone), machine in ordered:
            lines.write(f"{local} {zone},{machine},{values[(local, zone), machine]}\n")


PHILLY_MULTIGPU = Source(
    name="philly-multigpu",
    what="5,910 jobs of the Philly archive on several GPUs, as published in weifanjiang/DRE.",
    files=f"{JOBS}, {', '.join(READINGS)}, in one folder.",
    lacks="Other jobs and other attempts, failure output, quotas, the machine list.",
    folder=philly.PHILLY.folder,
    prepare=prepare,
    streams=philly.PHILLY.streams,
)
