"""Compare the longest job of drawn windows with recorded windows that were held out.

    python -m data.checks.longest_jobs [EXTRACT ...] > docs/measured/longest-jobs.csv

fits a model to the first half of each extract, cuts the second half into windows, and draws as long
windows from the model. Extracts start with the first week of regular use: before, a log has the
long jobs that were running when it began. Drawn jobs that would end after the log's last end are
left out, as a log of ended jobs leaves them out. All extracts take some six CPU minutes.
"""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd

from data.models.between_period.lists import in_use
from data.models.extracts import EXTRACTS, observed
from philly_analysis.models import Observations, WorkloadModel, draw_jobs

DAY_S = 86_400
MOST_D = 28.0
WINDOWS = 4
"""Least number of windows in the second half of an extract."""
DRAWS = 40


def longest_d(run_s: np.ndarray) -> float:
    """Return the longest run time in days; 0 without jobs."""
    return float(np.nanmax(run_s, initial=0.0)) / DAY_S


def row(name: str, data: Observations) -> dict[str, object]:
    """Return the longest jobs of held-out and drawn windows of an extract."""
    at, run_s = (data.jobs[column].to_numpy(float) for column in ("submitted_s", "run_s"))
    middle = (at.min() + at.max()) / 2
    last_end = np.nanmax(at + run_s)
    days = min(MOST_D, (at.max() - middle) / DAY_S / WINDOWS)
    edges = np.arange(middle, at.max() + 1, days * DAY_S)
    model = WorkloadModel.fit(data.where(at < middle), conditional=False)
    drawn = [draw_jobs(model, days=days, seed=seed)[0] for seed in range(1, DRAWS + 1)]
    recorded, lows, highs = [], [], []
    for start, end in pairwise(edges):
        inside = (at >= start) & (at < end) & np.isfinite(run_s)
        if not inside.any():
            continue
        recorded.append(longest_d(run_s[inside]))
        ends = [(work.run_s, start + work.at_s + work.run_s) for work in drawn]
        longest = [longest_d(run[ended <= last_end]) for run, ended in ends]
        low, high = np.quantile(longest, [0.05, 0.95])
        lows.append(low)
        highs.append(high)
    within = sum(low <= x <= high for low, x, high in zip(lows, recorded, highs, strict=True))
    return {
        "extract": name,
        "days of a window": round(days, 1),
        "longest fitted job (days)": round(longest_d(run_s[at < middle]), 1),
        "longest jobs of held-out windows": f"{min(recorded):.1f} to {max(recorded):.1f}",
        "longest jobs of 90 % of drawn windows": f"{min(lows):.1f} to {max(highs):.1f}",
        "held-out windows within their range": f"{within} of {len(recorded)}",
    }


if __name__ == "__main__":
    names = sys.argv[1:] or [name for name in EXTRACTS if name != "itp-10"]
    rows = []
    for extract in names:
        rows.append(row(extract, in_use(observed(extract))))
        print(extract, file=sys.stderr, flush=True)
    pd.DataFrame(rows).to_csv(sys.stdout, index=False)
