"""Write the report of the bundled sample."""

from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest import IngestOptions, ingest
from philly_analysis.report.page import Page
from philly_analysis.report.trace_report import report
from philly_analysis.trace import MANIFEST

_PACKAGE = Path(__file__).parents[1]
_HOMES = (_PACKAGE / "sample", _PACKAGE.parent / "data" / "sample")
"""Folders of the sample: in an installed package, and in a checkout."""
_OUTPUT = "failed-output"


def demo(out: Path) -> Page:
    """Make the bundled sample's trace and page: see :func:`philly_analysis.demo`."""
    raw = next((home for home in _HOMES if home.is_dir()), None)
    if raw is None:
        raise InputError("this installation lacks the sample: install the wheel again.")
    trace = out / "sample"
    if not (trace / MANIFEST).is_file():
        out.mkdir(parents=True, exist_ok=True)
        ingest(
            IngestOptions(
                "philly",
                raw,
                trace,
                failures=raw / _OUTPUT,
                quotas=raw / "quotas.csv",
            )
        )
    return report(trace, out / "reports")
