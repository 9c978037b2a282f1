"""Compare the longest job of drawn windows with recorded windows that were held out.

    python -m data.checks.longest_jobs [EXTRACT ...] > docs/measured/longest-jobs.csv

fits a model to the first half of each extract, cuts the second half into windows, and draws as long
windows from the model. All extracts take some six CPU minutes.
"""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd

from data.models.extracts import EXTRACTS, observed
from philly_analysis.models import Observations, WorkloadModel, draw_jobs

DAY_S = 86_400
MOST_D = 28.0
WINDOWS = 4
"""Least number of windows in the second half of an extract."""
DRAWS = 40


def longest_d(run_s: np.ndarray) -> float:
    """Return the longest run time in days."""
    return float(np.nanmax(run_s)) / DAY_S


def row(name: str, data: Observations) -> dict[str, object]:
    """Return the longest jobs of held-out and drawn windows of an extract."""
    at = data.jobs["submitted_s"].to_numpy(float)
    middle = (at.min() + at.max()) / 2
    days = min(MOST_D, (at.max() - middle) / DAY_S / WINDOWS)
    edges = np.arange(middle, at.max() + 1, days * DAY_S)
    run_s = data.jobs["run_s"].to_numpy(float)
    recorded = [
        longest_d(run_s[(at >= low) & (at < high)])
        for low, high in pairwise(edges)
        if np.isfinite(run_s[(at >= low) & (at < high)]).any()
    ]
    model = WorkloadModel.fit(data.where(at < middle), conditional=False)
    drawn = [
        longest_d(draw_jobs(model, days=days, seed=seed)[0].run_s)
        for seed in range(1, DRAWS + 1)
    ]
    fitted = longest_d(run_s[at < middle])
    low, high = np.quantile(drawn, [0.05, 0.95])
    return {
        "extract": name,
        "days of a window": round(days, 1),
        "held-out windows": len(recorded),
        "longest fitted job (days)": round(fitted, 1),
        "longest jobs of held-out windows": f"{min(recorded):.1f} to {max(recorded):.1f}",
        "longest jobs of 90 % of drawn windows": f"{low:.1f} to {high:.1f}",
        "held-out windows within the drawn range": sum(low <= x <= high for x in recorded),
    }


if __name__ == "__main__":
    names = sys.argv[1:] or [name for name in EXTRACTS if name != "itp-10"]
    rows = []
    for extract in names:
        rows.append(row(extract, observed(extract)))
        print(extract, file=sys.stderr, flush=True)
    pd.DataFrame(rows).to_csv(sys.stdout, index=False)
