"""Measure the simulator's speed under each policy, on jobs and machines like Philly's.

``python -m tests.bench.simulator [POLICY …]`` prints CPU seconds and events per second for 10,000,
40,000 and 117,325 jobs at a load of 0.9, and the ratio of times for four times the jobs.
``--large`` simulates a million jobs instead, ``--wide`` 100,000 GPUs. ``--growth N`` measures
10,000 and 40,000 jobs N times each, alternating. It prints the ratio of the minimum times, of the
events that any simulator of the policy must process, and of the starts among these. ``--queue``
measures 10,000 jobs at rising loads, and prints CPU time per event beside the mean length of the
queue.

At the same load more jobs wait in a longer log: 10,000 of Philly's jobs fill the cluster but
hardly wait, 40,000 queue. The output therefore includes the starts, which preemption multiplies,
and the mean wait per start. Two more ratios start from 10,000 jobs at a load at which they queue
as 117,325 do. ``again`` repeats these jobs four times, so that only the log grows. ``wider`` has
four times the jobs on four times the machines: queue, running jobs and users grow as well.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from philly_analysis.models.library import load_model
from philly_analysis.simulator import POLICIES, policy_named, run
from philly_analysis.workload import SCHEDULER_ENDS, JobSpec, Machine, fleet
from philly_analysis.workload.load import stretch_to_load
from philly_analysis.workload.quotas import quotas_of
from tests.bench.steps import peak_mb, reset_peak

MACHINES = "240x8:24:500@40,24x4:12:250@24,288x2:6:125@48"
"""552 machines with 2,592 GPUs: about as many as the placements in the Philly archive show."""

JOBS = (10_000, 40_000, 117_325)
LOAD = 0.9
QUEUEING = 9.0
"""A load at which 10,000 jobs preempt each other as often as 117,325 do at 0.9."""
QUEUE_LOADS = (0.9, 9.0, 20.0, 60.0)
"""Loads at which 10,000 jobs queue from hardly to almost all at once."""
GROWTH = (
    ("at that load", "10,000", "40,000"),
    ("repeated", "once", "again"),
    ("on four times the machines", "once", "wider"),
)
"""Compared works: description, the smaller one, the larger one."""
WIDE = 40
"""Copies of Philly's cluster in the wide one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Size and cost of one simulation."""

    jobs: int
    events: int
    starts: int
    stops: int
    wait_s: float
    span_s: float
    """From the first submission to the last start."""
    cpu_s: float
    peak_mb: float

    @property
    def queue(self) -> float:
        """Mean number of waiting jobs."""
        return self.wait_s * self.starts / self.span_s

    @property
    def required_events(self) -> int:
        """Events that any simulator of the policy must process: arrivals, ends, starts, stops."""
        return self.events + self.starts + self.stops


@dataclass(frozen=True, slots=True)
class Work:
    """Jobs at a load, machines and quotas to simulate."""

    specs: Sequence[JobSpec]
    machines: Sequence[Machine]
    quotas: dict[str, int]


def work(jobs: int, *, clusters: int = 1, load: float = LOAD, seed: int = 0) -> Work:
    """Sample jobs of the shipped model ``philly`` at a load on copies of Philly's cluster."""
    one = fleet(MACHINES)
    machines = [
        replace(m, machine_id=f"{i}-{m.machine_id}", rack=f"{i}-{m.rack}")
        for i in range(clusters)
        for m in one
    ]
    gpus = sum(m.gpus for m in machines)
    drawn = load_model("philly").sample(jobs=jobs, gpus=gpus, seed=seed, variation="none")
    quotas, _ = quotas_of(drawn, gpus)
    return Work(stretch_to_load(list(drawn.specs()), load, gpus), machines, dict(quotas))


def repeated(work: Work, times: int) -> Work:
    """Repeat the jobs; each repetition starts after the one before has ended."""
    submitted_s = [spec.submit_s for spec in work.specs]
    apart_s = 4 * (max(submitted_s) - min(submitted_s) + max(spec.run_s for spec in work.specs))
    specs = [
        replace(spec, job_id=f"{i}-{spec.job_id}", submit_s=spec.submit_s + i * apart_s)
        for i in range(times)
        for spec in work.specs
    ]
    return Work(specs, work.machines, work.quotas)


def measure(policy: str, work: Work) -> Measured:
    """Simulate and measure; ``peak_mb`` is the peak of the process, including the jobs."""
    chosen = policy_named(policy, {})
    speed = chosen.speed()
    specs = speed.complete(work.specs, np.random.default_rng(0))
    reset_peak()
    begin_s = time.process_time()
    schedule = run(specs, work.machines, chosen, speed=speed, quotas=work.quotas)
    cpu_s = time.process_time() - begin_s
    waits = schedule.waits
    return Measured(
        len(work.specs),
        schedule.events,
        schedule.attempts.height,
        int(schedule.attempts["end_reason"].is_in(SCHEDULER_ENDS).sum()),
        float((waits["until_s"] - waits["since_s"]).sum()) / schedule.attempts.height,
        schedule.attempts["start_s"].to_numpy().max() - min(spec.submit_s for spec in specs),
        cpu_s,
        peak_mb(),
    )


def simulate(policies: Sequence[str], works: Mapping[str, Work]) -> None:
    """Print the cost of each policy, and its growth with the number of jobs."""
    for policy in policies:
        costs = {}
        for name, one in works.items():
            costs[name] = m = measure(policy, one)
            print(
                f"simulate {policy:12} {name:8} {m.jobs:9,} jobs {m.cpu_s:7.1f} s "
                f"{m.events / m.cpu_s:8,.0f} events/s {m.peak_mb:7,.0f} MB, {m.starts:9,} starts, "
                f"mean wait {m.wait_s:8,.1f} s",
                flush=True,
            )
        ratios = [
            f"{description} {costs[larger].cpu_s / costs[smaller].cpu_s:.1f}"
            for description, smaller, larger in GROWTH
            if smaller in costs and larger in costs
        ]
        if ratios:
            print(f"simulate {policy:12} four times the jobs: {', '.join(ratios)}")


def growth(policies: Sequence[str], times: int) -> None:
    """Print the growth from the smaller to the larger log, from the minimum of several times."""
    works = [work(jobs) for jobs in JOBS[:2]]
    for policy in policies:
        costs = [[measure(policy, one) for one in works] for _ in range(times)]
        small, large = (min(m, key=lambda m: m.cpu_s) for m in zip(*costs, strict=True))
        print(
            f"| {policy} | {small.cpu_s:.2f} | {large.cpu_s:.2f} | "
            f"**{large.cpu_s / small.cpu_s:.1f}** | "
            f"{large.required_events / small.required_events:.2f} | "
            f"{large.starts / small.starts:.1f} | {small.wait_s:,.0f} | {large.wait_s:,.0f} |",
            flush=True,
        )


def queues(policies: Sequence[str]) -> None:
    """Print CPU time per event at rising lengths of the queue, as a table."""
    works = {load: work(JOBS[0], load=load) for load in QUEUE_LOADS}
    print("| policy | load | mean queue | starts | CPU | CPU per event |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for policy in policies:
        for load, one in works.items():
            m = measure(policy, one)
            print(
                f"| {policy} | {load} | {m.queue:,.0f} jobs | {m.starts:,} | {m.cpu_s:.2f} s | "
                f"{1e6 * m.cpu_s / m.required_events:,.0f} µs |",
                flush=True,
            )


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", help="default: every one but recorded")
    parser.add_argument("--large", action="store_true", help="a million jobs")
    parser.add_argument("--wide", action="store_true", help="100,000 GPUs")
    parser.add_argument("--growth", type=int, metavar="N", help="10,000 and 40,000 jobs, N times")
    parser.add_argument("--queue", action="store_true", help="10,000 jobs at rising loads")
    args = parser.parse_args()
    names = args.policies or [name for name in POLICIES if name != "recorded"]
    if args.growth:
        growth(names, args.growth)
        return
    if args.queue:
        queues(names)
        return
    if args.large:
        works = {"large": work(1_000_000)}
    elif args.wide:
        works = {"wide": work(40_000, clusters=WIDE)}
    else:
        once = work(JOBS[0], load=QUEUEING)
        works = {
            **{f"{jobs:,}": work(jobs) for jobs in JOBS},
            "once": once,
            "again": repeated(once, 4),
            "wider": work(4 * JOBS[0], clusters=4, load=QUEUEING),
        }
    simulate(names, works)


if __name__ == "__main__":
    main()
