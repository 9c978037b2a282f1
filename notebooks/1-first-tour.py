# %% [markdown]
# # A first tour
#
# You will see what a trace holds, three findings, one question in SQL, a workload model, and the
# same jobs under two policies. The trace is the bundled **synthetic** sample from `make reports`;
# set `TRACE` to your own folder.

# %%
import os

from philly_analysis import Trace, analyze, compare, load_model, simulate

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
trace.plot()

# %%
trace.describe()

# %% [markdown]
# ## Findings
#
# A finding has sentences, a table, facts and a figure; `analyses()` lists all. `.save("why.pdf")`
# writes it in the format of the file's suffix.

# %%
analyze(trace, "why_waits")

# %%
analyze(trace, "how_used")

# %%
analyze(trace, "why_failures").facts

# %% [markdown]
# ## SQL
#
# Tables and the relations derived from them are attributes, too: `trace.waits.df()`.

# %%
trace.sql("select vc, count(*) as jobs, sum(gpu_h) as gpu_h from job_runs group by all").df()

# %% [markdown]
# ## A model, and a what-if

# %%
model = load_model("philly")
model.job_size.plot()

# %%
compare({policy: simulate(trace, policy) for policy in ("fifo", "easy")})
