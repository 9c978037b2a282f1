"""Check relations that are merged after appends against relations of all jobs."""

import random
import shutil
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from philly_analysis import ingest
from philly_analysis.trace import appended
from philly_analysis.trace.relations import relations
from philly_analysis.trace.trace import Trace
from tests.ingest.test_append import assert_same_relations

SERVERS, GPUS = 4, 4
STORED = [name for name, relation in relations().items() if relation.materialized]
MERGED = [name for name, relation in relations().items() if relation.merges]
FIELDS = (
    "JobIDRaw|Cluster|Partition|User|Account|State|Submit|Eligible|Start|End|ReqTRES|AllocTRES|"
    "NodeList|Reason|TimelimitRaw|ExitCode"
)


@dataclass(frozen=True)
class Record:
    """A record of Slurm: a job, or one run of a job that was requeued."""

    job: int
    vc: str
    user: str
    gpus: int
    submitted: datetime
    eligible: datetime
    limit_min: int
    started: datetime | None = None
    ended: datetime | None = None
    servers: tuple[int, ...] = ()
    state: str = "COMPLETED"

    def printed(self, at: datetime) -> str:
        """The line that sacct prints at a moment."""
        started = self.started if self.started and self.started <= at else None
        ended = self.ended if self.ended and self.ended <= at else None
        state = self.state if ended else "RUNNING" if started else "PENDING"
        servers = "".join(f"n{n}," for n in self.servers)[:-1] if started else "None assigned"
        held = f"gres/gpu={self.gpus}" if started else ""
        fields = (
            self.job, "a", self.vc, self.user, f"of-{self.user}", state, text(self.submitted),
            text(self.eligible), text(started), text(ended), f"gres/gpu={self.gpus}", held,
            servers, "None" if started else "Resources", self.limit_min,
            "1:0" if state == "FAILED" else "0:0",
        )  # fmt: skip
        return "|".join(map(str, fields))

    def last_change(self) -> datetime:
        return max(filter(None, (self.submitted, self.started, self.ended)))


def text(moment: datetime | None) -> str:
    return moment.isoformat() if moment else "Unknown"


def schedule(rng: random.Random, jobs: int) -> list[Record]:
    """Run jobs on a few servers, in order or not; some are requeued, or never start."""
    now, free = datetime(2026, 1, 1), [GPUS] * SERVERS
    arrivals, waiting, running, done = (list[Record]() for _ in range(4))
    for number in range(jobs):
        now += timedelta(seconds=rng.choice([1, 60, 600, 4000, 9000]))
        arrivals.append(
            Record(
                number,
                rng.choice("pq"),
                rng.choice("uvw"),
                rng.choice([1, 1, 2, 4, 8]),
                now,
                now + timedelta(seconds=rng.choice([0, 0, 0, 3000])),
                rng.choice([60, 600]),
            )
        )
    now = datetime(2026, 1, 1)
    while arrivals or running or waiting:
        now += timedelta(seconds=rng.randint(5, 900))
        while arrivals and arrivals[0].submitted <= now:
            waiting.append(arrivals.pop(0))
        for run in [r for r in running if r.ended and r.ended <= now]:
            running.remove(run)
            done.append(run)
            for server in run.servers:
                free[server] += run.gpus // len(run.servers)
            if run.state == "NODE_FAIL":
                again = replace(run, started=None, ended=None, servers=(), state="COMPLETED")
                waiting.append(replace(again, eligible=run.ended or now))
        for job in list(waiting):
            if job.eligible > now:
                continue
            if rng.random() < 0.01:
                waiting.remove(job)
                done.append(replace(job, ended=now, state="CANCELLED"))
                continue
            each = min(job.gpus, GPUS)
            fitting = [n for n in range(SERVERS) if free[n] >= each][: job.gpus // each]
            if len(fitting) < job.gpus // each:
                if rng.random() < 0.7:
                    break
                continue
            waiting.remove(job)
            for server in fitting:
                free[server] -= each
            hours = rng.choice([0, 0.2, 1, 1, 2, 12])
            state = rng.choice(["COMPLETED"] * 6 + ["FAILED", "CANCELLED", "NODE_FAIL"])
            end = now + timedelta(hours=hours, seconds=rng.randint(0, 300))
            run = replace(job, started=now, ended=end, servers=tuple(fitting), state=state)
            running.append(run)
    return done


def prints(rng: random.Random, records: list[Record], times: int) -> list[list[str]]:
    """What sacct prints of all records that changed since the print before."""
    first, last = min(r.submitted for r in records), max(r.last_change() for r in records)
    moments = sorted(first + (last - first) * rng.uniform(0.5, 1) for _ in range(times - 1))
    pages, before = [], datetime.min
    for at in (*moments, last):
        current = [r for r in records if r.submitted <= at and r.last_change() > before]
        # a requeued job's next run is printed once its run before has ended
        shown = [r for r in current if r.eligible <= at or r.submitted == r.eligible]
        pages.append([r.printed(at) for r in shown])
        before = at
    return pages


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_merged_relations_equal_those_of_all_jobs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    monkeypatch.setattr(appended, "FEWEST_JOBS", 0)
    rng = random.Random(seed)
    out, merged = tmp_path / "t", set[str]()
    records = schedule(rng, 80)
    for i, page in enumerate(prints(rng, records, rng.choice([2, 3, 5]))):
        log = tmp_path / f"{i}.txt"
        log.write_text("\n".join([FIELDS, *page, ""]), "utf-8")
        ingest("slurm", log, out, append=True)
        if i and rng.random() < 0.3:  # sometimes nothing is asked for between appends
            continue
        whole = tmp_path / f"w{i}"
        shutil.copytree(out, whole, ignore=shutil.ignore_patterns("derived"))
        with Trace(out) as trace:
            here = [name for name in STORED if trace.has(name)]
        assert_same_relations(out, whole, here)
        merged |= {
            name for name in MERGED if any((out / "derived").glob(f"{name}-*/recent.parquet"))
        }
    if seed == 2:
        assert merged == set(MERGED)
