"""Compare the longest job of drawn windows with recorded windows that were held out.

    python -m data.checks.longest_jobs [LIST ...] > docs/measured/longest-jobs.csv

fits a model to a half of each list, cuts the other half into windows, and draws as long windows
from the model. Lists start with the first week of regular use: before, a log has the long jobs that
were running when it began. Drawn jobs that would end after the log's last end are left out, as a
log of ended jobs leaves them out. The last row has all windows. All lists take some five CPU
minutes.
"""

import sys
from itertools import pairwise

import numpy as np
import pandas as pd

from data.models.between_period.lists import MORE, in_use, listed
from data.models.extracts import EXTRACTS
from philly_analysis.models import Observations, WorkloadModel, draw_jobs

DAY_S = 86_400
MOST_D = 28.0
WINDOWS = 4
"""Least number of windows in the held-out half of a list."""
DRAWS = 60
SAME = 1.01
"""Largest ratio of equal run times: jobs at one time limit end some seconds after it."""
LISTS = (
    *(name for name in EXTRACTS if name not in ("itp-10", "philly-attempts")),
    *MORE,
    "philly-multigpu",
)
"""Lists of GPU clusters; cluster 10 has too few jobs, and philly-attempts repeats philly-passed."""


def longest_d(run_s: np.ndarray) -> float:
    """Return the longest run time in days; 0 without jobs."""
    return float(np.nanmax(run_s, initial=0.0)) / DAY_S


def row(name: str, data: Observations, *, first: bool) -> dict[str, object]:
    """Return the longest jobs of held-out and drawn windows of a list.

    Parameters
    ----------
    first
        Fit the first half, and hold out the second.
    """
    at, run_s = (data.jobs[column].to_numpy(float) for column in ("submitted_s", "run_s"))
    middle = (at.min() + at.max()) / 2
    last_end = np.nanmax(at + run_s)
    begin, end = (middle, at.max()) if first else (at.min(), middle)
    days = min(MOST_D, (end - begin) / DAY_S / WINDOWS)
    fitted = (at < middle) == first
    model = WorkloadModel.fit(data.where(fitted), conditional=False)
    drawn = [draw_jobs(model, days=days, seed=seed)[0] for seed in range(1, DRAWS + 1)]
    recorded, longest = [], []
    for start, stop in pairwise(np.arange(begin, end + 1, days * DAY_S)):
        inside = (at >= start) & (at < stop) & np.isfinite(run_s)
        if not inside.any():
            continue
        recorded.append(longest_d(run_s[inside]))
        ends = [(work.run_s, start + work.at_s + work.run_s) for work in drawn]
        longest.append([longest_d(run[stopped <= last_end]) for run, stopped in ends])
    made = np.array(longest)
    low, high = np.quantile(made, [0.05, 0.95], axis=1)
    held = np.array(recorded)
    within = (held * SAME >= low) & (held <= high * SAME)
    among = (made * SAME >= held.min()) & (made <= held.max() * SAME)
    return {
        "list": name,
        "fitted half": "first" if first else "second",
        "days of a window": round(days, 1),
        "longest fitted job (days)": round(longest_d(run_s[fitted]), 1),
        "longest jobs of held-out windows": f"{held.min():.1f} to {held.max():.1f}",
        "longest jobs of 90 % of drawn windows": f"{low.min():.1f} to {high.max():.1f}",
        "within": int(within.sum()),
        "windows": held.size,
        "among": float(among.mean()),
    }


def table(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Return the rows, and a row of all windows."""
    frame = pd.DataFrame(rows)
    numbers = ["within", "windows", "among"]
    total = {"list": "all lists", **frame[numbers[:2]].sum(), "among": frame["among"].mean()}
    frame = pd.concat([frame, pd.DataFrame([total])], ignore_index=True)
    pairs = zip(frame["within"], frame["windows"], strict=True)
    frame["held-out windows in the range of drawn ones"] = [f"{k} of {n}" for k, n in pairs]
    among = frame["among"].map("{:.0%}".format)
    frame["drawn windows in the range of held-out ones"] = among
    return frame.drop(columns=numbers)


def main() -> None:
    """Print the rows of the given lists, or of all lists."""
    rows = []
    for name in sys.argv[1:] or LISTS:
        data = in_use(listed(name))
        rows += [row(name, data, first=first) for first in (True, False)]
        print(name, file=sys.stderr, flush=True)
    print(table(rows).to_csv(index=False), end="")


if __name__ == "__main__":
    main()
