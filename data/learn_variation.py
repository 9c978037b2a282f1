"""Learns from real months how much months differ: the numbers and ranges of `LEARNED`.

    python data/learn_variation.py [PARAMETER ...] [--on EXTRACT ...] > table.md

tries values of each parameter of `philly_analysis/models/variation.py`, the others as they stand,
and scores on each extract the intervals for the next window (`philly_analysis/judging/coverage.py`;
each statistic's Winkler score over that of the value that stands, so that all count alike). The
value is the one with the least mean logarithm over the extracts; the range holds it in 90 % of
bootstraps that draw whole extracts. A parameter takes a CPU minute for four extracts.

The extracts are found as `fit_models.py` says. Those of `coverage.KEPT_OUT` take no part unless
they are named, so that they can judge.
"""

import argparse
import importlib
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
from coverage import KEPT_OUT, MORE
from fit_models import EXTRACTS, observed

from philly_analysis.judging.coverage import OURS, scored
from philly_analysis.models.observations import Observations
from philly_analysis.models.variation import LEARNED, Learned, Variation

FACTORS = (0.4, 0.7, 1.0, 1.4, 2.0)
DRAWS = 80
PAIRS = 2
BOOTSTRAPS = 2_000
FEWEST_JOBS = 1_000

PARAMETERS = tuple(
    f.name for f in fields(Variation) if isinstance(getattr(LEARNED, f.name), Learned)
)


def scores(data: Observations, variation: Variation) -> pd.Series:
    """Return the mean Winkler score of each statistic, when months differ as given."""
    fitting = importlib.import_module("philly_analysis.models.workload_model")
    fitting.LEARNED, before = variation, fitting.LEARNED  # type: ignore[attr-defined]
    try:
        table = scored(data, methods=(OURS,), draws=DRAWS, most=PAIRS)
    finally:
        fitting.LEARNED = before  # type: ignore[attr-defined]
    return table.groupby("statistic")["winkler"].mean()


def values(name: str) -> list[float]:
    """Return the values to try of a parameter."""
    made = [getattr(LEARNED, name).value * f for f in FACTORS]
    return [v for v in made if v < 1] if name in ("trade", "leaving") else made


def learned(name: str, jobs: dict[str, Observations]) -> Learned:
    """Return the best value of a parameter, and its range over bootstraps of the extracts."""
    tried = values(name)
    standing = getattr(LEARNED, name).value
    loss = np.empty((len(jobs), len(tried)))
    for i, (extract, data) in enumerate(jobs.items()):
        base = scores(data, LEARNED)
        for k, value in enumerate(tried):
            other = base if value == standing else scores(data, LEARNED.but(name, value))
            ratio = np.log(np.maximum(other, 1e-6) / np.maximum(base, 1e-6))
            loss[i, k] = float(np.clip(ratio, -3, 3).mean())
        print(name, extract, np.round(loss[i], 3), file=sys.stderr, flush=True)
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(jobs), (BOOTSTRAPS, len(jobs)))
    best = np.asarray(tried)[loss[drawn].mean(axis=1).argmin(axis=1)]
    low, high = np.quantile(best, (0.05, 0.95))
    return Learned(tried[int(loss.mean(axis=0).argmin())], float(low), float(high))


def main() -> None:
    """Print each parameter as it stands and as the extracts have it."""
    EXTRACTS.update(MORE)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parameters", nargs="*", choices=[*PARAMETERS, []])
    parser.add_argument("--on", nargs="+", choices=list(EXTRACTS))
    asked = parser.parse_args()
    names = asked.on or [name for name in EXTRACTS if name not in KEPT_OUT]
    jobs = {name: observed(name) for name in names}
    jobs = {name: data for name, data in jobs.items() if len(data.jobs) >= FEWEST_JOBS}
    print(f"On {', '.join(jobs)}.\n")
    print("| parameter | stands | best | range |\n|---|---:|---:|---:|")
    for name in asked.parameters or PARAMETERS:
        found = learned(name, jobs)
        stands = getattr(LEARNED, name).value
        print(f"| {name} | {stands:g} | {found.value:.2g} | {found.low:.2g} to {found.high:.2g} |")


if __name__ == "__main__":
    main()
