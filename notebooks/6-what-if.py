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
# The simulator takes a trace's jobs, or a model's, and a policy, and writes a trace: every
# finding can be asked of it. The trace opened here is the bundled **synthetic** sample, made by
# `make reports`; set `TRACE` to the folder of your own and run the notebook again.

# %%
import os
import tempfile
from pathlib import Path

import pandas as pd
import seaborn as sns

from philly_analysis import Trace, analyze, compare, policies, simulate, sweep

TRACE = Path(os.environ.get("TRACE", "../data/traces/sample"))
folder = Path(tempfile.mkdtemp())
policies()

# %% [markdown]
# ## The recorded jobs, under three policies
#
# What the trace tells is taken from it (requests, limits, GPU models); what has to be drawn is
# counted in the notes.

# %%
for policy in ("fifo", "easy", "srtf"):
    simulate(TRACE, policy, folder / policy)
with Trace(folder / "easy") as what_if:
    print(*what_if.manifest.notes, sep="\n")

# %%
compare([TRACE, *(folder / policy for policy in ("fifo", "easy", "srtf"))])

# %%
waits = pd.concat(
    Trace(folder / policy)
    .sql("select gang_bucket(gpus) as gang, wait_s / 60 as wait_min from waits where gpus > 0")
    .df()
    .assign(policy=policy)
    for policy in ("fifo", "easy", "srtf")
)
grid = sns.catplot(
    waits,
    x="gang",
    y="wait_min",
    hue="policy",
    order=["1", "2-4", "5-8", ">8"],
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
sweep(
    ["philly"],
    ["fifo", "easy", "srtf"],
    folder / "sweep",
    loads=[0.7, 0.9],
    seeds=4,
    draw=800,
    gpus=64,
)

# %% [markdown]
# ## A policy of your own
#
# A class with one method says who runs. `philly_analysis/simulator/policies/own.py` is the guide;
# this one prefers small gangs.

# %%
(folder / "small.py").write_text("""
from dataclasses import dataclass

from philly_analysis.simulator import Policy, pack


@dataclass(frozen=True)
class SmallestFirst(Policy):
    name = "smallest"
    SOURCE = "this notebook"

    def key(self, job, now_s):
        return (job.gpus, job.queued_s)

    def decide(self, view):
        plan = view.plan()
        plan.offer(lambda job: plan.assign(job, pack(plan.cluster, job.gpus)))
        return plan.decision
""")
simulate(TRACE, f"{folder / 'small.py'}:SmallestFirst", folder / "smallest")
analyze(folder / "smallest", "queueing_delay")
