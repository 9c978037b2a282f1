"""Estimate parameters of the variation between periods from consecutive windows of real jobs.

    python -m data.models.between_period.one_by_one [PARAMETER ...] [--on EXTRACT ...] > out.md

tries a smaller and a larger value of each parameter of `Variation`
(`philly_analysis/models/between_period.toml`), the others unchanged, and scores the intervals of
the next window as `data/checks/coverage.py` does: the Winkler score of each statistic over its mean
on all extracts. The estimate is the minimum of a parabola through the means over the extracts. The
range holds the estimate in 90 % of bootstraps of whole extracts. A current value outside of its
range is moved into the range. The script takes some twenty CPU minutes. `reweighted.py` estimates
the parameters of run times, gang sizes and load jointly; `turnover.py` estimates the parameters of
users.

The script also counts the users who leave and join between windows, in the lists and in draws. The
first weeks of a list are excluded, as growth of a new cluster is no variation between periods.

`data/models/extracts.py` describes where the extracts are. The lists of `HELD_OUT` take no part.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from data.models.between_period.lists import DEVELOPED_ON, LISTS, first_seed, in_use, listed
from philly_analysis.distributions import EMPIRICAL
from philly_analysis.models import (
    ESTIMATED,
    Estimate,
    Observations,
    Variation,
    WorkloadModel,
    draw_jobs,
)
from philly_analysis.models.validation import (
    CONFIDENCE,
    Window,
    model_draws,
    score,
    window_pairs,
)

STEP = np.log(1.6)
FARTHEST = np.log(2.0)
"""Logarithms of the factors tried, and of the largest accepted factor."""

SHARES = (
    "gpu_time_compensation",
    "dispersion_power",
    "user_persistence",
    "leave_probability",
    "leave_power",
)
OF_USERS = (
    "user_persistence",
    "user_sd",
    "leave_probability",
    "leave_power",
    "new_user_ratio",
    "new_user_sd",
)
LENGTHS_D = (7,)
DRAWS = 24
PAIRS = 2
BOOTSTRAPS = 2_000

PARAMETERS = tuple(
    f.name for f in fields(Variation) if isinstance(getattr(ESTIMATED, f.name), Estimate)
)
Floats = NDArray[np.float64]


def scores(name: str, data: Observations, variations: Mapping[str, Variation]) -> pd.DataFrame:
    """Return the scores of each statistic of a list, by variation (column method).

    Each list of jobs has its own seeds, the same for all variations.
    """
    methods = {key: model_draws(tried, EMPIRICAL) for key, tried in variations.items()}
    seed = first_seed(name)
    return score(data, methods=methods, draws=DRAWS, seed=seed, lengths_d=LENGTHS_D, most=PAIRS)


def by_statistic(table: pd.DataFrame) -> pd.Series:
    """Return the mean score of each statistic."""
    return table.groupby("statistic")["winkler"].mean()


def scaled(name: str, factor: float, variation: Variation = ESTIMATED) -> Variation:
    """Return a variation with a factor on one parameter; shares stay below 1."""
    value = getattr(variation, name).value * factor
    return variation.with_values(**{name: min(value, 0.98) if name in SHARES else value})


def all_scaled(variation: Variation, factors: Mapping[str, float]) -> Variation:
    """Return a variation with factors on its parameters."""
    for name, factor in factors.items():
        variation = scaled(name, factor, variation)
    return variation


def minimum(loss: Floats, step: float = STEP) -> float:
    """Return the factor that minimises the parabola through three losses."""
    below, middle, right = loss
    bend = below - 2 * middle + right
    ends = -FARTHEST if below < right else FARTHEST
    at = step * (below - right) / (2 * bend) if bend > 0 else ends
    return float(np.exp(np.clip(at, -FARTHEST, FARTHEST)))


def estimate(
    name: str, jobs: dict[str, Observations], base: dict[str, pd.DataFrame]
) -> tuple[float, float, float]:
    """Return the estimate of a parameter, and its range over bootstraps of the extracts."""
    names = [n for n in jobs if name not in OF_USERS or jobs[n].jobs["user"].notna().any()]
    typical = pd.concat(map(by_statistic, base.values()), axis=1).mean(axis=1)
    loss = np.zeros((len(names), 3))
    for i, extract in enumerate(names):
        steps = {side: scaled(name, float(np.exp(side * STEP))) for side in (-1, 1)}
        table = scores(extract, jobs[extract], {str(side): tried for side, tried in steps.items()})
        tables = (table[table["method"] == "-1"], base[extract], table[table["method"] == "1"])
        loss[i] = [(by_statistic(t) / typical).mean() for t in tables]
        print(name, extract, np.round(loss[i], 3), file=sys.stderr, flush=True)
    drawn = np.random.default_rng(0).integers(0, len(names), (BOOTSTRAPS, len(names)))
    best = [minimum(mean) for mean in loss[drawn].mean(axis=1)]
    made = [
        getattr(scaled(name, factor), name).value
        for factor in (minimum(loss.mean(axis=0)), *np.quantile(best, (0.05, 0.95)))
    ]
    return made[0], min(made[1:]), max(made[1:])


def show(estimates: Iterable[tuple[str, float, float, float]]) -> None:
    """Print current values, estimates, and their ranges in 90 % of bootstraps."""
    print(
        "| parameter | current | estimate | 90 % of bootstraps |\n|---|---:|---:|---:|", flush=True
    )
    for name, value, low, high in estimates:
        current = getattr(ESTIMATED, name).value
        print(f"| {name} | {current:g} | {value:.2g} | {low:.2g} to {high:.2g} |", flush=True)


def turnover(data: Observations) -> Floats:
    """Count leaving and new users, real and drawn, and all users of the first window."""

    def left_and_new(before: pd.Series, after: pd.Series) -> tuple[int, int]:
        first, then = set(before.dropna()), set(after.dropna())
        return len(first - then), len(then - first)

    def of(first: Window, second: Window) -> Floats:
        model = WorkloadModel.fit(first.data, family=EMPIRICAL)
        there = pd.Series(list(model.users.by_user))
        drawn = [draw_jobs(model, days=first.days, seed=seed)[0].user for seed in range(DRAWS)]
        made = np.mean([left_and_new(there, pd.Series(users)) for users in drawn], axis=0)
        real = left_and_new(first.data.jobs["user"], second.data.jobs["user"])
        return np.array([*real, *made, there.size], float)

    return np.asarray(np.sum([of(*pair) for pair in window_pairs(data, most=PAIRS)], axis=0), float)


def main() -> None:
    """Print each parameter's current value and estimate."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parameters", nargs="*", choices=[*PARAMETERS, []])
    names = [name for name in LISTS if name in DEVELOPED_ON]
    parser.add_argument("--on", nargs="+", choices=DEVELOPED_ON, default=names)
    options = parser.parse_args()
    jobs = {name: in_use(listed(name)) for name in options.on}
    tables = {name: scores(name, data, {"": ESTIMATED}) for name, data in jobs.items()}
    base = {name: table for name, table in tables.items() if len(table)}
    jobs = {name: jobs[name] for name in base}
    covered = pd.concat(base).groupby("group", sort=False)["covered"].mean()
    print(f"On {', '.join(jobs)}. {CONFIDENCE:.0%} intervals cover")
    print("; ".join(f"{group} {100 * share:.0f} %" for group, share in covered.items()) + ".\n")
    print("| users of | windows | left | new | left, drawn | new, drawn |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, data in jobs.items():
        if data.jobs["user"].notna().any():
            leaving, new, leaving_drawn, new_drawn, users = turnover(data)
            print(f"| {name} | {users:.0f} | {leaving:.0f} | {new:.0f} ", end="")
            print(f"| {leaving_drawn:.0f} | {new_drawn:.0f} |")
    print()
    show((name, *estimate(name, jobs, base)) for name in options.parameters or PARAMETERS)


if __name__ == "__main__":
    main()
