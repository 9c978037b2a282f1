"""Compare the causes of waits with those of schedulers written apart, at three loads.

    python -m data.checks.scheduler_causes > docs/measured/scheduler-causes.csv

The schedulers are ``tests/truth/schedulers.py``. The script takes 15 minutes. Names of scenarios
after the command limit the rows to these scenarios.
"""

import csv
import sys
import tempfile
from pathlib import Path

from tests.truth.scenarios import Scenario
from tests.truth.schedulers import simulate
from tests.truth.test_schedulers import LOADS, SCENARIOS, computed_shares

JOBS = 1_500
COLUMNS = {
    "held": "held",
    "limit": "limit",
    "too_few": "too few GPUs",
    "fragmented": "fragmented",
    "stranded": "stranded",
    "behind": "behind other jobs",
    "start_up": "start-up",
    "unknown": "not explained",
}


def row(name: str, load: float) -> list[str]:
    """Return a scenario, its load, the largest error, and each true and computed percentage."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        truth = simulate(Scenario(load=load, jobs=JOBS, **SCENARIOS[name]), log)
        computed = computed_shares(log)
    error = max(abs(truth.get(cause, 0) - computed.get(cause, 0)) for cause in truth | computed)
    pairs = ((truth.get(cause, 0), computed.get(cause, 0)) for cause in COLUMNS)
    shares = (
        f"{true:.1f} / {share:.1f}" if max(true, share) >= 0.05 else "" for true, share in pairs
    )
    return [name, f"{load:g}", f"{error:.1f}", *shares]


def main() -> None:
    """Print a row for each scenario and load."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["scheduler", "load", "largest error", *COLUMNS.values()])
    for name in sys.argv[1:] or SCENARIOS:
        for load in LOADS:
            out.writerow(row(name, load))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
