"""A random trace with every column, and its results, which several modules use."""

from collections.abc import Iterator

import pytest

from philly_analysis import analyze
from philly_analysis.report.findings import ANALYSES
from philly_analysis.results import Result
from philly_analysis.trace.trace import Trace
from tests.analyses.plain import Rows
from tests.analyses.rich_trace import rich_tables
from tests.support.clusters import write_tables


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, Rows]]:
    """Rows of two traces: the quotas of the second are estimated."""
    folder = tmp_path_factory.mktemp("rich")
    paths = [write_tables(folder / f"{e}", rich_tables(1, estimated=e)) for e in (False, True)]
    with Trace(paths[0]) as given, Trace(paths[1]) as estimated:
        yield {False: Rows(given), True: Rows(estimated)}


@pytest.fixture(scope="session")
def rich_results(rich: dict[bool, Rows]) -> dict[str, Result]:
    """Every finding on the trace with given quotas, but that on shipped models alone."""
    return dict(analyze(rich[False].trace, [name for name in ANALYSES if name != "philly_like"]))
