# %% [markdown]
# # Why do jobs fail, and what does it cost?
#
# You will see the reasons of failed runs, the GPU time that they cost, when they come and whether
# they repeat, and the classifier on output of your own. The trace is the bundled **synthetic**
# sample from `make reports`; set `TRACE` to your own folder.

# %%
import os

from philly_analysis import Trace, analyze, classify

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))
analyze(trace, "failure_reasons")

# %%
analyze(trace, "failure_costs")

# %%
analyze(trace, "time_to_failure")

# %%
analyze(trace, "failure_repetition")

# %% [markdown]
# ## Output of your own
#
# `classify` takes files and folders, or `text`.

# %%
classify(
    text=[
        "torch.OutOfMemoryError: CUDA out of memory.",
        "No such file or directory: 'data/imagenet'",
    ]
)
