"""Distances of sampled jobs from real jobs held out of the fit.

Two parts of the real jobs differ, too: read the model's distances beside theirs, not beside zero.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.baselines import BASELINES
from philly_analysis.models.validation.distances import (
    LIMITS,
    MIN_JOBS,
    Jobs,
    distances,
    resampled_distances,
)
from philly_analysis.models.validation.splits import DAY_S, SPLITS
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Analysis, Trace

MAX_JOBS = 5_000
"""Jobs measured on the page: 3 CPU seconds, most of them to choose families."""

WORKLOAD_MODEL = "workload model"
REAL_PART = "real, other part"

_COLUMNS = ("quantity", "gang", "distance", "jobs", "other_jobs", "model", "split", "limit")
_KEYS = ["split", "quantity", "gang"]


def compute(trace: Trace) -> Result:
    """Measure by two splits, of a longer trace on its last `MAX_JOBS` jobs."""
    latest, every = Observations.latest_of_trace(trace, MAX_JOBS)
    result = calibrate(latest, splits=("halves", "jobs"))
    if len(latest.jobs) == every:
        return result
    taken = f"Measured on the last {len(latest.jobs):,} jobs of {every:,}."
    return replace(result, caveats=(taken, *result.caveats))


def held_out(
    data: Observations, split: str, *, seed: int = 0, family: str | None = None
) -> pd.DataFrame:
    """Fit to one part of the jobs and measure samples against the other part.

    Samples have the length of the held-out part and the rate of the fitted part. The baselines
    are measured likewise, and the fitted part itself. A distribution smoother than the real jobs
    may be closer; :mod:`philly_analysis.models.validation.coverage` measures coverage instead.

    Parameters
    ----------
    data
        Real jobs.
    split
        One of `SPLITS`.
    seed
        Seed of the samples.
    family
        Force one family of run times; chosen automatically when None.

    Returns
    -------
    pandas.DataFrame
        The columns of :func:`distances`, with model, split, and limit: the larger of that in
        `LIMITS` and the distance of resampled jobs (null: none).

    Raises
    ------
    UnknownNameError
        The split is not known.
    ModelError
        A part has too few jobs to fit to or to compare with.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    how = SPLITS[split]
    if len(data.timed) < MIN_JOBS:
        raise ModelError(
            f"{count(len(data.timed), 'job')} with a known gang and run time; at least {MIN_JOBS} "
            "are needed to fit to, and to compare with"
        )
    fitted_to, held_out_part, part = how.parts(data)
    timed = [int(jobs.frame["run_s"].notna().sum()) for jobs in (fitted_to, held_out_part)]
    if min(timed) < MIN_JOBS:
        raise ModelError(
            f"{count(timed[0], 'job')} with a run time to fit to and {timed[1]:,} to compare "
            f"with; at least {MIN_JOBS} are needed of each"
        )
    model = WorkloadModel.fit(part, family=family, windows=fitted_to.windows, conditional=False)
    sample = model.sample(days=held_out_part.span_s / DAY_S, seed=seed, variation="none")
    made = {WORKLOAD_MODEL: Jobs.of_workload(sample), REAL_PART: fitted_to}
    n = max(round(len(fitted_to.frame) * held_out_part.span_s / fitted_to.span_s), 1)
    for name, fit in BASELINES.items():
        sampler = fit(fitted_to.frame, fitted_to.span_s)
        made[name] = Jobs(sampler(n, np.random.default_rng(seed)))
    table = pd.concat(
        distances(held_out_part, jobs).assign(model=name) for name, jobs in made.items()
    )
    if not how.arrivals:  # a random half of the jobs has longer gaps
        table = table[table["quantity"].isin(["run time", "gang size", "gang size and run time"])]
    limit = table["quantity"].map(LIMITS).astype(float)
    if how.resample:
        least = resampled_distances(held_out_part, how.resample, seed)
        keys = pd.MultiIndex.from_frame(table[["quantity", "gang"]])
        # np.maximum keeps a missing limit missing
        limit = np.maximum(limit, least.reindex(keys).fillna(0.0).to_numpy())
    return table.assign(split=split, limit=limit).reset_index(drop=True)


def calibrate(
    data: Trace | Observations, *, family: str | None = None, splits: Iterable[str] = ()
) -> Result:
    """Fit a workload model to parts of the jobs and measure its samples against the rest.

    Parameters
    ----------
    data
        A trace, or its jobs.
    family
        Force one family of run times; ``empirical`` is the fastest.
    splits
        Keys of `SPLITS`; all when empty.

    Returns
    -------
    Result
        Table: the columns of :func:`held_out`. A caveat names each split with too few jobs.
    """
    if isinstance(data, Trace):
        data = Observations.of_trace(data)
    tables, skipped = [], []
    for split in list(splits) or SPLITS:
        try:
            tables.append(held_out(data, split, family=family))
        except ModelError as error:
            skipped.append(f"Not measured by {split}: {error}.")
    if not tables:
        return Result(
            name="calibration",
            table=pd.DataFrame(columns=_COLUMNS),
            sentences=("No part of these jobs can be held out, and a model fitted to the rest.",),
            caveats=tuple(skipped),
            synthetic=data.synthetic,
        )
    table = pd.concat(tables, ignore_index=True)
    ours = table[(table["model"] == WORKLOAD_MODEL) & (table["split"] != "none")]
    limited = ours[ours["limit"].notna()]
    limit = limited["limit"].to_numpy()
    within = int((limited["distance"].to_numpy() <= limit).sum())
    real = table[table["model"] == REAL_PART].set_index(_KEYS)["distance"]
    reachable = real.reindex(pd.MultiIndex.from_frame(limited[_KEYS])).to_numpy() <= limit
    by_model = table.pivot_table(index=_KEYS, columns="model", values="distance")
    beaten = by_model[WORKLOAD_MODEL] < by_model[list(BASELINES)].min(axis=1)
    better = float(100 * beaten.mean())
    return Result(
        name="calibration",
        table=table,
        facts=(
            Fact("distances_within_limit", within, "distances within their limit"),
            Fact("distances_limited", len(limited), "distances with a limit"),
            Fact(
                "distances_reachable",
                int(reachable.sum()),
                "distances between the two parts of the real jobs within their limit",
            ),
            Fact(
                "better_than_baselines_pct",
                better,
                "distances below the distances of all baselines, %",
            ),
        ),
        sentences=(
            f"{within} of {len(limited)} distances between sampled and held-out real jobs are "
            f"within their limit. Between the two parts of the real jobs, {int(reachable.sum())} "
            "distances are.",
            f"{better:.0f} % of the distances are smaller than the distances of both baselines.",
        ),
        caveats=(
            *(f"{name}: {s.meaning}." for name, s in SPLITS.items() if name in set(table["split"])),
            "A limit is at least the distance of resampled jobs: of whole users (of a random "
            "half, of single jobs).",
            "Where two parts of the real data differ, no model fitted to one can match the other: "
            f"their distance is called '{REAL_PART}'.",
            *skipped,
        ),
        synthetic=data.synthetic,
    )


MODEL_COLORS = {
    WORKLOAD_MODEL: figures.ACCENT,
    REAL_PART: figures.MUTED,
    "one log-normal, Poisson": figures.CYCLE[1],
    "Lublin-Feitelson, refitted": figures.CYCLE[4],
}


def plot(result: Result) -> Figure:
    """Plot each distance by split, one marker per model, with the limit as a bar."""
    table = result.table
    splits = [s for s in SPLITS if s in set(table["split"])]
    fig, axes = figures.canvas(max(len(splits), 1), 1, width=10.5, height=4.2, sharey=True)
    if not splits:
        figures.title(axes[0], "nothing to compare")
        return fig
    labels = table["quantity"] + np.where(table["gang"] == "all", "", ", " + table["gang"] + " GPU")
    order = list(dict.fromkeys(labels))[::-1]
    table = table.assign(at=labels.map(order.index).astype(float))
    for ax, split in zip(axes, splits, strict=True):
        part = table[table["split"] == split]
        limited = part[part["limit"].notna()].drop_duplicates("at")
        at = limited["at"]
        ax.vlines(limited["limit"], at - 0.4, at + 0.4, color="#3a9a78", linewidth=2.5)
        for name, color in MODEL_COLORS.items():
            mine = part[part["model"] == name]
            marker, size, zorder = ("D", 9, 2) if name == REAL_PART else ("o", 4.5, 3)
            x = np.clip(mine["distance"], 1e-3, 3)
            ax.plot(x, mine["at"], marker, ms=size, zorder=zorder, color=color, label=name)
        ax.set_xscale("log")
        ax.set_xlim(1e-3, 4)
        ax.set_yticks(range(len(order)), order)
        ax.set_xlabel("distance")
        figures.title(ax, f"held out: {split}")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return fig


ANALYSIS = Analysis(
    name="calibration",
    question="How well does a model fitted to these jobs predict jobs held out of the fit?",
    needs=("jobs", "attempts"),
    compute=compute,
    plot=plot,
)
