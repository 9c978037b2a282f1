"""Simulate a cluster of 16 servers with 8 GPUs in plain Python, and print its accounting log.

The truth is the scheduler's own state: why each job that it did not start could not start. Nothing
here is shared with the package.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

SERVERS, GPUS, CPUS, MEM_GB = 16, 8, 64, 512
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
FIELDS = (
    "JobIDRaw,JobID,Cluster,Partition,QOS,Account,User,UID,State,ExitCode,DerivedExitCode,Submit,"
    "Eligible,Start,End,ElapsedRaw,TimelimitRaw,Suspended,NNodes,NCPUS,ReqTRES,AllocTRES,NodeList,"
    "Reason,Flags,Priority,AdminComment"
)

Parts = dict[int, tuple[int, int, int]]
"""GPUs, CPUs and memory that a job takes of each server."""


@dataclass(frozen=True)
class Scenario:
    """A scheduler, and the jobs that it gets.

    Attributes
    ----------
    policy
        ``first_fit``: every job that fits starts, in order; ``strict``: no job starts before an
        earlier one; ``easy``: backfill that does not delay the first job that does not fit.
    spreadable
        Share of jobs that may run on any servers; others run on the fewest.
    cpu_heavy
        Share of one-GPU jobs that take half of a server's CPUs.
    idle
        Share of jobs that hold GPUs ten times as long.
    start_up_s
        Seconds from the allocation to the start that the log shows.
    failures
        Failures of servers: each ends jobs, which are requeued.
    stretch
        Factor of all run times.
    """

    policy: str = "easy"
    load: float = 0.85
    jobs: int = 6_000
    caps: tuple[tuple[str, int], ...] = ()
    partitions: int = 1
    spreadable: float = 0.0
    cpu_heavy: float = 0.0
    idle: float = 0.0
    start_up_s: int = 0
    failures: int = 0
    held: float = 0.0
    seed: int = 1
    stretch: int = 1


@dataclass(eq=False)
class Job:
    """A job, and what became of it."""

    number: int
    submitted_s: int
    gpus: int
    servers: int
    cpus: int
    mem_gb: int
    account: str
    partition: int
    run_s: int
    limit_s: int
    eligible_s: int
    waiting: str = ""
    attempt: int = 0
    ready_s: int = 0
    parts: Parts = field(default_factory=dict)

    @property
    def request(self) -> tuple[object, ...]:
        """What decides why the job waits: equal for jobs that wait for the same cause."""
        return (self.account, self.gpus, self.servers, self.cpus, self.mem_gb, self.partition)


def jobs_of(s: Scenario) -> list[Job]:
    """Draw the jobs: Poisson arrivals, log-normal run times with a mean of an hour."""
    rng = random.Random(s.seed)
    accounts = [f"a{i}" for i in range(4)]
    drawn = []
    for number in range(1, s.jobs + 1):
        gpus = rng.choices([1, 2, 4, 8], [50, 20, 15, 15])[0]
        run_s = max(30, int(min(rng.lognormvariate(7.5, 1.2), 86_400)))
        if rng.random() < s.idle:
            run_s *= 10
        run_s *= s.stretch
        heavy = gpus == 1 and rng.random() < s.cpu_heavy
        cpus = CPUS // 2 if heavy else 4 * gpus
        drawn.append(
            Job(
                number, 0, gpus, 0 if rng.random() < s.spreadable else 1, cpus, 32 * gpus,
                rng.choices(accounts, [4, 3, 2, 1])[0], rng.randrange(s.partitions), run_s,
                int(run_s * rng.uniform(1, 3)) + 60, 0,
            )
        )  # fmt: skip
    work = sum(j.gpus * j.run_s for j in drawn)
    span_s = work / (s.load * SERVERS * GPUS)
    for job, moment in zip(drawn, sorted(rng.uniform(0, span_s) for _ in drawn), strict=True):
        job.submitted_s = int(moment)
        hold_s = int(rng.expovariate(1 / 3_600)) if rng.random() < s.held else 0
        job.eligible_s = job.submitted_s + hold_s
    return drawn


class Scheduler:
    """The cluster: free resources of servers, the queue, and the seconds waited by cause."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.free = [[GPUS, CPUS, MEM_GB] for _ in range(SERVERS)]
        self.down: set[int] = set()
        self.used: defaultdict[str, int] = defaultdict(int)
        self.queue: list[Job] = []
        self.running: set[Job] = set()
        self.truth: defaultdict[str, float] = defaultdict(float)
        self.gpu_truth: defaultdict[str, float] = defaultdict(float)
        self.lines: list[str] = []
        self.caps = dict(scenario.caps)

    def servers_of(self, partition: int) -> Iterator[int]:
        """Yield the servers in service of a partition."""
        size = SERVERS // self.scenario.partitions
        return (i for i in range(partition * size, (partition + 1) * size) if i not in self.down)

    def place(self, job: Job, free: list[list[int]], *, gpus_only: bool = False) -> Parts | None:
        """Return where a job fits: on one server, the fullest; else on those with most free."""
        cpus, mem_gb = (0, 0) if gpus_only else (job.cpus, job.mem_gb)
        here = list(self.servers_of(job.partition))
        fits = [
            i for i in here
            if free[i][0] >= job.gpus and free[i][1] >= cpus and free[i][2] >= mem_gb
        ]  # fmt: skip
        if fits:
            return {min(fits, key=lambda i: free[i][0]): (job.gpus, job.cpus, job.mem_gb)}
        if job.servers == 1:
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
        if self.used[job.account] + job.gpus > self.caps.get(job.account, SERVERS * GPUS):
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
            (j for j in self.running if j.partition == head.partition),
            key=lambda j: j.ready_s + j.limit_s,
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
                self.used[job.account] += job.gpus
                self.running.add(job)
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

    def run(self) -> None:
        """Simulate all jobs."""
        s = self.scenario
        rng = random.Random(-s.seed)
        events: list[tuple[int, int, str, Job | int, int]] = []
        tick = iter(range(10**9))

        def at(moment: int, kind: str, what: Job | int, attempt: int = 0) -> None:
            heapq.heappush(events, (moment, next(tick), kind, what, attempt))

        jobs = jobs_of(s)
        for job in jobs:
            at(job.submitted_s, "submit", job)
            if job.eligible_s > job.submitted_s:
                at(job.eligible_s, "eligible", job)
        for _ in range(s.failures):
            moment, server = rng.randrange(1, jobs[-1].submitted_s), rng.randrange(SERVERS)
            at(moment, "fail", server)
            at(moment + 1_200, "repair", server)
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
                    for job in [j for j in self.running if what in j.parts and j.ready_s < now_s]:
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
        self.running.discard(job)
        self.used[job.account] -= job.gpus
        _change(self.free, job.parts, 1)
        job.attempt += state == "NODE_FAIL"  # its end no longer counts
        nodes = len(job.parts)
        tres = f"cpu={job.cpus},gres/gpu={job.gpus},mem={job.mem_gb}G,node="
        asked = 1  # as Slurm prints it for one server, and for no number of servers
        reason = "AssocGrpGRES" if job.waiting == "limit" else "None"
        values = [
            job.number, job.number, "truth", f"p{job.partition}", "normal", job.account,
            f"u{job.number % 17}", 1000 + job.number % 17, state, "0:0", "0:0",
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
        size = SERVERS // self.scenario.partitions
        (folder / "nodes.txt").write_text(
            "".join(
                f"NodeName=n{i:02} CPUTot={CPUS} RealMemory={MEM_GB * 1024} Gres=gpu:{GPUS} "
                f"Partitions=p{i // size}\n"
                for i in range(SERVERS)
            )
        )
        return folder

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
