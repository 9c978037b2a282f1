"""Runs that fail: why, whether a retry could help, and what if it were not made where not."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np

from philly_analysis.failures import tiers_of
from philly_analysis.results import count
from philly_analysis.simulator.jobs.job import runs_of
from philly_analysis.study import DEMAND_BUCKETS, FAILED, PASS, table_7
from philly_analysis.workload import AttemptSpec, JobSpec

_FAILING = ("failed", "out_of_memory")
"""Ends of runs that fail by what they do themselves."""

_MIN = 60.0


def fails(run: AttemptSpec) -> bool:
    """Whether a run (see :func:`~philly_analysis.simulator.jobs.job.runs_of`) fails by itself."""
    return run.end_reason in _FAILING


def users_own(run: AttemptSpec) -> bool:
    """Whether a run fails by what its user did: it would fail again, wherever it ran.

    By the study's tiers (Table 7): reasons that have the user among theirs.
    """
    return fails(run) and run.failure is not None and "U" in tiers_of(run.failure)


@cache
def _laws() -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Return Table 7's reasons, their trials by demand, and log-normal laws of time to failure."""
    rows = table_7()
    trials = np.array([(r.gpus_1, r.gpus_2_4, r.gpus_over_4) for r in rows], float)
    medians = np.log([r.rtf_p50_min for r in rows])
    widths = (np.log([r.rtf_p90_min for r in rows]) - medians) / NormalDist().inv_cdf(0.9)
    return tuple(r.reason for r in rows), trials, medians, np.maximum(widths, 0.1)


def reason_shares(gpus: int, run_s: float) -> dict[str, float]:
    """Return how likely each reason is, of a run on so many GPUs that failed after so long.

    By Bayes' rule from the study's Table 7: trials by demand, and a log-normal law of the run time
    to failure through its printed median and 90th percentile.
    """
    reasons, trials, medians, widths = _laws()
    demand = next(i for i, b in enumerate(DEMAND_BUCKETS) if b.high is None or gpus <= b.high)
    off = (np.log(max(run_s, 1.0) / _MIN) - medians) / widths
    # of densities this small only the ratios count
    log_weight = np.log(np.maximum(trials[:, demand], 1e-9)) - np.log(widths) - off**2 / 2
    weight = np.exp(log_weight - log_weight.max())
    return dict(zip(reasons, (weight / weight.sum()).tolist(), strict=True))


def with_reasons(specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
    """Return jobs as their runs, each failing one with a reason; drawn where none is known.

    What is not known is drawn by :func:`reason_shares`, once for all failures of a job: the study
    saw the same reason come back in a job's retries.
    """
    done = []
    for spec in specs:
        runs = runs_of(spec)
        unknown = [run for run in runs if fails(run) and run.failure is None]
        if unknown:
            shares = reason_shares(spec.gpus, unknown[0].run_s)
            drawn = str(rng.choice(list(shares), p=list(shares.values())))
            runs = tuple(
                replace(run, failure=drawn) if fails(run) and run.failure is None else run
                for run in runs
            )
        done.append(replace(spec, attempts=runs))
    return done


def says_reasons(recorded: Sequence[JobSpec], specs: Sequence[JobSpec]) -> tuple[str, ...]:
    """Say how many reasons of failures were recorded, and how many drawn."""
    known = sum(a.failure is not None for spec in recorded for a in spec.attempts)
    failed = sum(fails(a) for spec in specs for a in spec.attempts)
    return (
        f"Reasons of failures: as recorded for {known:,} of {failed:,} failing runs, drawn from "
        f"the study's Table 7 by demand and run time, once a job, for {failed - known:,}.",
    )


def without_retries(specs: Sequence[JobSpec]) -> tuple[list[JobSpec], tuple[str, ...]]:
    """Leave out what comes after a run that failed by its user's error; and say what that did.

    Such a job ends there, as failed. One that would have passed on a later try no longer does.

    Parameters
    ----------
    specs
        Jobs as their runs, with reasons (:func:`with_reasons`).
    """
    done, spared_s, lost = [], 0.0, 0
    for spec in specs:
        first = next((k for k, run in enumerate(spec.attempts) if users_own(run)), None)
        if first is None or first == len(spec.attempts) - 1:
            done.append(spec)
            continue
        spared_s += spec.gpus * sum(run.run_s for run in spec.attempts[first + 1 :])
        lost += spec.status == PASS
        kept = spec.attempts[: first + 1]
        done.append(replace(spec, attempts=kept, status=FAILED, censored=False))
    cut = sum(len(a.attempts) < len(b.attempts) for a, b in zip(done, specs, strict=True))
    return done, (
        f"Failures by users' errors are not retried: {count(cut, 'job')} end sooner, which spares "
        f"{spared_s / 3600:,.0f} GPU hours; {lost:,} of them had passed in the end.",
    )
