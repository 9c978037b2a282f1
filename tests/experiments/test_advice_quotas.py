"""Check which quotas advice has: given ones, estimates, or none where the log states limits."""

from pathlib import Path

import polars as pl
import pytest

from philly_analysis import Trace
from philly_analysis.experiments.advice.recorded import recorded_scenario
from tests.support.clusters import frame, shared_by_two_vcs

LIMITS = frame(
    "limits",
    ("name", "scope", "account", "resource", "amount"),
    [("account lab: GPUs", "account", "lab", "gpus", 4.0)],
)
GIVEN = pl.DataFrame({"vc": ["x", "y"], "gpus": [5, 7]})


@pytest.mark.parametrize(
    ("tables", "quotas", "given"),
    [
        ({}, {"x": 2, "y": 8}, False),
        ({"limits": LIMITS}, {}, False),
        ({"virtual_clusters": GIVEN}, {"x": 5, "y": 7}, True),
    ],
    ids=["estimated", "limits", "given"],
)
def test_quotas_are_estimated_only_where_the_log_states_neither_quotas_nor_limits(
    tables: dict[str, pl.DataFrame], quotas: dict[str, int], given: bool, tmp_path: Path
) -> None:
    path = shared_by_two_vcs(tmp_path / "t", **tables)
    with Trace(path) as trace:
        recorded = recorded_scenario(trace)
    assert (recorded.scenario.quotas, recorded.quotas) == (quotas, given)
