"""Does a model know what it does not know? Its intervals against windows that it has not seen."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.errors import ModelError
from philly_analysis.models.between_period import LEARNED, Variation
from philly_analysis.models.observations import Observations
from philly_analysis.models.sampling import draw
from philly_analysis.models.validation.resampling import RESAMPLERS, Resample
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import figures
from philly_analysis.study import GANGS, gang_class

Floats = NDArray[np.float64]

DAY_S = 86_400
HOUR_S = 3_600
LENGTHS_D = (5, 7, 14, 28)
MIN_JOBS = 100
DRAWS = 200
PROMISED = 0.9
COST = 2 / (1 - PROMISED)
"""Of what an interval missed by, in widths (Winkler 1972)."""
OURS = "workload model"
FITTED = "workload model, no variation"

RUN_TIMES_S = (60, 300, 1_200, 3_600, 14_400, 43_200, 86_400, 259_200)
STATISTICS = {
    **{f"jobs of at most {s:,} s": "run time" for s in RUN_TIMES_S},
    **{f"{gang} GPU": "gang size" for gang in GANGS},
    "mean gang": "gang size",
    "ln jobs": "load",
    "ln GPU hours": "load",
    "ln dispersion": "arrivals",
    "ln users": "users",
    "share of the busiest tenth": "users",
}
"""What is asked of a window, and the group that it counts to."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The jobs of some days.

    Attributes
    ----------
    data
        The observations.
    start_s
        When it begins, Unix seconds.
    days
        How long it is.
    """

    data: Observations
    start_s: float
    days: int

    @property
    def span_s(self) -> tuple[float, float]:
        """Its whole hours, from the one in which it begins."""
        first_s = self.start_s // HOUR_S * HOUR_S
        return first_s, first_s + self.days * DAY_S


def pairs(
    data: Observations, *, lengths_d: Iterable[int] = LENGTHS_D, most: int = 6
) -> Iterator[tuple[Window, Window]]:
    """Find consecutive windows with at least `MIN_JOBS` jobs each.

    Parameters
    ----------
    data
        Jobs of one cluster.
    lengths_d
        Lengths of the windows in days.
    most
        Pairs of one length at most, spread over the whole time.
    """
    at = data.jobs["submitted_s"].to_numpy(float)
    for days in lengths_d:
        windows = int((at[-1] - at[0] + HOUR_S) // (days * DAY_S))
        edges = at[0] + np.arange(windows + 1) * days * DAY_S
        index = np.searchsorted(at, edges)
        count = np.diff(index)
        good = np.flatnonzero((count[:-1] >= MIN_JOBS) & (count[1:] >= MIN_JOBS))
        spread = np.unique(np.rint(np.linspace(0, len(good) - 1, min(most, len(good)))).astype(int))
        for i in good[spread]:
            yield tuple(  # type: ignore[misc]
                Window(data.where((at >= edges[k]) & (at < edges[k + 1])), edges[k], days)
                for k in (i, i + 1)
            )


def statistics(jobs: pd.DataFrame, start_s: float, days: int) -> Floats:
    """Compute `STATISTICS` of jobs (columns submitted_s, gpus, run_s, user); nan: not known."""
    run_s, gpus = jobs["run_s"].to_numpy(float), jobs["gpus"].to_numpy()
    timed = np.isfinite(run_s)
    below = np.searchsorted(np.sort(run_s[timed]), RUN_TIMES_S, side="right") / timed.sum()
    gangs = np.bincount(gang_class(gpus), minlength=len(GANGS)) / gpus.size
    gpu_h = float((run_s * gpus)[timed].sum()) / HOUR_S * gpus.size / timed.sum()
    hour = ((jobs["submitted_s"].to_numpy(float) - start_s) // HOUR_S).astype(int)
    hourly = np.bincount(np.clip(hour, 0, days * 24 - 1), minlength=days * 24)
    users = top = np.nan
    if jobs["user"].notna().any():
        by_user = np.sort(jobs["user"].value_counts().to_numpy())[::-1]
        by_user = by_user[by_user > 0]
        users = np.log(by_user.size)
        top = by_user[: max(1, round(by_user.size / 10))].sum() / by_user.sum()
    return np.array(
        [
            *below,
            *gangs,
            gpus.mean(),
            np.log(gpus.size),
            np.log(max(gpu_h, 1e-3)),
            np.log(max(hourly.var() / hourly.mean(), 1e-3)),
            users,
            top,
        ]
    )


Draws = Callable[[Window, int, int], Floats]
"""Returns statistics of windows drawn: takes the window fitted to, how many, and a seed."""


def by_model(learned: Variation | None = LEARNED, family: str | None = None) -> Draws:
    """Return draws of the workload model, whose months differ as was learned, or not at all."""

    def drawn(window: Window, draws: int, seed: int) -> Floats:
        model = replace(_fitted(window, family), variation=learned)
        made = []
        for i in range(draws):
            jobs, _ = draw(model, days=window.days, seed=seed + i)
            frame = pd.DataFrame(
                {
                    "submitted_s": jobs.at_s,
                    "gpus": jobs.gang,
                    "run_s": jobs.run_s,
                    "user": jobs.user if model.users.named else None,
                }
            )
            made.append(statistics(frame, 0.0, window.days))
        return np.array(made)

    return drawn


@lru_cache(maxsize=1)  # several laws of months are asked of a window, one after the other
def _fitted(window: Window, family: str | None) -> WorkloadModel:
    return WorkloadModel.fit(window.data, family=family, windows=[window.span_s])


def by_resampling(resample: Resample) -> Draws:
    """Return draws of jobs resampled."""

    def drawn(window: Window, draws: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        jobs, start_s = window.data.jobs, window.start_s
        return np.array(
            [statistics(resample(jobs, start_s, rng), start_s, window.days) for _ in range(draws)]
        )

    return drawn


METHODS: dict[str, Draws] = {
    OURS: by_model(),
    FITTED: by_model(None),
    **{name: by_resampling(r) for name, r in RESAMPLERS.items()},
}
"""What is scored, by name."""


def held(made: Floats, real: Floats) -> tuple[Floats, Floats]:
    """Return how wide the intervals of draws are (shape (k,)), and by how much they miss.

    Parameters
    ----------
    made
        Shape (draws, k). Of few draws, too, one more lies within with the probability promised.
    real
        Shape (k,).
    """
    ends = [(1 - PROMISED) / 2, (1 + PROMISED) / 2]
    low, high = np.quantile(made, ends, axis=0, method="weibull")
    return high - low, np.maximum(low - real, 0) + np.maximum(real - high, 0)


def scored(
    data: Observations,
    *,
    methods: Mapping[str, Draws] = METHODS,
    draws: int = DRAWS,
    seed: int = 0,
    lengths_d: Iterable[int] = LENGTHS_D,
    most: int = 6,
) -> pd.DataFrame:
    """Fit to the first of each pair of windows, and hold the draws against the second.

    Each pair has draws of its own, from seeds that begin at `seed`: else what is extreme by chance
    among some draws would be so in all pairs.

    Returns
    -------
    pandas.DataFrame
        Columns days, pair, method, statistic, group, covered (by the interval from the 5th to the
        95th percentile of the draws), width, winkler (width, and twenty times by how much it was
        missed: Winkler 1972), pit (share of draws below, ties divided at random). Where all draws
        and the second window agree on one value, nothing is said and there is no row.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number, (first, second) in enumerate(pairs(data, lengths_d=lengths_d, most=most)):
        real = statistics(second.data.jobs, second.start_s, second.days)
        for method, drawn in methods.items():
            try:
                made = drawn(first, draws, seed + number * draws)  # no luck shared by all
            except ModelError:
                continue
            width, missed = held(made, real)
            ties = np.isclose(made, real, rtol=0, atol=1e-9)
            below = ((made < real) & ~ties).mean(axis=0)
            pit = below + rng.random(real.size) * ties.mean(axis=0)
            for i, (name, group) in enumerate(STATISTICS.items()):
                if not np.isnan(real[i]) and not ties[:, i].all():
                    rows.append(
                        (
                            first.days,
                            number,
                            method,
                            name,
                            group,
                            bool(missed[i] < 1e-9),
                            float(width[i]),
                            float(width[i] + COST * missed[i]),
                            float(pit[i]),
                        )
                    )
    columns = ["days", "pair", "method", "statistic", "group", "covered", "width", "winkler", "pit"]
    return pd.DataFrame(rows, columns=columns)


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Summarise scores of several clusters (:func:`scored`, with a column data) by group.

    Each cluster counts the same, however many pairs of windows it has.

    Returns
    -------
    pandas.DataFrame
        Rows by method and group: covered_pct, winkler, width (means), and of the probability
        integral transform the shares below 0.05, in the middle half, and above 0.95, in percent.
    """
    frame = table.assign(
        covered_pct=100.0 * table["covered"],
        below_pct=100.0 * (table["pit"] < 0.05),
        middle_pct=100.0 * table["pit"].between(0.25, 0.75),
        above_pct=100.0 * (table["pit"] > 0.95),
    )
    columns = ["covered_pct", "winkler", "width", "below_pct", "middle_pct", "above_pct"]
    by_cluster = frame.groupby(["method", "group", "data", "statistic"], sort=False)[columns].mean()
    return by_cluster.groupby(["method", "group"], sort=False).mean()


def plot(table: pd.DataFrame, methods: Iterable[str] = (OURS, "user blocks")) -> Figure:
    """Draw histograms of the probability integral transform (:func:`scored`), by group.

    Draws that know what they do not know give flat ones, up to chance: the band holds each of ten
    columns in 90 % of cases, were the pairs of windows all that is independent.
    """
    groups = list(dict.fromkeys(STATISTICS.values()))
    fig, axes = figures.canvas(len(groups), 1, width=10.5, height=2.6, sharey=True)
    edges = np.linspace(0, 1, 11)
    colors = dict(zip(methods, (figures.ACCENT, figures.CYCLE[1]), strict=False))
    for ax, group in zip(axes, groups, strict=True):
        mine = table[table["group"] == group]
        keys = ["data", "days", "pair"] if "data" in table else ["days", "pair"]
        pairs_of = max(mine.groupby(keys).ngroups, 1)
        low, high = (
            100 * float(scipy.stats.binom.ppf(q, pairs_of, 0.1)) / pairs_of for q in (0.05, 0.95)
        )
        ax.axhspan(low, high, color=figures.MUTED, alpha=0.2, linewidth=0)
        for method, color in colors.items():
            pit = mine.loc[mine["method"] == method, "pit"]
            if pit.empty:
                continue
            share = 100 * np.histogram(pit, edges)[0] / max(len(pit), 1)
            ax.stairs(share, edges, color=color, linewidth=1.8, label=method)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of draws below")
        figures.title(ax, f"{group}  n={pairs_of}")
    axes[0].set_ylabel("windows, %")
    figures.legend(axes[0], loc="upper left")
    return fig
