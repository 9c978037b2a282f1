"""Batsim's JSON workload of delay profiles, in the spelling of version 4 or 5."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
from philly_analysis.exports.request import Request
from philly_analysis.results import count

_LEAST_S = 0.001


def _write(request: Request, path: Path, spelling: str) -> Written:
    jobs = request.jobs
    walltime = pl.when(pl.col("time_limit_s").is_not_null()).then(
        pl.format(', "walltime": {}', pl.col("time_limit_s").round(3))
    )
    # version 5 refuses the whole file for one job that takes no time
    run_s = pl.col("run_s").round(3).clip(_LEAST_S)
    instant = int((jobs["run_s"].round(3) < _LEAST_S).sum())
    # ids are plain, so nothing in them needs escaping
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
        .select(pl.format('"delay_{}": {{"type": "{}", "delay": {}}}', "s", pl.lit(spelling), "s"))
        .to_series()
    )
    resources = max(request.cluster.gpus, int(jobs["gpus"].max() or 0))  # type: ignore[arg-type]
    with path.open("w", encoding="utf-8") as file:
        file.write(f'{{"nb_res": {resources},\n"jobs": [\n')
        file.write(",\n".join(entries))
        file.write('\n],\n"profiles": {\n')
        file.write(",\n".join(delays))
        file.write("\n}}\n")
    return Written(
        jobs=jobs.height,
        assumed=(
            "a job is a delay: how fast it runs never changes",
            *([f"{count(instant, 'run')} of no time: 1 ms each"] if instant else []),
        ),
    )


def _taken(request: Request, path: Path) -> Taken:
    workload: dict[str, Any] = json.loads(path.read_text("utf-8"))
    delays = {name: profile["delay"] for name, profile in workload["profiles"].items()}
    jobs = workload["jobs"]
    run_s = pl.Series([delays[job["profile"]] for job in jobs], dtype=pl.Float64)
    return taken_of(request, pl.Series([job["res"] for job in jobs]), run_s)


def _faults(path: Path, spelling: str) -> list[str]:
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
    for name, profile in profiles.items():
        delay = profile.get("delay")
        if profile.get("type") != spelling or not _number(delay) or delay <= 0:
            found.append(f"{path.name}: profile {name!r} is not a {spelling}: {profile!r}")
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


_RUN = """git clone https://github.com/oar-team/batsim && cd batsim && git checkout v4.2.1
sed "s/0-511/0-$$(($gpus - 1))/" platforms/cluster512.xml > export.xml
cat > fcfs.py <<'END'
from batsim.batsim import BatsimScheduler
from procset import ProcSet

class Fcfs(BatsimScheduler):
    def onAfterBatsimInit(self):
        self.queue, self.free = [], ProcSet((0, self.bs.nb_compute_resources - 1))

    def start(self):
        while self.queue and self.queue[0].requested_resources <= len(self.free):
            job = self.queue.pop(0)
            job.allocation = ProcSet(*list(self.free)[:job.requested_resources])
            self.free -= job.allocation
            self.bs.execute_jobs([job])

    def onJobSubmission(self, job):
        self.queue.append(job)
        self.start()

    def onJobCompletion(self, job):
        self.free |= job.allocation
        self.start()
END
batsim -p export.xml -w $$OUT -e result &
pybatsim fcfs.py && wait"""
"""Batsim leaves the scheduler to others: here the shortest that there is."""

_V4 = Program(
    "Batsim up to 4.2",
    source="oar-team/batsim v4.2.1",
    needs="Batsim 4.2.1 built with SimGrid 3.32 as `batsim`; Python 3.9, pybatsim 3.2.1",
    command=_RUN,
    rules="every job that takes time",
)
_V5 = Program("Batsim 5", rules=_V4.rules)


def _dialect(name: str, spelling: str, program: Program) -> Dialect:
    return Dialect(
        name=name,
        program=program,
        carries="arrival, gang size, run time, time limit",
        write=lambda request, path: _write(request, path, spelling),
        taken=_taken,
        faults=lambda path, _: _faults(path, spelling),
        not_carried=("users, virtual clusters, status, waits, attempts and placements",),
    )


BATSIM = Format("batsim", (_dialect("v4", "delay", _V4), _dialect("v5", "DelayProfile", _V5)))
