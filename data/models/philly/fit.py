"""Fit the models `philly` and `philly-attempts` to published extracts of the Philly traces.

    python -m data.models.philly.fit

Inputs are the extracts `philly-passed-jobs`, `philly-attempts` and `philly-multigpu-jobs`, and
numbers that the study and the archive's notebook printed. Only parameters are written.
"""

import gzip
import json
from dataclasses import replace

import numpy as np
import pandas as pd

from data.models.extracts import TRACES, observed
from data.models.shipping import ship
from philly_analysis.distributions import Distribution, Parameter, round_significant
from philly_analysis.models import WorkloadModel
from philly_analysis.models.components import (
    ANY,
    BINS,
    FailureReason,
    Failures,
    Locality,
    Utilisation,
    UtilisationCell,
    UtilisationDistribution,
)
from philly_analysis.study import curve, groups, table_7

ARCHIVE = (
    "Microsoft Philly traces (M. Jeon et al., USENIX ATC 2019; github.com/msr-fiddle/"
    "philly-traces), CC BY 4.0"
)
TABLE_7 = "ATC'19, Table 7: medians, 90th and 95th percentiles of the run time to failure"
FIGURE_5 = "the archive's notebook, Figure 5, read off its image"
PLACEMENTS = (
    "placements of 5,910 multi-GPU Philly jobs (last attempt of at least 5 min, passed or failed)"
)


def published_failures() -> Failures:
    """Return distributions of the time to failure from the study's table of failures.

    A reason's distribution is the log-normal through the median, with the spread that fits the two
    upper percentiles best. Trials on more than 4 GPUs are divided evenly between the two upper
    classes.
    """
    z = np.array([1.2816, 1.6449])
    reasons = []
    for row in table_7():
        above = np.log([row.rtf_p90_min, row.rtf_p95_min]) - np.log(row.rtf_p50_min)
        sigma = max(float(above @ z / (z @ z)), 0.05)
        mu = float(np.log(60 * row.rtf_p50_min))
        time_to_failure = Distribution(
            "lognormal", (Parameter("mu", mu), Parameter("sigma", sigma)), n=row.trials
        )
        upper = row.gpus_over_4 / 2
        weights = (float(row.gpus_1), float(row.gpus_2_4), upper, upper)
        reasons.append(FailureReason(row.reason, weights, time_to_failure))
    return Failures(tuple(sorted(reasons, key=lambda r: -r.n)))


def published_utilisation() -> Utilisation:
    """Return distributions of utilisation, of any number of servers, from the notebook's curves."""
    cells = []
    for group in groups("gpu_util"):
        status, gpus = group.split()
        points = curve("gpu_util", group)
        value, level = points["value"].to_numpy(float), points["cdf_pct"].to_numpy(float) / 100
        # The last percentile at 0 % is the atom; a curve ends at 100 %.
        zero = float(level[value <= 0].max(initial=0.0))
        at = np.concatenate(([0.0], value[value > 0], [100.0]))
        total = np.concatenate(([zero], level[value > 0], [1.0]))
        keep = np.concatenate((np.diff(at) > 0, [True]))
        cdf = np.interp(np.arange(BINS), at[keep], total[keep])
        shares = round_significant(np.diff(cdf, prepend=0.0), 5)
        cells.append(UtilisationCell(int(gpus), ANY, status, UtilisationDistribution(shares, 0)))
    pooled = np.mean([c.distribution.shares for c in cells if c.gpus == 1], axis=0)
    pooled_shares = round_significant(pooled, 5)
    cells.append(UtilisationCell(0, ANY, ANY, UtilisationDistribution(pooled_shares, 0)))
    return Utilisation(tuple(cells))


def recorded_locality() -> Locality | None:
    """Count the servers of the multi-GPU jobs with known placements."""
    file = TRACES / "philly-multigpu-jobs" / "sampled_jobs.json.gz"
    with gzip.open(file) as raw:
        jobs = json.load(raw)
    rows = [
        (sum(len(d["gpus"]) for d in job["detail"]), len({d["ip"] for d in job["detail"]}))
        for job in jobs
    ]
    spreads = pd.DataFrame(rows, columns=["gpus", "servers"])
    counts = spreads.groupby(["gpus", "servers"]).size().reset_index(name="attempts")
    return Locality.fit(counts)


def philly() -> WorkloadModel:
    """Fit the model of the passed Philly jobs."""
    data = observed("philly-passed")
    model = WorkloadModel.fit(replace(data, name="philly"))
    return replace(
        model,
        fitted_on=model.fitted_on + ": passed jobs, the run time is the sum of the attempts",
        cannot_know=(
            "Only passed jobs (about three quarters of all): killed and failed jobs, which are "
            "longer, and their arrivals are not in it; philly-attempts has every ending. "
            "Retries are not known either.",
            *(
                s
                for s in model.cannot_know
                if not any(w in s for w in ("attempts failed", "servers gangs", "busy GPUs"))
            ),
            f"Time to failure is from {TABLE_7}; utilisation from {FIGURE_5}, by ending and gang "
            f"size but not by spread; spreads from {PLACEMENTS}.",
        ),
        sources=(ARCHIVE, "extract philly.csv of petuum/adaptdl (osdi21-artifact)"),
        failures=published_failures(),
        utilisation=published_utilisation(),
        locality=recorded_locality(),
    )


def philly_attempts() -> WorkloadModel:
    """Fit the model of every Philly attempt."""
    model = WorkloadModel.fit(observed("philly-attempts"))
    return replace(
        model,
        fitted_on=model.fitted_on + ": attempts of any ending, each taken as a job",
        cannot_know=(
            "Attempts of one job are jobs of their own, submitted at the same second.",
            "Attempts without a start or an end, so those still running, are not in it.",
            *model.cannot_know,
        ),
        sources=(ARCHIVE, "extract philly_df_schedule.csv of DIR-LAB/lumos (MIT)"),
    )


if __name__ == "__main__":
    ship(philly())
    ship(philly_attempts())
