"""Check that interrupted advice continues with the replays that are known."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from philly_analysis import Trace, advise
from philly_analysis.experiments.advice import scenario
from philly_analysis.experiments.advice.scenario import Scenario, outcome
from tests.experiments.test_advice import convoys, trace_of


@pytest.mark.slow
def test_interrupted_advice_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = convoys(np.random.default_rng(7), 100, load=0.5)
    first, again = (trace_of(jobs, tmp_path / name).path for name in ("first", "again"))
    calls = []

    def counted(now: Scenario) -> pl.DataFrame:
        calls.append(now.rules)
        if len(calls) == killed_at:
            raise KeyboardInterrupt
        return outcome(now)

    monkeypatch.setattr(scenario, "outcome", counted)
    killed_at = 20
    with Trace(first) as trace, pytest.raises(KeyboardInterrupt):
        advise(trace, months=3)
    killed_at = 0
    with Trace(first) as trace:
        continued = advise(trace, months=3)
    total = len(calls) - 1  # the call that was interrupted is repeated
    calls.clear()
    with Trace(first) as trace:
        advise(trace, months=3)
    assert not calls
    with Trace(again) as trace:
        whole = advise(trace, months=3)
    assert len(calls) == total
    pd.testing.assert_frame_equal(continued.table, whole.table)
