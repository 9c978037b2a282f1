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
# # How well are GPUs used, and what does locality do?
#
# You will see how busy the GPUs are, who holds idle ones, and whether gangs that are spread over
# servers use theirs less well. The trace is the bundled **synthetic** sample, made by
# `make reports`; set `TRACE` to the folder of your own and run the notebook again.

# %%
import os

from philly_analysis import Trace, analyze

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))

# %% [markdown]
# ## Busy, half busy, idle
#
# Utilisation is the driver's: the share of time in which *something* ran on the GPU. It is read
# each minute, and counts for the attempt that held the GPU then.

# %%
analyze(trace, "gpu_util")

# %% [markdown]
# ## Who holds idle GPUs?

# %%
analyze(trace, "worst_offenders")

# %% [markdown]
# ## Does a gang that is spread over servers use them less well?
#
# The study compares gangs of one size by how many servers they lie on (Table 5), and finds those
# on more servers less busy. That comparison alone mixes what is spread with what is shared, so
# `locality_effect` sets spread beside packed gangs of the same size and tenancy, user by user.

# %%
analyze(trace, "gpu_util_by_servers")

# %%
analyze(trace, "locality_effect")

# %% [markdown]
# ## When is locality given up?
#
# A gang that waits long is placed on more servers than it needs.

# %%
analyze(trace, "locality_relaxation")

# %% [markdown]
# ## A question of your own
#
# How do GPU hours divide among levels of utilisation, by how many servers a gang holds?

# %%
trace.sql("""
    select
        servers,
        count(*) as attempts,
        round(sum(minutes) / 60) as gpu_hours,
        round(sum(sum_pct) / sum(minutes), 1) as mean_pct,
        round(100 * sum(idle_min) / sum(minutes), 1) as idle_pct
    from attempt_use
    where minutes > 0
    group by servers
    order by servers
""").df()
