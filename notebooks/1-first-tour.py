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
# # A first tour
#
# You will see what a trace holds, three findings, one question in SQL, a workload model beside its
# data, and the same jobs under two policies. The trace is the bundled **synthetic** sample, made by
# `make reports`; set `TRACE` to the folder of your own and run the notebook again.

# %%
import os

from philly_analysis import Trace, analyses, analyze, compare, load_model, simulate

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
trace.plot()

# %%
trace.describe()

# %% [markdown]
# ## Three questions
#
# Each is a finding: sentences, a table, facts with their meaning, a figure. `analyses()` lists all.

# %%
analyze(trace, "why_waits")

# %%
analyze(trace, "how_used")

# %%
analyze(trace, "why_failures")

# %%
analyses("wait")

# %% [markdown]
# The parts of a finding are attributes. `save` writes it by the file's ending: `.png`, `.svg`,
# `.pdf`, `.csv`, `.parquet` or `.html`.

# %%
delay = analyze(trace, "queueing_delay")
f"{delay.facts.p90_wait_s:.0f} s"

# %%
delay.table.head()

# %%
analyze(trace, "run_time").plot(style="column")

# %% [markdown]
# ## Ask in SQL
#
# Tables (`jobs`, `attempts`, …) and relations derived from them (`waits`, `job_runs`, …) are also
# attributes: `trace.waits.df()` is a frame of pandas, `.pl()` of polars.

# %%
trace.sql("""
    select
        vc,
        count(*) as jobs,
        median(gpus) as median_gpus,
        round(sum(gpu_h)) as gpu_h
    from job_runs
    group by vc
    order by gpu_h desc
    limit 5
""").df()

# %% [markdown]
# ## A model
#
# Fit one to the trace, or take one that ships: they hold parameters, no data.

# %%
model = load_model("philly")
model.job_size.plot()

# %%
model.duration(gpus=8).interval(0.9)

# %% [markdown]
# ## What if?
#
# The same jobs under another policy are a trace again, so every finding can be asked of it.

# %%
compare({policy: simulate(trace, policy) for policy in ("fifo", "easy")})
