"""Makes the page of the bundled sample, wherever one stands."""

from pathlib import Path

from philly_analysis.errors import InputError
from philly_analysis.ingest import ingest
from philly_analysis.report.page import report
from philly_analysis.trace import MANIFEST

_PACKAGE = Path(__file__).parents[1]
_HOMES = (_PACKAGE / "sample", _PACKAGE.parent / "data" / "sample")
"""Where the sample is: in an installed package, and in a checkout."""
_OUTPUT = "sample-output"


def demo(out: str | Path = "philly-demo") -> Path:
    """Make the bundled sample's trace and page.

    The sample is synthetic, in the raw layout of the Philly archive; nothing found on it is a
    finding about a real cluster.

    Parameters
    ----------
    out
        Folder for the trace, ``out/sample``, which is made once, and for ``out/reports``.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    InputError
        This installation came without the sample.
    TraceError
        The folder cannot be written.
    """
    raw = next((home for home in _HOMES if home.is_dir()), None)
    if raw is None:
        raise InputError("this installation came without the sample: install the wheel again.")
    trace = Path(out) / "sample"
    if not (trace / MANIFEST).is_file():
        Path(out).mkdir(parents=True, exist_ok=True)
        ingest("philly", raw, trace, failures=raw.with_name(_OUTPUT))
    return report(trace, Path(out) / "reports")
