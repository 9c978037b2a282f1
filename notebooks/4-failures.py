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
# The trace opened here is the bundled **synthetic** sample, made by `make reports`; set `TRACE`
# to the folder of your own and run the notebook again.

# %%
import os
import tempfile
from contextlib import chdir
from pathlib import Path

from philly_analysis import Trace, analyze, classify

TRACE = Path(os.environ.get("TRACE", "../data/traces/sample"))
trace = Trace(TRACE)

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
# `classify` reads the output of runs, files or folders, and says for each what it saw, and in
# which line.

# %%
with tempfile.TemporaryDirectory() as folder, chdir(folder):
    Path("slurm-17.out").write_text(
        "epoch 3 loss 0.31\n"
        "Traceback (most recent call last):\n"
        '  File "train.py", line 88, in <module>\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        "srun: error: gpu07: task 0: Exited with exit code 1\n"
    )
    Path("slurm-18.out").write_text(
        "FileNotFoundError: [Errno 2] No such file or directory: 'data/imagenet'\n"
    )
    found = classify(".")
found

# %%
trace.close()
