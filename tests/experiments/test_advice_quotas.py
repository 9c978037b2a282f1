"""Check which quotas advice has: given ones, estimates, or none where the log states limits."""

from pathlib import Path

import polars as pl
import pytest

from philly_analysis import Trace
from philly_analysis.experiments.advice.recorded import recorded_scenario
from tests.support.clusters import frame, trace_of

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
    """Of 12 GPUs x has 3 for 5 minutes of 1,000, 2 for 30, and else 1; y a gang of 8."""
    ends = {"a": 1_000, "b": 30, "c": 5, "d": 1_000}
    jobs = [
        (job, "y" if job == "d" else "x", "u", 8 if job == "d" else 1, 0, "Pass") for job in ends
    ]
    path = trace_of(
        tmp_path / "t",
        jobs,
        [(job, 1, 0, end) for job, end in ends.items()],
        machines=frame("machines", ("machine_id", "gpus"), [("m0", 4), ("m1", 8)]),
        **tables,
    )
    with Trace(path) as trace:
        recorded = recorded_scenario(trace)
    assert (recorded.scenario.quotas, recorded.quotas) == (quotas, given)
