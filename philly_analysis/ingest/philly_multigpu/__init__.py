"""Read an extract of the Philly archive: 5,910 jobs on several GPUs, with utilisation.

The extract is converted to the archive's layout and then read as the archive.
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
from philly_analysis.ingest.raw_store import RawStore
from philly_analysis.ingest.source import RawFiles, Source
from philly_analysis.trace import Sample

JOBS = "sampled_jobs.json.gz"
UTILISATION = ("gpu_util.csv.gz", "cpu_util.csv.gz", "cpu_util_pm60.csv.gz", "mem_util.csv.gz")

SAMPLE = Sample(
    how="Jobs on more than one GPU that passed or failed, whose last attempt ran for five minutes "
    "or more; of each that attempt only, with readings of 14 minutes, 7 or 8 hours after its "
    "start, where it still ran then.",
    by=("status", "gang", "run_time", "attempts"),
)

MEM_TOTAL_KB = 528_272_672.0
"""Memory in the archive's example of a machine; the extract has only the free share."""

_REPEATED = re.compile(r"m\d+\s+(\S+)$", re.MULTILINE)
_PDT_UNTIL = datetime(2017, 11, 5, 2)
_PST_FROM = datetime(2017, 11, 5, 1)

Minute = tuple[datetime, str]
"""A minute of local time, and the abbreviation of its zone."""


def prepare(
    con: duckdb.DuckDBPyConnection, raw: Path, scratch: Path, raw_store: RawStore
) -> RawFiles:
    """Convert the extract to the archive's layout, and open that.

    Raises
    ------
    InputError
        A file of the extract is missing or cannot be read.
    """
    files = tuple(raw / name for name in (JOBS, *UTILISATION))
    if missing := [file.name for file in files if not file.is_file()]:
        raise InputError(f"{raw} has no {missing[0]}: give the folder of the extract.")
    new = tuple(raw_store.new_files(files))
    if not new:
        return RawFiles(files=())
    archive = scratch / "archive"
    try:
        convert(raw, archive)
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{raw} is not the published extract: {error}.") from None
    opened = philly.prepare(con, archive, scratch, raw_store)
    return replace(opened, files=new, sample=SAMPLE)


def convert(extract: Path, out: Path) -> None:
    """Write the extract in the archive's layout.

    Only the last attempt of each job is known. A machine's row has values for the GPUs of sampled
    jobs, and ``NA`` for its other GPUs. The extract selected minutes by the job's time as text, so
    a row's local time is that text with PDT or PST. In the repeated hour CPU cells have both values
    and give two rows; GPU and memory cells have one of two, unknown which, and are dropped. Total
    memory is the archive's example value, as only the free share is known.

    Parameters
    ----------
    extract
        Folder of the extract.
    out
        Folder to create.
    """
    jobs: list[dict[str, Any]] = json.loads(gzip.decompress((extract / JOBS).read_bytes()))
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
    for minute, name, value in _cells(extract / "gpu_util.csv.gz", starts):
        machine, gpu = name.split("_gpu")
        gpus[minute, machine][int(gpu)] = value
    width: dict[str, int] = defaultdict(int)
    for server in (d for job in jobs for d in job["detail"]):
        gpus_held = (int(gpu.removeprefix("gpu")) + 1 for gpu in server["gpus"])
        width[server["ip"]] = max(width[server["ip"]], *gpus_held)
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

    cpu = {
        (minute, machine): value
        for file in ("cpu_util.csv.gz", "cpu_util_pm60.csv.gz")
        for minute, machine, value in _cells(extract / file, starts)
    }
    _write(out / "cluster_cpu_util", "time,machine_id,cpu_util", cpu)

    mem = {
        (minute, machine): "NA,NA"
        if value == "NA"
        else f"{MEM_TOTAL_KB},{MEM_TOTAL_KB * float(value) / 100!r}"
        for minute, machine, value in _cells(extract / "mem_util.csv.gz", starts)
    }
    _write(out / "cluster_mem_util", "time,machine_id,mem_total,mem_free", mem)


def zones(local: datetime) -> tuple[str, ...]:
    """Return the zones in which a minute of Pacific local time of late 2017 occurred."""
    if local < _PST_FROM:
        return ("PDT",)
    return ("PDT", "PST") if local < _PDT_UNTIL else ("PST",)


def _cells(file: Path, starts: dict[str, datetime]) -> Iterator[tuple[Minute, str, str]]:
    """Yield (minute, machine or machine_gpu, value) of every cell with a value for each minute."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = next(rows)
        first = header.index("trace") + 1
        offsets = [timedelta(minutes=int(column)) for column in header[first:]]
        for row in rows:
            start = starts[row[0]].replace(second=0)
            for offset, cell in zip(offsets, row[first:], strict=True):
                if not cell:
                    continue
                local = start + offset
                occurred = zones(local)
                if len(occurred) == 1 and "m" not in cell:  # nearly all cells
                    yield (local, occurred[0]), row[1], "NA" if cell in ("-1", "-1.0") else cell
                    continue
                values = _REPEATED.findall(cell) or [cell]
                if len(values) == len(occurred):
                    for zone, value in zip(occurred, values, strict=True):
                        yield (local, zone), row[1], "NA" if value in ("-1", "-1.0") else value


def _write(file: Path, header: str, values: dict[tuple[Minute, str], str]) -> None:
    """Write rows in order of time and machine."""
    ordered = sorted(values, key=lambda k: (k[0][0].date(), k[0][1], k[0][0], k[1]))
    with file.open("w", encoding="utf-8") as lines:
        lines.write(header + "\n")
        for (local, zone), machine in ordered:
            lines.write(f"{local} {zone},{machine},{values[(local, zone), machine]}\n")


PHILLY_MULTIGPU = Source(
    name="philly-multigpu",
    what="5,910 jobs of the Philly archive on several GPUs, as published in weifanjiang/DRE.",
    files=f"{JOBS}, {', '.join(UTILISATION)}, in one folder.",
    lacks="Other jobs and other attempts, failure output, quotas, the machine list.",
    folder=philly.PHILLY.folder,
    prepare=prepare,
    streams=philly.PHILLY.streams,
)
