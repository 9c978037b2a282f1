# %% [markdown]
# # Why do jobs wait?
#
# You will see waits by virtual cluster and gang size, their causes, jobs that started out of order,
# and the days of the longest waits. The trace is the bundled **synthetic** sample from
# `make reports`; set `TRACE` to your own folder.

# %%
import os

import seaborn as sns

from philly_analysis import Trace, analyze

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
analyze(trace, "queueing_delay")

# %% [markdown]
# ## The causes
#
# Each second of waiting has one cause, by one order of evidence: the scheduler's own reason, a
# quota, too few free GPUs, GPUs that are scattered over servers, other jobs ahead, or start-up.

# %%
analyze(trace, "why_waits")

# %% [markdown]
# ## The study's two causes
#
# The study divides waits in two only: *fair share* while the virtual cluster is at its quota,
# otherwise *fragmentation*. Time with too few free GPUs counts as fragmentation as well.

# %%
analyze(trace, "delay_causes")

# %%
analyze(trace, "out_of_order")

# %%
analyze(trace, "waits_by_day")

# %% [markdown]
# ## A question of your own: do waits follow the hour of the day?

# %%
hours = trace.sql("""
    select hour(since_at) as "hour (UTC)", gpus > 1 as gang, wait_s / 60 as "wait (minutes)"
    from waits
""")
sns.lineplot(hours.df(), x="hour (UTC)", y="wait (minutes)", hue="gang", seed=1)
