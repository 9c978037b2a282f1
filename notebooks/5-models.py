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
# # A workload model, and how far to trust it
#
# The models that ship hold parameters, no data. `philly` was fitted to 82,247 passed Philly jobs;
# `literature` is the generator that most papers call Philly-like.

# %%
import os
from pathlib import Path

from philly_analysis import fit, load_model
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation import calibration, coverage, philly_like
from philly_analysis.trace.trace import Trace

model = load_model("philly")
model

# %% [markdown]
# Points are the data, lines the model.

# %%
model.plot()

# %%
model.duration(gpus=8)

# %%
model.summary()

# %% [markdown]
# A law that is narrowed down is drawn towards that of its gang class where few independent jobs
# were seen of it, and says by how much. It has the methods of a frozen SciPy distribution.

# %%
law = model.duration(gpus=8, vc=model.users.names[0], status="Pass")
law.own, law.interval(0.9), law.quantile_interval([0.5, 0.9])

# %%
model.compare(load_model("philly-attempts"))

# %%
model.sample(jobs=10_000, seed=1).jobs.head()

# %% [markdown]
# ## Philly-like, beside Philly

# %%
beside = philly_like.compare()
for sentence in beside.sentences:
    print(sentence)
philly_like.plot(beside)

# %% [markdown]
# ## On jobs that the model was not fitted to
#
# Fit to one part of a trace, compare samples with the rest. Where two parts of the real jobs
# differ, no model of one can match the other: the grey diamonds show by how much they do. The
# trace here is the bundled **synthetic** sample; point `TRACE` at your own.

# %%
with Trace(Path(os.environ.get("TRACE", "../data/traces/sample")), run_policy="sum") as trace:
    held_out = calibration.calibrate(trace)
    mine = fit(trace)
for sentence in (*held_out.sentences, *held_out.caveats):
    print(sentence)
calibration.plot(held_out)

# %%
mine

# %% [markdown]
# ## Does it know what it does not know?
#
# Fit to a window, draw other months, and see where among them the next window lies: flat is
# right, a hump in the middle is too wide, heaps at the ends are too narrow.

# %%
with Trace(Path(os.environ.get("TRACE", "../data/traces/sample")), run_policy="sum") as trace:
    scores = coverage.scored(Observations.of_trace(trace), draws=60, lengths_d=(5, 7), most=2)
coverage.plot(scores)
