# %% [markdown]
# # What if another policy ran them?
#
# You will see the recorded jobs under three policies, months drawn from a model with intervals, and
# a policy of your own. A what-if is a trace: every finding applies to it. The trace is the bundled
# **synthetic** sample from `make reports`; set `TRACE` to your own folder.

# %%
import os
from dataclasses import dataclass

import pandas as pd
import seaborn as sns

from philly_analysis import Trace, analyze, compare, simulate, sweep
from philly_analysis.simulator import Decision, Job, Policy, View, pack

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
runs = {policy: simulate(trace, policy) for policy in ("fifo", "easy", "srtf")}
compare({"recorded": trace, **runs})

# %%
waits = pd.concat(run.waits.df().assign(policy=policy) for policy, run in runs.items())
waits["hours"] = waits["wait_s"] / 3600
sns.pointplot(waits, x="gpus", y="hours", hue="policy", seed=1)

# %% [markdown]
# ## With an interval
#
# One month is one case. A sweep draws several from a model, runs each under every policy at every
# load, and compares in pairs.

# %%
sweep("philly", ["fifo", "easy", "srtf"], loads=[0.7, 0.9], seeds=range(4), jobs=800, cluster=64)

# %% [markdown]
# ## A policy of your own
#
# `decide` says which jobs run; this policy prefers small gangs.


# %%
@dataclass(frozen=True)
class SmallestFirst(Policy):
    """Start the smallest gang first."""

    name = "smallest"
    SOURCE = "this notebook"

    def key(self, job: Job, now_s: float) -> tuple[int, float]:
        return (job.gpus, job.queued_s)

    def decide(self, view: View) -> Decision:
        plan = view.plan()
        for job in plan.offers():
            plan.assign(job, pack(plan.cluster, job.gpus))
        return plan.decision


analyze(simulate(trace, SmallestFirst()), "queueing_delay")
