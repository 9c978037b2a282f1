"""Compute all numbers of a raw Philly archive in plain Python, job by job.

Nothing of the package is used here, no SQL and no data frames: loops, lists and dictionaries,
so that agreement with the package means that two different computations agree.
"""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path

FAKE_START = datetime(2017, 9, 2, 3, 45, 2)
BEHIND_UTC = {"PDT": timedelta(hours=7), "PST": timedelta(hours=8)}
EPOCH = datetime(1970, 1, 1)


@dataclass
class Attempt:
    number: int
    start: datetime | None
    end: datetime | None
    held: list[tuple[str, int]]
    flag: str | None = None
    runs: bool = False
    """it still ran as the log ended"""

    def until(self, log_end: datetime) -> datetime | None:
        return log_end if self.runs else self.end


@dataclass
class Job:
    job_id: str
    vc: str | None
    user: str | None
    status: str
    submitted: datetime
    gpus: int | None
    attempts: list[Attempt]
    flag: str | None = None


@dataclass
class Reading:
    """The readings of one GPU during one attempt."""

    expected: int = 0
    offline: int = 0
    values: list[float] = field(default_factory=list)


def lines_of(folder: Path, name: str) -> Iterator[str]:
    """Lines of a raw file, compressed or not, without their ends."""
    plain = folder / name
    packed = folder / f"{name}.gz"
    raw = plain.read_bytes() if plain.is_file() else gzip.decompress(packed.read_bytes())
    yield from raw.decode().splitlines()


@cache
def clock(text: object) -> datetime | None:
    """A moment of the job log, which is UTC; None where it is not known or no time at all."""
    try:
        return datetime.strptime(str(text), "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None


@cache
def read_jobs(folder: Path) -> list[Job]:
    """Jobs that a trace should hold, with the attempts that it should hold, in their order."""
    entries = json.loads("\n".join(lines_of(folder, "cluster_job_log")))
    jobs: dict[str, Job] = {}
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("jobid") is None:
            continue
        submitted = clock(entry["submitted_time"])
        if (
            submitted is None
            or entry["status"] not in ("Pass", "Killed", "Failed")
            or entry["jobid"] in jobs
        ):
            continue
        attempts, gangs, latest = [], [], None
        for number, raw in enumerate(entry["attempts"], start=1):
            held = [(d["ip"], int(gpu[3:])) for d in raw["detail"] for gpu in d["gpus"]]
            start, end = clock(raw["start_time"]), clock(raw["end_time"])
            if held:
                gangs.append(len(held))
            flag = None
            if start and latest and start < latest:
                flag = "overlaps_previous"
            if start == FAKE_START:
                flag = "fake_start"
            if end and (latest is None or end > latest):
                latest = end
            if start is None or end is None or end >= start:
                attempts.append(Attempt(number, start, end, held, flag))
        if attempts and attempts[-1].end is None:
            attempts[-1].runs = True
        gpus = gangs[0] if gangs else None
        jobs[entry["jobid"]] = Job(
            entry["jobid"], entry["vc"], entry["user"], entry["status"], submitted, gpus, attempts
        )
    since = complete_since([clock(e["submitted_time"]) for e in entries if isinstance(e, dict)])
    for job in jobs.values():
        if since and job.submitted < since:
            job.flag = "left_truncated"
    return list(jobs.values())


def complete_since(submissions: list[datetime | None]) -> datetime | None:
    """First day with a quarter of a typical day's jobs, if the log is thin for a week before."""
    days = Counter(s.replace(hour=0, minute=0, second=0) for s in submissions if s)
    if not days:
        return None
    by_job = sorted(n for n in days.values() for _ in range(n))
    typical = (by_job[(len(by_job) - 1) // 2] + by_job[len(by_job) // 2]) / 2
    since = min(day for day, n in days.items() if 4 * n >= typical)
    return since if since >= min(days) + timedelta(days=7) else None


def log_end(jobs: list[Job]) -> datetime:
    """Last moment that the log knows of."""
    moments = [j.submitted for j in jobs]
    moments += [t for j in jobs for a in j.attempts for t in (a.start, a.end) if t]
    return max(moments)


def waits(jobs: list[Job]) -> dict[tuple[str, int], tuple[float, str | None]]:
    """Seconds that each attempt waited, and why that is not to be trusted."""
    values = {}
    for job in jobs:
        since: datetime | None = job.submitted
        for a in job.attempts:
            if a.start is not None and since is not None:
                wait = (a.start - since).total_seconds()
                flag = a.flag or job.flag or ("negative_wait" if wait < 0 else None)
                values[job.job_id, a.number] = (wait, flag)
            since = a.end
    return values


@dataclass
class Run:
    """How long a job ran by the three policies, in seconds, and its GPU hours."""

    span: float | None
    total: float | None
    last: float | None
    censored: bool
    gpu_h: float | None
    flag: str | None


def run(job: Job, end_of_log: datetime) -> Run:
    """Work out the run time of one job."""
    started = [a for a in job.attempts if a.start is not None]
    lengths = {
        a.number: (until - a.start).total_seconds()
        for a in started
        if a.start is not None and (until := a.until(end_of_log)) is not None
    }
    flag = job.flag or min((a.flag for a in job.attempts if a.flag), default=None)
    if not started:
        return Run(None, None, None, False, None, flag)
    censored = any(a.runs for a in started)
    gpu_s = [
        lengths[a.number] * gpus
        for a in started
        if a.number in lengths and (gpus := len(a.held) or job.gpus)
    ]
    gpu_h = sum(gpu_s) / 3600 if gpu_s else None
    if started[-1].number not in lengths:
        return Run(None, None, None, censored, gpu_h, flag or "end_unknown")
    last = max(u for a in started if (u := a.until(end_of_log)) is not None)
    span = (last - min(a.start for a in started if a.start)).total_seconds()
    return Run(span, sum(lengths.values()), lengths[started[-1].number], censored, gpu_h, flag)


def minute(at: datetime) -> int:
    """Minutes since 1970 in which a moment falls."""
    return (at - EPOCH) // timedelta(minutes=1)


Values = list[float | None]
"""Utilisation by GPU; None: offline."""


@cache
def read_gpus(folder: Path) -> dict[str, dict[int, Values]]:
    """Values of each machine's GPUs by UTC minute."""
    rows: dict[str, dict[int, Values]] = defaultdict(dict)
    for line in list(lines_of(folder, "cluster_gpu_util"))[1:]:
        fields = line.split(",")
        local, zone = clock(fields[0][:-4]), fields[0][-3:]
        if local is None or zone not in BEHIND_UTC or len(fields) < 11:
            continue
        while fields[-1] == "":
            fields.pop()
        try:
            values = [None if v == "NA" else float(v) for v in fields[2:]]
        except ValueError:
            continue
        if any(v is not None and not 0 <= v <= 100 for v in values):
            continue
        rows[fields[1]].setdefault(minute(local + BEHIND_UTC[zone]), values)
    # a row of 16 values has each GPU twice; so has every row of a machine all of whose rows
    # come in equal pairs and that no job used beyond the first half
    used: dict[str, int] = defaultdict(int)
    for job in read_jobs(folder):
        for a in job.attempts:
            for machine, gpu in a.held:
                used[machine] = max(used[machine], gpu + 1)
    for machine, by_minute in rows.items():
        single = [v for v in by_minute.values() if len(v) <= 8]
        paired = (
            any(any(v) for v in single)
            and all(len(v) % 2 == 0 and v[::2] == v[1::2] for v in single)
            and all(2 * used[machine] <= len(v) for v in single)
        )
        for at, values in by_minute.items():
            if paired or len(values) > 8:
                by_minute[at] = values[::2]
    return rows


@cache
def read_gpu_use(folder: Path) -> dict[tuple[str, int, str, int], Reading]:
    """Walk minute by minute through each GPU of each attempt whose start and end are known."""
    rows = read_gpus(folder)
    moments = sorted({at for by_minute in rows.values() for at in by_minute})
    step = min(b - a for a, b in pairwise(moments))  # minutes that a reading stands for
    answers = {}
    for job in read_jobs(folder):
        for a in job.attempts:
            if a.start is None or a.end is None:
                continue
            for machine, gpu in a.held:
                seen = Reading()
                by_minute = rows.get(machine, {})
                last = minute(a.end) + (a.end.second > 0)
                for at in range(minute(a.start), last):
                    seen.expected += 1
                    values = by_minute.get(at - at % step)
                    if values is not None:
                        value = values[gpu] if gpu < len(values) else None
                        if value is None:
                            seen.offline += 1
                        else:
                            seen.values.append(value)
                answers[job.job_id, a.number, machine, gpu] = seen
    return answers
