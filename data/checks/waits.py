"""Compare the queueing delays of sampled and real jobs, on the fitted windows.

    python -m data.checks.waits [EXTRACT ...] > table.md

fits a model to a window of each extract, scales the window's first jobs and the first jobs of
sampled periods to one load on one cluster, and simulates both. For the window and the samples, the
script also prints the rank correlation of an hour's jobs with their run times. It takes two
minutes.
"""

import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import rankdata

from data.models.between_period.lists import OF_GPUS, listed
from philly_analysis.models import WorkloadModel, draw_jobs
from philly_analysis.models.components import load_correlation
from philly_analysis.models.validation import Window, window_pairs
from philly_analysis.simulator import run
from philly_analysis.simulator.policies import policy_named
from philly_analysis.workload import AttemptSpec, JobSpec, fleet, stretch_to_load

LOAD, GPUS, JOBS, PERIODS = 0.8, 64, 1_500, 20
POLICIES = ("fifo", "sjf", "philly")
HOUR_S, DAY_S = 3_600, 86_400
LEFT_OUT = ("itp-06", "philly-attempts", "openb")
"""Extracts with too few jobs or run times in a window, or with the same jobs as another."""


def window_of(name: str) -> Window:
    """Return a window in the middle, of 14 days or else 7."""
    data = listed(name)
    for days in (14, 7):
        if windows := [first for first, _ in window_pairs(data, lengths_d=(days,), most=3)]:
            return windows[len(windows) // 2]
    raise SystemExit(f"{name} has no two windows")


def waits_min(
    at_s: ArrayLike, gpus: ArrayLike, run_s: ArrayLike, vc: ArrayLike, quotas: dict[str, int]
) -> list[float]:
    """Return the mean wait of jobs in minutes under each policy."""
    rows = zip(*map(np.asarray, (at_s, gpus, run_s, vc)), strict=True)
    specs = [
        JobSpec(f"j{i:06d}", str(of), "", int(g), float(at), (AttemptSpec(float(s)),), "Pass")
        for i, (at, g, s, of) in enumerate(rows)
        if g <= GPUS and s > 0
    ]
    loaded = stretch_to_load(specs, LOAD, GPUS)
    served_s = np.mean([s.run_s for s in loaded])
    simulated = (run(loaded, fleet("8x8"), policy_named(p, {}), quotas=quotas) for p in POLICIES)
    return [float(done.jct_s.mean() - served_s) / 60 for done in simulated]


def entitled(jobs: pd.DataFrame) -> dict[str, int]:
    """Return quotas: GPUs by virtual cluster in proportion to use in the window."""
    used = (jobs["gpus"] * jobs["run_s"]).groupby(jobs["vc"].astype(str)).sum()
    return {str(vc): max(round(GPUS * share), 1) for vc, share in (used / used.sum()).items()}


def hourly(at_s: ArrayLike, run_s: ArrayLike) -> float:
    """Return the rank correlation of an hour's jobs with their run times."""
    ranks = rankdata(np.asarray(run_s, float))
    return load_correlation(np.asarray(at_s, float), ndtri((ranks - 0.5) / ranks.size))


def rows(name: str) -> Iterator[str]:
    """Yield a row of the table per policy."""
    window = window_of(name)
    jobs = window.data.jobs.dropna(subset=["run_s"]).head(JOBS)
    quotas = entitled(jobs)
    real = waits_min(
        jobs["submitted_s"] - window.start_s, jobs["gpus"], jobs["run_s"], jobs["vc"], quotas
    )
    first_s = window.start_s // HOUR_S * HOUR_S
    hours = [(first_s, first_s + window.days * DAY_S)]
    model = WorkloadModel.fit(window.data, windows=hours)
    drawn = [draw_jobs(model, jobs=len(jobs), gpus=GPUS, seed=seed)[0] for seed in range(PERIODS)]
    timed = window.data.timed
    rank = hourly(timed["submitted_s"], timed["run_s"])
    periods = [draw_jobs(model, days=window.days, seed=seed)[0] for seed in range(PERIODS)]
    sampled_rank = float(np.median([hourly(period.at_s, period.run_s) for period in periods]))
    sampled = np.array([waits_min(m.at_s, m.gang, m.run_s, m.vc, quotas) for m in drawn])
    # of so few periods the default quantiles would cover 81 %, not 90 %
    low, middle, high = np.quantile(sampled, [0.05, 0.5, 0.95], axis=0, method="weibull")
    for i, policy in enumerate(POLICIES):
        inside = "yes" if low[i] <= real[i] <= high[i] else "no"
        below = np.mean(sampled[:, i] < real[i])
        yield (
            f"| {name} | {policy} | {real[i]:,.0f} | {middle[i]:,.0f} | {low[i]:,.0f} to "
            f"{high[i]:,.0f} | {inside} | {below:.2f} | {rank:.2f} | {sampled_rank:.2f} |"
        )


def main() -> None:
    """Print the waits of the given extracts, or of all with enough jobs."""
    names = sys.argv[1:] or [name for name in sorted(OF_GPUS) if name not in LEFT_OUT]
    print(
        f"## Waits\n\nMean waits in minutes at a load of {LOAD} on {GPUS} GPUs, {PERIODS} months; "
    )
    print("and the correlation of an hour's jobs with their mean run time, both by rank.\n")
    print(
        "| fitted to | policy | real | months, median | 90 % | inside | below | hourly, real |",
        end="",
    )
    print(" months, median |\n|---|---|---:|---:|---:|---|---:|---:|---:|")
    for name in names:
        for row in rows(name):
            print(row, flush=True)


if __name__ == "__main__":
    main()
