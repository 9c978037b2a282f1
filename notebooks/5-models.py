# %% [markdown]
# # A workload model, and how far to trust it
#
# You will see the two distributions of a model beside its data, a synthetic workload, and how close
# models come to jobs that they were not fitted to. `philly` was fitted to 82,247 passed Philly
# jobs; `literature` is the generator that most papers call Philly-like. The trace is the bundled
# **synthetic** sample from `make reports`; set `TRACE` to your own folder.

# %%
import os

from philly_analysis import Trace, analyze, fit, load_model
from philly_analysis.models import Observations
from philly_analysis.models.validation import coverage, philly_like

model = load_model("philly")
model.job_size.plot()

# %%
model.duration().plot()

# %% [markdown]
# Both have the methods of a frozen SciPy distribution. Conditional ones are shrunk towards that of
# the gang class; `contributions` has the weights.

# %%
run_time = model.duration(gpus=8, vc=model.users.names[0], status="Pass")
model.job_size.pmf([1, 8]), run_time.median(), run_time.interval(0.9), run_time.contributions

# %%
model.sample(10_000, seed=1).plot()

# %% [markdown]
# ## Philly-like jobs and Philly

# %%
philly_like.plot(philly_like.compare())

# %% [markdown]
# ## On jobs that the model was not fitted to
#
# A model of one part of the trace is compared with the rest. Two parts of the real jobs differ,
# too: the grey diamonds are their distances.

# %%
trace = Trace(os.environ.get("TRACE", "../data/traces/sample"), run_policy="sum")
analyze(trace, "calibration")

# %%
fit(trace)

# %% [markdown]
# ## Coverage of predictive intervals
#
# The next window's rank among periods drawn from a model: a flat histogram is calibrated, a peak in
# the middle means too wide intervals.

# %%
coverage.plot(coverage.score(Observations.of_trace(trace), draws=60, lengths_d=(5, 7), most=2))
