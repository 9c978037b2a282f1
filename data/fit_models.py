"""Fit the models that ship with the package to the published extracts of real traces.

    python data/fit_models.py [NAME ...]

writes `philly_analysis/models/shipped/NAME.json`. Only parameters are written. Each model names
its data, their origin and licence, and what they do not contain.

The extracts are found at `$PHILLY_TRACES`, or at `../shared/traces` beside the checkout, and are
ingested by the maps that ship (`philly ingest table`).
"""

import gzip
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from literature import literature

from philly_analysis import ingest
from philly_analysis.distributions import round_significant
from philly_analysis.distributions.distribution import Distribution, Parameter
from philly_analysis.models.components.failures import FailureReason, Failures
from philly_analysis.models.components.job_classes import ANY
from philly_analysis.models.components.locality import Locality
from philly_analysis.models.components.utilisation import (
    BINS,
    Utilisation,
    UtilisationCell,
    UtilisationDistribution,
)
from philly_analysis.models.library import SHIPPED
from philly_analysis.models.observations import Observations
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.study.failures import table_7
from philly_analysis.study.published_numbers import curve, groups
from philly_analysis.study.terms import RunPolicy
from philly_analysis.trace.trace import Trace

ARCHIVE = (
    "Microsoft Philly traces (M. Jeon et al., USENIX ATC 2019; github.com/msr-fiddle/"
    "philly-traces), CC BY 4.0"
)
ITP = (
    "Microsoft ITP traces (D. Gu et al., ElasticFlow, ASPLOS 2023; github.com/microsoft/"
    "elasticflow-traces), MIT"
)
THETA = "ALCF ThetaGPU job log, as published by DIR-LAB/lumos, MIT"
TABLE_7 = "ATC'19, Table 7: medians, 90th and 95th percentiles of the run time to failure"
FIGURE_5 = "the archive's notebook, Figure 5, read off its image"
PLACEMENTS = (
    "placements of 5,910 multi-GPU Philly jobs (last attempt of at least 5 min, passed or failed)"
)

TRACES = Path(
    os.environ.get("PHILLY_TRACES", Path(__file__).resolve().parents[2] / "shared" / "traces")
)
"""Folder of the extracts; it may be missing."""

ITP_CLUSTERS = ("01", "02", "04", "05", "06", "07", "08", "10")
EXTRACTS = {
    "philly-passed": ("philly-passed-jobs", "philly-passed"),
    "philly-attempts": ("philly-attempts", "philly-attempts"),
    **{f"itp-{c}": (f"itp-2021/cluster{c}.csv.gz", "itp-2021") for c in ITP_CLUSTERS},
    "openb": ("alibaba-openb-2023", "alibaba-openb-2023"),
    "supercloud": ("mit-supercloud-2021", "mit-supercloud-2021"),
    "thetagpu": ("thetagpu-2023", "thetagpu-2023"),
}
"""Job lists by name: where they are among the extracts, and the map that reads them."""


def observed(name: str, lists: Mapping[str, tuple[str, str]] = EXTRACTS) -> Observations:
    """Ingest an extract and return its jobs; one without a map has a source of its own."""
    raw, table_map = lists[name]
    with tempfile.TemporaryDirectory() as folder:
        source = "table" if table_map else name
        ingest(source, TRACES / raw, Path(folder) / name, map=table_map or None)
        with Trace(Path(folder) / name, run_policy=RunPolicy.SUM) as trace:
            return Observations.of_trace(trace)


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
        known = curve("gpu_util", group)
        value, level = known["value"].to_numpy(float), known["cdf_pct"].to_numpy(float) / 100
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


def itp(cluster: str) -> Callable[[], WorkloadModel]:
    """Return the fit of one ITP cluster."""

    def fitted() -> WorkloadModel:
        model = WorkloadModel.fit(observed(f"itp-{cluster}"))
        return replace(
            model,
            cannot_know=(
                "The hours of the day and of the week are counted from the start of the "
                "collection, whose time of day is not published.",
                *model.cannot_know,
            ),
            sources=(ITP,),
        )

    return fitted


def thetagpu() -> WorkloadModel:
    """Fit the model of ThetaGPU."""
    model = WorkloadModel.fit(observed("thetagpu"))
    return replace(
        model,
        cannot_know=(
            "Gang sizes are allocations as published, which may not be GPUs.",
            *model.cannot_know,
        ),
        sources=(THETA,),
    )


def literature_at_philly_rate() -> WorkloadModel:
    """Return the papers' generator, at the rate of the model philly."""
    passed = observed("philly-passed")
    at = passed.jobs["submitted_s"]
    return literature(round(len(at) / ((at.max() - at.min()) / 3_600), 1))


MODELS: dict[str, Callable[[], WorkloadModel]] = {
    "philly": philly,
    "philly-attempts": philly_attempts,
    "literature": literature_at_philly_rate,
    # Cluster 10 has 260 jobs, too few for a model of its own.
    **{f"itp-{c}": itp(c) for c in ITP_CLUSTERS if c != "10"},
    "thetagpu": thetagpu,
}
"""Models by name."""


def main() -> None:
    """Fit and write the given models, or all."""
    SHIPPED.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        path = MODELS[name]().save(SHIPPED / f"{name}.json")
        print(f"{path.name}: {path.stat().st_size / 1024:,.0f} KB")


if __name__ == "__main__":
    main()
