"""Simulate a cluster of 16 servers with 8 GPUs in plain Python, and print its accounting log.

The truth is the scheduler's own state: why each job that it did not start could not start. Nothing
here is shared with the package.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.truth.scenarios import CPUS, GPUS, MEM_GB, SERVERS, Job, Parts, Scenario, jobs_of

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
FIELDS = (
    "JobIDRaw,JobID,Cluster,Partition,QOS,Account,User,UID,State,ExitCode,DerivedExitCode,Submit,"
    "Eligible,Start,End,ElapsedRaw,TimelimitRaw,Suspended,NNodes,NCPUS,ReqTRES,AllocTRES,NodeList,"
    "Reason,Flags,Priority,AdminComment"
)
REASONS = {"account": "AssocGrpGRES", "qos": "QOSGrpGRES", "user": "QOSMaxGRESPerUser"}


class Scheduler:
    """The cluster: free resources of servers, the queue, and the seconds waited by cause."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.free = [[GPUS, CPUS, MEM_GB] for _ in range(SERVERS)]
        self.down: set[int] = set()
        self.used: defaultdict[str, int] = defaultdict(int)
        self.queue: list[Job] = []
        self.running: dict[Job, None] = {}  # in the order of starts, so that logs can be repeated
        self.truth: defaultdict[str, float] = defaultdict(float)
        self.gpu_truth: defaultdict[str, float] = defaultdict(float)
        self.lines: list[str] = []
        self.caps = dict(scenario.caps)

    def cap(self, owner: str) -> int:
        """Return the most GPUs that jobs of an owner may hold together."""
        return self.caps.get(owner, self.caps.get("each", SERVERS * GPUS))

    def servers_of(self, partition: int) -> Iterator[int]:
        """Yield the servers in service of a partition."""
        if self.scenario.shared:
            return (i for i in range(SERVERS) if i not in self.down)
        size = SERVERS // self.scenario.partitions
        return (i for i in range(partition * size, (partition + 1) * size) if i not in self.down)

    def place(self, job: Job, free: list[list[int]], *, gpus_only: bool = False) -> Parts | None:
        """Return where a job fits: on one server, the fullest; else on those with most free."""
        cpus, mem_gb = (0, 0) if gpus_only else (job.cpus, job.mem_gb)
        here = list(self.servers_of(job.partition))
        servers = max(1, job.servers)
        part = (job.gpus // servers, cpus // servers, mem_gb // servers)
        fits = [i for i in here if all(free[i][k] >= part[k] for k in range(3))]
        if len(fits) >= servers:
            taken = sorted(fits, key=lambda i: free[i][0])[:servers]
            whole = (job.gpus, job.cpus, job.mem_gb)
            return {i: tuple(amount // servers for amount in whole) for i in taken}  # type: ignore[misc]
        if job.servers:
            return None
        parts: Parts = {}
        missing = job.gpus
        for i in sorted(here, key=lambda i: -free[i][0]):
            take = min(missing, free[i][0])
            if not gpus_only and job.cpus:
                take = min(take, free[i][1] * job.gpus // job.cpus)
            if take > 0:
                parts[i] = (take, job.cpus * take // job.gpus, job.mem_gb * take // job.gpus)
                missing -= take
        return None if missing else parts

    def cause(self, job: Job) -> str:
        """Return why a job cannot start now; behind: it could."""
        if self.used[job.owner] + job.gpus > self.cap(job.owner):
            return "limit"
        if sum(self.free[i][0] for i in self.servers_of(job.partition)) < job.gpus:
            return "too_few"
        if self.place(job, self.free, gpus_only=True) is None:
            return "fragmented"
        return "behind" if self.place(job, self.free) else "stranded"

    def shadow(self, head: Job, now_s: int) -> tuple[float, list[list[int]]]:
        """Return when the head will fit by the time limits, and what is then free beside it."""
        free = [list(f) for f in self.free]
        ends = sorted(
            (j for j in self.running if self.scenario.shared or j.partition == head.partition),
            key=lambda j: (j.ready_s + j.limit_s, j.number),
        )
        for job in ends:
            _change(free, job.parts, 1)
            if parts := self.place(head, free):
                _change(free, parts, -1)
                return max(now_s, job.ready_s + job.limit_s), free
        return float("inf"), free

    def start_jobs(self, now_s: int) -> list[Job]:
        """Start what the policy allows, in order of submission, and return the jobs."""
        started: list[Job] = []
        for partition in range(self.scenario.partitions):
            head: Job | None = None
            shadow_s, later = float("inf"), self.free
            for job in [j for j in self.queue if j.partition == partition]:
                if job.eligible_s > now_s or self.cause(job) == "limit":
                    continue
                parts = self.place(job, self.free)
                if head is None and parts is None and self.scenario.policy != "first_fit":
                    if self.scenario.policy == "strict":
                        break
                    head = job
                    shadow_s, later = self.shadow(head, now_s)
                    continue
                if parts is None:
                    continue
                if head is not None and now_s + self.scenario.start_up_s + job.limit_s > shadow_s:
                    if any(later[i][k] < p[k] for i, p in parts.items() for k in range(3)):
                        continue
                    _change(later, parts, -1)
                _change(self.free, parts, -1)
                job.parts = parts
                self.used[job.owner] += job.gpus
                self.running[job] = None
                started.append(job)
        self.queue = [j for j in self.queue if j not in self.running]
        return started

    def classify(self, now_s: int) -> None:
        """Record why each job in the queue waits from now on."""
        causes: dict[tuple[object, ...], str] = {}
        for job in self.queue:
            if job.eligible_s > now_s:
                job.waiting = "held"
                continue
            if job.request not in causes:
                causes[job.request] = self.cause(job)
            job.waiting = causes[job.request]

    def wait(self, job: Job, cause: str, seconds: int) -> None:
        """Count seconds of a job's wait."""
        self.truth[cause] += seconds
        self.gpu_truth[cause] += seconds * job.gpus

    def jobs(self) -> list[Job]:
        """Return the jobs, in order of submission."""
        return jobs_of(self.scenario)

    def outages(self, last_s: int) -> Iterator[tuple[int, int, int]]:
        """Yield begin and end (s) of each outage and its server; `last_s`: the last submission."""
        rng = random.Random(-self.scenario.seed)
        for _ in range(self.scenario.failures):
            begin_s, server = rng.randrange(1, last_s), rng.randrange(SERVERS)
            yield begin_s, begin_s + 1_200, server

    def run(self) -> None:
        """Simulate all jobs."""
        s = self.scenario
        events: list[tuple[int, int, str, Job | int, int]] = []
        tick = iter(range(10**9))

        def at(moment: int, kind: str, what: Job | int, attempt: int = 0) -> None:
            heapq.heappush(events, (moment, next(tick), kind, what, attempt))

        jobs = self.jobs()
        for job in jobs:
            at(job.submitted_s, "submit", job)
            if job.eligible_s > job.submitted_s:
                at(job.eligible_s, "eligible", job)
        for begin_s, end_s, server in self.outages(jobs[-1].submitted_s):
            at(begin_s, "fail", server)
            at(end_s, "repair", server)
        last_s = 0
        while events:
            now_s = events[0][0]
            for job in self.queue:
                self.wait(job, job.waiting, now_s - last_s)
            while events and events[0][0] == now_s:
                _, _, kind, what, attempt = heapq.heappop(events)
                if kind == "submit" and isinstance(what, Job):
                    self.queue.append(what)
                elif kind == "end" and isinstance(what, Job) and what.attempt == attempt:
                    self.end(what, now_s, "COMPLETED")
                elif kind == "repair" and isinstance(what, int):
                    self.down.discard(what)
                elif kind == "fail" and isinstance(what, int):
                    self.down.add(what)
                    ended = [j for j in self.running if what in j.parts and j.ready_s < now_s]
                    for job in sorted(ended, key=lambda j: j.number):
                        self.end(job, now_s, "NODE_FAIL")
                        job.submitted_s = job.eligible_s = now_s
                        self.queue.append(job)
            for job in self.start_jobs(now_s):
                job.attempt += 1
                job.ready_s = now_s + s.start_up_s
                self.wait(job, "start_up", s.start_up_s)
                at(job.ready_s + job.run_s, "end", job, job.attempt)
            self.classify(now_s)
            last_s = now_s

    def end(self, job: Job, now_s: int, state: str) -> None:
        """Release what a job holds, and log it."""
        self.running.pop(job, None)
        self.used[job.owner] -= job.gpus
        _change(self.free, job.parts, 1)
        job.attempt += state == "NODE_FAIL"  # its end no longer counts
        nodes = len(job.parts)
        tres = f"cpu={job.cpus},gres/gpu={job.gpus},mem={job.mem_gb}G,node="
        asked = job.servers or 1  # Slurm prints 1 for jobs that request no number of servers
        stated = job.waiting == "limit" and self.scenario.reasons
        reason = REASONS[self.scenario.cap_of] if stated else "None"
        values = [
            job.number, job.number, "truth", f"p{job.partition}", job.qos, job.account,
            job.user, 1000 + job.number % 17, state, "0:0", "0:0",
            _time(job.submitted_s), _time(job.eligible_s), _time(job.ready_s), _time(now_s),
            now_s - job.ready_s, job.limit_s // 60 + 1, "00:00:00", nodes, job.cpus,
            f"{tres}{asked}", f"{tres}{nodes}",
            ",".join(f"n{i:02}" for i in sorted(job.parts)), reason, "SchedMain", 1, "",
        ]  # fmt: skip
        self.lines.append("^|^".join(map(str, values)))

    def write(self, folder: Path) -> Path:
        """Write what sacct and scontrol print."""
        folder.mkdir(parents=True)
        header = "^|^".join(FIELDS.split(","))
        (folder / "sacct.txt").write_text("\n".join([header, *self.lines, ""]))
        if self.scenario.limits:
            self.write_limits(folder)
        (folder / "nodes.txt").write_text(
            "".join(
                f"NodeName=n{i:02} CPUTot={CPUS} RealMemory={MEM_GB * 1024} Gres=gpu:{GPUS} "
                f"Partitions={self.partitions_of(i)}\n"
                for i in range(SERVERS)
            )
        )
        return folder

    def partitions_of(self, server: int) -> str:
        """Return the names of a server's partitions."""
        n = self.scenario.partitions
        numbers = range(n) if self.scenario.shared else [server // (SERVERS // n)]
        return ",".join(f"p{i}" for i in numbers)

    def write_limits(self, folder: Path) -> None:
        """Write the caps as sacctmgr prints them."""
        scope = self.scenario.cap_of
        if scope == "account":
            rows = [f"truth|{owner}||1|gres/gpu={n}" for owner, n in self.caps.items()]
            text = "\n".join(["Cluster|Account|User|Share|GrpTRES", "truth|root||1|", *rows, ""])
            (folder / "assoc.txt").write_text(text)
            return
        grp = self.caps if scope == "qos" else {}
        each = f"gres/gpu={self.caps['each']}" if scope == "user" else ""
        rows = [
            f"{qos}|0|{f'gres/gpu={grp[qos]}' if qos in grp else ''}|{each}"
            for qos in ("normal", "high")
        ]
        text = "\n".join(["Name|Priority|GrpTRES|MaxTRESPU", *rows, ""])
        (folder / "qos.txt").write_text(text)

    def shares(self) -> dict[str, float]:
        """Return the percentage of the waiting time that each cause has."""
        total = sum(self.truth.values())
        return {cause: 100 * s / total for cause, s in self.truth.items() if s}


def _change(free: list[list[int]], parts: Parts, sign: int) -> None:
    for i, part in parts.items():
        for k in range(3):
            free[i][k] += sign * part[k]


def _time(seconds: int) -> str:
    return f"{BEGIN + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}"


def simulate(scenario: Scenario, folder: Path) -> dict[str, float]:
    """Write the log of a scenario and return the true percentages by cause."""
    scheduler = Scheduler(scenario)
    scheduler.run()
    scheduler.write(folder)
    return scheduler.shares()
