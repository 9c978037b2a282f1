"""Count the work that a policy obliges a simulation to do, and the calls that it takes.

``python -m tests.bench.obliged [POLICY …]`` simulates 10,000 jobs at several loads, from one at
which nobody waits to one at which they queue as a long log does, and counts what has to be done:
events, starts (each is a stop, too), decisions at which somebody waits, and at these, in sum, the
kinds of jobs that wait, of which the first is to be asked, the jobs that run or wait, and the
users that these are of; of policies that divide everything anew in rounds, leases or slices, the
last two are counted at these. From these counts, and from how many functions were called in all,
follows how many calls a unit of each takes (least squares, none below zero). Then it counts the
units of 40,000 jobs, and says

- ``units``: by how much more work that is, at so many calls a unit;
- ``calls``: by how much more calls it really took. If that is more, some algorithm grows faster
  than the work; a function that is called once may do so inside, which is what the last shows:
- ``a call``: by how much longer a call took, in CPU seconds without the counting.

Their product is by how much longer 40,000 jobs take. Only the last depends on the machine.
"""

import argparse
from cProfile import Profile
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from philly_analysis.simulator import POLICIES, policy_named
from philly_analysis.simulator.engine.engine import Simulation
from tests.bench.simulator import JOBS, LOAD, Work, measure, work

LOADS = (LOAD, 4.0, 6.0, 9.0, 14.0)
"""Of 10,000 jobs; 2.0 is as 0.9, and at 9 they preempt each other as 117,325 do at 0.9."""

UNITS = ("events", "starts", "waits", "kinds", "jobs", "users")
PERIODS = ("lease_s", "quantum_s", "round_s")
"""Knobs that say how often all is divided anew."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What one simulation had to do, by :data:`UNITS`, and the functions that it called."""

    units: tuple[int, ...]
    calls: int


def counted(policy: str, given: Work) -> Counted:
    """Simulate, and count."""
    chosen = policy_named(policy, {})
    speed = chosen.speed()
    specs = speed.completed(given.specs, np.random.default_rng(0))
    simulation = Simulation(specs, given.machines, chosen, speed=speed, quotas=given.quotas)
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
    return Counted(units, sum(entry.callcount for entry in profile.getstats()))


def obliged(policy: str, small: dict[float, Work], large: Work) -> str:
    """Count and measure; return a row of a table."""
    found = [counted(policy, given) for given in small.values()]
    more = counted(policy, large)
    units = np.array([one.units for one in found], float)
    calls = np.array([one.calls for one in found], float)
    weigh = 1 / calls  # so that each simulation counts alike
    scale = np.maximum(units.max(axis=0), 1)
    each, _ = nnls(units / scale * weigh[:, None], calls * weigh)
    each /= scale
    expected = float(np.array(more.units) @ each)
    fitted = float(units[0] @ each)
    took = [measure(policy, one).cpu_s for one in (small[LOAD], large)]
    time = took[1] / took[0]
    grown = [f"{b / a:.1f}" if a else "-" for a, b in zip(found[0].units, more.units, strict=True)]
    return " | ".join(
        [
            *(policy, *grown),
            *(f"{calls_each:.3g}" for calls_each in each),
            f"{expected / fitted:.2f} units",
            f"{more.calls / found[0].calls:.2f} calls",
            f"{time / (more.calls / found[0].calls):.2f} a call",
            f"{time:.2f} in all",
        ]
    )


def main() -> None:
    """Parse the command line, count and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("policies", nargs="*", help="default: every one but recorded")
    names = parser.parse_args().policies or [name for name in POLICIES if name != "recorded"]
    small = {load: work(JOBS[0], load=load) for load in LOADS}
    large = work(JOBS[1])
    times, each = (" | ".join(UNITS),) * 2
    print(f"policy | times as many {times} | calls for each of {each} | times")  # noqa: T201
    for name in names:
        print(obliged(name, small, large), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
