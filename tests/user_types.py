"""A user's file that mypy (strict) checks against the installed package; it is not run.

An ignored error is one that mypy must find: strict checking reports ignores without an error.
"""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import assert_type

import matplotlib.pyplot as plt
import pandas as pd
from duckdb import DuckDBPyRelation
from matplotlib.figure import Figure

import philly_analysis as philly
from philly_analysis import Ensemble, Result, Trace, Workload, WorkloadModel
from philly_analysis.experiments import SweepResult
from philly_analysis.results import Fact, Results
from philly_analysis.simulator import Decision, Job, Months, Policy, View, pack

trace = philly.Trace("my-trace")
assert_type(philly.__version__, str)
assert_type(trace.waits, DuckDBPyRelation)
assert_type(trace["waits"], DuckDBPyRelation)
assert_type(trace.waits.filter("gpus > 8").limit(3), DuckDBPyRelation)
assert_type(trace.where(vc=["a", "b"]).between("2017-11-01", "2017-12-01"), Trace)
frame: pd.DataFrame = trace.jobs.df()

assert_type(philly.analyze(trace, "queueing_delay"), Result)
assert_type(philly.analyze(trace), Results)
assert_type(philly.analyze(pd.DataFrame(), "run_time", "arrivals"), Results)
result = philly.analyze(trace, "queueing_delay", out="tables")
assert_type(result.plot(plt.figure().subplots(), style="column"), Figure)
assert_type(result.save("delay.pdf"), Path)
result.plot(style="paper")  # type: ignore[arg-type]

model = philly.fit(trace)
assert_type(model, WorkloadModel)
assert_type(WorkloadModel.from_json(model.to_json()), WorkloadModel)
assert_type(model.sample(1000, seed=1), Workload)
assert_type(model.sample(1000).jobs, DuckDBPyRelation)
assert_type(philly.analyze(model.sample(days=7), "run_time"), Result)
months = model.sample(seeds=range(5))
assert_type(months, Ensemble)
assert_type(model.duration(gpus=8).mean(), float)
model.duration(gang=8)  # type: ignore[call-overload]
model.sample("1000")  # type: ignore[call-overload]

with ProcessPoolExecutor() as executor:
    assert_type(philly.simulate(months, "srtf", executor=executor), Months)
run = philly.simulate(trace, "srtf", cluster=64)
assert_type(run, Trace)
assert_type(run.save("kept"), Path)
philly.simulate(trace, "srtf", n_gpus=64)  # type: ignore[call-overload]
assert_type(philly.sweep(model, ["fifo", "srtf"], cluster=64), SweepResult)
assert_type(philly.compare({"recorded": trace, "srtf": run}), Result)


@dataclass(frozen=True)
class SmallestFirst(Policy):
    """A policy of the user's own."""

    name = "smallest"
    SOURCE = "here"

    def key(self, job: Job, now_s: float) -> tuple[int, float]:
        """Return what the queue is sorted by."""
        return job.gpus, job.queued_s

    def decide(self, view: View) -> Decision:
        """Offer free servers to the queue."""
        plan = view.plan()
        for job in plan.offers():
            plan.assign(job, pack(plan.cluster, job.gpus))
        return plan.decision


def large_gangs(trace: Trace) -> Result:
    """How many jobs have more than 8 GPUs?"""
    table = trace.sql("select count(*) as jobs from jobs where gpus > 8").df()
    return Result("large_gangs", table, (Fact("jobs", int(table["jobs"][0]), "such jobs"),))


assert_type(philly.simulate(trace, SmallestFirst()), Trace)
assert_type(philly.analyze(trace, large_gangs), Result)
philly.report(trace, also=[large_gangs]).save("page")
philly.simulat(trace, "srtf")  # type: ignore[attr-defined]
