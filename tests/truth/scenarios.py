"""Describe schedulers of a cluster of 16 servers with 8 GPUs, and draw jobs for them."""

import random
from dataclasses import dataclass, field

SERVERS, GPUS, CPUS, MEM_GB = 16, 8, 64, 512

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
    caps
        Most GPUs of an account, QOS or user (see `cap_of`); of the name "each": of any other one.
    reasons
        Whether the log has the last reason of each job.
    limits
        Whether the log has prints of the caps by ``sacctmgr``.
    shared
        Whether each partition has all servers.
    gangs
        Gang sizes and their weights. Gangs of more than 8 GPUs take whole servers.
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
    cap_of: str = "account"
    reasons: bool = True
    limits: bool = False
    partitions: int = 1
    shared: bool = False
    gangs: tuple[tuple[int, int], ...] = ((1, 50), (2, 20), (4, 15), (8, 15))
    mean_run_s: float = 3_700.0
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
    user: str
    qos: str
    owner: str
    waiting: str = ""
    attempt: int = 0
    ready_s: int = 0
    parts: Parts = field(default_factory=dict)

    @property
    def request(self) -> tuple[object, ...]:
        """What decides why the job waits: equal for jobs that wait for the same cause."""
        return (self.owner, self.gpus, self.servers, self.cpus, self.mem_gb, self.partition)


def jobs_of(s: Scenario) -> list[Job]:
    """Draw the jobs: Poisson arrivals, log-normal run times with a mean of an hour."""
    rng, qos_rng = random.Random(s.seed), random.Random(s.seed + 1)
    sizes, weights = zip(*s.gangs, strict=True)
    accounts = [f"a{i}" for i in range(4)]
    drawn = []
    for number in range(1, s.jobs + 1):
        gpus = rng.choices(sizes, weights)[0]
        scale = s.mean_run_s / Scenario.mean_run_s
        run_s = max(30, int(min(scale * rng.lognormvariate(7.5, 1.2), 86_400)))
        if rng.random() < s.idle:
            run_s *= 10
        run_s *= s.stretch
        heavy = gpus == 1 and rng.random() < s.cpu_heavy
        cpus = CPUS // 2 if heavy else 4 * gpus
        job = Job(
            number, 0, gpus, 0 if rng.random() < s.spreadable else max(1, gpus // GPUS), cpus,
            32 * gpus, rng.choices(accounts, [4, 3, 2, 1])[0], rng.randrange(s.partitions), run_s,
            int(run_s * rng.uniform(1, 3)) + 60, 0, f"u{number % 17}",
            qos_rng.choice(["normal", "high"]), "",
        )  # fmt: skip
        # a limit per user of a QOS counts the user's jobs of that QOS only
        job.owner = f"{job.user} {job.qos}" if s.cap_of == "user" else getattr(job, s.cap_of)
        drawn.append(job)
    work = sum(j.gpus * j.run_s for j in drawn)
    span_s = work / (s.load * SERVERS * GPUS)
    for job, moment in zip(drawn, sorted(rng.uniform(0, span_s) for _ in drawn), strict=True):
        job.submitted_s = int(moment)
        hold_s = int(rng.expovariate(1 / 3_600)) if rng.random() < s.held else 0
        job.eligible_s = job.submitted_s + hold_s
    return drawn
