"""Import the scripts of ``data/`` and ``docs/``, which are not packages, for tests."""

import sys
from pathlib import Path

_FOLDERS = [str(Path(__file__).resolve().parents[2] / name) for name in ("data", "docs")]
sys.path[:0] = _FOLDERS
try:
    import architecture
    import cause_accuracy
    import coverage
    import execution
    import failure_output
    import failure_texts
    import measured
    import pictures
    import reweighted
    import statistics_pictures
    import turnover
finally:
    del sys.path[: len(_FOLDERS)]

__all__ = [
    "architecture",
    "cause_accuracy",
    "coverage",
    "execution",
    "failure_output",
    "failure_texts",
    "measured",
    "pictures",
    "reweighted",
    "statistics_pictures",
    "turnover",
]
