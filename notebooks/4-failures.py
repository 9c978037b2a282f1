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
# # Why do jobs fail, and what does it cost?
#
# You will see the reasons of failed runs, the GPU time that they cost, when they come and whether
# they come again, and the classifier on output of your own. The trace is the bundled **synthetic**
# sample, made by `make reports`; set `TRACE` to the folder of your own and run the notebook again.

# %%
import os

from philly_analysis import Trace, analyze, classify

trace = Trace(os.environ.get("TRACE", "../data/traces/sample"))

# %% [markdown]
# ## Reasons
#
# Each failed attempt whose output is known gets the reason of its deepest signature: the study's
# classes (its Table 7), in three tiers, by whom it takes to mend them.

# %%
analyze(trace, "failure_reasons")

# %%
analyze(trace, "failure_costs")

# %% [markdown]
# ## Do they come early, and come again?

# %%
analyze(trace, "time_to_failure")

# %%
analyze(trace, "failure_repetition")

# %% [markdown]
# ## Output of your own
#
# `classify` takes text, files and folders, and says for each what it saw, and in which line.

# %%
classify(
    [
        """epoch 3 loss 0.31
Traceback (most recent call last):
  File "train.py", line 88, in <module>
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
srun: error: gpu07: task 0: Exited with exit code 1
""",
        "FileNotFoundError: [Errno 2] No such file or directory: 'data/imagenet'",
    ]
)
