# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A trace, from three sides
#
# SQL for questions, findings for answers, frames for everything else. The trace opened here is
# the bundled **synthetic** sample; point `TRACE` at your own (`philly ingest philly … my-trace`).

# %%
import os
from pathlib import Path

import seaborn as sns

from philly_analysis import Trace, analyze
from philly_analysis.chapters import ANALYSES

TRACE = Path(os.environ.get("TRACE", "../data/traces/sample"))
trace = Trace(TRACE)
trace

# %% [markdown]
# ## Ask in SQL
#
# Tables (`jobs`, `attempts`, …; `philly tables` describes them) and relations derived from them
# (`waits`, `job_runs`, …) are there under their names. An answer becomes pandas with `.df()`,
# polars with `.pl()`.

# %%
trace.sql("""
    select vc, count(*) as jobs, median(gpus) as median_gpus, round(sum(gpu_h)) as gpu_h
    from job_runs group by vc order by jobs desc
""").df()

# %%
waits = trace.sql("""
    select gang_bucket(gpus) as gang, wait_s / 60 as wait_min
    from waits where first and flag is null and wait_s > 0 and gpus > 0
""").df()
grid = sns.displot(
    waits,
    x="wait_min",
    hue="gang",
    hue_order=["1", "2-4", "5-8", ">8"],
    kind="ecdf",
    log_scale=True,
    height=4,
    aspect=1.6,
)
grid.set_axis_labels("wait (minutes, zero waits left out)", "share of first attempts")

# %% [markdown]
# ## Ask by name
#
# Each finding of the report is a function of the trace: a table, headline facts, and what they
# support in words.

# %%
list(ANALYSES)

# %%
delay = analyze(trace, "queueing_delay")
print(*delay.sentences, *delay.caveats, sep="\n")
delay

# %%
ANALYSES["queueing_delay"].plot(delay)

# %%
trace.close()
