"""Check the load at which a queue begins, against a threshold that is known."""

import pandas as pd
import pytest

from philly_analysis import sweep
from philly_analysis.experiments.queue_load import lacks_queue, smallest


@pytest.mark.parametrize("threshold", [0.21, 0.5, 1.3, 2.9])
def test_the_load_is_found_within_an_eighth(threshold: float) -> None:
    load, tried = smallest(lambda load: load >= threshold, 0.2, 3.2)
    assert load is not None
    assert tried < threshold <= load <= 1.13 * max(tried, 0.2)


def test_no_load_is_named_where_nobody_ever_waits() -> None:
    assert smallest(lambda _: False, 0.5, 8.0) == (None, 8.0)


def test_a_queue_is_a_wait_in_any_run() -> None:
    assert lacks_queue(pd.Series([0.0, 0.5]))
    assert not lacks_queue(pd.Series([0.0, 5.0]))
    assert not lacks_queue(pd.Series([float("nan")])), "waits are not known"


@pytest.mark.slow
def test_a_sweep_without_a_queue_names_the_load_that_makes_one() -> None:
    swept = sweep(["literature"], ["fifo", "srtf"], loads=(0.05,), seeds=[0], jobs=200, cluster=256)
    [no_queue, load] = swept.sentences[:2]
    assert "no job waits" in no_queue
    queue_load = swept.queue_loads["literature"].load
    assert queue_load is not None and f"a load of about {queue_load:.2g}" in load
    busy, calm = (
        sweep(["literature"], ["fifo"], loads=(at,), seeds=[0], jobs=200, cluster=256).runs
        for at in (queue_load, swept.queue_loads["literature"].tried)
    )
    assert busy["mean_wait_s"].item() >= 60 > calm["mean_wait_s"].item()
    assert swept.against("srtf").sentences[1] == load
