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
# You will see the two distributions of a model beside the data, a synthetic workload, and how close
# models come to jobs that they were not fitted to. The models that ship hold parameters, no data.
# `philly` was fitted to 82,247 passed Philly jobs; `literature` is the generator that most papers
# call Philly-like. The trace is the bundled **synthetic** sample; set `TRACE` to your own.

# %%
import os

from philly_analysis import Trace, fit, load_model
from philly_analysis.models import Observations
from philly_analysis.models.validation import calibration, coverage, philly_like

model = load_model("philly")
model

# %% [markdown]
# ## Job size and duration
#
# Both have the methods of a frozen SciPy distribution.

# %%
model.job_size.plot()

# %%
model.duration().plot()

# %%
model.job_size.pmf([1, 8]), model.duration().interval(0.9), model.duration(gpus=8).median()

# %% [markdown]
# Conditional distributions are shrunk towards that of the gang class, the more the smaller their
# effective sample size; `contributions` holds the weights.

# %%
run_time = model.duration(gpus=8, vc=model.users.names[0], status="Pass")
run_time.contributions, run_time.interval(0.9), run_time.quantile_interval([0.5, 0.9])

# %%
model.compare(load_model("philly-attempts"))

# %% [markdown]
# ## A synthetic workload

# %%
workload = model.sample(10_000, seed=1)
workload.plot()

# %%
workload.head()

# %% [markdown]
# ## Philly-like jobs and Philly

# %%
compared = philly_like.compare()
for sentence in compared.sentences:
    print(sentence)
philly_like.plot(compared)

# %% [markdown]
# ## On jobs that the model was not fitted to
#
# Fit to one part of a trace, compare samples with the rest. Two parts of the real jobs differ, too:
# the grey diamonds are their distances.

# %%
trace = Trace(os.environ.get("TRACE", "../data/traces/sample"), run_policy="sum")
held_out = calibration.calibrate(trace)
for sentence in (*held_out.sentences, *held_out.caveats):
    print(sentence)
calibration.plot(held_out)

# %%
fit(trace)

# %% [markdown]
# ## Coverage of predictive intervals
#
# Fit to a window, draw other periods, and compare the next window with them: a flat histogram is
# calibrated, a peak in the middle means too wide intervals, peaks at the ends too narrow ones.

# %%
scores = coverage.score(Observations.of_trace(trace), draws=60, lengths_d=(5, 7), most=2)
coverage.plot(scores)
