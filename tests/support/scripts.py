"""Import the scripts of ``data/`` and ``docs/``, which are not packages, for tests."""

import sys
from pathlib import Path

_FOLDERS = [str(Path(__file__).resolve().parents[2] / name) for name in ("data", "docs")]
sys.path[:0] = _FOLDERS
try:
    import architecture
    import coverage
    import failure_output
    import failure_texts
    import reweighted
    import turnover
finally:
    del sys.path[: len(_FOLDERS)]

__all__ = [
    "architecture",
    "coverage",
    "failure_output",
    "failure_texts",
    "reweighted",
    "turnover",
]
