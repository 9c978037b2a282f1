"""Read public traces in plain Python, as their publishers wrote them."""

import csv
import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class PublicJob:
    """A job as its file has it; unknown where the file does not say."""

    submitted_at: datetime
    gpus: int
    run_s: Any
    wait_s: float | None = None
    status: str | None = None
    user: str = ""


def csv_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a CSV file, gzipped or not, or of all in a folder."""
    for file in sorted(path.glob("*.csv*")) if path.is_dir() else [path]:
        text = file.read_bytes()
        text = gzip.decompress(text) if file.suffix == ".gz" else text
        yield from csv.DictReader(text.decode().splitlines())


def after_epoch(seconds: str | float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=float(seconds))


def philly_passed(row: Row) -> PublicJob:
    submitted = datetime.fromisoformat(row["timestamp"])
    return PublicJob(submitted, int(row["num_gpus"]), float(row["duration"]), status="Pass")


def philly_attempts(row: Row) -> PublicJob:
    eastern = datetime.fromtimestamp(int(row["submit_time"]), ZoneInfo("America/New_York"))
    return PublicJob(eastern.replace(tzinfo=None), int(row["gpu_num"]), float(row["run_time"]))


def itp(row: Row) -> PublicJob:
    submitted = datetime(2021, 3, 4) + timedelta(seconds=int(row["submission_time"]))
    return PublicJob(submitted, int(row["num_gpu"]), float(row["duration"]))


def openb(row: Row) -> PublicJob:
    gone, end, began = row["deletion_time"], 12_902_960, row["scheduled_time"]
    run = float(gone) - float(began) if began and gone != str(end) else None
    wait = float(began) - float(row["creation_time"]) if began else None
    return PublicJob(after_epoch(row["creation_time"]), int(row["num_gpu"]), run, wait)


def supercloud(row: Row) -> PublicJob:
    held = dict(part.split("=") for part in row["tres_alloc"].split(",") if part)
    gpus = int(held.get("1001", 0)) + int(held.get("1002", 0))
    submitted, began, ended = (float(row[f"time_{w}"]) for w in ("submit", "start", "end"))
    status, user = {"3": "Pass", "4": "Killed"}.get(row["state"], "Failed"), row["id_user"]
    submitted_at, wait = after_epoch(submitted), began - submitted
    return PublicJob(submitted_at, gpus, ended - began, wait, status, user)


def thetagpu(row: Row) -> PublicJob:
    gpus, run, wait = (float(row[c]) for c in ("gpu_num", "run_time", "wait_time"))
    status, user = row["new_status"], row["user"]
    return PublicJob(after_epoch(row["submit_time"]), int(gpus), run, wait, status, user)


def since(start: str) -> Callable[[Row], PublicJob]:
    """Return a reader of rows that are in order, each an interval after the one before."""
    clock = datetime.fromisoformat(start)

    def read(row: Row) -> PublicJob:
        nonlocal clock
        clock += timedelta(seconds=float(row["interval"]))
        gpus, run, status = int(row["gpu_num"]), float(row["run_time"]), row["new_status"]
        return PublicJob(clock, gpus, run, status=status, user=row["user"])

    return read


LOGS: dict[str, tuple[str, Callable[[Row], PublicJob] | str]] = {
    "Philly passed": ("philly-passed-jobs", philly_passed),
    "Philly attempts": ("philly-attempts", philly_attempts),
    "Microsoft ITP": ("itp-2021", itp),
    "Alibaba openb": ("alibaba-openb-2023/openb_pod_list_default.csv.gz", openb),
    "MIT SuperCloud": ("mit-supercloud-2021", supercloud),
    "ThetaGPU": ("thetagpu-2023", thetagpu),
    "Philly first 15k": ("philly-first-15k-attempts", "2017-08-07T10:03:01"),
    "Helios 15k": ("helios-2020/helios_data_training.csv.gz", "2020-03-31T16:00"),
    "Blue Waters 15k": ("bluewaters", "2019-01-01"),
}
"""The path of each log, and a reader of its rows, or the start of rows that have intervals."""


def jobs_of(traces: Path, log: str, part: str = "") -> list[PublicJob]:
    """Return the jobs of a log, or of one file in its folder."""
    path, read = LOGS[log]
    read = since(read) if isinstance(read, str) else read
    return list(map(read, csv_rows(traces / path / part)))


def marconi100_jobs() -> pd.DataFrame:
    """Return two jobs in the columns that the publisher of PM100 describes."""
    at, minute = datetime(2020, 5, 4, 10), timedelta(minutes=1)
    return pd.DataFrame(
        {
            "job_id": [1, 2],
            "user_id": [5, 6],
            "partition": ["1", "1"],
            "qos": ["0", "0"],
            "num_gpus_alloc": [8, 4],
            "num_cores_alloc": [256, 128],
            "num_nodes_alloc": [2, 1],
            "time_limit": [60, 4294967295],
            "submit_time": [at, at],
            "eligible_time": [at, at],
            "start_time": [at + minute, at + 2 * minute],
            "end_time": [at + 5 * minute, at + 9 * minute],
            "job_state": ["COMPLETED", "OUT_OF_MEMORY"],
        }
    )
