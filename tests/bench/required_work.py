"""Count the work that a policy obliges a simulation to do, and the calls that it takes.

``python -m tests.bench.required_work [POLICY …]`` simulates 10,000 jobs at several loads, from one
without waits to one at which they queue as in a long log. It counts the required work: events,
starts (each implies a stop), decisions with a queue, and the sums over these decisions of groups of
waiting jobs, of running or waiting jobs, and of their users. For policies that reallocate in
rounds, leases or slices, the last two are summed over these. Non-negative least squares on the
counts and the number of function calls gives the calls per unit of work. For 40,000 jobs the
program then prints these ratios to 10,000 jobs:

- ``units``: work, at those calls per unit;
- ``calls``: function calls. A larger ratio than that of ``units`` shows an algorithm that grows
  faster than the work;
- ``a call``: CPU seconds per call, without the profiler. It shows growth inside a function.

The product of the last two is the ratio of times. Only the last depends on the machine.
"""

import argparse
from cProfile import Profile
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from philly_analysis.simulator import POLICIES, policy_named
from philly_analysis.simulator.engine.event_loop import Simulation
from tests.bench.simulator import JOBS, LOAD, Work, measure
from tests.bench.simulator import work as sample_work

LOADS = (LOAD, 4.0, 6.0, 9.0, 14.0)
"""Loads of 10,000 jobs; at 9 they preempt each other as 117,325 jobs do at 0.9."""

UNITS = ("events", "starts", "waits", "kinds", "jobs", "users")
PERIODS = ("lease_s", "quantum_s", "round_s")
"""Knobs with the period of a policy's reallocation."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Required work of one simulation, by :data:`UNITS`, and its function calls."""

    units: tuple[int, ...]
    calls: int


def count(policy: str, work: Work) -> Counts:
    """Simulate and count."""
    chosen = policy_named(policy, {})
    speed = chosen.speed()
    specs = speed.complete(work.specs, np.random.default_rng(0))
    simulation = Simulation(specs, work.machines, chosen, speed=speed, quotas=work.quotas)
    view, profile = simulation.view, Profile()
    period_s = next((s for s in (getattr(chosen, knob, 0.0) for knob in PERIODS) if s), 0.0)
    waits = kinds = jobs = users = 0
    while profile.runcall(simulation.advance):
        if view.queue:
            waits += 1
            kinds += len(view.queue.groups)
            if not period_s or view.now_s % period_s == 0:
                present = (*view.running, *view.queue)
                jobs += len(present)
                users += len({job.spec.user for job in present}) if period_s else 0
        profile.runcall(simulation.decide)
    schedule = simulation.schedule()
    units = schedule.events, schedule.attempts.height, waits, kinds, jobs, users
    return Counts(units, sum(entry.callcount for entry in profile.getstats()))


def row_of(policy: str, small: dict[float, Work], large: Work) -> str:
    """Count and measure; return one row of the table."""
    found = [count(policy, one) for one in small.values()]
    more = count(policy, large)
    units = np.array([one.units for one in found], float)
    calls = np.array([one.calls for one in found], float)
    weigh = 1 / calls  # each simulation counts equally
    scale = np.maximum(units.max(axis=0), 1)
    each, _ = nnls(units / scale * weigh[:, None], calls * weigh)
    each /= scale
    expected = float(np.array(more.units) @ each)
    fitted = float(units[0] @ each)
    before, after = (measure(policy, one).cpu_s for one in (small[LOAD], large))
    time = after / before
    grown = [f"{b / a:.1f}" if a else "-" for a, b in zip(found[0].units, more.units, strict=True)]
    return " | ".join(
        [
            *(policy, *grown),
            *(f"{calls_each:.3g}" for calls_each in each),
            f"{expected / fitted:.2f} units",
            f"{more.calls / found[0].calls:.2f} calls",
            f"{time / (more.calls / found[0].calls):.2f} a call",
            f"{time:.2f} total",
        ]
    )


def main() -> None:
    """Parse the command line, count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", help="default: every one but recorded")
    names = parser.parse_args().policies or [name for name in POLICIES if name != "recorded"]
    small = {load: sample_work(JOBS[0], load=load) for load in LOADS}
    large = sample_work(JOBS[1])
    times, each = (" | ".join(UNITS),) * 2
    print(f"policy | times as many {times} | calls for each of {each} | times")  # noqa: T201
    for name in names:
        print(row_of(name, small, large), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
