"""Estimate the variation of job classes from windows whose own jobs are reweighted.

    python -m data.models.between_period.reweighted > data/reweighted.md

A drawn period has the run times, gang sizes and load of the fitted window, with the factors of
`Variation.periods` on the jobs of each class. Periods are computed without fitting or sampling,
some hundred times as fast, and the parameters of `REWEIGHTED` are estimated jointly. The scores of
`philly_analysis/models/validation/coverage.py` are taken relative to each statistic's mean over the
lists; groups of statistics have equal weights, and lists have equal weights.

Parameters are drawn around `START`, then ever closer to the `BEST` ones (the cross-entropy method;
Rubinstein 1999). The estimate is the geometric mean of the best parameters. The range holds the
estimate in 90 % of bootstraps of whole lists.

Other sites vary more than the few sites of the lists. `class_sd` is multiplied by the factor with
which the intervals of each site, with parameters from all others, have the nominal coverage; sites
have equal weights. It takes some three CPU minutes.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data.models.between_period.lists import DEVELOPED_ON, LISTS, SITE, first_seed, in_use, listed
from data.models.between_period.one_by_one import BOOTSTRAPS, all_scaled, scaled, show
from philly_analysis.models import ESTIMATED, Variation
from philly_analysis.models import RUN_TIMES_S as CLASS_RUN_TIMES_S
from philly_analysis.models.components import Arrivals
from philly_analysis.models.components.job_classes import LONG_SHARE
from philly_analysis.models.long_jobs import LongJobs
from philly_analysis.models.site_variation import SiteVariation
from philly_analysis.models.validation import (
    CONFIDENCE,
    HOUR_S,
    MISS_COST,
    RUN_TIMES_S,
    STATISTICS,
    Window,
    statistics,
    width_and_miss,
    window_pairs,
)
from philly_analysis.study import GANGS, gang_class

START = {
    **dict.fromkeys(
        ("activity_sd", "class_sd", "daily_change_power", "size_sd", "gpu_time_compensation"), 0.5
    ),
    "correlation_length": 1.0,
    "class_sd_slope": -0.1,
    "degrees_of_freedom": 10.0,
    "short_window_power": 0.25,
    "mean_correction": 0.5,
}
"""Half of the possible range of deviations, shares and powers; no list determined it."""
REWEIGHTED = tuple(START)
ROUNDS = ((240, 0.6), (60, 0.3), (60, 0.2))
"""Number of draws, and the standard deviation of the logarithms of their parameters."""
BEST = 12
FACTORS = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Factors on `class_sd` tried on sites left out."""
DRAWS = 40
PAIRS = 2
LONG_LEVELS = 20
"""Levels among the long jobs of a gang class that differ in number."""

USED = [name for name, group in STATISTICS.items() if group in ("run time", "gang size", "load")]
GROUP = pd.Series([STATISTICS[name] for name in USED])
AT = np.log(CLASS_RUN_TIMES_S)
BETWEEN = (AT[1:] + AT[:-1]) / 2
EDGES = np.union1d(np.log(RUN_TIMES_S) + 1e-9, np.linspace(0, 16, 49))
"""Natural logarithms of run times; jobs of one gang size between two neighbours are one cell."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Cells:
    """Jobs of a window by gang size and run time, and statistics of the next window.

    Attributes
    ----------
    jobs, gpus, log_run_s, gpu_h
        Shape (k,): number of jobs of each cell, gang size, mean logarithm of the run time, and GPU
        hours.
    timed
        Share of jobs with a known run time; the others are assumed to be similar.
    class_jobs, class_gpu_s
        Jobs and GPU seconds of each gang class (rows) and run time (`CLASS_RUN_TIMES_S`).
    """

    jobs: Floats
    gpus: Ints
    log_run_s: Floats
    gpu_h: Floats
    timed: float
    class_jobs: Floats
    class_gpu_s: Floats
    days: int
    daily_change: float
    real: Floats
    seed: int

    @classmethod
    def of(cls, first: Window, second: Window, seed: int) -> Self:
        """Count the jobs of a window."""
        every = first.data.jobs
        jobs = every[every["run_s"].notna()]
        gpus, run_s = jobs["gpus"].to_numpy(int), jobs["run_s"].to_numpy(float)
        log_run = np.log(np.maximum(run_s, 0.5))
        cell, index = np.unique(
            np.column_stack((gpus, np.digitize(log_run, EDGES))), axis=0, return_inverse=True
        )
        index = index.ravel()
        count = np.bincount(index).astype(float)
        of_class = gang_class(gpus) * AT.size + np.digitize(log_run, BETWEEN)
        shape, size = (len(GANGS), AT.size), len(GANGS) * AT.size
        return cls(
            jobs=count,
            gpus=cell[:, 0],
            log_run_s=np.bincount(index, log_run) / count,
            gpu_h=np.bincount(index, run_s * gpus) / HOUR_S,
            timed=len(jobs) / len(every),
            class_jobs=np.bincount(of_class, minlength=size).astype(float).reshape(shape),
            class_gpu_s=np.bincount(of_class, gpus * np.exp(log_run), size)
            .astype(float)
            .reshape(shape),
            days=first.days,
            daily_change=Arrivals.fit(every["submitted_s"], [first.span_s]).daily_change,
            real=statistics(second.data.jobs, second.start_s, second.days)[: len(USED)],
            seed=seed,
        )

    def drawn(
        self,
        variation: Variation,
        site: SiteVariation | None = None,
        long_jobs: LongJobs | None = None,
    ) -> Floats:
        """Return the statistics `USED` of drawn periods, shape (draws, statistics)."""
        periods = [
            next(
                variation.periods(
                    self.class_jobs,
                    self.class_gpu_s,
                    self.days,
                    self.daily_change,
                    self.seed + i,
                    length_d=self.days,
                    site=site,
                )
            )
            for i in range(DRAWS)
        ]
        log_jobs = np.array([period.log_jobs for period in periods])
        log_total = np.array([[period.log_total] for period in periods])
        scale = np.array([[period.class_scale] for period in periods])
        rng = np.random.default_rng((self.seed, 1))  # the same for all parameters
        of = gang_class(self.gpus)
        place = np.interp(self.log_run_s, AT, np.arange(AT.size))
        lower = np.minimum(place.astype(int), AT.size - 2)
        upper_share = place - lower
        weight = self.jobs * np.exp(
            (1 - upper_share) * log_jobs[:, of, lower] + upper_share * log_jobs[:, of, lower + 1]
        )
        if long_jobs:
            weight *= self._of_sources(long_jobs.sources(self.days, variation).concentration, rng)
        jobs = weight.sum(axis=1, keepdims=True)
        weight *= self.jobs.sum() * np.exp(log_total) / np.maximum(jobs, 1e-300)
        weight += np.sqrt(weight) * rng.standard_normal(weight.shape)
        weight = np.maximum(weight, 0)
        sizes, size = np.unique(self.gpus, return_inverse=True)
        among = np.exp(variation.size_sd.value * scale * rng.standard_normal((DRAWS, sizes.size)))[
            :, size
        ]
        in_class = np.eye(len(GANGS))[of]
        whole, then = weight @ in_class, (weight * among) @ in_class
        weight *= among * (whole / np.maximum(then, 1e-300))[:, of]
        total = np.maximum(weight.sum(axis=1), 1e-300)
        below = self.log_run_s[:, None] <= np.log(RUN_TIMES_S) + 1e-9
        gpu_h = weight @ (self.gpu_h / self.jobs) / self.timed
        return np.column_stack(
            (
                weight @ below / total[:, None],
                weight @ in_class / total[:, None],
                weight @ self.gpus / total,
                np.log(np.maximum(total / self.timed, 1.0)),
                np.log(np.maximum(gpu_h, 1e-3)),
            )
        )

    def _of_sources(self, concentration: float, rng: np.random.Generator) -> Floats:
        """Return factors on the jobs of cells, by a Dirichlet process of the long jobs."""
        factors = np.ones((DRAWS, self.jobs.size))
        shares = np.full(LONG_LEVELS, concentration / LONG_LEVELS)
        by_level = np.maximum(rng.dirichlet(shares, DRAWS), 1e-12) * LONG_LEVELS
        for gang in range(len(GANGS)):
            mine = np.flatnonzero(gang_class(self.gpus) == gang)
            mine = mine[np.argsort(self.log_run_s[mine])]
            jobs = self.jobs[mine]
            beyond = (np.cumsum(jobs[::-1])[::-1] - jobs / 2) / max(float(jobs.sum()), 1.0)
            long = beyond < LONG_SHARE
            level = (LONG_LEVELS * (1 - beyond[long] / LONG_SHARE)).astype(int)
            made = by_level[:, level]
            mean = made @ jobs[long] / max(float(jobs[long].sum()), 1.0)
            factors[:, mine[long]] = made / np.maximum(mean, 1e-12)[:, None]
        return factors


@cache
def cells(name: str) -> list[Cells]:
    """Return the pairs of windows of a list."""
    first = first_seed(name)
    pairs = window_pairs(in_use(listed(name)), most=PAIRS)
    return [Cells.of(*pair, first + DRAWS * i) for i, pair in enumerate(pairs)]


def variation_at(at: Floats) -> Variation:
    """Return the variation with factors on `START`, given as logarithms."""
    factors = dict(zip(REWEIGHTED, np.exp(at).tolist(), strict=True))
    return all_scaled(ESTIMATED.with_values(**START), factors)


def intervals(name: str, variation: Variation) -> list[tuple[Floats, Floats]]:
    """Return `width_and_miss` of the statistics of each of a list's windows."""
    return [width_and_miss(window.drawn(variation), window.real) for window in cells(name)]


def scores(names: Sequence[str], variation: Variation) -> Floats:
    """Return the mean score of each statistic on each list; nan without windows."""
    means = np.full((len(names), len(USED)), np.nan)
    for i, name in enumerate(names):
        if made := intervals(name, variation):
            means[i] = np.mean([width + MISS_COST * missed for width, missed in made], axis=0)
    return means


def covered(names: Sequence[str], variation: Variation) -> Floats:
    """Return the coverage of intervals by list, groups with equal weights."""
    coverage = np.full(len(names), np.nan)
    for i, name in enumerate(names):
        if made := intervals(name, variation):
            # without rows where all draws equal the window
            hits = [np.where((wide > 0) | (miss > 0), miss == 0, np.nan) for wide, miss in made]
            coverage[i] = pd.DataFrame(hits, columns=GROUP).mean().groupby(level=0).mean().mean()
    return coverage


@dataclass(slots=True)
class Tried:
    """Variations, as logarithms of factors on `START`, and their scores on lists."""

    names: Sequence[str]
    at: Floats
    scores: Floats

    def more(self, pool: Executor, at: Floats) -> Self:
        """Return these variations and further variations, with their scores."""
        new = np.array(
            list(pool.map(partial(scores, self.names), map(variation_at, at), chunksize=4))
        )
        both = np.concatenate((self.scores, new))
        return type(self)(self.names, np.concatenate((self.at, at)), both)

    def on(self, names: Sequence[str]) -> Self:
        """Return the scores on some of the lists."""
        index = [self.names.index(name) for name in names]
        return type(self)(names, self.at, self.scores[:, index])

    @property
    def losses(self) -> Floats:
        """Shape (variations, lists): scores over typical scores, groups with equal weights."""
        scored = ~np.isnan(self.scores).any(axis=(0, 2))
        scores = self.scores[:, scored]
        typical = np.median(scores, axis=0).mean(axis=0)
        relative = scores / np.maximum(typical, 1e-9)
        groups = [relative[:, :, group == GROUP].mean(axis=2) for group in GROUP.unique()]
        return np.asarray(np.mean(groups, axis=0))

    def best(self, lists: Ints | slice = slice(None)) -> Floats:
        """Return the mean of the best variations, on all lists or on the lists of an index."""
        loss = self.losses[:, lists].mean(axis=1)
        return np.asarray(self.at[np.argsort(loss)[:BEST]].mean(axis=0))


def around(center: Floats, count: int, deviation: float, seed: int) -> Floats:
    """Draw variations around one."""
    rng = np.random.default_rng((seed, count))
    return center + deviation * rng.standard_normal((count, len(REWEIGHTED)))


def extra_deviation(pool: Executor, tried: Tried) -> float:
    """Return the factor on `class_sd` with nominal coverage of sites left out."""
    steps = np.outer(np.log(FACTORS), np.array(REWEIGHTED) == "class_sd")
    share = {}
    for site in dict.fromkeys(SITE[name] for name in tried.names):
        others = [name for name in tried.names if SITE[name] != site]
        names_of_site = [name for name in tried.names if SITE[name] == site]
        variations = map(variation_at, tried.on(others).best() + steps)
        share[site] = pd.DataFrame(
            list(pool.map(partial(covered, names_of_site), variations))
        ).mean(axis=1)
    by_factor = np.maximum.accumulate(pd.DataFrame(share).mean(axis=1))
    return float(np.interp(CONFIDENCE, by_factor, FACTORS))


def none_tried(names: Sequence[str]) -> Tried:
    """Return an empty set of variations."""
    return Tried(names, np.empty((0, len(REWEIGHTED))), np.empty((0, len(names), len(USED))))


def first_round(pool: Executor, names: Sequence[str]) -> Tried:
    """Try variations around `START`."""
    return none_tried(names).more(pool, around(np.zeros(len(REWEIGHTED)), *ROUNDS[0], 0))


def refine(pool: Executor, tried: Tried) -> Tried:
    """Try more variations, around the best."""
    for i, (count, deviation) in enumerate(ROUNDS[1:], start=1):
        tried = tried.more(pool, around(tried.best(), count, deviation, i))
    return tried


def parameters(at: Floats, factor: float) -> dict[str, float]:
    """Return parameters, given logarithms of factors on `START`, and one on `class_sd`."""
    variation = scaled("class_sd", factor, variation_at(at))
    return {name: getattr(variation, name).value for name in REWEIGHTED}


def ranges(tried: Tried, factor: float) -> Iterable[tuple[str, float, float, float]]:
    """Yield each estimate with its range in 90 % of bootstraps of lists."""
    lists = tried.losses.shape[1]
    index = np.random.default_rng(0).integers(0, lists, (BOOTSTRAPS, lists))
    drawn = pd.DataFrame([parameters(tried.best(row), factor) for row in index])
    for name, value in parameters(tried.best(), factor).items():
        low, high = drawn[name].quantile([0.05, 0.95])
        yield name, value, float(low), float(high)


def main() -> None:
    """Print the estimates on the lists developed on."""
    names = [name for name in LISTS if name in DEVELOPED_ON]
    with ProcessPoolExecutor(2) as pool:
        tried = refine(pool, first_round(pool, names))
        factor = extra_deviation(pool, tried)
    print(f"On {', '.join(names)}. `class_sd` has a factor of {factor:.2f} for other sites.\n")
    show(ranges(tried, factor))


if __name__ == "__main__":
    main()
