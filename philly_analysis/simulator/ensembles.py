"""Simulate each month of an ensemble, and summarise the measures over months."""

from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

import numpy as np
import pandas as pd

from philly_analysis.parallel import InlineExecutor, map_ordered
from philly_analysis.results import Fact, Result, duration, paired
from philly_analysis.trace import Trace, TraceLike
from philly_analysis.workload import SCALARS, Ensemble, Workload, measures

QUESTION = "What are the measures of months like these?"

BAND = (0.05, 0.95)
"""Quantiles of single months that contain nine of ten."""

Simulated = Callable[..., Path]
"""Simulates a workload and returns its trace; takes the folder and the seed by name."""

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class WhatIf(Protocol[P, R_co]):
    """A what-if of one workload, or of the months of an ensemble, with the same parameters."""

    @overload
    def __call__(self, workload: Ensemble, *args: P.args, **kwargs: P.kwargs) -> Result: ...
    @overload
    def __call__(self, workload: Any, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def accept_ensembles(one: Callable[Concatenate[Workload | TraceLike, P], Path]) -> WhatIf[P, Path]:
    """Let a what-if of one workload accept an ensemble, too: see :func:`simulate_ensemble`.

    It must have the parameters ``out``, ``seed``, which is that of each month, and ``executor``.
    """

    @wraps(one)
    def either(workload: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(workload, Ensemble):
            return one(workload, *args, **kwargs)
        arguments = signature(one).bind(workload, *args, **kwargs).arguments
        del arguments["workload"]
        arguments.pop("seed", None)
        out, executor = Path(arguments.pop("out")), arguments.pop("executor", None)
        return simulate_ensemble(workload, out, partial(either, **arguments), executor)

    return either


def simulate_ensemble(
    ensemble: Ensemble, out: Path, one: Simulated, executor: Executor | None = None
) -> Result:
    """Simulate each month of an ensemble, and return the distribution of the measures.

    Parameters
    ----------
    out
        Folder of the traces: ``seed-7`` is the month of seed 7.
    executor
        Where months are simulated; None: in this process. The traces are the same.

    Returns
    -------
    Result
        Table: measure, unit, months (that have it), mean, low, high (95 % interval of the mean),
        p5, p95 (between which nine of ten months lie), and meaning.
    """
    of_seed = partial(_of_seed, ensemble, out, one)
    found = pd.DataFrame(
        list(map_ordered(executor or InlineExecutor(), of_seed, ensemble.seeds, ahead=64))
    )
    rows = []
    for measure, unit, meaning in SCALARS:
        values = found[measure].dropna().to_numpy(float) if measure in found else np.empty(0)
        if values.size:
            mean = paired(values, np.zeros(values.size))
            band = np.quantile(values, BAND)
            rows.append(
                (measure, unit, values.size, mean.effect, mean.low, mean.high, *band, meaning)
            )
    columns = ["measure", "unit", "months", "mean", "low", "high", "p5", "p95", "meaning"]
    table = pd.DataFrame(rows, columns=columns)
    by_measure = {row["measure"]: row for row in table.to_dict("records")}
    return Result(
        name="months",
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


def _of_seed(ensemble: Ensemble, out: Path, one: Simulated, seed: int) -> dict[str, float]:
    path = one(ensemble.of_seed(seed), out=out / f"seed-{seed}", seed=seed)
    with Trace(path) as trace:
        # sums over the engine's threads vary in the last digits
        return {name: float(f"{value:.12g}") for name, value in measures(trace).items()}


def _describe(row: Mapping[Hashable, Any]) -> str:
    """Return a phrase on the mean of a time, its interval and the band of months."""
    text = f"{duration(row['mean'])} on average over {row['months']:.0f} months"
    if row["low"] == row["low"]:
        text += f" (95 % interval {duration(max(row['low'], 0))} to {duration(row['high'])})"
    return f"{text}; single months {duration(row['p5'])} to {duration(row['p95'])}, nine of ten."
