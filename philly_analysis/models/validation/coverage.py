"""Coverage of predictive intervals on consecutive windows of real jobs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from philly_analysis.distributions import Floats
from philly_analysis.errors import ModelError
from philly_analysis.models.between_period import ESTIMATED, Variation
from philly_analysis.models.components.hourly_counts import HOUR_S
from philly_analysis.models.observations import Observations
from philly_analysis.models.sampling import DAY_S, draw_jobs
from philly_analysis.models.validation.calibration import WORKLOAD_MODEL
from philly_analysis.models.validation.resampling import RESAMPLERS, Resample
from philly_analysis.models.workload_model import WorkloadModel
from philly_analysis.results import figures
from philly_analysis.study import GANGS, gang_class

LENGTHS_D = (5, 7, 14, 28)
MIN_JOBS = 100
DRAWS = 200
CONFIDENCE = 0.9
MISS_COST = 2 / (1 - CONFIDENCE)  # per unit outside of the interval (Winkler 1972)
NO_VARIATION = "workload model, no variation"

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
"""Statistics of a window, and the group of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The jobs of some days.

    Attributes
    ----------
    data
        The observations.
    start_s
        Start, Unix seconds.
    days
        Length.
    """

    data: Observations
    start_s: float
    days: int

    @property
    def span_s(self) -> tuple[float, float]:
        """Whole hours from the hour of the window's start, Unix seconds."""
        first_s = self.start_s // HOUR_S * HOUR_S
        return first_s, first_s + self.days * DAY_S


def window_pairs(
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
        Largest number of pairs of one length, evenly spread over time.
    """
    at = data.jobs["submitted_s"].to_numpy(float)
    for days in lengths_d:
        count = int((at[-1] - at[0] + HOUR_S) // (days * DAY_S))
        edges = at[0] + np.arange(count + 1) * days * DAY_S
        enough = np.diff(np.searchsorted(at, edges)) >= MIN_JOBS
        good = np.flatnonzero(enough[:-1] & enough[1:])
        spread = np.unique(np.rint(np.linspace(0, len(good) - 1, min(most, len(good)))).astype(int))
        for i in good[spread]:
            first, second = (
                Window(data.where((at >= start) & (at < end)), start, days)
                for start, end in pairwise(edges[i : i + 3])
            )
            yield first, second


def statistics(jobs: pd.DataFrame, start_s: float, days: int) -> Floats:
    """Compute `STATISTICS` of jobs (columns submitted_s, gpus, run_s, user); nan: unknown."""
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
"""Returns statistics of predicted windows: takes the fitted window, their number, and a seed."""


def model_draws(variation: Variation | None = ESTIMATED, family: str | None = None) -> Draws:
    """Return draws of the workload model with this variation between periods."""

    def draws(window: Window, count: int, seed: int) -> Floats:
        model = replace(_fitted(window, family), variation=variation)
        made = []
        for i in range(count):
            jobs, _ = draw_jobs(model, days=window.days, seed=seed + i)
            user = jobs.user if model.users.named else None
            frame = {"submitted_s": jobs.at_s, "gpus": jobs.gang, "run_s": jobs.run_s, "user": user}
            made.append(statistics(pd.DataFrame(frame), 0.0, window.days))
        return np.array(made)

    return draws


@lru_cache(maxsize=1)  # methods with other variations share a window's fit
def _fitted(window: Window, family: str | None) -> WorkloadModel:
    return WorkloadModel.fit(window.data, family=family, windows=[window.span_s])


def resampling_draws(resample: Resample) -> Draws:
    """Return draws by resampling."""

    def draws(window: Window, count: int, seed: int) -> Floats:
        rng = np.random.default_rng(seed)
        jobs, start_s = window.data.jobs, window.start_s
        return np.array(
            [statistics(resample(jobs, start_s, rng), start_s, window.days) for _ in range(count)]
        )

    return draws


METHODS: dict[str, Draws] = {
    WORKLOAD_MODEL: model_draws(),
    NO_VARIATION: model_draws(None),
    **{name: resampling_draws(r) for name, r in RESAMPLERS.items()},
}
"""Predictive distributions by name."""


def width_and_miss(made: Floats, real: Floats) -> tuple[Floats, Floats]:
    """Return the widths of the draws' intervals, and the distances outside, shapes (k,).

    Parameters
    ----------
    made
        Shape (draws, k). The interval contains one more draw with probability `CONFIDENCE`.
    real
        Shape (k,).
    """
    ends = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    low, high = np.quantile(made, ends, axis=0, method="weibull")
    return high - low, np.maximum(low - real, 0) + np.maximum(real - high, 0)


def score(
    data: Observations,
    *,
    methods: Mapping[str, Draws] = METHODS,
    draws: int = DRAWS,
    seed: int = 0,
    lengths_d: Iterable[int] = LENGTHS_D,
    most: int = 6,
) -> pd.DataFrame:
    """Fit to the first window of each pair, and score predictions of the second window.

    Each pair has its own seeds, from `seed` on, so that errors of draws are independent.

    Returns
    -------
    pandas.DataFrame
        Columns days, pair, method, statistic, group, covered (by the interval from the 5th to the
        95th percentile of the draws), width, winkler (width, and `MISS_COST` times the distance
        outside), pit (share of draws below, ties divided at random). There is no row where all
        draws equal the second window.
    """
    rng = np.random.default_rng(seed)
    tables = []
    for number, (first, second) in enumerate(window_pairs(data, lengths_d=lengths_d, most=most)):
        real = statistics(second.data.jobs, second.start_s, second.days)
        for method, drawn in methods.items():
            try:
                made = drawn(first, draws, seed + number * draws)
            except ModelError:
                continue
            width, missed = width_and_miss(made, real)
            ties = np.isclose(made, real, rtol=0, atol=1e-9)
            below = ((made < real) & ~ties).mean(axis=0)
            table = pd.DataFrame(
                {
                    "days": first.days,
                    "pair": number,
                    "method": method,
                    "statistic": list(STATISTICS),
                    "group": list(STATISTICS.values()),
                    "covered": missed < 1e-9,
                    "width": width,
                    "winkler": width + MISS_COST * missed,
                    "pit": below + rng.random(real.size) * ties.mean(axis=0),
                }
            )
            tables.append(table[~np.isnan(real) & ~ties.all(axis=0)])
    if not tables:
        return pd.DataFrame(columns=[*_SCORES])
    return pd.concat(tables, ignore_index=True)


_SCORES = ("days", "pair", "method", "statistic", "group", "covered", "width", "winkler", "pit")


def plot(table: pd.DataFrame, methods: Iterable[str] = (WORKLOAD_MODEL, "user blocks")) -> Figure:
    """Plot histograms of the probability integral transform (:func:`score`), by group.

    Calibrated predictions have flat histograms. The band contains each of ten bars in 90 % of
    cases, if pairs of windows are independent.
    """
    groups = list(dict.fromkeys(STATISTICS.values()))
    fig, axes = figures.canvas(len(groups), 1, width=10.5, height=2.6, sharey=True)
    edges = np.linspace(0, 1, 11)
    colors = dict(zip(methods, (figures.ACCENT, figures.CYCLE[1]), strict=False))
    keys = [key for key in ("data", "days", "pair") if key in table]
    for ax, group in zip(axes, groups, strict=True):
        mine = table[table["group"] == group]
        n = max(mine.groupby(keys).ngroups, 1)
        low, high = (100 * float(scipy.stats.binom.ppf(q, n, 0.1)) / n for q in (0.05, 0.95))
        ax.axhspan(low, high, color=figures.MUTED, alpha=0.2, linewidth=0)
        for method, color in colors.items():
            pit = mine.loc[mine["method"] == method, "pit"]
            if len(pit):
                share = 100 * np.histogram(pit, edges)[0] / len(pit)
                ax.stairs(share, edges, color=color, linewidth=1.8, label=method)
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of draws below")
        figures.title(ax, f"{group}  n={n}")
    axes[0].set_ylabel("windows, %")
    figures.legend(axes[0], loc="upper left")
    return fig
