"""Import the scripts of ``data/``, which are not a package, for tests."""

import sys
from pathlib import Path

_DATA = Path(__file__).resolve().parents[2] / "data"
sys.path.insert(0, str(_DATA))
try:
    import coverage
    import failure_output
    import failure_texts
    import reweighted
    import turnover
finally:
    sys.path.remove(str(_DATA))

__all__ = ["coverage", "failure_output", "failure_texts", "reweighted", "turnover"]
