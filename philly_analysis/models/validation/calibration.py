"""How close sampled jobs are to real ones that the model was not fitted to, and could be.

Where the real halves differ, no model of one can match the other: read the model's distances
beside those of the real other part, not beside zero.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.models.observations import Observations
from philly_analysis.models.validation.baselines import BASELINES
from philly_analysis.models.validation.distances import LIMITS, MIN_JOBS, Jobs, by_chance, distances
from philly_analysis.models.validation.splits import DAY_S, SPLITS
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import Fact, Result, count, figures
from philly_analysis.trace import Trace

QUESTION = "How well does a model fitted to these jobs stand in for jobs it has not seen?"
NEEDS = ("jobs", "attempts")

MOST_JOBS = 5_000
"""Jobs that the page measures on at most: some 3 CPU seconds, most of them to choose families.

Only finding the last of them grows with the trace, by some 1 s a million.
"""

OURS = "workload model"
FLOOR = "real, other part"

_COLUMNS = ("quantity", "gang", "distance", "jobs", "other_jobs", "model", "split", "limit")


def compute(trace: Trace) -> Result:
    """Measure by the two splits that say most, of a longer trace on its last `MOST_JOBS`."""
    latest, every = Observations.latest_of_trace(trace, MOST_JOBS)
    result = calibrate(latest, splits=("halves", "jobs"))
    if len(latest.jobs) == every:
        return result
    taken = f"Measured on the last {len(latest.jobs):,} jobs of {every:,}."
    return replace(result, caveats=(taken, *result.caveats))


def held_out(
    data: Observations,
    split: str,
    *,
    seed: int = 0,
    family: str | None = None,
) -> pd.DataFrame:
    """Fit to one part of the jobs and measure samples against the other part.

    Samples last as long as the part they are compared with, at the rate of the part that was
    fitted to: nothing of the part held out is known to them. Beside the workload model stand the
    baselines, and the part that was fitted to itself: how far real jobs lie from real jobs. A
    smoother law may come closer; :mod:`philly_analysis.models.validation.coverage` asks whether a
    model knows how far.

    Parameters
    ----------
    data
        Real jobs.
    split
        One of `SPLITS`.
    seed
        Seed of the samples.
    family
        Force one family of run times; chosen by itself when None.

    Returns
    -------
    pandas.DataFrame
        The columns of :func:`distances`, with model, split, and limit: that of `LIMITS`, or how
        far chance alone parts such jobs, if that is more (null: none is set).

    Raises
    ------
    UnknownNameError
        No such split.
    ModelError
        One of the parts has too few jobs to fit or to compare with.
    """
    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    how = SPLITS[split]
    if len(data.timed) < MIN_JOBS:
        raise ModelError(
            f"{count(len(data.timed), 'job')} with a known gang and run time, where at least "
            f"{MIN_JOBS} are needed to fit to, and to compare with"
        )
    fitted_to, rest, part = how.halves(data)
    timed = [int(jobs.frame["run_s"].notna().sum()) for jobs in (fitted_to, rest)]
    if min(timed) < MIN_JOBS:
        raise ModelError(
            f"{count(timed[0], 'job')} with a run time to fit to and {timed[1]:,} to compare "
            f"with, where at least {MIN_JOBS} are needed of each"
        )
    model = WorkloadModel.fit(part, family=family, windows=fitted_to.windows, narrowed=False)
    days = rest.span_s / DAY_S
    n = max(round(len(fitted_to.frame) * rest.span_s / fitted_to.span_s), 1)
    made = {
        OURS: Jobs.of_workload(model.sample(days=days, seed=seed, variation="none")),
        FLOOR: fitted_to,
    }
    for name, fit in BASELINES.items():
        generator = fit(fitted_to.frame, fitted_to.span_s)
        made[name] = Jobs(generator.sample(n, np.random.default_rng(seed)))
    table = pd.concat(distances(rest, jobs).assign(model=name) for name, jobs in made.items())
    if not how.arrivals:  # a random half of the jobs has other gaps than all of them
        table = table[table["quantity"].isin(["run time", "gang size", "gang size and run time"])]
    limit = table["quantity"].map(LIMITS).astype(float)
    if how.chance:
        least = by_chance(rest, how.chance, seed)
        keys = pd.MultiIndex.from_frame(table[["quantity", "gang"]])
        # of what has no limit, np.maximum keeps it so
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
        Force one family of run times, e.g. ``empirical``, which is fitted soonest.
    splits
        Keys of `SPLITS`; all when none.

    Returns
    -------
    Result
        Table: the columns of :func:`held_out`. A split for which there are too few jobs is left
        out, and a caveat says so.
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
    ours = table[(table["model"] == OURS) & (table["split"] != "none")]
    limited = ours[ours["limit"].notna()]
    met = limited["distance"] <= limited["limit"]
    floor = table[table["model"] == FLOOR].set_index(["split", "quantity", "gang"])["distance"]
    reachable = (
        floor.reindex(pd.MultiIndex.from_frame(limited[["split", "quantity", "gang"]])).to_numpy()
        <= limited["limit"].to_numpy()
    )
    better = _better_than_baselines(table)
    return Result(
        name="calibration",
        table=table,
        facts=(
            Fact(
                "distances_within_limit", int(met.sum()), "distances that stay within their limit"
            ),
            Fact("distances_limited", len(limited), "distances that have a limit"),
            Fact(
                "distances_reachable",
                int(reachable.sum()),
                "distances where the two parts of the real data are within the limit themselves",
            ),
            Fact("better_than_baselines_pct", better, "distances below those of every baseline, %"),
        ),
        sentences=(
            f"{int(met.sum())} of {len(limited)} distances between sampled jobs and real jobs that "
            f"the model was not fitted to stay within their limit; the real jobs it was fitted to "
            f"stay within it {int(reachable.sum())} times.",
            f"{better:.0f} % of the distances are smaller than those of both baselines.",
        ),
        caveats=(
            *(f"{s.name}: {s.meaning}." for s in SPLITS.values() if s.name in set(table["split"])),
            "A limit is no tighter than what chance alone makes of such jobs, whole users drawn "
            "again (of a random half, job by job).",
            "Where two parts of the real data differ, no model fitted to one can match the other: "
            f"the distance called '{FLOOR}' shows how much that is.",
            *skipped,
        ),
        synthetic=data.synthetic,
    )


def _better_than_baselines(table: pd.DataFrame) -> float:
    """Share of distances, in percent, in which the model beats every baseline."""
    wide = table.pivot_table(
        index=["split", "quantity", "gang"], columns="model", values="distance"
    )
    others = [name for name in BASELINES if name in wide]
    if not others:
        return 100.0
    return float(100 * (wide[OURS] < wide[others].min(axis=1)).mean())


MODEL_COLORS = {
    OURS: figures.ACCENT,
    FLOOR: figures.MUTED,
    "one log-normal, Poisson": figures.CYCLE[1],
    "Lublin-Feitelson, refitted": figures.CYCLE[4],
}


def plot(result: Result) -> Figure:
    """Draw each distance by split, one mark per model, with the limit as a bar."""
    table = result.table
    splits = [s for s in SPLITS if s in set(table["split"])]
    fig, axes = figures.canvas(max(len(splits), 1), 1, width=10.5, height=4.2, sharey=True)
    if not splits:
        figures.title(axes[0], "nothing to compare")
        return fig
    labels = table["quantity"] + np.where(table["gang"] == "all", "", ", " + table["gang"] + " GPU")
    table = table.assign(label=labels)
    order = list(dict.fromkeys(table["label"]))[::-1]
    for ax, split in zip(axes, splits, strict=True):
        part = table[table["split"] == split]
        limited = part[part["limit"].notna()].drop_duplicates("label")
        at = np.array([order.index(v) for v in limited["label"]])
        ax.vlines(limited["limit"], at - 0.4, at + 0.4, color="#3a9a78", linewidth=2.5)
        for name, color in MODEL_COLORS.items():
            mine = part[part["model"] == name]
            ax.plot(
                np.clip(mine["distance"], 1e-3, 3),
                [float(order.index(v)) for v in mine["label"]],
                "D" if name == FLOOR else "o",
                color=color,
                label=name,
                markersize=9 if name == FLOOR else 4.5,
                zorder=2 if name == FLOOR else 3,
            )
        ax.set_xscale("log")
        ax.set_xlim(1e-3, 4)
        ax.set_yticks(range(len(order)), order)
        ax.set_xlabel("distance")
        figures.title(ax, f"held out: {split}")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return fig
