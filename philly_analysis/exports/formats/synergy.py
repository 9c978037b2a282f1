"""Synergy's replay trace (OSDI'22): five fields a line, no header."""

import polars as pl

from philly_analysis.exports.codec import (
    Accepted,
    Content,
    Notes,
    accepted_jobs,
    delimited,
    read_format,
)
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.profiles import assign, read_profiles
from philly_analysis.exports.request import Request

_MEASURED = (4000, 5000)
_ROUND_S = 300


def _first_id(jobs: int) -> int:
    """Return the number of the first job, so that the simulator measures jobs in the middle."""
    least, below = _MEASURED
    return max(least - max(jobs - (below - least), 0) // 2, 0)


def _content(request: Request) -> Content:
    first = _first_id(request.jobs.height)
    rows = assign(request.jobs, read_profiles("synergy").table, request.rng).with_columns(
        job_id=pl.int_range(pl.len()) + first,
        model="job_type",
        arrival_s=pl.col("submit_s").round(3),
        num_iterations=(pl.col("run_s") / pl.col("iteration_s")).round().cast(pl.Int64).clip(1),
    )
    notes = Notes(
        not_carried=(
            f"job ids: numbered from {first} by submission, then job id, because the simulator "
            f"measures jobs {_MEASURED[0]} to {_MEASURED[1] - 1}",
        ),
    )
    return Content({FILE: rows}, _accepted(request, rows), notes)


def _accepted(request: Request, rows: pl.DataFrame) -> Accepted:
    run_s, at_s = rows["num_iterations"] * rows["iteration_s"], rows["arrival_s"]
    # the simulator stops for good at the first round without a job; waiting jobs only leave later
    first_round_s = (at_s[0] / _ROUND_S).__ceil__() * _ROUND_S
    starts_s = (at_s / _ROUND_S).ceil() * _ROUND_S
    ends_s = (starts_s + (run_s / _ROUND_S).ceil() * _ROUND_S).cum_max()
    idle = starts_s > ends_s.shift(1, fill_value=first_round_s)
    return accepted_jobs(request, rows["gpus"], run_s, ~idle.cum_max())


SYNERGY = read_format("synergy", replay=delimited(_content))
