"""Holds what the study printed about failures (ATC'19, Table 7), as data."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One row of the printed table; ``rtf`` is the run time to failure of a trial.

    Attributes
    ----------
    trials, jobs, users : how often the reason occurred, in how many jobs, of how many users.
    rtf_p50_min, rtf_p90_min, rtf_p95_min : percentiles of the run time to failure, in minutes.
    rtf_share_pct : share of the run time to failure summed over all trials.
    gpus_1, gpus_2_4, gpus_over_4 : trials by demand.
    rtf_x_demand : sum of minutes times GPUs, and its share in per cent.
    """

    reason: str
    trials: int
    jobs: int
    users: int
    rtf_p50_min: float
    rtf_p90_min: float
    rtf_p95_min: float
    rtf_share_pct: float
    gpus_1: int
    gpus_2_4: int
    gpus_over_4: int
    rtf_x_demand: float
    rtf_x_demand_share_pct: float


@cache
def table_7() -> tuple[StudyRow, ...]:
    """Return the printed table, in its order."""
    path = files("philly_analysis.failures") / "table7.csv"
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return tuple(
        StudyRow(
            reason=row["reason"],
            trials=int(row["trials"]),
            jobs=int(row["jobs"]),
            users=int(row["users"]),
            rtf_p50_min=float(row["rtf_p50_min"]),
            rtf_p90_min=float(row["rtf_p90_min"]),
            rtf_p95_min=float(row["rtf_p95_min"]),
            rtf_share_pct=float(row["rtf_share_pct"]),
            gpus_1=int(row["gpus_1"]),
            gpus_2_4=int(row["gpus_2_4"]),
            gpus_over_4=int(row["gpus_over_4"]),
            rtf_x_demand=float(row["rtf_x_demand"]),
            rtf_x_demand_share_pct=float(row["rtf_x_demand_share_pct"]),
        )
        for row in rows
    )


def repetition(rows: tuple[StudyRow, ...]) -> tuple[float, float]:
    """Return trials per job and trials per user over some rows of the table."""
    trials = sum(row.trials for row in rows)
    return trials / sum(row.jobs for row in rows), trials / sum(row.users for row in rows)
