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
# From a trace to three answers, a question of your own, a model and a what-if, in five minutes.
# The trace opened here is the bundled **synthetic** sample, made by `make reports`; set `TRACE`
# to the folder of your own and run the notebook again.

# %%
import os
import tempfile
from pathlib import Path

from philly_analysis import Trace, analyze, compare, load_model, simulate

TRACE = Path(os.environ.get("TRACE", "../data/traces/sample"))
trace = Trace(TRACE)
trace

# %% [markdown]
# ## Three questions
#
# The page that `make reports` writes opens with these. Each is a finding: sentences, a table,
# headline facts with their meaning, a figure.

# %%
analyze(trace, "why_waits")

# %%
analyze(trace, "how_used")

# %%
analyze(trace, "why_failures")

# %% [markdown]
# What a finding does not say in words is in its facts, and its table is a frame of pandas.

# %%
delay = analyze(trace, "queueing_delay")
for fact in delay.facts[:6]:
    print(f"{fact.name:24} {fact.text:>10}  {fact.meaning}")
delay.table.head()

# %%
delay.plot()

# %% [markdown]
# ## Ask in SQL
#
# Tables (`jobs`, `attempts`, …; `philly tables` describes them) and relations derived from them
# (`waits`, `job_runs`, …) stand there under their names. An answer becomes pandas with `.df()`
# and polars with `.pl()`.

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
load_model("philly").duration(gpus=8).interval(0.9)

# %%
load_model("philly").plot()

# %% [markdown]
# ## What if?
#
# The same jobs under another policy are a trace again, so every finding can be asked of it.

# %%
with tempfile.TemporaryDirectory() as folder:
    simulate(trace, "fifo", f"{folder}/fifo")
    simulate(trace, "easy", f"{folder}/easy")
    beside = compare([f"{folder}/fifo", f"{folder}/easy"])
beside

# %%
trace.close()
