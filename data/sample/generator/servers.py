"""The servers of the sample: their sizes and names, and the outages of one that fails often."""

from dataclasses import replace

import numpy as np

from data.sample.generator.plan import DAY_S, WARM_UP_S, Plan
from philly_analysis.simulator import Outage
from philly_analysis.workload import Machine, fleet

DAYS_BETWEEN_OUTAGES = 1.5
"""Mean time between two outages of the failing server; other servers do not fail."""
REPAIR_S = 1_800


def servers(plan: Plan) -> tuple[list[Machine], list[Machine]]:
    """Return the machines, in racks of equal ones, and the machines that no job uses.

    Most have 8 GPUs, some 2, and a few 4.
    """
    middle, silent = round(plan.machines * 0.06), max(1, round(plan.machines * 0.08))
    large = round(plan.machines * 0.68)
    small = plan.machines - large - middle - silent
    kinds = ((large, 8, 8), (middle, 4, 4), (small, 2, 5))
    text = ",".join(f"{n}x{gpus}@{rack}" for n, gpus, rack in kinds if n)
    machines = [*fleet(text), *[Machine("", 0)] * silent]
    names = np.random.default_rng(plan.seed).permutation(10 * plan.machines)[: plan.machines]
    named = [replace(m, machine_id=f"m{n}") for m, n in zip(machines, names, strict=True)]
    return named[:-silent], named[-silent:]


def outages_s(plan: Plan) -> list[int]:
    """Return when the failing server fails, in seconds from the origin."""
    rng = np.random.default_rng([plan.seed, *b"outages"])
    gaps_s = REPAIR_S + DAY_S * rng.exponential(DAYS_BETWEEN_OUTAGES, 1000)
    return [int(s) for s in np.cumsum(gaps_s) - WARM_UP_S if s < plan.end_s]


def outages(plan: Plan, earlier_s: float) -> list[Outage]:
    """Return the outages; their times count from `earlier_s` seconds before the origin."""
    failing = servers(plan)[0][0].machine_id
    return [
        Outage(at_s + earlier_s, at_s + earlier_s + REPAIR_S, failing) for at_s in outages_s(plan)
    ]
