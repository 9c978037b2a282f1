"""Lays out raw archives in the published Philly format from extracts of the real one."""

import csv
import gzip
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

MEM_TOTAL_KB = 528_272_672.0
"""The archive's own example of a machine's memory; the extract kept only the free share."""

EASTERN = ZoneInfo("America/New_York")

_READING = re.compile(r"m\d+\s+(\S+)$", re.MULTILINE)
_FIRST_PST = datetime(2017, 11, 5, 2)
_TWICE_FROM = datetime(2017, 11, 5, 1)

Minute = tuple[datetime, str]
"""A minute on the wall clock and its zone's abbreviation."""


def zones(local: datetime) -> tuple[str, ...]:
    """Return the abbreviations under which a Pacific wall-clock minute of late 2017 occurred."""
    if local < _TWICE_FROM:
        return ("PDT",)
    return ("PDT", "PST") if local < _FIRST_PST else ("PST",)


def multigpu_archive(traces: Path, out: Path) -> Path:
    """Lay out ``philly-multigpu-jobs``: 5,910 real jobs with placements, and real minutes.

    What the extract lacks, the archive lacks too: only the last attempt of each job is there;
    a machine's row holds the GPUs that some sampled job held, and ``NA`` for its other GPUs.
    The extract looked minutes up by the job's clock string, so a row's local time is that string
    with PDT or PST added. In the hour that came twice the CPU cells hold both readings and give
    two rows; GPU and memory cells there hold one of two, nobody knows which, and are left out.
    Memory in total is the archive's example value, as only the free share is known.

    Parameters
    ----------
    traces
        Folder of the real traces.
    out
        Folder to create.

    Returns
    -------
    Path
        The folder, `out`.
    """
    source = traces / "philly-multigpu-jobs"
    jobs = json.loads(gzip.decompress((source / "sampled_jobs.json.gz").read_bytes()))
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
    shutil.copyfile(
        traces / "philly-machines" / "cluster_machine_list", out / "cluster_machine_list"
    )
    starts = {job["jobid"]: datetime.fromisoformat(job["start_time"]) for job in jobs}

    gpus: dict[tuple[Minute, str], dict[int, str]] = defaultdict(dict)
    for local, name, value in _cells(source / "gpu_util.csv.gz", starts):
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
        for local, machine, value in _cells(source / file, starts):
            readings = _READING.findall(value) or [value]
            for zone, reading in zip(zones(local), readings, strict=True):
                cpu[(local, zone), machine] = reading
    _write(out / "cluster_cpu_util", "time,machine_id,cpu_util", cpu)

    mem: dict[tuple[Minute, str], str] = {}
    for local, machine, value in _cells(source / "mem_util.csv.gz", starts):
        for zone in _only(zones(local)):
            mem[(local, zone), machine] = (
                "NA,NA"
                if value == "NA"
                else f"{MEM_TOTAL_KB},{MEM_TOTAL_KB * float(value) / 100!r}"
            )
    _write(out / "cluster_mem_util", "time,machine_id,mem_total,mem_free", mem)
    return out


def attempts_archive(traces: Path, out: Path) -> Path:
    """Lay out ``philly-attempts``: 151,816 real attempts, all that have both times.

    The extract has an attempt's length, its job's submission and gang, and no job: attempts of
    one second and gang are taken for one job, in the order of the file. It has no starts: the
    first attempt starts with the submission and each other with the end of the one before. So
    lengths, gangs and dates are real, waits are none, and machines are invented as in
    `large_job_archive`; status is unknown and set to Pass. There are no other files.

    Parameters
    ----------
    traces
        Folder of the real traces.
    out
        Folder to create.

    Returns
    -------
    Path
        The folder, `out`.
    """
    jobs: dict[tuple[int, int], list[int]] = defaultdict(list)
    with gzip.open(
        traces / "philly-attempts" / "philly_df_schedule.csv.gz", "rt", encoding="utf-8"
    ) as lines:
        for row in csv.DictReader(lines):
            jobs[int(row["submit_time"]), int(row["gpu_num"])].append(int(row["run_time"]))
    out.mkdir(parents=True)
    log, machines = [], 0
    for number, ((epoch, gpus), lengths) in enumerate(jobs.items()):
        # the publisher read the archive's clock, which is UTC, as US Eastern time
        at = datetime.fromtimestamp(epoch, EASTERN).replace(tzinfo=None)
        detail = _invented(machines, gpus)
        machines += len(detail)
        attempts, submitted = [], at
        for length in lengths:
            end = at + timedelta(seconds=length)
            attempts.append({"start_time": str(at), "end_time": str(end), "detail": detail})
            at = end
        log.append(
            {
                "status": "Pass",
                "vc": None,
                "jobid": f"application_{epoch}_{number}",
                "attempts": attempts,
                "submitted_time": str(submitted),
                "user": None,
            }
        )
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    return out


def large_job_archive(traces: Path, out: Path, *, placed: bool = True) -> Path:
    """Lay out ``philly-large-job-attempts``: 3,034 real Passed jobs with all their attempts.

    The extract has no placements, users or virtual clusters, and the raw format tells a gang
    only by its placements. With `placed`, each job therefore gets machines of its own invention,
    named ``invented<n>``, with up to 8 GPUs each: right in gang, times and retries, meaningless
    in place. Without it ``detail`` is empty, and the gang unknown, as for a few jobs of the
    archive. There are no other files.

    Parameters
    ----------
    traces
        Folder of the real traces.
    out
        Folder to create.
    placed
        Whether to invent machines.

    Returns
    -------
    Path
        The folder, `out`.
    """
    source = traces / "philly-large-job-attempts" / "jobs.json.gz"
    jobs = json.loads(gzip.decompress(source.read_bytes()))
    out.mkdir(parents=True)
    log, machines = [], 0
    for job in jobs:
        detail = _invented(machines, job["num_gpus"])
        machines += len(detail)
        log.append(
            {
                "status": "Pass",
                "vc": None,
                "jobid": job["id"],
                "attempts": [{**a, "detail": detail if placed else []} for a in job["attempts"]],
                "submitted_time": job["submitted_time"],
                "user": None,
            }
        )
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    return out


def _invented(first: int, gpus: int) -> list[dict[str, object]]:
    """Place a gang on machines that nobody else has, eight GPUs each."""
    sizes = [min(8, gpus - at) for at in range(0, gpus, 8)]
    return [
        {"ip": f"invented{first + n}", "gpus": [f"gpu{g}" for g in range(size)]}
        for n, size in enumerate(sizes)
    ]


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
