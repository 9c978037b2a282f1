"""Check the quotas of virtual clusters: given, or estimated and scaled."""

from pathlib import Path

import polars as pl

from philly_analysis.workload import Workload
from philly_analysis.workload.quotas import quotas_of
from tests.support.clusters import frame, trace_of
from tests.support.small_traces import paper_trace


def test_missing_quotas_are_estimates_scaled_to_the_cluster(tmp_path: Path) -> None:
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
    )
    workload = Workload.from_trace(path)
    for capacity, quotas, end in (
        (12, {"x": 2, "y": 8}, "at least."),
        (18, {"x": 3, "y": 12}, "at least; scaled to the cluster at hand by 1.5."),
        (1, {"x": 1, "y": 1}, "by 0.0833."),
    ):
        vc_quotas, source = quotas_of(workload, capacity)
        assert vc_quotas == quotas
        assert source.endswith(end)


def test_given_quotas_are_not_scaled(tmp_path: Path) -> None:
    quotas = pl.DataFrame({"vc": ["x", "y"], "gpus": [5, 7]})
    path = paper_trace(tmp_path / "t", virtual_clusters=quotas)
    assert quotas_of(Workload.from_trace(path), 24)[0] == {"x": 5, "y": 7}
