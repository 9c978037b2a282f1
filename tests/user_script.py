"""A researcher's script: fit, plot, sample, simulate; without a path or a temporary folder."""
# ruff: noqa: T201

import sys

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from philly_analysis import Trace, analyze, compare, fit, simulate

trace = Trace(sys.argv[1])
print(trace.describe())
model = fit(trace)
print(model.job_size.fit_summary(), model.duration(gpus=8).interval(0.9))

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4))
model.job_size.plot(ax=left)
model.duration().plot(ax=middle)

months = [model.sample(days=28, seed=seed) for seed in range(5)]
print(f"{min(map(len, months))} to {max(map(len, months))} jobs a month")

runs = {policy: simulate(months[0], policy, cluster=128) for policy in ("fifo", "srtf")}
waits = pd.concat(run.waits.df().assign(policy=policy) for policy, run in runs.items())
waits["wait_min"] = waits["wait_s"] / 60
sns.pointplot(waits, x="gpus", y="wait_min", hue="policy", seed=1, ax=right)
fig.savefig("figure.pdf")

result = compare(runs)
print(*result.sentences, sep="\n")
print(result.facts.srtf_mean_wait_s, analyze(runs["fifo"], "queueing_delay").facts.median_wait_s)
