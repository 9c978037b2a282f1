"""Find the distance of wait distributions up to which a replay is believed.

Usage: python -m data.models.advice_threshold.estimate [--seeds N]

Jobs of the shipped model `philly` run on 64 GPUs under known policies, at three loads. Start-up
times are added to the recorded waits. A replay must be believed if the policy is a candidate. A
replay must be refused if half of the jobs are missing from the log. The threshold lies midway
between the 95th percentile of the distances to be believed and the 5th percentile of the distances
to be refused. It is written beside the module that reads the threshold.
"""

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np

from philly_analysis import load_model
from philly_analysis.experiments import quotas_by_use
from philly_analysis.experiments.advice import (
    CANDIDATES,
    LogFacts,
    Recorded,
    Scenario,
    fit_baseline,
    outcome,
)
from philly_analysis.parallel import InlineExecutor
from philly_analysis.simulator import Pool
from philly_analysis.workload import fleet, stretch_to_load

POLICIES = (0, 2, 4, 7, 8)
"""Places of the simulated clusters' policies in the table of candidates."""
LOADS = (0.6, 0.8, 1.0)
GPUS, JOBS = 64, 800
START_UP_S, SPREAD = 30.0, 1.0
"""Median of the log-normal start-up times, and the standard deviation of their logarithm."""
FILE = Path(__file__).parents[3] / "philly_analysis/experiments/advice/threshold.toml"


def distances(place: int, load: float, seed: int) -> list[tuple[bool, float]]:
    """Return whether the mean waits agree, and the larger distance of the two halves of the log.

    The first pair is of the whole log, the second of a log with half of the jobs.
    """
    rng = np.random.default_rng([place, seed])
    drawn = list(load_model("philly").sample(JOBS, gpus=GPUS, offered=1.0, seed=seed).specs())
    specs = tuple(stretch_to_load(drawn, load, GPUS))
    policy = CANDIDATES[place].policy
    quotas = quotas_by_use(specs, GPUS)
    cluster = Scenario((Pool("", fleet("8x8"), specs),), policy, quotas)
    simulated = dict(outcome(cluster).select("job_id", "first_wait_s").iter_rows())
    waits = {job: wait + START_UP_S * rng.lognormal(0, SPREAD) for job, wait in simulated.items()}
    kept = tuple(
        spec for spec, keep in zip(specs, rng.random(len(specs)) < 0.5, strict=True) if keep
    )
    fence_s = START_UP_S * float(np.exp(2.7 * SPREAD))
    both: list[tuple[bool, float]] = []
    for jobs in (specs, kept):
        log = replace(cluster, pools=(Pool("", fleet("8x8"), jobs),))
        baseline = fit_baseline(Recorded(log, LogFacts(), waits), fence_s, InlineExecutor())
        assert baseline is not None  # noqa: S101 - there are enough jobs
        halves = baseline.halves
        both.append((all(h.means_agree for h in halves), max(h.ks for h in halves)))
    return both


def main(seeds: int) -> None:
    """Write the threshold, and the distances that it comes from."""
    cases = list(product(POLICIES, LOADS, range(1, seeds + 1)))
    rows = [(case, distances(*case)) for case in cases]
    near, far = ([logs[i] for _, logs in rows] for i in range(2))
    ends = (
        float(np.quantile([ks for _, ks in near], 0.95)),
        float(np.quantile([ks for _, ks in far], 0.05)),
    )
    threshold = round(sum(ends) / 2, 2)
    accepted, refused = (
        np.mean([(agree and ks <= threshold) == believed for agree, ks in logs])
        for logs, believed in ((near, True), (far, False))
    )
    lines = [
        f"# data/models/advice_threshold, --seeds {seeds}: {len(rows)} clusters of {JOBS} jobs.",
        "# Of replays of a known policy 95 % are nearer than `near`; of logs with half of the jobs",
        "# 5 % are nearer than `far`. With the mean waits, the share `accepted` of the former is",
        "# believed, and the share `refused` of the latter is not.",
        f"ks = {threshold}",
        f"near = {ends[0]:.3f}",
        f"far = {ends[1]:.3f}",
        f"accepted = {accepted:.3f}",
        f"refused = {refused:.3f}",
        "# policy, load, seed, [mean waits agree, distance] with all jobs, with half of the jobs",
        "clusters = [",
        *(
            f'  ["{CANDIDATES[p].name}", {load}, {s}, '
            + ", ".join(f"[{str(agree).lower()}, {ks:.3f}]" for agree, ks in logs)
            + "],"
            for (p, load, s), logs in rows
        ),
        "]",
    ]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    print(*lines[:9], sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1)
    main(parser.parse_args().seeds)
