"""Draw reasons of failed runs, and omit retries of user errors."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import NormalDist

import numpy as np

from philly_analysis.failures import tiers_of
from philly_analysis.results import count
from philly_analysis.study import DEMAND_BUCKETS, FAILED, PASS, table_7
from philly_analysis.workload import AttemptSpec, JobSpec, runs_of

_FAILURE_ENDS = ("failed", "out_of_memory")

_MIN = 60.0


def fails(run: AttemptSpec) -> bool:
    """Whether a run (see :func:`~philly_analysis.simulator.jobs.job.runs_of`) fails by itself."""
    return run.end_reason in _FAILURE_ENDS


def is_user_error(run: AttemptSpec) -> bool:
    """Whether a run fails by a user error, which every retry would repeat.

    The study's Table 7 names the user among the tiers of the reason.
    """
    return fails(run) and run.failure is not None and "U" in tiers_of(run.failure)


@cache
def _distributions() -> tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]:
    """Return Table 7's reasons, trials by demand, and log-normal times to failure."""
    rows = table_7()
    trials = np.array([(r.gpus_1, r.gpus_2_4, r.gpus_over_4) for r in rows], float)
    medians = np.log([r.rtf_p50_min for r in rows])
    widths = (np.log([r.rtf_p90_min for r in rows]) - medians) / NormalDist().inv_cdf(0.9)
    return tuple(r.reason for r in rows), trials, medians, np.maximum(widths, 0.1)


def reason_shares(gpus: int, run_s: float) -> dict[str, float]:
    """Return the probability of each reason, given a failed run's GPUs and run time.

    By Bayes' rule from the study's Table 7: trials by demand, and a log-normal distribution of
    the run time to failure through the printed median and 90th percentile.
    """
    reasons, trials, medians, widths = _distributions()
    demand = next(i for i, b in enumerate(DEMAND_BUCKETS) if b.high is None or gpus <= b.high)
    deviation = (np.log(max(run_s, 1.0) / _MIN) - medians) / widths
    # in logarithms, as densities may be too small for floating point
    log_weight = np.log(np.maximum(trials[:, demand], 1e-9)) - np.log(widths) - deviation**2 / 2
    weight = np.exp(log_weight - log_weight.max())
    return dict(zip(reasons, (weight / weight.sum()).tolist(), strict=True))


def with_reasons(specs: Sequence[JobSpec], rng: np.random.Generator) -> list[JobSpec]:
    """Return jobs as their runs, each failed run with a reason, drawn if unknown.

    Reasons are drawn by :func:`reason_shares`, once for all failures of a job: in the study
    retries of a job fail for the same reason.
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


def reason_notes(recorded: Sequence[JobSpec], specs: Sequence[JobSpec]) -> tuple[str, ...]:
    """Return a sentence on how many failure reasons are recorded, and how many drawn."""
    reasons = sum(a.failure is not None for spec in recorded for a in spec.attempts)
    failed = sum(fails(a) for spec in specs for a in spec.attempts)
    return (
        f"Reasons of failures: as recorded for {reasons:,} of {failed:,} failing runs, drawn from "
        f"the study's Table 7 by demand and run time, once per job, for {failed - reasons:,}.",
    )


def until_user_error(spec: JobSpec) -> JobSpec:
    """Return a job that ends as failed at the first user error, without the later runs.

    Parameters
    ----------
    spec
        A job whose runs have reasons (:func:`with_reasons`).
    """
    runs = next((k for k, run in enumerate(spec.attempts, 1) if is_user_error(run)), None)
    if runs is None or runs == len(spec.attempts):
        return spec
    return replace(spec, attempts=spec.attempts[:runs], status=FAILED, censored=False)


def without_retries(specs: Sequence[JobSpec]) -> tuple[list[JobSpec], tuple[str, ...]]:
    """Remove the runs after each job's first user error; return the jobs and a sentence.

    Such a job ends there, as failed, even if a later retry passed.
    """
    done = [until_user_error(spec) for spec in specs]
    cut = [(spec, one) for spec, one in zip(specs, done, strict=True) if one is not spec]
    saved_s = sum(
        spec.gpus * sum(run.run_s for run in spec.attempts[len(one.attempts) :])
        for spec, one in cut
    )
    return done, (
        f"User errors are not retried: {count(len(cut), 'job')} end earlier, which saves "
        f"{saved_s / 3600:,.0f} GPU hours; {sum(spec.status == PASS for spec, _ in cut):,} of them "
        "passed in the end.",
    )
