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
# # Why do jobs wait?
#
# You will see waits by virtual cluster and gang size, what kept the jobs, who overtook whom, and on
# which days. The trace is the bundled **synthetic** sample, made by `make reports`; set `TRACE` to
# the folder of your own and run the notebook again.

# %%
import os

import seaborn as sns

from philly_analysis import Trace, analyze

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))

# %% [markdown]
# ## Do larger gangs wait longer?
#
# The study's Figure 3. A wait begins when the attempt could start; attempts whose record cannot
# be trusted (`flag` says why) are left out and counted.

# %%
analyze(trace, "queueing_delay")

# %% [markdown]
# ## Fair share or fragmentation?
#
# An attempt waits for *fair share* while its virtual cluster is at its quota, for *fragmentation*
# while it is not and no free servers hold its gang. Where free servers would have held the gang,
# the log does not explain the wait.

# %%
analyze(trace, "delay_causes")

# %%
analyze(trace, "out_of_order")

# %% [markdown]
# ## Which days?

# %%
analyze(trace, "waits_by_day")

# %% [markdown]
# ## A question of your own
#
# Every relation that the findings rest on can be asked. Do waits follow the hour of the day?

# %%
by_hour = trace.sql("""
    select
        hour(since_at) as hour,
        gang_bucket(gpus) as gang,
        wait_s / 60 as wait_min
    from waits
    where flag is null and gpus > 0
""").df()
axes = sns.pointplot(
    by_hour,
    x="hour",
    y="wait_min",
    hue="gang",
    hue_order=["1", "2-4", "5-8", ">8"],
    estimator="median",
    errorbar=None,
    linestyle="none",
    dodge=0.3,
)
axes.set(xlabel="hour of the day (UTC)", ylabel="median wait (minutes)", yscale="log")
axes.figure
