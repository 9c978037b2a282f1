"""Simulate each month of an ensemble, and summarise the measures over months."""

from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from philly_analysis.parallel import map_ordered
from philly_analysis.results import Fact, Result, duration, mean_interval
from philly_analysis.trace import Trace
from philly_analysis.workload import SCALARS, Ensemble, bounds, measures

QUESTION = "What are the measures of months like these?"


@dataclass(frozen=True, slots=True)
class Months(Result):
    """Measures of the months of an ensemble.

    Attributes
    ----------
    months
        One row per month: seed, and the measures.
    """

    months: pd.DataFrame = field(default_factory=pd.DataFrame)


BAND = (0.05, 0.95)
"""Quantiles that contain nine of ten single months."""

Simulated = Callable[..., Path]
"""Function that simulates a workload and returns the folder of its trace."""


def simulate_ensemble(
    ensemble: Ensemble, out: Path, simulate_month: Simulated, executor: Executor
) -> Months:
    """Simulate each month of an ensemble, and return the distribution of the measures.

    Parameters
    ----------
    out
        Folder of the traces: ``seed-7`` is the month of seed 7.
    simulate_month
        Simulates a month's workload; takes the folder and the seed by name, returns the trace.
    executor
        Executor that simulates the months. The traces are the same on any executor.

    Returns
    -------
    Months
        Table: measure, unit, months (that have the measure), mean, low, high (95 % interval of the
        mean, on a scale on which the measure is possible), p5, p95 (quantiles: nine of ten months
        lie between them), and meaning.
    """
    of_seed = partial(_measures_of_seed, ensemble, out, simulate_month)
    months = pd.DataFrame(list(map_ordered(executor, of_seed, ensemble.seeds, ahead=64)))
    rows = []
    for measure, unit, meaning in SCALARS:
        values = months[measure].dropna().to_numpy(float) if measure in months else np.empty(0)
        if values.size:
            mean = mean_interval(values, *bounds(measure))
            band = np.quantile(values, BAND)
            rows.append(
                (measure, unit, values.size, mean.effect, mean.low, mean.high, *band, meaning)
            )
    columns = ["measure", "unit", "months", "mean", "low", "high", "p5", "p95", "meaning"]
    table = pd.DataFrame(rows, columns=columns)
    months.insert(0, "seed", list(ensemble.seeds))
    by_measure = {row["measure"]: row for row in table.to_dict("records")}
    return Months(
        name="months",
        months=months,
        table=table,
        facts=tuple(
            Fact(str(name), row["mean"], f"{row['meaning']}; mean of the months")
            for name, row in by_measure.items()
        ),
        sentences=tuple(
            f"{subject} {_describe(by_measure[measure])}"
            for measure, subject in (("mean_jct_s", "Jobs take"), ("mean_wait_s", "They wait"))
            if measure in by_measure
        ),
        synthetic=True,
        question=QUESTION,
    )


def months_of(ensemble: Ensemble) -> pd.DataFrame:
    """Return the measures of an ensemble's months as submitted, without waits, by seed."""
    rows = []
    for seed in ensemble.seeds:
        with Trace(ensemble.of_seed(seed).frames_with_rows) as trace:
            rows.append({"seed": seed, **measures(trace)})
    return pd.DataFrame(rows)


def _measures_of_seed(
    ensemble: Ensemble, out: Path, simulate_month: Simulated, seed: int
) -> dict[str, float]:
    path = simulate_month(ensemble.of_seed(seed), out=out / f"seed-{seed}", seed=seed)
    with Trace(path) as trace:
        # sums over the engine's threads vary in the last digits
        return {name: float(f"{value:.12g}") for name, value in measures(trace).items()}


def _describe(row: Mapping[Hashable, Any]) -> str:
    """Return a phrase on a mean time, the interval of the mean, and the band of months."""
    text = f"{duration(row['mean'])} on average over {row['months']:.0f} months"
    if row["low"] == row["low"]:
        text += f" (95 % interval {duration(row['low'])} to {duration(row['high'])})"
    return f"{text}; single months {duration(row['p5'])} to {duration(row['p95'])}, nine of ten."
