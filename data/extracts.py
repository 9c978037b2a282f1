"""Reads job lists out of the published extracts of GPU-cluster traces, for models to be fitted to.

The extracts are found at `$PHILLY_TRACES`, or at `../shared/traces` beside the checkout.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from philly_analysis.models.observations import Observations

EASTERN = "America/New_York"
ITP_CLUSTERS = ("01", "02", "04", "05", "06", "07", "08", "10")
ITP_START_S = 1_614_816_000  # 2021-03-04 00:00 UTC, the day the collection started


def traces_folder() -> Path:
    """Return the folder of the extracts, whether or not it is there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "traces"
    return Path(os.environ.get("PHILLY_TRACES", beside))


def _read(file: str, **options: object) -> pd.DataFrame:
    table: pd.DataFrame = pd.read_csv(traces_folder() / file, **options)  # type: ignore[call-overload]
    return table


def _unix_s(clock: pd.Series) -> np.ndarray:
    return (clock - pd.Timestamp(0)).dt.total_seconds().to_numpy()


def philly_passed() -> Observations:
    """Read the passed Philly jobs, by virtual cluster; a run time is the sum of the attempts."""
    table = _read("philly-passed-jobs/philly.csv.gz")
    clock = pd.to_datetime(table["timestamp"])
    return Observations.of_jobs(
        "philly-passed", _unix_s(clock), table["num_gpus"], table["duration"],
        vc=table["cluster"], status=np.full(len(table), "Pass", dtype=object),
    )  # fmt: skip


def philly_attempts() -> Observations:
    """Read the Philly attempts of any ending, each as a job submitted when its job was."""
    table = _read("philly-attempts/philly_df_schedule.csv.gz")
    # The epochs read the archive's UTC clock as US Eastern time: turn them back.
    clock = pd.to_datetime(table["submit_time"], unit="s", utc=True).dt.tz_convert(EASTERN)
    return Observations.of_jobs(
        "philly-attempts", _unix_s(clock.dt.tz_localize(None)), table["gpu_num"], table["run_time"]
    )


def itp(cluster: str) -> Observations:
    """Read the jobs of one Microsoft ITP training cluster."""
    table = _read(f"itp-2021/cluster{cluster}.csv.gz")
    return Observations.of_jobs(
        f"itp-{cluster}", ITP_START_S + table["submission_time"], table["num_gpu"],
        table["duration"],
    )  # fmt: skip


def openb() -> Observations:
    """Read the pods of Alibaba's openb trace that ask for GPUs; no end: still running."""
    table = _read("alibaba-openb-2023/openb_pod_list_default.csv.gz")
    started = table["scheduled_time"].fillna(table["creation_time"])
    until = table["deletion_time"].fillna(table[["creation_time", "deletion_time"]].max().max())
    return Observations.of_jobs(
        "openb", table["creation_time"], table["num_gpu"], np.maximum(until - started, 0),
        censored=table["deletion_time"].isna(), vc=table["qos"],
    )  # fmt: skip


def supercloud() -> Observations:
    """Read the GPU jobs of the MIT Supercloud (its publisher cut the top percent of run times)."""
    table = _read("mit-supercloud-2021/slurm-log-queueing-clean.csv.gz", low_memory=False)
    found = table["tres_alloc"].astype(str).str.extractall(r"(?:1001|1002)=(\d+)")[0].astype(int)
    gpus = found.groupby(level=0).sum().reindex(table.index, fill_value=0)
    status = table["state"].map({3: "Pass", 4: "Killed"}).fillna("Failed")
    return Observations.of_jobs(
        "supercloud", table["time_submit"], gpus, table["time_end"] - table["time_start"],
        status=status,
    )  # fmt: skip


def thetagpu() -> Observations:
    """Read the jobs of ALCF ThetaGPU; `gpu_num` counts allocations, which may not be GPUs."""
    table = _read("thetagpu-2023/data_thetagpu.csv.gz")
    ending = table["new_status"].map({"Pass": "Pass", "Killed": "Killed", "Failed": "Failed"})
    return Observations.of_jobs(
        "thetagpu", table["submit_time"], table["gpu_num"], table["run_time"],
        vc=table["project"], user=table["user"].astype(str), status=ending,
    )  # fmt: skip


EXTRACTS: dict[str, Callable[[], Observations]] = {
    "philly-passed": philly_passed,
    "philly-attempts": philly_attempts,
    **{f"itp-{c}": partial(itp, c) for c in ITP_CLUSTERS},
    "openb": openb,
    "supercloud": supercloud,
    "thetagpu": thetagpu,
}
"""Extracts by name."""
