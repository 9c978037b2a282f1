"""Published extracts of real traces, from which the shipped models are fitted.

The extracts are found at `$PHILLY_TRACES`, or at `../shared/traces` beside the checkout. They are
ingested by the table maps that ship (`philly ingest table`).
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from philly_analysis import RunPolicy, Trace, ingest
from philly_analysis.models import Observations

TRACES = Path(
    os.environ.get("PHILLY_TRACES", Path(__file__).resolve().parents[3] / "shared" / "traces")
)
"""Folder of the extracts; it may be missing."""

ITP_CLUSTERS = ("01", "02", "04", "05", "06", "07", "08", "10")
EXTRACTS = {
    "philly-passed": ("philly-passed-jobs", "philly-passed"),
    "philly-attempts": ("philly-attempts", "philly-attempts"),
    **{f"itp-{c}": (f"itp-2021/cluster{c}.csv.gz", "itp-2021") for c in ITP_CLUSTERS},
    "openb": ("alibaba-openb-2023", "alibaba-openb-2023"),
    "supercloud": ("mit-supercloud-2021", "mit-supercloud-2021"),
    "thetagpu": ("thetagpu-2023", "thetagpu-2023"),
}
"""Job lists by name: where they are among the extracts, and the map that reads them."""


def observed(name: str, lists: Mapping[str, tuple[str, str]] = EXTRACTS) -> Observations:
    """Ingest an extract and return its jobs; one without a map has a source of its own."""
    raw, table_map = lists[name]
    with tempfile.TemporaryDirectory() as folder:
        source = "table" if table_map else name
        ingest(source, TRACES / raw, Path(folder) / name, map=table_map or None)
        with Trace(Path(folder) / name, run_policy=RunPolicy.SUM) as trace:
            return Observations.of_trace(trace)
