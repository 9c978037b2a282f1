"""A what-if of several months: each in a trace of its own, and what they have in common."""

from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import Executor
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import numpy as np
import pandas as pd

from philly_analysis.parallel import InlineExecutor, map_ordered
from philly_analysis.results import Fact, Result, duration, paired
from philly_analysis.trace import Trace, TraceLike
from philly_analysis.workload import SCALARS, Ensemble, Workload, measures

QUESTION = "What becomes of months like these?"

BAND = (0.05, 0.95)
"""Quantiles of single months between which nine of ten lie."""

Simulated = Callable[..., Path]
"""Runs a workload, and returns its trace; takes the folder and the seed by name."""

Asked = ParamSpec("Asked")


class WhatIf(Protocol[Asked]):
    """A what-if of one workload, or of the months of an ensemble, asked for in the same words."""

    @overload
    def __call__(self, workload: Ensemble, *args: Asked.args, **kwargs: Asked.kwargs) -> Result: ...
    @overload
    def __call__(
        self,
        workload: Workload | TraceLike,
        *args: Asked.args,
        **kwargs: Asked.kwargs,
    ) -> Path: ...


def also_over_months(
    one: Callable[Concatenate[Workload | TraceLike, Asked], Path],
) -> WhatIf[Asked]:
    """Let a what-if of one workload take an ensemble, too: see :func:`over_months`.

    It must take ``out``, ``seed``, which is each month's own, and ``executor``.
    """

    @wraps(one)
    def either(workload: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(workload, Ensemble):
            return one(workload, *args, **kwargs)
        asked = signature(one).bind(workload, *args, **kwargs).arguments
        del asked["workload"]
        asked.pop("seed", None)
        out, executor = Path(asked.pop("out")), asked.pop("executor", None)
        return over_months(workload, out, partial(either, **asked), executor)

    return either


def over_months(
    ensemble: Ensemble, out: Path, one: Simulated, executor: Executor | None = None
) -> Result:
    """Run each month of an ensemble, and say where the measures lie over months.

    Parameters
    ----------
    out
        Folder of the traces: ``seed-7`` is the month of seed 7.
    executor
        Where months are run; None: here. The traces are the same.

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
    said = {row["measure"]: row for row in table.to_dict("records")}
    return Result(
        name="months",
        table=table,
        facts=tuple(
            Fact(str(name), row["mean"], f"{row['meaning']}; mean of the months")
            for name, row in said.items()
        ),
        sentences=tuple(
            f"{words} {_between(said[measure])}"
            for measure, words in (
                ("mean_jct_s", "Jobs take"),
                ("mean_wait_s", "They wait"),
            )
            if measure in said
        ),
        synthetic=True,
        question=QUESTION,
    )


def _of_seed(ensemble: Ensemble, out: Path, one: Simulated, seed: int) -> dict[str, float]:
    made = one(ensemble.of_seed(seed), out=out / f"seed-{seed}", seed=seed)
    with Trace(made) as trace:
        # sums of the engine's threads differ in the last digits, by who was first
        return {name: float(f"{value:.12g}") for name, value in measures(trace).items()}


def _between(row: Mapping[Hashable, Any]) -> str:
    """Say where a time lies."""
    said = f"{duration(row['mean'])} on average over {row['months']:.0f} months"
    if row["low"] == row["low"]:
        said += f" (95 % interval {duration(max(row['low'], 0))} to {duration(row['high'])})"
    return f"{said}; single months {duration(row['p5'])} to {duration(row['p95'])}, nine of ten."
