"""Learns from real months how much months differ: the numbers and ranges of `LEARNED`.

    python data/learn_variation.py [PARAMETER ...] [--on EXTRACT ...] > data/variation.md

tries a smaller and a larger value of each parameter of `philly_analysis/models/variation.py`, the
others as they stand, and scores on each extract the intervals for the next window
(`philly_analysis/judging/coverage.py`; each statistic's Winkler score over its mean on all extracts
as it stands, so that all statistics count alike and no extract is forgiven a miss). The best value
is where a parabola through the means over the extracts is least; the range holds it in 90 % of
bootstraps that draw whole extracts. What stands is moved where it lies outside of its range. It
takes some twenty CPU minutes. What run times, gang sizes and the load depend on is learned
by `reweighted.py`, all together, and from longer windows too; what users' activity depends on, by
`turnover.py`.

It also counts the users who come and go from one window to the next, beside those of draws. A
list's opening is left out: while a cluster is taken into use everything grows, which says nothing
of how months differ once it is in use.

The extracts are found as `fit_models.py` says. Those of `coverage.KEPT_OUT` take no part, so that
they can judge.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields

import numpy as np
import pandas as pd
from coverage import DEVELOPED_ON, LISTS, first_seed, in_use, listed
from numpy.typing import NDArray

from philly_analysis.distributions.distribution import EMPIRICAL
from philly_analysis.models.between_period import LEARNED, Learned, Variation
from philly_analysis.models.observations import Observations
from philly_analysis.models.sampling import draw
from philly_analysis.models.validation.coverage import PROMISED, Window, by_model, pairs, scored
from philly_analysis.models.workload_model import WorkloadModel

STEP = np.log(1.6)
FARTHEST = np.log(2.0)
"""Factors between what stands and what is tried, and to where the parabola is believed."""

SHARES = ("trade", "swell", "constancy", "leaving", "settled")
OF_USERS = ("constancy", "users", "leaving", "settled", "coming", "crowd")
LENGTHS_D = (7,)
DRAWS = 24
PAIRS = 2
BOOTSTRAPS = 2_000

PARAMETERS = tuple(
    f.name for f in fields(Variation) if isinstance(getattr(LEARNED, f.name), Learned)
)
Floats = NDArray[np.float64]


def scores(name: str, data: Observations, laws: Mapping[str, Variation]) -> pd.DataFrame:
    """Return the scores of each statistic of a list, when months differ by each law (method).

    Each list of jobs has seeds of its own, the same ones whatever is tried.
    """
    methods = {key: by_model(law, EMPIRICAL) for key, law in laws.items()}
    seed = first_seed(name)
    return scored(data, methods=methods, draws=DRAWS, seed=seed, lengths_d=LENGTHS_D, most=PAIRS)


def by_statistic(table: pd.DataFrame) -> pd.Series:
    """Return the mean score of each statistic."""
    return table.groupby("statistic")["winkler"].mean()


def changed(name: str, factor: float, law: Variation = LEARNED) -> Variation:
    """Return a law with one parameter so many times as large; shares stay below 1."""
    value = getattr(law, name).value * factor
    return law.but(**{name: min(value, 0.98) if name in SHARES else value})


def moved(law: Variation, factors: Mapping[str, float]) -> Variation:
    """Return a law with its numbers so many times as large."""
    for name, factor in factors.items():
        law = changed(name, factor, law)
    return law


def least(loss: Floats, step: float = STEP) -> float:
    """Return the factor at which the parabola through three losses is least."""
    left, middle, right = loss
    bend = left - 2 * middle + right
    ends = -FARTHEST if left < right else FARTHEST
    at = step * (left - right) / (2 * bend) if bend > 0 else ends
    return float(np.exp(np.clip(at, -FARTHEST, FARTHEST)))


def learned(
    name: str, jobs: dict[str, Observations], base: dict[str, pd.DataFrame]
) -> tuple[float, float, float]:
    """Return the best value of a parameter, and its range over bootstraps of the extracts."""
    told = [n for n in jobs if name not in OF_USERS or jobs[n].jobs["user"].notna().any()]
    usual = pd.concat(map(by_statistic, base.values()), axis=1).mean(axis=1)
    loss = np.zeros((len(told), 3))
    for i, extract in enumerate(told):
        steps = {side: changed(name, float(np.exp(side * STEP))) for side in (-1, 1)}
        tried = scores(extract, jobs[extract], {str(side): law for side, law in steps.items()})
        tables = (tried[tried["method"] == "-1"], base[extract], tried[tried["method"] == "1"])
        loss[i] = [(by_statistic(table) / usual).mean() for table in tables]
        print(name, extract, np.round(loss[i], 3), file=sys.stderr, flush=True)
    drawn = np.random.default_rng(0).integers(0, len(told), (BOOTSTRAPS, len(told)))
    best = [least(mean) for mean in loss[drawn].mean(axis=1)]
    made = [
        getattr(changed(name, factor), name).value
        for factor in (least(loss.mean(axis=0)), *np.quantile(best, (0.05, 0.95)))
    ]
    return made[0], min(made[1:]), max(made[1:])


def show(found: Iterable[tuple[str, float, float, float]]) -> None:
    """Print numbers, as they stand, were learned, and lie in 90 % of bootstraps, as they come."""
    print("| parameter | stands | learned | 90 % of bootstraps |\n|---|---:|---:|---:|", flush=True)
    for name, value, low, high in found:
        stands = getattr(LEARNED, name).value
        print(f"| {name} | {stands:g} | {value:.2g} | {low:.2g} to {high:.2g} |", flush=True)


def turnover(data: Observations) -> Floats:
    """Count who left and who came, really and on average over draws, and who was there."""

    def left_and_came(before: pd.Series, after: pd.Series) -> tuple[int, int]:
        first, then = set(before.dropna()), set(after.dropna())
        return len(first - then), len(then - first)

    def of(first: Window, second: Window) -> Floats:
        model = WorkloadModel.fit(first.data, family=EMPIRICAL)
        there = pd.Series(list(model.users.by_user))
        drawn = [draw(model, days=first.days, seed=seed)[0].user for seed in range(DRAWS)]
        made = np.mean([left_and_came(there, pd.Series(users)) for users in drawn], axis=0)
        real = left_and_came(first.data.jobs["user"], second.data.jobs["user"])
        return np.array([*real, *made, there.size], float)

    return np.asarray(np.sum([of(*pair) for pair in pairs(data, most=PAIRS)], axis=0), float)


def main() -> None:
    """Print each parameter as it stands and as the extracts have it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parameters", nargs="*", choices=[*PARAMETERS, []])
    usual = [name for name in LISTS if name in DEVELOPED_ON]
    parser.add_argument("--on", nargs="+", choices=DEVELOPED_ON, default=usual)
    asked = parser.parse_args()
    jobs = {name: in_use(listed(name)) for name in asked.on}
    tables = {name: scores(name, data, {"": LEARNED}) for name, data in jobs.items()}
    base = {name: table for name, table in tables.items() if len(table)}
    jobs = {name: jobs[name] for name in base}
    covered = pd.concat(base).groupby("group", sort=False)["covered"].mean()
    print(f"On {', '.join(jobs)}. As it stands, {PROMISED:.0%} intervals cover")
    print("; ".join(f"{group} {100 * share:.0f} %" for group, share in covered.items()) + ".\n")
    print("| users of | windows | left | came | left, drawn | came, drawn |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, data in jobs.items():
        if data.jobs["user"].notna().any():
            left, came, left_drawn, came_drawn, users = turnover(data)
            print(f"| {name} | {users:.0f} | {left:.0f} | {came:.0f} ", end="")
            print(f"| {left_drawn:.0f} | {came_drawn:.0f} |")
    print()
    show((name, *learned(name, jobs, base)) for name in asked.parameters or PARAMETERS)


if __name__ == "__main__":
    main()
