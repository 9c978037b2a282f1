# %% [markdown]
# # How well are GPUs used, and what does locality do?
#
# You will see how busy the GPUs are, who holds idle ones, and whether gangs that are spread over
# servers use theirs less well. The trace is the bundled **synthetic** sample from `make reports`;
# set `TRACE` to your own folder.

# %%
import os

from philly_analysis import Trace, analyze

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
analyze(trace, "gpu_util")

# %%
analyze(trace, "worst_offenders")

# %% [markdown]
# ## Spread over servers
#
# The study compares gangs of one size by their number of servers (Table 5). `locality_effect`
# compares spread with packed gangs of the same size and tenancy, user by user.

# %%
analyze(trace, "gpu_util_by_servers")

# %%
analyze(trace, "locality_effect")

# %%
analyze(trace, "locality_relaxation")

# %% [markdown]
# ## A question of your own: how many GPU hours are idle, by number of servers?

# %%
trace.sql("""
    select servers, sum(minutes) / 60 as gpu_hours, 100 * sum(idle_min) / sum(minutes) as idle_pct
    from attempt_use group by all having gpu_hours > 0 order by all
""").df().round(1)
