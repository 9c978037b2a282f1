"""Judge priced levers: clear and likely gains, harm to a gang size, gains too small for a card."""

import pandas as pd

from philly_analysis.experiments.advice.gains import Gain
from philly_analysis.results import count, duration, gang_label

LEAST_PCT = 1.0
"""Share of all GPU hours below which freed GPU hours are too few for a card (convention)."""
LEAST_S = 120.0
"""Waiting saved per job below which a card is not worth a change (convention)."""
MOST_RISE = 1.25
"""Factor by which a lever with a card may raise the wait of a gang size."""
MOST_RISK = 0.2
"""Share of months with such a rise from which a lever has no card (convention)."""
_P = 0.05
"""Level of the test of a gain."""


def clear(gain: Gain) -> bool:
    """Return whether the interval of a gain is above 0; otherwise a gain is likely at most."""
    return gain.value_h.low > 0


def harm(gain: Gain) -> str:
    """Return which gang size waits much longer after a lever, as a clause; empty: none.

    A rise of less than two minutes does not count. Harm is a rise over the log and the drawn months
    together, or in too many of the months.
    """
    if clause := _rise(gain.by_size):
        return clause
    rises = [clause for clause in map(_rise, gain.months) if clause]
    if len(rises) < MOST_RISK * len(gain.months) or not rises:
        return ""
    return f"{rises[0]}; {len(rises)} of {count(len(gain.months), 'month')} have such a rise"


def _rise(waits: pd.DataFrame) -> str:
    """Return which gang size waits much longer, as a clause; empty: none."""
    for row in waits.to_dict("records"):
        for name, what in (("mean", "mean wait"), ("p90", "90th percentile of the wait")):
            before_s, after_s = row[f"{name}_before_s"], row[f"{name}_after_s"]
            if after_s > MOST_RISE * before_s and after_s - before_s > LEAST_S:
                return (
                    f"raises the {what} of jobs with {gang_label(row['gang'])} from "
                    f"{duration(before_s)} to {duration(after_s)}, and the longest wait from "
                    f"{duration(row['longest_before_s'])} to {duration(row['longest_after_s'])}"
                )
    return ""


def objection(gain: Gain, ran_h: float, value: str, *, harmful: bool = False) -> str:
    """Return why a lever gets no card, as a clause; empty: the lever gets one.

    Parameters
    ----------
    harmful
        Whether harm to a gang size is no objection.
    ran_h
        GPU hours that jobs run a month.
    value
        Measure of the gain: a key of :data:`VALUES`.
    """
    if gain.value_h.mean <= 0:
        return "costs more than it gains"
    if not harmful and (clause := harm(gain)):
        return clause
    frees = value != "waiting" and 100 * gain.gpu_h.mean >= LEAST_PCT * ran_h
    saves = value != "freed" and gain.saved_s >= LEAST_S
    if not frees and not saves:
        return f"gains less than {LEAST_PCT:g} % of the GPU hours and {duration(LEAST_S)} a job"
    if gain.value_p >= _P and not clear(gain):
        return "gains in too few of the log's twelve parts (signed-rank test, p ≥ 0.05)"
    return ""
