"""Check that the next process reuses a materialized relation."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.small_traces import paper_trace

_ASK = (
    "import sys; from philly_analysis.trace.trace import Trace\n"
    "with Trace(sys.argv[1]) as trace: trace.create(['free_capacity'])"
)


def test_every_process_names_materialized_files_alike(tmp_path: Path) -> None:
    path = paper_trace(tmp_path / "t")
    found = set()
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", _ASK, str(path)], env=env, check=True)
        [stored] = (path / "derived").glob("free_capacity-*.parquet")
        found.add((stored.name, stored.stat().st_mtime_ns))
    assert len(found) == 1
