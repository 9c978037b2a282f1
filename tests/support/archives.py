"""Write raw archives in the published Philly format from extracts of the real one."""

import csv
import gzip
import json
import shutil
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from philly_analysis.ingest.philly_multigpu.conversion import convert

EASTERN = ZoneInfo("America/New_York")


def multigpu_archive(traces: Path, out: Path) -> Path:
    """Write ``philly-multigpu-jobs`` with the archive's own list of machines.

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
    convert(traces / "philly-multigpu-jobs", out)
    shutil.copyfile(
        traces / "philly-machines" / "cluster_machine_list", out / "cluster_machine_list"
    )
    return out


def attempts_archive(traces: Path, out: Path) -> Path:
    """Write ``philly-attempts``: 151,816 real attempts, all with both times.

    The extract has each attempt's length and its job's submission and gang, but no job ids:
    attempts with equal submission and gang form one job, in the order of the file. It has no
    starts: the first attempt starts at submission, each other one at the end of the last. Lengths,
    gangs and dates are real; waits are zero, machines are invented as in `large_job_archive`, and
    each status is Pass. There are no other files.

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
        # the publisher parsed the archive's UTC times as US Eastern time
        at = datetime.fromtimestamp(epoch, EASTERN).replace(tzinfo=None)
        detail = _invented(machines, gpus)
        machines += len(detail)
        attempts, submitted = [], at
        for length in lengths:
            end = at + timedelta(seconds=length)
            attempts.append({"start_time": str(at), "end_time": str(end), "detail": detail})
            at = end
        log.append(_passed(f"application_{epoch}_{number}", str(submitted), attempts))
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    return out


def large_job_archive(traces: Path, out: Path, *, placed: bool = True) -> Path:
    """Write ``philly-large-job-attempts``: 3,034 real Passed jobs with all their attempts.

    The extract has no placements, users or virtual clusters, and the raw format has gangs only as
    placements. With `placed`, each job therefore gets invented machines of its own, named
    ``invented<n>``, with up to 8 GPUs each: gangs, times and retries are real, places are not.
    Without it ``detail`` is empty and the gang unknown, as for a few jobs of the archive. There
    are no other files.

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
        attempts = [{**a, "detail": detail if placed else []} for a in job["attempts"]]
        log.append(_passed(job["id"], job["submitted_time"], attempts))
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    return out


def _passed(job_id: str, submitted: str, attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a passed job of an unknown user, as in the job log."""
    unknown = {"status": "Pass", "vc": None, "user": None}
    return {**unknown, "jobid": job_id, "attempts": attempts, "submitted_time": submitted}


def _invented(first: int, gpus: int) -> list[dict[str, object]]:
    """Place a gang on machines of its own, with eight GPUs each."""
    sizes = [min(8, gpus - at) for at in range(0, gpus, 8)]
    return [
        {"ip": f"invented{first + n}", "gpus": [f"gpu{g}" for g in range(size)]}
        for n, size in enumerate(sizes)
    ]
