"""Answer when a job will start: a distribution, sentences, tables, and the backtest."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from philly_analysis.forecasts.backtest import CHOSEN, LEAST_JOBS, Backtest
from philly_analysis.forecasts.distribution import WaitDistribution
from philly_analysis.forecasts.walk import CONDITIONAL, REPLAY
from philly_analysis.results import Result, count, gang_label, percent, whole_percent

METHOD_TEXTS = {
    CONDITIONAL: "waits of past jobs that were submitted in similar states of the queue",
    REPLAY: "simulations of the queue",
}
"""What each method takes as the forecast."""


@dataclass(frozen=True, slots=True, repr=False)
class Forecast(WaitDistribution):
    """Distribution of the wait of a job, with the methods of SciPy's frozen distributions.

    ``print(forecast)`` gives sentences, ``forecast.median()`` and ``forecast.interval(0.9)``
    numbers in seconds.

    Attributes
    ----------
    sentence
        Median, intervals and probabilities as text.
    result
        Forecasts of all gang sizes at the same moment, with sentences on the backtest.
    backtest
        Loss and coverage of each method in the last fifth of the log, by gang class.
    week
        Past waits by gang class and hour of the week.
    completion
        Completion times by gang size, of repeated jobs or under a speed model; empty where the log
        does not support them.
    """

    sentence: str = ""
    result: Result = field(
        default_factory=lambda: Result("forecast", pd.DataFrame()), compare=False
    )
    backtest: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)
    week: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)
    completion: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)

    def save(self, out: Path | str) -> Path:
        """Write the page to a folder; see :meth:`Result.save`."""
        return self.result.save(out)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"Forecast({self.sentence})"


def backtest_sentences(tested: Backtest) -> tuple[str, ...]:
    """Return the method, its loss against the climatology, and its coverage, as sentences."""
    table = tested.table()
    chosen = table[table["method"] == CHOSEN]
    if chosen.empty:
        return ("No job of the last fifth of the log has started: the intervals are not tested.",)
    overall = chosen[chosen["gang"].isna()].iloc[0]
    gain = 1 - float(overall["ratio"])
    compared = (
        f"Its pinball loss is {whole_percent(abs(gain))} {'below' if gain > 0 else 'above'} the "
        "loss of past waits of the gang class."
        if np.isfinite(gain) and gain
        else ""
    )
    by_gang = chosen[chosen["gang"].notna() & (chosen["jobs"] >= LEAST_JOBS)]
    covered = [
        f"{gang_label(row['gang'])} {percent(row['covered_90_pct'])} and "
        f"{percent(row['covered_50_pct'])}"
        for row in by_gang.to_dict("records")
    ]
    return (
        f"The forecast uses {METHOD_TEXTS[tested.method]}. {_replay_text(tested)}",
        f"The backtest has {count(int(overall['jobs']), 'job')} of the last fifth. {compared}",
        f"Coverage of the 90 % and 50 % intervals there: {'; '.join(covered)}." if covered else "",
    )


def _replay_text(tested: Backtest) -> str:
    """Say which policy the queue is simulated under, and whether simulations had less loss."""
    if isinstance(tested.believed, str):
        return f"The queue was not simulated: {tested.believed}."
    compared = "less" if tested.method == REPLAY else "more"
    return (
        f"In the fifth before the last, simulations of the queue ({tested.believed.name}) had "
        f"{compared} loss than waits in similar states."
    )
