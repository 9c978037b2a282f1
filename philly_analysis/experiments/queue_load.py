"""Find the offered load at which jobs of a workload begin to wait."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from philly_analysis.errors import WorkloadError
from philly_analysis.experiments.runs import Run, outcome_of
from philly_analysis.workload import demand_of, offered_load, target_cluster

LEAST_WAIT_S = 1.0
"""Mean wait in seconds below which a run has no queue: the resolution of most logs."""
QUEUE_WAIT_S = 60.0
"""Mean wait in seconds that a policy can shorten visibly: a minute (convention)."""
_HIGHEST = 16.0
"""Load up to which a queue is looked for, as a multiple of the load of the sweep."""
_STEPS = 3
"""Halvings of the interval of loads: the load is known within about a tenth."""


@dataclass(frozen=True, slots=True)
class QueueLoad:
    """The load at which the mean wait of a workload reaches a minute.

    Attributes
    ----------
    name
        Workload.
    policy, seed
        Policy and seed of the runs that were tried.
    load
        Smallest load tried with a mean wait of a minute; None: none was found.
    tried
        Largest load tried without a queue.
    """

    name: str
    policy: str
    seed: int
    load: float | None
    tried: float

    def __str__(self) -> str:
        how = f"simulated with {self.policy} and seed {self.seed}"
        if self.load is None:
            return f"{self.name}: up to a load of {self.tried:.3g} no queue forms ({how})."
        return (
            f"{self.name}: the mean wait reaches a minute at a load of about {self.load:.2g} "
            f"({how}, by bisection from {self.tried:.3g})."
        )


def lacks_queue(mean_waits_s: "pd.Series[float]") -> bool:
    """Return whether no job waits in any of some runs, by their mean waits in seconds."""
    waits_s = mean_waits_s.dropna()
    return len(waits_s) > 0 and bool((waits_s < LEAST_WAIT_S).all())


def queue_load(run: Run) -> QueueLoad | None:
    """Return the load at which the jobs of a run without a queue begin to wait.

    The load doubles until the mean wait is a minute, and then the interval is halved. None: the
    jobs are submitted at once, or too few for another load.
    """

    def waits(load: float) -> bool:
        wait_s = outcome_of(replace(run, load=load))["measures"].get("mean_wait_s", 0.0)
        return bool(wait_s >= QUEUE_WAIT_S)

    begin = run.load or _recorded_load(run)
    if not begin:
        return None
    try:
        load, tried = smallest(waits, begin, begin * _HIGHEST)
    except WorkloadError:
        return None
    return QueueLoad(run.jobs.name, run.arm, run.seed, load, tried)


def _recorded_load(run: Run) -> float | None:
    """Return the load that the jobs of a run offer as they are submitted."""
    workload = run.jobs.workload(run.seed)
    demand = demand_of(workload)
    machines = run.options.cluster
    gpus = sum(m.gpus for m in machines) if machines else target_cluster(workload, demand).gpus
    return offered_load(demand.gpu_s, demand.span_s, gpus)


def smallest(
    waits: Callable[[float], bool], begin: float, highest: float
) -> tuple[float | None, float]:
    """Return the smallest load tried at which jobs wait, and the largest at which none does.

    Parameters
    ----------
    waits
        Whether jobs wait at a load; true for all loads above some load.
    begin, highest
        First and last load of the doubling.
    """
    low, high = begin, 2 * begin
    while not waits(high):
        if high >= highest:
            return None, high
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if waits(middle) else (middle, high)
    return high, low
