"""Batsim's JSON workload of delay profiles, in the spelling of version 4 or 5."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from philly_analysis.exports.codec import Accepted, Codec, Notes, accepted_jobs, read_format
from philly_analysis.exports.dialect import Dialect
from philly_analysis.exports.request import Request
from philly_analysis.results import count

_LEAST_S = 0.001


def _write(request: Request, path: Path, profile: str) -> Notes:
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
    return Notes((f"{count(instant, 'run')} of no time: 1 ms each",) if instant else ())


def _accepted(request: Request, path: Path) -> Accepted:
    workload: dict[str, Any] = json.loads(path.read_text("utf-8"))
    delays = {name: profile["delay"] for name, profile in workload["profiles"].items()}
    jobs = workload["jobs"]
    run_s = pl.Series([delays[job["profile"]] for job in jobs], dtype=pl.Float64)
    return accepted_jobs(request, pl.Series([job["res"] for job in jobs]), run_s)


def _validate(_: Dialect, path: Path, __: Path | None, profile: str) -> list[str]:
    try:
        workload: dict[str, Any] = json.loads(path.read_text("utf-8"))
        resources, jobs, profiles = (workload[k] for k in ("nb_res", "jobs", "profiles"))
    except (ValueError, KeyError, TypeError) as error:
        return [f"{path.name}: not a Batsim workload ({error!r})"]
    found = []
    if not jobs:
        found.append(f"{path.name}: it has no jobs")
    ids = [job.get("id") for job in jobs]
    if len(set(ids)) != len(ids):
        found.append(f"{path.name}: job ids repeat")
    for name, entry in profiles.items():
        delay = entry.get("delay")
        if entry.get("type") != profile or not _number(delay) or delay <= 0:
            found.append(f"{path.name}: profile {name!r} is not a {profile}: {entry!r}")
            break
    for job in jobs:
        if not (
            isinstance(job.get("id"), str)
            and _number(job.get("subtime"))
            and type(job.get("res")) is int
            and 0 < job["res"] <= resources
            and job.get("profile") in profiles
            and ("walltime" not in job or (_number(job["walltime"]) and job["walltime"] > 0))
        ):
            found.append(f"{path.name}: not a job: {job!r}")
            break
    return found


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _codec(profile: str) -> Codec:
    """Return the codec of a version of Batsim, by its name for a delay profile."""
    return Codec(partial(_write, profile=profile), _accepted, partial(_validate, profile=profile))


BATSIM = read_format("batsim", v4=_codec("delay"), v5=_codec("DelayProfile"))
