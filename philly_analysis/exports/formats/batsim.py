"""Batsim's JSON workload of delay profiles, in the spelling of version 4 or 5."""

from functools import partial
from pathlib import Path

import polars as pl

from philly_analysis.exports.codec import Codec, Notes, Written, accepted_jobs, read_format
from philly_analysis.exports.request import Request
from philly_analysis.results import count

_LEAST_S = 0.001


def _write(request: Request, path: Path, profile: str) -> Written:
    jobs = request.jobs
    walltime = pl.when(pl.col("time_limit_s").is_not_null()).then(
        pl.format(', "walltime": {}', pl.col("time_limit_s").round(3))
    )
    # version 5 refuses a file with a job that takes no time
    run_s = pl.col("run_s").round(3).clip(_LEAST_S)
    instant = int((jobs["run_s"].round(3) < _LEAST_S).sum())
    # ids are plain names, which need no escaping
    entries = jobs.select(
        pl.format(
            '{{"id": "{}", "subtime": {}, "res": {}, "profile": "delay_{}"{}}}',
            "id",
            pl.col("submit_s").round(3),
            "gpus",
            run_s,
            walltime.fill_null(""),
        )
    ).to_series()
    delays = (
        jobs.select(run_s.unique().sort().alias("s"))
        .select(pl.format('"delay_{}": {{"type": "{}", "delay": {}}}', "s", pl.lit(profile), "s"))
        .to_series()
    )
    resources = max(request.cluster.gpus, int(jobs["gpus"].max() or 0))  # type: ignore[arg-type]
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"nb_res": {resources},\n"jobs": [\n')
        file.write(",\n".join(entries))
        file.write('\n],\n"profiles": {\n')
        file.write(",\n".join(delays))
        file.write("\n}}\n")
    notes = Notes((f"{count(instant, 'run')} of no time: 1 ms each",) if instant else ())
    return Written(accepted_jobs(request, jobs["gpus"], jobs.select(run_s).to_series()), notes)


def _codec(profile: str) -> Codec:
    """Return the codec of a version of Batsim, by its name for a delay profile."""
    return partial(_write, profile=profile)


BATSIM = read_format("batsim", v4=_codec("delay"), v5=_codec("DelayProfile"))
