"""Learns how much kinds of jobs change, from months whose jobs are a window's own, reweighted.

    python data/reweighted.py > data/reweighted.md

Run times, gang sizes and the load of a drawn month are those of the fitted window, with as many
times the jobs of each kind as `Variation.months` says: so they can be computed without fitting or
sampling, some hundred times as fast, and the numbers of `REWEIGHTED`, which they depend on, learned
all together. Their scores are those of `philly_analysis/judging/coverage.py`, relative to each
statistic's mean over the lists; groups of statistics count alike, and so do lists.

Laws are drawn about `START`, then nearer and nearer about the `BEST` that scored best (the
cross-entropy method; Rubinstein 1999); what is learned is the geometric mean of these. Beside it
stands what holds it in 90 % of bootstraps that draw whole lists.

So far a law suits the sites that it was learned from. At others kinds change more, as these few
sites do not hold all that there are: `kinds` becomes as many times as large as it takes to cover
what is promised of the lists of each site under the law of all others; here sites count alike. It
takes some three CPU minutes.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

import numpy as np
import pandas as pd
from coverage import DEVELOPED_ON, LISTS, SITE, first_seed, in_use, listed
from learn_variation import BOOTSTRAPS, changed, moved, show
from numpy.typing import NDArray

from philly_analysis.models.between_period import LEARNED, Variation
from philly_analysis.models.between_period import RUN_TIMES_S as KINDS_S
from philly_analysis.models.components.arrivals import Arrivals
from philly_analysis.models.validation.coverage import (
    COST,
    HOUR_S,
    PROMISED,
    RUN_TIMES_S,
    STATISTICS,
    Window,
    held,
    pairs,
    statistics,
)
from philly_analysis.study.terms import GANGS, gang_class

START = {
    **dict.fromkeys(("activity", "kinds", "unsteady", "sizes", "trade"), 0.5),
    "reach": 1.0,
    "fall": -0.1,
    "freedom": 10.0,
    "brief": 0.25,
    "centre": 0.5,
}
"""Half of what may be: deviations, shares and powers. No list chose it."""
REWEIGHTED = tuple(START)
ROUNDS = ((240, 0.6), (60, 0.3), (60, 0.2))
"""Laws, and the standard deviation of the logarithms of their numbers."""
BEST = 12
WIDER = (1.0, 1.25, 1.5, 1.75, 2.0)
"""Factors on `kinds` that are tried on sites left out."""
DRAWS = 40
PAIRS = 2

TOLD = [name for name, group in STATISTICS.items() if group in ("run time", "gang size", "load")]
GROUP = pd.Series([STATISTICS[name] for name in TOLD])
AT = np.log(KINDS_S)
BETWEEN = (AT[1:] + AT[:-1]) / 2
EDGES = np.union1d(np.log(RUN_TIMES_S) + 1e-9, np.linspace(0, 16, 49))
"""Natural logarithms of run times: jobs of one gang size between two of them are alike."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int_]


@dataclass(frozen=True, slots=True)
class Cells:
    """The jobs of a window by gang size and run time, and how the next window was.

    Attributes
    ----------
    jobs, gpus, log_run_s, gpu_h
        Shape (k,): of the jobs of each cell their number, gang size, mean logarithm of the run
        time, and GPU hours.
    timed
        Share of jobs whose run time is known; the others are taken to be like these.
    kinds, work
        Jobs and GPU seconds of each gang class (rows) and about each run time of `KINDS_S`.
    """

    jobs: Floats
    gpus: Ints
    log_run_s: Floats
    gpu_h: Floats
    timed: float
    kinds: Floats
    work: Floats
    days: int
    unsteadiness: float
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
        kind = gang_class(gpus) * AT.size + np.digitize(log_run, BETWEEN)
        shape, size = (len(GANGS), AT.size), len(GANGS) * AT.size
        return cls(
            jobs=count,
            gpus=cell[:, 0],
            log_run_s=np.bincount(index, log_run) / count,
            gpu_h=np.bincount(index, run_s * gpus) / HOUR_S,
            timed=len(jobs) / len(every),
            kinds=np.bincount(kind, minlength=size).astype(float).reshape(shape),
            work=np.bincount(kind, gpus * np.exp(log_run), size).astype(float).reshape(shape),
            days=first.days,
            unsteadiness=Arrivals.fit(every["submitted_s"], [first.span_s]).unsteadiness,
            real=statistics(second.data.jobs, second.start_s, second.days)[: len(TOLD)],
            seed=seed,
        )

    def drawn(self, law: Variation) -> Floats:
        """Return the statistics `TOLD` of months, shape (draws, statistics)."""
        months = [
            next(law.months(self.kinds, self.work, self.days, self.unsteadiness, self.seed + i))
            for i in range(DRAWS)
        ]
        log_jobs = np.array([month.log_jobs for month in months])
        scale = np.array([[month.scale] for month in months])
        rng = np.random.default_rng((self.seed, 1))  # the same whatever the law
        of = gang_class(self.gpus)
        place = np.interp(self.log_run_s, AT, np.arange(AT.size))
        left = np.minimum(place.astype(int), AT.size - 2)
        right = place - left
        weight = self.jobs * np.exp(
            (1 - right) * log_jobs[:, of, left] + right * log_jobs[:, of, left + 1]
        )
        weight += np.sqrt(weight) * rng.standard_normal(weight.shape)
        weight = np.maximum(weight, 0)
        sizes, size = np.unique(self.gpus, return_inverse=True)
        among = np.exp(law.sizes.value * scale * rng.standard_normal((DRAWS, sizes.size)))[:, size]
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


@cache
def cells(name: str) -> list[Cells]:
    """Return the pairs of windows of a list, from when it is in use."""
    first = first_seed(name)
    found = pairs(in_use(listed(name)), most=PAIRS)
    return [Cells.of(*pair, first + DRAWS * i) for i, pair in enumerate(found)]


def law_at(at: Floats) -> Variation:
    """Return the law whose numbers are so many times those of `START`, as logarithms."""
    return moved(LEARNED.but(**START), dict(zip(REWEIGHTED, np.exp(at).tolist(), strict=True)))


def intervals(name: str, law: Variation) -> list[tuple[Floats, Floats]]:
    """Return `held` of the statistics of each of a list's windows."""
    return [held(window.drawn(law), window.real) for window in cells(name)]


def scores(names: Sequence[str], law: Variation) -> Floats:
    """Return the mean score of each statistic on each list; nan: it has no windows."""
    found = np.full((len(names), len(TOLD)), np.nan)
    for i, name in enumerate(names):
        if made := intervals(name, law):
            found[i] = np.mean([width + COST * missed for width, missed in made], axis=0)
    return found


def covered(names: Sequence[str], law: Variation) -> Floats:
    """Return the share of intervals that hold what they are of, by list; groups count alike."""
    found = np.full(len(names), np.nan)
    for i, name in enumerate(names):
        if made := intervals(name, law):
            # where all draws agree with the window, nothing is said
            told = [np.where((wide > 0) | (miss > 0), miss == 0, np.nan) for wide, miss in made]
            found[i] = pd.DataFrame(told, columns=GROUP).mean().groupby(level=0).mean().mean()
    return found


@dataclass(slots=True)
class Tried:
    """Laws, as the logarithms of factors on `START`, and their scores on lists."""

    names: Sequence[str]
    at: Floats
    scores: Floats

    def more(self, pool: Executor, at: Floats) -> Self:
        """Return these and others."""
        found = np.array(list(pool.map(partial(scores, self.names), map(law_at, at), chunksize=4)))
        both = np.concatenate((self.scores, found))
        return type(self)(self.names, np.concatenate((self.at, at)), both)

    def on(self, names: Sequence[str]) -> Self:
        """Return the scores on some of the lists."""
        index = [self.names.index(name) for name in names]
        return type(self)(names, self.at, self.scores[:, index])

    @property
    def losses(self) -> Floats:
        """Shape (laws, lists): scores over what is usual of each statistic, groups alike."""
        known = ~np.isnan(self.scores).any(axis=(0, 2))
        found = self.scores[:, known]
        usual = np.median(found, axis=0).mean(axis=0)
        relative = found / np.maximum(usual, 1e-9)
        groups = [relative[:, :, group == GROUP].mean(axis=2) for group in GROUP.unique()]
        return np.asarray(np.mean(groups, axis=0))

    def best(self, lists: Ints | slice = slice(None)) -> Floats:
        """Return the mean of the laws that score best, on all lists or those of an index."""
        loss = self.losses[:, lists].mean(axis=1)
        return np.asarray(self.at[np.argsort(loss)[:BEST]].mean(axis=0))


def about(centre: Floats, laws: int, deviation: float, seed: int) -> Floats:
    """Draw laws about one."""
    rng = np.random.default_rng((seed, laws))
    return centre + deviation * rng.standard_normal((laws, len(REWEIGHTED)))


def wider(pool: Executor, tried: Tried) -> float:
    """Return how many times as much kinds change at sites that a law was not learned from."""
    steps = np.outer(np.log(WIDER), np.array(REWEIGHTED) == "kinds")
    share = {}
    for site in dict.fromkeys(SITE[name] for name in tried.names):
        others = [name for name in tried.names if SITE[name] != site]
        own = [name for name in tried.names if SITE[name] == site]
        laws = map(law_at, tried.on(others).best() + steps)
        share[site] = pd.DataFrame(list(pool.map(partial(covered, own), laws))).mean(axis=1)
    by_factor = np.maximum.accumulate(pd.DataFrame(share).mean(axis=1))
    return float(np.interp(PROMISED, by_factor, WIDER))


def none_tried(names: Sequence[str]) -> Tried:
    """Return no laws yet."""
    return Tried(names, np.empty((0, len(REWEIGHTED))), np.empty((0, len(names), len(TOLD))))


def first_round(pool: Executor, names: Sequence[str]) -> Tried:
    """Try laws about `START`."""
    return none_tried(names).more(pool, about(np.zeros(len(REWEIGHTED)), *ROUNDS[0], 0))


def nearer(pool: Executor, tried: Tried) -> Tried:
    """Try more laws, about the best."""
    for i, (laws, deviation) in enumerate(ROUNDS[1:], start=1):
        tried = tried.more(pool, about(tried.best(), laws, deviation, i))
    return tried


def numbers(at: Floats, more: float) -> dict[str, float]:
    """Return the numbers of a law, given logarithms of factors on `START`, and one on `kinds`."""
    law = changed("kinds", more, law_at(at))
    return {name: getattr(law, name).value for name in REWEIGHTED}


def ranges(tried: Tried, more: float) -> Iterable[tuple[str, float, float, float]]:
    """Yield each number, as learned and where 90 % of bootstraps of lists have it."""
    lists = tried.losses.shape[1]
    index = np.random.default_rng(0).integers(0, lists, (BOOTSTRAPS, lists))
    drawn = pd.DataFrame([numbers(tried.best(row), more) for row in index])
    for name, value in numbers(tried.best(), more).items():
        low, high = drawn[name].quantile([0.05, 0.95])
        yield name, value, float(low), float(high)


def main() -> None:
    """Print the numbers as the lists developed on have them."""
    names = [name for name in LISTS if name in DEVELOPED_ON]
    with ProcessPoolExecutor(2) as pool:
        tried = nearer(pool, first_round(pool, names))
        more = wider(pool, tried)
    print(f"On {', '.join(names)}. Kinds change {more:.2f} times as much elsewhere.\n")
    show(ranges(tried, more))


if __name__ == "__main__":
    main()
