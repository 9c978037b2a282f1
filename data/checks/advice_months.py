"""Months of the independent simulator with idle jobs and bad servers, and what each job cost."""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.truth.scenarios import GPUS, SERVERS, Job, Scenario
from tests.truth.schedulers import BEGIN, Scheduler

DAY_S, HOUR_S = 86_400, 3_600
READING_S = 1_200
"""Seconds between two readings of a GPU."""
IDLE_H = 24.0
"""Mean hours for which a forgotten job keeps its GPUs."""
OUTAGE_S = 1_200
"""Seconds for which a server is down after a failure."""


@dataclass(frozen=True)
class Cluster:
    """A scheduler with jobs, and its waste.

    Attributes
    ----------
    idle
        Share of jobs that keep their GPUs after the work.
    idle_most_h
        Hours after which idle jobs are ended; None: never.
    bad
        Servers that fail.
    failures
        Failures of each bad server in a month.
    drained
        Servers that run no jobs in the first days, and do not fail any more.
    drained_d
        Days for which the servers are drained.
    checkpoint_h
        Hours between checkpoints, from which requeued jobs continue; None: they begin again.
    """

    scenario: Scenario
    idle: float = 0.0
    idle_most_h: float | None = None
    bad: tuple[int, ...] = ()
    failures: int = 0
    drained: tuple[int, ...] = ()
    drained_d: float = 0.0
    checkpoint_h: float | None = None


@dataclass
class Cost:
    """What a job cost: its GPUs, and the seconds that it waited and held them."""

    gpus: int
    wait_s: int = 0
    held_s: int = 0


class Month(Scheduler):
    """A month of a cluster, with the cost of each job and readings of its GPUs."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.scenario)
        self.cluster = cluster
        self.costs: dict[int, Cost] = {}
        self.busy_s: dict[int, int] = {}
        self.last_s = 0
        self.unused = [set(range(GPUS)) for _ in range(SERVERS)]
        self.held: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self.series: list[dict[str, object]] = []

    def jobs(self) -> list[Job]:
        """Return the jobs; some keep their GPUs after the work."""
        jobs = super().jobs()
        rng = np.random.default_rng(self.scenario.seed + 2)
        for job in jobs:
            self.costs[job.number] = Cost(job.gpus)
            self.busy_s[job.number] = job.run_s
            if rng.random() < self.cluster.idle:
                idle_s = int(rng.exponential(IDLE_H * HOUR_S))
                job.limit_s += idle_s
                if self.cluster.idle_most_h is not None:
                    idle_s = min(idle_s, int(self.cluster.idle_most_h * HOUR_S))
                job.run_s += idle_s
        self.last_s = jobs[-1].submitted_s
        return jobs

    def outages(self, last_s: int) -> Iterator[tuple[int, int, int]]:
        """Yield the failures of bad servers, and the servers that are drained."""
        rng = np.random.default_rng(self.scenario.seed + 3)
        for server in self.cluster.bad:
            for _ in range(round(self.cluster.failures * last_s / (30 * DAY_S))):
                begin_s = int(rng.integers(1, last_s))
                if server not in self.cluster.drained:
                    yield begin_s, begin_s + OUTAGE_S, server
        for server in self.cluster.drained:
            yield 0, int(self.cluster.drained_d * DAY_S), server

    def start_jobs(self, now_s: int) -> list[Job]:
        """Start jobs, and choose the GPUs of each job on its servers."""
        started = super().start_jobs(now_s)
        for job in started:
            for server, (gpus, _, _) in job.parts.items():
                for _ in range(gpus):
                    gpu = min(self.unused[server])
                    self.unused[server].remove(gpu)
                    self.held[job.number].append((server, gpu))
        return started

    def end(self, job: Job, now_s: int, state: str) -> None:
        """Record the cost and the readings, and log the job."""
        cost = self.costs[job.number]
        cost.wait_s += job.ready_s - job.submitted_s
        cost.held_s += now_s - job.ready_s
        for server, gpu in self.held.pop(job.number):
            self.unused[server].add(gpu)
            if self.cluster.idle:
                self.read(job, server, gpu, now_s)
        super().end(job, now_s, state)
        if state == "NODE_FAIL" and self.cluster.checkpoint_h is not None:
            every_s = int(self.cluster.checkpoint_h * HOUR_S)
            job.run_s -= (now_s - job.ready_s) // every_s * every_s

    def read(self, job: Job, server: int, gpu: int, until_s: int) -> None:
        """Record the readings of a GPU while a job holds it, as Prometheus prints them."""
        first_s = -(-job.ready_s // READING_S) * READING_S
        busy_until_s = job.ready_s + self.busy_s[job.number]
        labels = {
            "__name__": "DCGM_FI_DEV_GPU_UTIL",
            "Hostname": f"n{server:02}",
            "gpu": str(gpu),
            "hpc_job": str(job.number),
        }
        values = [
            (BEGIN.timestamp() + at_s, "90" if at_s < busy_until_s else "0")
            for at_s in range(first_s, until_s, READING_S)
        ]
        self.series.append({"metric": labels, "values": values})

    def write_readings(self, folder: Path) -> None:
        """Write the readings as the answer to a range query."""
        folder.mkdir(parents=True)
        answer = {"status": "success", "data": {"resultType": "matrix", "result": self.series}}
        (folder / "utilisation.json").write_text(json.dumps(answer))


def ran(cluster: Cluster) -> Month:
    """Return a simulated month of a cluster."""
    month = Month(cluster)
    month.run()
    return month
