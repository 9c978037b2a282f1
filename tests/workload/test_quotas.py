"""Check the quotas of virtual clusters: given, or estimated and scaled."""

from pathlib import Path

import polars as pl

from philly_analysis.workload import Workload
from philly_analysis.workload.quotas import quotas_of
from tests.support.clusters import shared_by_two_vcs
from tests.support.small_traces import paper_trace


def test_missing_quotas_are_estimates_scaled_to_the_cluster(tmp_path: Path) -> None:
    path = shared_by_two_vcs(tmp_path / "t")
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
