"""How close sampled jobs are to real ones that the model was not fitted to, and could be."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis import figures
from philly_analysis.errors import ModelError, UnknownNameError
from philly_analysis.judging.baselines import BASELINES
from philly_analysis.models.hourly_counts import HOUR_S, HourlyCounts
from philly_analysis.models.observations import Observations
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.result import Fact, Result
from philly_analysis.study import GANGS, gang_class
from philly_analysis.trace import Trace
from philly_analysis.workload import Workload
from philly_analysis.workload.demand import demand

Floats = NDArray[np.float64]

DAY_S = 86_400
WEEK_S = 7 * DAY_S
MIN_JOBS = 30
"""Jobs of a gang class, on either side, below which a distance says nothing."""

LIMITS = {
    "run time": 0.03,
    "gaps between arrivals": 0.05,
    "gang size": 0.02,
    "hourly dispersion": 0.2,
    "hourly autocorrelation": 0.2,
}
"""What a distance should stay below, by quantity."""

MEASURES = {
    "run time": "largest gap between the CDFs, within a gang class",
    "gang size and run time": "largest gap between the joint CDFs",
    "gaps between arrivals": "largest gap between the CDFs",
    "gang size": "total variation",
    "hourly dispersion": "relative difference of variance over mean of the hourly counts",
    "hourly autocorrelation": "relative difference at a lag of one hour",
}
"""What the distance is, by quantity."""

OURS = "workload model"
FLOOR = "real, other part"


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs of one part of a trace, or of a sample.

    Attributes
    ----------
    frame
        Columns submitted_s (Unix seconds), gpus, run_s (null: unknown).
    windows
        Shape (k, 2): when they were observed, Unix seconds; None: from first to last.
    """

    frame: pd.DataFrame
    windows: Floats | None = None

    @classmethod
    def of_workload(cls, workload: Workload) -> Self:
        """Take the jobs of a workload; a job's run time is the sum of its attempts."""
        jobs = demand(workload).jobs
        return cls(
            pd.DataFrame(
                {
                    "submitted_s": jobs["submitted_at"].dt.epoch("us").to_numpy() / 1e6,
                    "gpus": jobs["gpus"].to_numpy(),
                    "run_s": jobs["run_s"].to_numpy(),
                }
            )
        )

    @property
    def span_s(self) -> float:
        """Seconds observed."""
        if self.windows is not None:
            return float(np.diff(self.windows, axis=1).sum())
        at = self.frame["submitted_s"]
        return float(at.max() - at.min()) + 1.0


@dataclass(frozen=True, slots=True)
class Split:
    """A way to divide a trace into a part to fit to and a part to compare with."""

    name: str
    meaning: str
    arrivals: bool
    halves: Callable[[Observations], tuple[Jobs, Jobs, Observations]]


def distances(real: Jobs, other: Jobs) -> pd.DataFrame:
    """Measure how far jobs lie from real ones.

    Parameters
    ----------
    real, other
        Real jobs, and sampled (or other real) ones.

    Returns
    -------
    pandas.DataFrame
        Columns quantity (see `MEASURES`), gang (class, or all), distance, jobs (real ones it
        rests on), other_jobs. Gang classes with fewer than `MIN_JOBS` on a side are left out.
    """
    a, b = real.frame, other.frame
    rows: list[tuple[str, str, float, int, int]] = []
    class_a, class_b = gang_class(a["gpus"]), gang_class(b["gpus"])
    for i, gang in enumerate(GANGS):
        x = a["run_s"].to_numpy(float)[class_a == i]
        y = b["run_s"].to_numpy(float)[class_b == i]
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        if min(x.size, y.size) >= MIN_JOBS:
            rows.append(("run time", gang, cdf_gap(x, y), x.size, y.size))
    joint = max(_partial_gap(a, b, class_a <= i, class_b <= i) for i in range(len(GANGS)))
    rows.append(("gang size and run time", "all", joint, len(a), len(b)))
    p, q = (f["gpus"].value_counts(normalize=True) for f in (a, b))
    variation = float(p.sub(q, fill_value=0).abs().sum() / 2)
    rows.append(("gang size", "all", variation, len(a), len(b)))
    counts_a = HourlyCounts.of(a["submitted_s"], real.windows)
    counts_b = HourlyCounts.of(b["submitted_s"], other.windows)
    gaps_a, gaps_b = counts_a.gaps_s(), counts_b.gaps_s()
    rows.append(("gaps between arrivals", "all", cdf_gap(gaps_a, gaps_b), gaps_a.size, gaps_b.size))
    for quantity, value_a, value_b in (
        ("hourly dispersion", counts_a.dispersion, counts_b.dispersion),
        (
            "hourly autocorrelation",
            float(counts_a.autocorrelation(1)[0]),
            float(counts_b.autocorrelation(1)[0]),
        ),
    ):
        off = abs(value_b / value_a - 1) if value_a else float("inf")
        rows.append((quantity, "all", float(off), len(a), len(b)))
    return pd.DataFrame(rows, columns=["quantity", "gang", "distance", "jobs", "other_jobs"])


def cdf_gap(x: Floats, y: Floats) -> float:
    """Largest gap between the empirical CDFs of two samples (two-sample Kolmogorov-Smirnov)."""
    x, y = np.sort(x), np.sort(y)
    at = np.concatenate((x, y))
    return float(
        np.abs(
            np.searchsorted(x, at, side="right") / x.size
            - np.searchsorted(y, at, side="right") / y.size
        ).max()
    )


def _partial_gap(
    a: pd.DataFrame, b: pd.DataFrame, in_a: NDArray[np.bool_], in_b: NDArray[np.bool_]
) -> float:
    """Largest gap over t between the shares of jobs within the masks with a run time up to t."""
    x, y = a["run_s"].to_numpy(float), b["run_s"].to_numpy(float)
    x_n, y_n = np.isfinite(x).sum(), np.isfinite(y).sum()
    x, y = np.sort(x[in_a & np.isfinite(x)]), np.sort(y[in_b & np.isfinite(y)])
    at = np.concatenate((x, y))
    if not at.size:
        return 0.0
    return float(
        np.abs(
            np.searchsorted(x, at, side="right") / x_n - np.searchsorted(y, at, side="right") / y_n
        ).max()
    )


def _alternate(data: Observations, length_s: int) -> tuple[Jobs, Jobs, Observations]:
    """Split into spans of `length_s` that take turns, from a Monday 00:00 UTC on."""
    at = data.jobs["submitted_s"].to_numpy(float)
    first, last = at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S
    turn = (((at + 3 * DAY_S) // length_s) % 2).astype(int)
    begin = ((first + 3 * DAY_S) // length_s) * length_s - 3 * DAY_S
    starts = np.arange(begin, last, length_s)
    spans = np.column_stack((np.maximum(starts, first), np.minimum(starts + length_s, last)))
    parity = (((starts + 3 * DAY_S) // length_s) % 2).astype(int)
    parts = [Jobs(data.jobs[turn == i], spans[parity == i]) for i in (0, 1)]
    return parts[0], parts[1], data.where(turn == 0)


def _halves(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    at = data.jobs["submitted_s"].to_numpy(float)
    first, last = at.min() // HOUR_S * HOUR_S, at.max() // HOUR_S * HOUR_S + HOUR_S
    middle = (first + last) / 2 // HOUR_S * HOUR_S
    early = at < middle
    return (
        Jobs(data.jobs[early], np.array([[first, middle]])),
        Jobs(data.jobs[~early], np.array([[middle, last]])),
        data.where(early),
    )


def _random(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    mine = np.random.default_rng(20_171_003).random(len(data.jobs)) < 0.5
    return Jobs(data.jobs[mine]), Jobs(data.jobs[~mine]), data.where(mine)


def _same(data: Observations) -> tuple[Jobs, Jobs, Observations]:
    jobs = Jobs(data.jobs)
    return jobs, jobs, data


SPLITS: dict[str, Split] = {
    s.name: s
    for s in (
        Split("halves", "fitted to the first half of the period, compared with the second",
              True, _halves),
        Split("weeks", "fitted to every other week, compared with the weeks between",
              True, lambda d: _alternate(d, WEEK_S)),
        Split("days", "fitted to every other day, compared with the days between",
              True, lambda d: _alternate(d, DAY_S)),
        Split("jobs", "fitted to a random half of the jobs, compared with the other half",
              False, _random),
        Split("none", "fitted to all jobs and compared with the same: the model's own error",
              True, _same),
    )
}  # fmt: skip
"""Ways to hold data out, from the one that drift hurts most; ``none`` holds nothing out."""


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
    baselines, and the part that was fitted to itself: how far real jobs lie from real jobs, which
    no model that knows only that part can be expected to beat.

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
        The columns of :func:`distances`, with model, split, and limit (null: none is set).

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
    fitted_to, rest, part = how.halves(data)
    if min(len(fitted_to.frame), len(rest.frame)) < MIN_JOBS:
        raise ModelError(
            f"{data.name}, split by {split}: {len(fitted_to.frame)} jobs to fit to and "
            f"{len(rest.frame)} to compare with; at least {MIN_JOBS} are needed of each"
        )
    model = WorkloadModel.fit(part, family=family, windows=fitted_to.windows)
    days = rest.span_s / DAY_S
    n = max(round(len(fitted_to.frame) * rest.span_s / fitted_to.span_s), 1)
    made = {
        OURS: Jobs.of_workload(model.sample(days=days, seed=seed)),
        FLOOR: fitted_to,
    }
    for name, fit in BASELINES.items():
        generator = fit(fitted_to.frame, fitted_to.span_s)
        made[name] = Jobs(generator.sample(n, np.random.default_rng(seed)))
    table = pd.concat(distances(rest, jobs).assign(model=name) for name, jobs in made.items())
    if not how.arrivals:  # a random half of the jobs has other gaps than all of them
        table = table[table["quantity"].isin(["run time", "gang size", "gang size and run time"])]
    return table.assign(split=split, limit=table["quantity"].map(LIMITS).astype(float)).reset_index(
        drop=True
    )


def calibrate(trace: Trace, *, family: str | None = None, splits: Iterable[str] = ()) -> Result:
    """Fit a workload model to part of a trace and measure its samples against the rest.

    Parameters
    ----------
    family
        Force one family of run times, e.g. ``empirical``, which is fitted soonest.
    splits
        Keys of `SPLITS`; all when none.

    Raises
    ------
    ModelError
        The trace has too few jobs for that.
    """
    return calibration_of(Observations.of_trace(trace), family=family, splits=splits)


def calibration_of(
    data: Observations, *, family: str | None = None, splits: Iterable[str] = ()
) -> Result:
    """Measure by each split that the data allow; see :func:`calibrate` and :func:`held_out`."""
    tables, skipped = [], []
    for split in list(splits) or SPLITS:
        try:
            tables.append(held_out(data, split, family=family))
        except ModelError as error:
            skipped.append(str(error))
    if not tables:
        raise ModelError(f"no part of the data can be held out: {'; '.join(skipped)}")
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
    fig, axes = figures.canvas(len(splits), 1, width=10.5, height=4.2, sharey=True)
    labels = table["quantity"] + np.where(table["gang"] == "all", "", ", " + table["gang"] + " GPU")
    table = table.assign(label=labels)
    order = list(dict.fromkeys(table["label"]))[::-1]
    for ax, split in zip(axes, splits, strict=True):
        part = table[table["split"] == split]
        for row in part[part["limit"].notna()].drop_duplicates("label").itertuples():
            at = order.index(str(row.label))
            ax.plot(
                [float(str(row.limit))] * 2, [at - 0.4, at + 0.4], color="#3a9a78", linewidth=2.5
            )
        for name, color in MODEL_COLORS.items():
            mine = part[part["model"] == name]
            ax.plot(
                np.clip(mine["distance"], 1e-3, 3), [float(order.index(v)) for v in mine["label"]],
                "D" if name == FLOOR else "o", color=color, label=name,
                markersize=9 if name == FLOOR else 4.5, zorder=2 if name == FLOOR else 3,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xlim(1e-3, 4)
        ax.set_yticks(range(len(order)), order)
        ax.set_xlabel("distance")
        figures.title(ax, f"held out: {split}")
    handles, names = axes[0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
    return figures.stamp(fig, synthetic=result.synthetic)
