# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What if another policy ran them?
#
# You will see the recorded jobs under three policies, months drawn from a model with intervals, and
# a policy of your own. What is simulated is a trace: every finding can be asked of it. The trace
# is the bundled **synthetic** sample, made by `make reports`; set `TRACE` to the folder of your own
# and run the notebook again.

# %%
import os
from dataclasses import dataclass

import pandas as pd
import seaborn as sns

from philly_analysis import Trace, analyze, compare, policies, simulate, sweep
from philly_analysis.simulator import Decision, Job, Policy, View, pack

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
policies()

# %% [markdown]
# ## The recorded jobs, under three policies
#
# What the trace tells is taken from it (requests, limits, GPU models); what has to be drawn is
# counted in the notes.

# %%
runs = {policy: simulate(trace, policy) for policy in ("fifo", "easy", "srtf")}
print(*runs["easy"].manifest.notes, sep="\n")

# %%
compare({"recorded": trace, **runs})

# %%
waits = pd.concat(
    run.waits.filter("gpus > 0").df().assign(policy=policy) for policy, run in runs.items()
)
waits["gang"] = pd.cut(waits["gpus"], [0, 1, 4, 8, 1_000], labels=["1", "2-4", "5-8", ">8"])
grid = sns.catplot(
    waits.assign(wait_min=waits["wait_s"] / 60),
    x="gang",
    y="wait_min",
    hue="policy",
    kind="point",
    estimator="mean",
    seed=1,  # of the resampling that its intervals come from
    linestyle="none",
    dodge=0.3,
    height=4,
    aspect=1.6,
)
grid.set_axis_labels("gang size (GPUs)", "mean wait (minutes), 95 % interval")
grid.figure.suptitle("The same synthetic jobs under three policies", y=1.02)

# %% [markdown]
# ## With an interval
#
# One month is one case. A sweep draws as many as you like from a model, runs each under every
# policy at every load, and compares in pairs: the same jobs on both sides.

# %%
sweep("philly", ["fifo", "easy", "srtf"], loads=[0.7, 0.9], seeds=4, jobs=800, gpus=64)

# %% [markdown]
# ## A policy of your own
#
# A policy is a class whose `decide` says which jobs run; this one prefers small gangs.
# `philly_analysis/simulator/policies/user_policy.py` explains how.


# %%
@dataclass(frozen=True)
class SmallestFirst(Policy):
    """Start the smallest gang first."""

    name = "smallest"
    SOURCE = "this notebook"

    def key(self, job: Job, now_s: float) -> tuple[int, float]:
        """Return what the queue is sorted by."""
        return (job.gpus, job.queued_s)

    def decide(self, view: View) -> Decision:
        """Offer free servers to the queue."""
        plan = view.plan()
        plan.offer(lambda job: plan.assign(job, pack(plan.cluster, job.gpus)))
        return plan.decision


analyze(simulate(trace, SmallestFirst()), "queueing_delay")
