"""Gavel's job trace (OSDI'20) and its dialect of Shockwave (NSDI'23): tab-separated lines."""

import ast
import json
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError, file_errors
from philly_analysis.exports.codec import (
    Accepted,
    Content,
    accepted_jobs,
    delimited,
    read_format,
)
from philly_analysis.exports.dialect import FILE
from philly_analysis.exports.profiles import assign, check_gangs, read_profiles
from philly_analysis.exports.request import Request

_WORKER = "v100"
_ROUND_S = 1921


def read_speeds(path: Path) -> pl.DataFrame:
    """Read a throughput file: job_type, gpus and steps_per_s on a V100, alone.

    Raises
    ------
    ExportError
        The file is missing or is not laid out like Gavel's ``simulation_throughputs.json``.
    """
    try:
        with file_errors(ExportError, f"{path} cannot be read"):
            table = json.loads(path.read_text("utf-8"))[_WORKER]
        rows = [(*ast.literal_eval(key), float(entry["null"])) for key, entry in table.items()]
    except (ValueError, KeyError, TypeError, SyntaxError) as error:
        raise ExportError(
            f"{path} is not a throughput file of Gavel's kind ({error!r}): it should map "
            f'{_WORKER!r} to "(\'ResNet-50 (batch size 64)\', 1)" to {{"null": steps per s}}.'
        ) from None
    schema = {"job_type": pl.String, "gpus": pl.Int32, "steps_per_s": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row").filter(pl.col("steps_per_s") > 0)


def _content(request: Request) -> Content:
    jobs, file = request.jobs, request.speeds_file
    published = read_profiles("gavel").table.filter(pl.col(request.dialect.name) == 1)
    table = published.join(read_speeds(file), "job_type")
    check_gangs(jobs, table, file)
    rows = assign(jobs, table, request.rng, by="gpus").with_columns(
        total_steps=(pl.col("run_s") * pl.col("steps_per_s")).round().cast(pl.Int64).clip(1),
        scale_factor="gpus",
        mode=pl.lit("static"),
        priority_weight=pl.lit("1"),
        slo=pl.lit("-1.000000"),
        duration=pl.col("run_s").round().cast(pl.Int64).clip(1),
        arrival_time=pl.col("submit_s").round_sig_figs(15),
    )
    return Content({FILE: rows}, _accepted(request, rows))


def _accepted(request: Request, rows: pl.DataFrame) -> Accepted:
    run_s = rows["total_steps"] / rows["steps_per_s"]
    accepted = rows.height
    if request.dialect.name == "shockwave":
        accepted = _before_idle(rows["arrival_time"], run_s)
    is_accepted = pl.int_range(rows.height, eager=True) < accepted
    return accepted_jobs(request, rows["scale_factor"], run_s, is_accepted)


def _before_idle(at_s: pl.Series, run_s: pl.Series) -> int:
    """Return how many jobs arrive before Shockwave finds none at the end of a round and stops.

    Waits are neglected: a job that waits would leave later.
    """
    now_s, arrived, left_s = float(at_s[0]), 0, list[float]()
    while arrived < at_s.len():
        below = int(at_s.search_sorted(now_s, "right"))
        left_s += run_s[arrived:below].to_list()
        arrived = below
        if not left_s:
            break
        lasts_s = min(max(left_s), _ROUND_S)
        now_s += lasts_s
        left_s = [s - lasts_s for s in left_s if s > lasts_s]
    return arrived


_CODEC = delimited(_content)
GAVEL = read_format("gavel", gavel=_CODEC, shockwave=_CODEC)
