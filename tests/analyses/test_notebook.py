"""Check the archive notebook's definitions, and which traces are compared with printed numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from philly_analysis.analyses import gpu_util, notebook_definitions
from philly_analysis.analyses.shared.published import compare_published
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import Result
from philly_analysis.study import published_numbers
from philly_analysis.trace.trace import Trace
from tests.analyses.plain import Rows, by
from tests.analyses.rich_trace import rich_tables
from tests.support.clusters import MakeTrace, frame, random_tables, write_tables


def test_containers_count_as_servers(make_trace: MakeTrace) -> None:
    columns = ("job_id", "attempt", "machine_id", "gpu", "container")
    held = [("a", 1, "m0", g, g // 2) for g in range(6)] + [("a", 1, "m1", 0, 3)]
    held += [("a", 2, "m0", g, 0) for g in range(8)]
    trace = make_trace(
        [("a", "v", "u", 7, 0, "Pass")],
        [("a", 1, 9, 20), ("a", 2, 20, 30)],
        machines={"m0": 8, "m1": 8},
        placements=frame("placements", columns, held),
    )
    assert trace.sql("select * from notebook_locality").fetchall() == [("a", 7, 4, 2, 540)]
    assert notebook_definitions.compute(trace).fact("servers_overcounted_jobs") == 1


def test_gap_between_a_curve_and_observations() -> None:
    curve = published_numbers.curve("run_time", "1")
    exact = np.interp(np.linspace(0, 100, 2_001), curve["cdf_pct"], curve["value"])
    assert published_numbers.largest_gap_pct(curve, exact) < 0.2
    # ten points of the lower end moved above everything: the curve sinks by at most ten
    moved = np.sort(exact)[200:]
    moved = np.append(moved, np.full(200, 1e9))
    assert published_numbers.largest_gap_pct(curve, moved) == pytest.approx(10, abs=0.2)
    # a vertical step that crosses the published point meets it
    step = curve.assign(value=5.0, cdf_pct=[50.0] * len(curve)).head(1)
    assert published_numbers.largest_gap_pct(step, [1, 5, 5, 5, 9]) == 0
    assert np.isnan(published_numbers.largest_gap_pct(curve, [1.0]))


@pytest.mark.slow
def test_every_printed_number_has_a_fact(tmp_path: Path) -> None:
    tables = random_tables(7, jobs=200)
    with Trace(write_tables(tmp_path / "t", tables, "philly", synthetic=False)) as trace:
        for name in {analysis for analysis, _ in published_numbers.numbers()}:
            analysis = ANALYSES[name]
            wanted = {fact for of, fact in published_numbers.numbers() if of == name}
            if trace.tables.issuperset(analysis.needs):
                result = analysis.compute(trace)
                assert wanted <= {f.name for f in result.facts}, name
                assert len(compare_published(trace, name, result.facts)) == len(wanted), name


@pytest.mark.slow
def test_only_the_study_cluster_is_compared_with_curves(tmp_path: Path) -> None:
    tables = random_tables(8, jobs=200)
    for synthetic in (True, False):
        path = write_tables(tmp_path / f"{synthetic}", tables, "philly", synthetic=synthetic)
        with Trace(path) as trace:
            comparisons = notebook_definitions.compute(trace).comparisons
        assert bool(comparisons) != synthetic
        assert all(c.measured is not None and 0 <= c.measured <= 100 for c in comparisons)


@pytest.mark.slow
def test_utilisation_is_compared_with_the_curves_of_its_figure(tmp_path: Path) -> None:
    path = write_tables(tmp_path / "t", rich_tables(1), "philly", synthetic=False)
    with Trace(path) as trace:
        comparisons = gpu_util.compute(trace).comparisons
        groups = by(Rows(trace).notebook_gpu_util, "figure gpus status")
    expected = {}
    for (figure, gpus, status), rows in groups.items():
        curve = {5: "gpu_util", 6: "gpu_util_dedicated"}[figure]
        group = f"{gpus}" if figure == 6 else f"{status} {gpus}"
        if group in published_numbers.groups(curve):
            what = f"largest gap to the notebook's Figure {figure}, {group} GPU" + "s" * (gpus > 1)
            expected[what] = published_numbers.largest_gap_pct(
                published_numbers.curve(curve, group), [row.util_pct for row in rows]
            )
    assert {c.what: c.measured for c in comparisons} == pytest.approx(expected)
    assert {(figure, gpus) for figure, gpus, _ in groups} >= {(5, 1), (5, 8), (5, 16), (6, 8)}


def test_a_gang_is_named_once_where_this_definition_has_a_curve() -> None:
    rows = [("ours", "1"), ("notebook", "1"), ("notebook", ">8")]
    table = pd.DataFrame(rows, columns=["definition", "gang"]).assign(
        quantity="wait", value_s=60.0, percentile=50
    )
    *_, ax = notebook_definitions.plot(Result("notebook_definitions", table)).axes
    names = [str(line.get_label()) for line in ax.lines]
    assert [name.startswith("_") for name in names] == [False, True, True, True]
