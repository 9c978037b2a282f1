"""Synergy's replay trace (OSDI'22): five fields a line, no header."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Written
from philly_analysis.exports.layout import DECIMAL, POSITIVE, Field, Layout
from philly_analysis.exports.profiles import assign, profiles
from philly_analysis.exports.request import Request

_FIRST_ID = 4000
_LAYOUT = Layout(
    (
        Field("job_id", POSITIVE),
        Field("model", "|".join(profiles("synergy").job_types)),
        Field("arrival_s", DECIMAL),
        Field("num_iterations", POSITIVE),
        Field("gpus", "1|2|4|8|16"),
    ),
    header=False,
    ascending="arrival_s",
    unique="job_id",
)


def _write(request: Request, path: Path) -> Written:
    published = profiles("synergy")
    jobs = request.jobs.with_columns(one=pl.lit(1, pl.Int32))
    table = published.table.with_columns(one=pl.lit(1, pl.Int32))
    lines = assign(jobs, table, "one", request.rng).with_columns(
        job_id=pl.int_range(pl.len()) + _FIRST_ID,
        model="job_type",
        arrival_s=pl.col("submit_s").round(3),
        num_iterations=(pl.col("run_s") / pl.col("iteration_s")).round().cast(pl.Int64).clip(1),
    )
    _LAYOUT.write(lines, path)
    return Written(
        jobs=lines.height,
        assumed=(
            "model, and with it CPU and memory demand: drawn by the artifact's task split, unless "
            "the workload names one",
            "run time is that with GPU-proportional CPUs and memory (3 CPUs, 62.5 GB a GPU)",
        ),
        sources=(published.source,),
        lost=(
            f"job ids: numbered from {_FIRST_ID} by submission, then job id, because the simulator "
            "measures jobs 4000 to 4999",
            "pauses without a job: there the simulator stops, so give it a load that has none",
        ),
    )


SYNERGY = Format(
    "synergy",
    (
        Dialect(
            name="replay",
            reader="Synergy's simulator, --replay_trace",
            carries="arrival, gang size, run time as iterations",
            write=_write,
            faults=lambda path, _: _LAYOUT.faults(path),
            lost=(
                "users, virtual clusters, status, attempts and placements",
                "gangs of other sizes than 1, 2, 4, 8, 16",
            ),
            gangs=(1, 2, 4, 8, 16),
        ),
    ),
)
