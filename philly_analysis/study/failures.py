"""Failure statistics printed in the study (ATC'19, Table 7)."""

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One row of the printed table; ``rtf`` is the run time to failure of a trial.

    Attributes
    ----------
    trials, jobs, users
        How often the reason occurred, in how many jobs, of how many users.
    rtf_p50_min, rtf_p90_min, rtf_p95_min
        Percentiles of the run time to failure, in minutes.
    rtf_share_pct
        Share of the run time to failure summed over all trials.
    gpus_1, gpus_2_4, gpus_over_4
        Trials by demand.
    rtf_x_demand, rtf_x_demand_share_pct
        Sum of minutes times GPUs, and its share.
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
    """Return the printed table, in its order (``table7.csv``: read from the table)."""
    import pandas as pd

    table = pd.read_csv(Path(__file__).parent / "table7.csv")
    columns = [f.name for f in fields(StudyRow)]
    return tuple(StudyRow(*row) for row in table[columns].itertuples(index=False, name=None))
