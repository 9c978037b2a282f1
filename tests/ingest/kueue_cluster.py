"""Simulate a cluster under Kueue, and keep the truth: when each job ran, and why it waited.

Three ClusterQueues of 32 GPUs admit jobs by priority and age within their quotas. Two of the queues
lend and borrow in a cohort. Nothing of the package is used.
"""

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import count
from random import Random

START = 1_770_000_000  # 2026-02-02 02:40:00 UTC
SERVERS, GPUS = 4, 8


@dataclass(frozen=True)
class ClusterQueue:
    """A ClusterQueue; a strict one lets no job pass the first one."""

    quota: int
    cohort: str | None = None
    borrowing: int | None = None
    lending: int | None = None
    strict: bool = False
    check: bool = False


QUEUES = {
    "research": ClusterQueue(16, "all", borrowing=6),
    "product": ClusterQueue(8, "all", lending=6, strict=True),
    "lab": ClusterQueue(8, check=True),
}


@dataclass
class Run:
    """An admission: quota reserved, admitted, pods ready, and the end with its reason."""

    reserved: int
    admitted: int
    ready: int | None
    ended: int = 0
    reason: str = ""
    placed: dict[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class Work:
    """A job, its runs, and what Kueue stated while the job waited: time and reason."""

    number: int
    queue: str
    gpus: int
    priority: int
    submitted: int
    run_s: int
    fails: bool
    late: bool
    runs: list[Run] = field(default_factory=list)
    stated: list[tuple[int, str]] = field(default_factory=list)
    requeues: list[int] = field(default_factory=list)
    order: int = 0
    eligible: int = 0

    @property
    def name(self) -> str:
        return f"job-train{self.number}-{self.number * 7919 % 65536:05x}"

    @property
    def last(self) -> int:
        return self.runs[-1].ended


class Cluster:
    """Run jobs to their ends, and add up the seconds that they waited by cause."""

    def __init__(self, seed: int, jobs: int, days: int) -> None:
        self.random = random = Random(seed)
        times = sorted(START + random.randrange(days * 80_000) for _ in range(jobs))
        self.works = [
            Work(
                number=number,
                queue=random.choices(list(QUEUES), (5, 2, 2))[0],
                gpus=random.choice([1, 1, 2, 4, 8]),
                priority=int(random.random() < 0.15),
                submitted=at,
                run_s=random.randrange(3_600, 60_000),
                fails=random.random() < 0.2,
                late=random.random() < 0.1,
                order=at,
                eligible=at,
            )
            for number, at in enumerate(times, 1)
        ]
        self.waiting: list[Work] = []
        self.running: dict[Work, Run] = {}
        self.truth: defaultdict[str, float] = defaultdict(float)
        self.borrowed: defaultdict[str, float] = defaultdict(float)
        self.starved: defaultdict[str, float] = defaultdict(float)
        self.free = {f"gpu-{s}": GPUS for s in range(SERVERS)}
        self._numbers = count()
        self.events = [(w.submitted, next(self._numbers), "submit", w, 0) for w in self.works]
        heapq.heapify(self.events)

    def used(self, queue: str) -> int:
        return sum(work.gpus for work in self.running if work.queue == queue)

    def available(self, queue: str) -> int:
        """Return the GPUs that a queue may still take: its own, and what its cohort lends."""
        q, used = QUEUES[queue], self.used(queue)
        if q.cohort is None:
            return q.quota - used
        members = [name for name, other in QUEUES.items() if other.cohort == q.cohort]
        kept = {n: self._kept(n) for n in members}
        lent = sum(QUEUES[n].quota - kept[n] for n in members)
        taken = sum(max(0, self.used(n) - kept[n]) for n in members)
        common = lent - taken
        if q.borrowing is not None:
            common = min(common, q.quota - kept[queue] - max(0, used - kept[queue]) + q.borrowing)
        return max(0, kept[queue] - used) + common

    def _kept(self, queue: str) -> int:
        """Return the quota that a queue never lends."""
        lending = QUEUES[queue].lending
        return 0 if lending is None else QUEUES[queue].quota - lending

    def queue_of(self, name: str, now: int) -> list[Work]:
        return sorted(
            (w for w in self.waiting if w.queue == name and w.eligible <= now),
            key=lambda w: (-w.priority, w.order, w.number),
        )

    def schedule(self, now: int) -> None:
        """Admit what the quotas allow; preempt jobs of less priority, and reclaim lent quota."""
        for name, q in QUEUES.items():
            for work in self.queue_of(name, now):
                for victim in self.victims(work):
                    self.end(victim, now, "Preempted")
                if work.gpus <= self.available(name):
                    self.admit(work, now)
                elif q.strict:
                    break

    def victims(self, work: Work) -> list[Work]:
        """Return running jobs whose preemption lets a job start; none if that is not enough."""
        queue, missing = work.queue, work.gpus - self.available(work.queue)
        candidates = [w for w in self.running if w.queue == queue and w.priority < work.priority]
        if self.used(queue) + work.gpus <= QUEUES[queue].quota and QUEUES[queue].cohort:
            candidates += [w for w in self.running if w.queue != queue and self._borrows(w)]
        chosen = []
        for victim in sorted(candidates, key=lambda w: -self.running[w].reserved):
            if missing > 0:
                chosen.append(victim)
                missing -= victim.gpus
        return chosen if missing <= 0 else []

    def _borrows(self, work: Work) -> bool:
        q = QUEUES[work.queue]
        return q.cohort is not None and self.used(work.queue) - work.gpus >= q.quota

    def admit(self, work: Work, now: int) -> None:
        random = self.random
        admitted = now + (random.randrange(30, 600) if QUEUES[work.queue].check else 0)
        late = work.late and not work.runs
        start_s = (
            random.randrange(600, 1_500) if random.random() < 0.05 else random.randrange(1, 90)
        )
        ready = None if late else admitted + start_s
        run = Run(now, admitted, ready)
        for _ in range(work.gpus):
            host = max(self.free, key=lambda h: (self.free[h], h))
            self.free[host] -= 1
            run.placed[host] = run.placed.get(host, 0) + 1
        work.runs.append(run)
        self.waiting.remove(work)
        self.running[work] = run
        if ready is None:
            self.later(admitted + 2_400, "timeout", work)
        else:
            self.later(ready + work.run_s, "finish", work)

    def later(self, at: int, kind: str, work: Work) -> None:
        heapq.heappush(self.events, (at, next(self._numbers), kind, work, len(work.runs)))

    def end(self, work: Work, now: int, reason: str) -> None:
        """End a run. Timed-out jobs wait for a while, then have their place by the eviction."""
        run = self.running.pop(work)
        run.ended, run.reason = now, reason
        self.count_start(run)
        for host, gpus in run.placed.items():
            self.free[host] += gpus
        if reason in ("Preempted", "PodsReadyTimeout"):
            work.eligible = now + (self.random.randrange(60, 2_000) if reason != "Preempted" else 0)
            work.order = work.submitted if reason == "Preempted" else now
            work.requeues.append(work.eligible)
            self.waiting.append(work)
            self.later(work.eligible, "requeue", work)

    def count_start(self, run: Run) -> None:
        """Count the time from the reservation to the start."""
        admitted = min(run.admitted, run.ended)
        self.truth["held"] += admitted - run.reserved
        if run.ready is not None and run.ready <= run.ended:
            self.truth["start_up"] += run.ready - admitted

    def cause(self, work: Work, now: int) -> str:
        """Return why a job waits: alone it could not start, or jobs before it may not."""
        if work.eligible > now:
            return "held"
        return "quota" if work.gpus > self.available(work.queue) else "behind"

    def count_borrowing(self, since: int, until: int) -> None:
        """Count GPU seconds beyond quotas, and seconds that jobs wait within their own quota."""
        for name, q in QUEUES.items():
            used = self.used(name)
            self.borrowed[name] += max(0, used - q.quota) * (until - since)
        for work in self.waiting:
            own = self.used(work.queue) + work.gpus <= QUEUES[work.queue].quota
            if own and work.gpus > self.available(work.queue) and work.eligible <= since:
                self.starved[work.queue] += until - since

    def state(self, now: int) -> None:
        """Let Kueue state its reasons: only the first job of a strict queue is considered."""
        for name, q in QUEUES.items():
            for place, work in enumerate(self.queue_of(name, now)):
                behind = q.strict and place > 0
                reason = "PendingEvaluation" if behind else "WaitingForQuota"
                if not work.stated or work.stated[-1][1] != reason:
                    work.stated.append((now, reason))

    def run(self) -> None:
        """Run until all jobs have ended."""
        before = START
        while self.events:
            now = self.events[0][0]
            self.count_borrowing(before, now)
            for work in self.waiting:
                self.truth[self.cause(work, before)] += now - max(before, work.submitted)
            while self.events and self.events[0][0] == now:
                _, _, kind, work, runs = heapq.heappop(self.events)
                if kind == "submit":
                    self.waiting.append(work)
                elif kind != "requeue" and work in self.running and len(work.runs) == runs:
                    done = "Failed" if work.fails else "Succeeded"
                    self.end(work, now, done if kind == "finish" else "PodsReadyTimeout")
            self.schedule(now)
            self.state(now)
            before = now

    def shares(self) -> dict[str, float]:
        """Return the percentages of the waiting time by cause."""
        total = sum(self.truth.values())
        return {cause: 100 * s / total for cause, s in self.truth.items() if s}


def simulated(seed: int, jobs: int = 150, days: int = 14) -> Cluster:
    """Return a cluster after its jobs."""
    cluster = Cluster(seed, jobs, days)
    cluster.run()
    return cluster
