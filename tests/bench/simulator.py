"""What simulations cost under each policy, on jobs and machines like Philly's.

``python -m tests.bench.simulator [POLICY …]`` prints CPU seconds and events per second for 10,000,
40,000 and 117,325 jobs at a load of 0.9, and by how much four times the jobs take longer;
``--large`` a million jobs, and ``--wide`` 100,000 GPUs, instead. ``--growth N`` measures 10,000
and 40,000 jobs N times each, in turn, and prints the ratio of the least times beside those of
what any simulator of the policy has to go through, and of the starts among it.

At the same load more jobs wait the longer the log is: 10,000 jobs of Philly's fill the cluster
but hardly wait, 40,000 queue. So beside the time stand the starts, which preemption multiplies,
and how long each waited on average: who compares must compare those, too. Two more ratios do, of
10,000 jobs so close together that they queue as 117,325 do: ``again``, those four times over, one
lot after the other, where what grows is the log alone; and ``wider``, four times the jobs on four
times the machines, where queue, running jobs, users and machines all grow with it.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from philly_analysis.models.library import load_model
from philly_analysis.simulator import POLICIES, policy_named, run
from philly_analysis.simulator.jobs.job import OF_THE_SCHEDULER
from philly_analysis.workload import JobSpec, Machine, fleet
from philly_analysis.workload.load import at_load
from philly_analysis.workload.quotas import quotas_of
from tests.bench.steps import forget_peak, peak_mb

MACHINES = "240x8:24:500@40,24x4:12:250@24,288x2:6:125@48"
"""552 machines, 2,592 GPUs: what placements in the Philly archive show, nearly."""

JOBS = (10_000, 40_000, 117_325)
LOAD = 0.9
QUEUEING = 9.0
"""A load at which 10,000 jobs preempt each other as often as 117,325 do at 0.9."""
GROWTH = (
    ("at that load", "10,000", "40,000"),
    ("one lot after the other", "once", "again"),
    ("on four times the machines", "once", "wider"),
)
"""What is compared: words, the smaller work, the larger."""
WIDE = 40
"""Philly's clusters in the wide one, and the jobs of as many."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one simulation took."""

    policy: str
    jobs: int
    events: int
    starts: int
    stops: int
    wait_s: float
    cpu_s: float
    peak_mb: float

    @property
    def events_per_s(self) -> float:
        """Events per second of processor time."""
        return self.events / self.cpu_s

    @property
    def happenings(self) -> int:
        """What happens whoever simulates it: arrivals, ends, rounds; starts, and other stops."""
        return self.events + self.starts + self.stops


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs at a load, where they run, and the quotas."""

    specs: Sequence[JobSpec]
    machines: Sequence[Machine]
    quotas: dict[str, int]


def work(jobs: int, *, clusters: int = 1, load: float = LOAD, seed: int = 0) -> Work:
    """Draw the calibrated model's jobs, at a load on so many clusters like Philly's."""
    one = fleet(MACHINES)
    machines = [
        replace(m, machine_id=f"{i}-{m.machine_id}", rack=f"{i}-{m.rack}")
        for i in range(clusters)
        for m in one
    ]
    gpus = sum(m.gpus for m in machines)
    drawn = load_model("philly").sample(jobs=jobs, gpus=gpus, seed=seed, variation="none")
    quotas, _ = quotas_of(drawn, gpus)
    return Work(at_load(list(drawn.specs()), load, gpus), machines, dict(quotas))


def again(given: Work, times: int) -> Work:
    """Return the same jobs so many times over, each lot when the one before has long ended."""
    submitted_s = [spec.submit_s for spec in given.specs]
    apart_s = 4 * (max(submitted_s) - min(submitted_s) + max(spec.run_s for spec in given.specs))
    specs = [
        replace(spec, job_id=f"{i}-{spec.job_id}", submit_s=spec.submit_s + i * apart_s)
        for i in range(times)
        for spec in given.specs
    ]
    return Work(specs, given.machines, given.quotas)


def measure(policy: str, given: Work) -> Measured:
    """Simulate, and say what it took; ``peak_mb`` is of the whole process, with the jobs."""
    chosen = policy_named(policy, {})
    speed = chosen.speed()
    specs = speed.completed(given.specs, np.random.default_rng(0))
    forget_peak()
    begin_s = time.process_time()
    schedule = run(specs, given.machines, chosen, speed=speed, quotas=given.quotas)
    cpu_s = time.process_time() - begin_s
    waits = schedule.waits
    return Measured(
        policy,
        len(given.specs),
        schedule.events,
        schedule.attempts.height,
        int(schedule.attempts["end_reason"].is_in(OF_THE_SCHEDULER).sum()),
        float((waits["until_s"] - waits["since_s"]).sum()) / schedule.attempts.height,
        cpu_s,
        peak_mb(),
    )


def simulate(policies: Sequence[str], works: Mapping[str, Work]) -> None:
    """Print what each policy takes, and how it grows with the jobs."""
    for policy in policies:
        took = {}
        for name, given in works.items():
            took[name] = m = measure(policy, given)
            print(  # noqa: T201
                f"simulate {m.policy:12} {name:8} {m.jobs:9,} jobs {m.cpu_s:7.1f} s "
                f"{m.events_per_s:8,.0f} events/s {m.peak_mb:7,.0f} MB, {m.starts:9,} starts, "
                f"which waited for {m.wait_s:8,.1f} s",
                flush=True,
            )
        ratios = [
            f"{words} {took[more].cpu_s / took[less].cpu_s:.1f}"
            for words, less, more in GROWTH
            if less in took and more in took
        ]
        if ratios:
            print(f"simulate {policy:12} four times the jobs: {', '.join(ratios)}")  # noqa: T201


def growth(policies: Sequence[str], times: int) -> None:
    """Print by how much the larger of two logs takes longer: the least times, taken in turn."""
    works = [work(jobs) for jobs in JOBS[:2]]
    for policy in policies:
        found = [[measure(policy, given) for given in works] for _ in range(times)]
        small, large = (min(m, key=lambda m: m.cpu_s) for m in zip(*found, strict=True))
        print(  # noqa: T201
            f"| {policy} | {small.cpu_s:.2f} | {large.cpu_s:.2f} | "
            f"**{large.cpu_s / small.cpu_s:.1f}** | {large.happenings / small.happenings:.2f} | "
            f"{large.starts / small.starts:.1f} | {small.wait_s:,.0f} | {large.wait_s:,.0f} |",
            flush=True,
        )


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", help="default: every one but recorded")
    parser.add_argument("--large", action="store_true", help="a million jobs")
    parser.add_argument("--wide", action="store_true", help="100,000 GPUs")
    parser.add_argument("--growth", type=int, metavar="N", help="10,000 and 40,000 jobs, N times")
    given = parser.parse_args()
    names = given.policies or [name for name in POLICIES if name != "recorded"]
    if given.growth:
        growth(names, given.growth)
        return
    if given.large:
        works = {"large": work(1_000_000)}
    elif given.wide:
        works = {"wide": work(40_000, clusters=WIDE)}
    else:
        once = work(JOBS[0], load=QUEUEING)
        works = {
            **{f"{jobs:,}": work(jobs) for jobs in JOBS},
            "once": once,
            "again": again(once, 4),
            "wider": work(4 * JOBS[0], clusters=4, load=QUEUEING),
        }
    simulate(names, works)


if __name__ == "__main__":
    main()
