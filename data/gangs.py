"""A small cluster with gang scheduling, quotas, back-off and locality relaxed step by step."""

import heapq
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from published import BACK_OFF_S, HOLD_S, START_UP_MEDIAN_S, START_UP_SIGMA

BORROW_LIMIT_FRAC = 0.9
"""A virtual cluster may exceed its quota only while less than this share of GPUs is in use: the
study's scheduler restores fair shares from about there."""

SCATTERED_FRAC = 0.5
"""Share of one-GPU requests that ask for a certain machine (where their data is), not the fullest;
without it far more machines would stay empty than the study saw."""

Holding = tuple[int, tuple[int, ...]]
"""A machine's position, and the GPUs held on it."""


@dataclass(slots=True)
class Attempt:
    """One scheduling attempt; times in seconds after the origin, `end_s` None while it runs."""

    start_s: int
    end_s: int | None
    held: tuple[Holding, ...]


@dataclass(slots=True)
class Job:
    """One job: what it asks for, how long each attempt will run, and what became of it."""

    vc: int
    user: int
    gpus: int
    submit_s: int
    status: str
    runs_s: list[int]
    attempts: list[Attempt] = field(default_factory=list)
    tries: int = 0


@dataclass(slots=True)
class Server:
    """A machine: its GPUs and its rack."""

    machine_id: str
    gpus: int
    rack: int


class Cluster:
    """Who holds which GPU."""

    def __init__(self, servers: list[Server], rng: np.random.Generator) -> None:
        self.servers, self.rng = servers, rng
        self.free = [set(range(s.gpus)) for s in servers]
        self.gpus = sum(s.gpus for s in servers)

    @property
    def in_use(self) -> int:
        """GPUs held now."""
        return self.gpus - sum(len(f) for f in self.free)

    def find(self, gang: int, relaxed: int) -> list[tuple[int, int]] | None:
        """Choose (machine, GPUs) for a gang, or None; `relaxed` times more servers allowed."""
        if gang == 1:
            return self._pack(1)
        allowed = -(-gang // 8) << relaxed
        if allowed == 1:
            return self._pack(gang)
        racks = sorted({s.rack for s in self.servers})
        # racks with most free GPUs first; a fully relaxed gang may cross racks
        within = [[i for i, s in enumerate(self.servers) if s.rack == r] for r in racks]
        within.sort(key=lambda rack: -sum(len(self.free[i]) for i in rack))
        if relaxed >= 2:
            within.append(list(range(len(self.servers))))
        for rack in within:
            chosen, missing = [], gang
            for i in sorted(rack, key=lambda i: (-len(self.free[i]), i))[:allowed]:
                take = min(missing, len(self.free[i]))
                if take:
                    chosen.append((i, take))
                    missing -= take
            if not missing:
                return chosen
        return None

    def _pack(self, gang: int) -> list[tuple[int, int]] | None:
        fits = [(len(f), i) for i, f in enumerate(self.free) if len(f) >= gang]
        if not fits:
            return None
        scattered = gang == 1 and self.rng.random() < SCATTERED_FRAC
        return [((fits[self.rng.integers(len(fits))] if scattered else min(fits))[1], gang)]

    def take(self, chosen: list[tuple[int, int]]) -> tuple[Holding, ...]:
        """Hold the lowest free GPUs of the chosen machines."""
        held = tuple((i, tuple(sorted(self.free[i])[:n])) for i, n in chosen)
        for i, gpus in held:
            self.free[i] -= set(gpus)
        return held

    def give_back(self, held: tuple[Holding, ...]) -> None:
        """Free GPUs."""
        for i, gpus in held:
            self.free[i] |= set(gpus)


def schedule(
    jobs: list[Job],
    servers: list[Server],
    quotas: list[int],
    until_s: int,
    rng: np.random.Generator,
) -> None:
    """Run the jobs in order of their requests until the snapshot, filling in `attempts`.

    One-GPU requests take the first GPU that is freed; a gang asks again after each hold and
    back-off, at the same locality once and then over twice the servers each time.
    """
    cluster = Cluster(servers, rng)
    held_by_vc = [0] * len(quotas)
    waiting: list[Job] = []
    events: list[tuple[int, int, str, Job]] = []
    order = count()

    def post(at_s: float, kind: str, job: Job) -> None:
        heapq.heappush(events, (int(at_s), next(order), kind, job))

    def asks_after_s() -> float:
        return START_UP_MEDIAN_S * rng.lognormal(0, START_UP_SIGMA)

    def start(job: Job, now: int) -> bool:
        within = held_by_vc[job.vc] + job.gpus <= quotas[job.vc]
        if not within and cluster.in_use + job.gpus > BORROW_LIMIT_FRAC * cluster.gpus:
            return False
        chosen = cluster.find(job.gpus, relaxed=job.tries)
        if chosen is None:
            return False
        attempt = Attempt(now, None, cluster.take(chosen))
        job.attempts.append(attempt)
        held_by_vc[job.vc] += job.gpus
        post(now + job.runs_s[len(job.attempts) - 1], "end", job)
        return True

    for job in jobs:
        post(job.submit_s + asks_after_s(), "ask", job)
    while events and events[0][0] < until_s:
        now, _, kind, job = heapq.heappop(events)
        if kind == "ask":
            if start(job, now):
                continue
            if job.gpus == 1:
                waiting.append(job)
            else:
                job.tries += 1
                wait_s = HOLD_S if job.tries == 1 else HOLD_S + BACK_OFF_S
                post(now + wait_s + rng.integers(0, 16), "ask", job)
            continue
        attempt = job.attempts[-1]
        attempt.end_s = now
        cluster.give_back(attempt.held)
        held_by_vc[job.vc] -= job.gpus
        if len(job.attempts) < len(job.runs_s):
            job.tries = 0
            post(now + asks_after_s(), "ask", job)
        waiting[:] = [w for w in waiting if not start(w, now)]
