"""Measure how often advice is right on simulated clusters of known policy and known waste.

    python -m data.checks.advice > docs/measured/advice.csv

simulates months of a cluster of 16 GPUs at three loads under three policies. The right lever of
each cluster is known: backfilling for a queue that blocks, ending idle jobs where half of the jobs
compute for half of their time, dividing quotas by use where quotas are small. Advice is given on
each month. The intervals of the advice are compared with the gains that the lever realises in all
other months. The script takes four CPU minutes.
"""

from itertools import product

import numpy as np
import pandas as pd

from philly_analysis.experiments.advice import (
    LEVERS,
    Assumptions,
    Known,
    Monthly,
    Pricing,
    Scenario,
    outcome,
)
from philly_analysis.parallel import InlineExecutor
from philly_analysis.simulator import Pool
from philly_analysis.simulator.policies import Easy, Fifo, Philly, Policy
from philly_analysis.workload import AttemptSpec, JobSpec, fleet

LOADS = (0.5, 0.65, 0.8)
POLICIES: tuple[tuple[Policy, str], ...] = (
    (Fifo(), "backfill"),
    (Easy(), "end_idle"),
    (Philly(), "quotas"),
)
"""Policies of the clusters, with the lever that is right."""
CLUSTERS, MONTHS, JOBS, DRAWN = 2, 6, 600, 8
"""Clusters of a kind, months of a cluster, jobs of a month, and months drawn for intervals."""
GPUS, MONTH_S = 16, 30 * 86_400.0
_BY_NAME = {lever.name: lever for lever in LEVERS}


def month(seed: tuple[int, int], load: float) -> list[JobSpec]:
    """Return the jobs of a month: 1 to 16 GPUs, exponential run times, a given expected load."""
    rng = np.random.default_rng(seed)
    gpus = rng.choice([1, 2, 4, 16], JOBS, p=[0.6, 0.2, 0.15, 0.05])
    mean_s = load * GPUS * MONTH_S / JOBS / 2.4  # 2.4 GPUs a job
    run_s = rng.exponential(mean_s, JOBS)
    submit_s = np.sort(rng.uniform(0, MONTH_S, JOBS))
    return [
        JobSpec(f"j{i}", f"v{i % 3}", f"u{i % 7}", int(g), float(s), (_run(r),), status="Pass")
        for i, (g, r, s) in enumerate(zip(gpus, run_s, submit_s, strict=True))
    ]


def _run(run_s: float) -> AttemptSpec:
    return AttemptSpec(float(run_s), "completed")


def cluster(
    seed: tuple[int, int], load: float, policy: Policy, right: str
) -> tuple[Scenario, Known]:
    """Return a month of a cluster, with its idle times if ending idle jobs is right."""
    jobs = month(seed, load)
    idle_times = Known()
    if right == "end_idle":
        idle_times = Known(idle={s.job_id: ((s.run_s / 2, s.run_s / 2, False),) for s in jobs[::2]})
    quotas = {"v0": 1, "v1": 1, "v2": 14} if right == "quotas" else {"v0": 6, "v1": 5, "v2": 5}
    return Scenario((Pool("", fleet("4x4"), tuple(jobs)),), policy, quotas), idle_times


def _inside(predicted: Monthly | None, gain: Monthly | None) -> bool:
    return (
        predicted is not None and gain is not None and predicted.low <= gain.mean <= predicted.high
    )


def rates(load: float, policy: Policy, right: str, seed: int) -> dict[str, object]:
    """Return how often the right lever is first, has a card, and realises a gain as predicted."""
    months = [cluster((seed, n), load, policy, right) for n in range(MONTHS)]
    pricings = [
        Pricing(now, idle_times, Assumptions(), outcome(now), InlineExecutor())
        for now, idle_times in months
    ]
    priced = [
        {p.name: p for p in pricing.levers(LEVERS) if _BY_NAME[p.name].changes != "machines"}
        for pricing in pricings
    ]
    first, card, helps, freed, waited = [], [], [], [], []
    for nth, (pricing, levers) in enumerate(zip(pricings, priced, strict=True)):
        others = [levers for n, levers in enumerate(priced) if n != nth]
        first.append(next(iter(levers)) == right)
        [predicted] = pricing.over_months([levers[right]], DRAWN)
        card.append(not pricing.objection(predicted))
        for name in (name for name, lever in levers.items() if not pricing.objection(lever)):
            gains = [other[name].gain.value_h.mean for other in others if name in other]
            helps.append(np.mean(gains) > 0)
        realised = [other[right].gain for other in others]
        freed += [_inside(predicted.gain.gpu_h, gain.gpu_h) for gain in realised]
        waited += [_inside(predicted.gain.wait_h, gain.wait_h) for gain in realised]
    return {
        "load": load,
        "policy": type(policy).__name__,
        "lever": right,
        "months": MONTHS,
        "first": 100 * np.mean(first),
        "card": 100 * np.mean(card),
        "helps": 100 * np.mean(helps) if helps else np.nan,
        "freed": 100 * np.mean(freed) if right == "end_idle" else np.nan,
        "waited": 100 * np.mean(waited),
    }


def main() -> None:
    """Write a row for each kind of cluster, in percent."""
    cases = enumerate(product(LOADS, POLICIES, range(CLUSTERS)))
    rows = pd.DataFrame(
        [rates(load, policy, right, seed) for seed, (load, (policy, right), _) in cases]
    )
    kinds = rows.groupby(["load", "policy", "lever"], sort=False)
    table = kinds.agg(
        {"months": "sum", **dict.fromkeys(("first", "card", "helps", "freed", "waited"), "mean")}
    )
    print(table.round().astype("Int64").to_csv(), end="")


if __name__ == "__main__":
    main()
