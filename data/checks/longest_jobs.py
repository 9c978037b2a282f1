"""Compare the longest job of drawn windows with recorded windows that were held out.

    python -m data.checks.longest_jobs [LIST ...] > docs/measured/longest-jobs.csv

fits a model to a half of each list, cuts the other half into windows, and draws as long windows
from the model. Lists start with the first week of regular use: before, a log has the long jobs that
were running when it began. Drawn jobs that would end after the log's last end are left out, as a
log of ended jobs leaves them out. Four other methods make windows in the same way: see `methods`.
The last row has all windows. All lists take some ten CPU minutes.
"""

import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import genpareto

from data.models.between_period.lists import MORE, in_use, listed
from data.models.extracts import EXTRACTS
from philly_analysis.models import Observations, WorkloadModel, draw_jobs
from philly_analysis.models.components.sessions import job_clusters, job_sessions

Floats = NDArray[np.float64]
Jobs = tuple[Floats, Floats]
"""Submissions since the start of a window, and run times, in seconds."""

DAY_S = 86_400
MOST_D = 28.0
WINDOWS = 4
"""Least number of windows in the held-out half of a list."""
DRAWS = 150
SAME = 1.01
"""Largest ratio of equal run times: jobs at one time limit end some seconds after it."""
TAIL_SHARE, MIN_TAIL = 0.05, 20
"""Share of the sessions, and fewest sessions, that a generalised Pareto tail is fitted to."""
LISTS = (
    *(name for name in EXTRACTS if name not in ("itp-10", "philly-attempts")),
    *MORE,
    "philly-multigpu",
)
"""Lists of GPU clusters; cluster 10 has too few jobs, and philly-attempts repeats philly-passed."""
THIS = "this model"


def of_model(data: Observations, window_s: float) -> list[Jobs]:
    """Draw windows from a model."""
    model = WorkloadModel.fit(data, conditional=False)
    drawn = (draw_jobs(model, days=window_s / DAY_S, seed=1 + i)[0] for i in range(DRAWS))
    return [(work.at_s, work.run_s) for work in drawn]


def of_windows(data: Observations, window_s: float) -> list[Jobs]:
    """Take windows that start at random times."""
    at, run_s = _times(data.timed)
    last_start = max(at[-1] - window_s, at[0] + 1)
    starts = np.random.default_rng(0).uniform(at[0], last_start, DRAWS)
    inside = [(at >= start) & (at < start + window_s) for start in starts]
    return [(at[i] - start, run_s[i]) for i, start in zip(inside, starts, strict=True)]


def of_users(data: Observations, window_s: float) -> list[Jobs]:
    """Draw users with replacement, and thin their jobs."""
    jobs, rng = data.timed, np.random.default_rng(0)
    at, run_s = _times(jobs)
    user = job_clusters(jobs)
    users = user.max() + 1
    share = min(window_s / (at[-1] - at[0]), 1.0)
    made = []
    for _ in range(DRAWS):
        times = np.bincount(rng.integers(0, users, users), minlength=users)
        run = run_s[rng.poisson(times[user] * share) > 0]
        made.append((rng.uniform(0, window_s, run.size), run))
    return made


def of_tail(data: Observations, window_s: float) -> list[Jobs]:
    """Draw the longest jobs of sessions from a generalised Pareto distribution."""
    jobs, rng = data.timed, np.random.default_rng(0)
    at, run_s = _times(jobs)
    longest = np.sort(pd.Series(run_s).groupby(job_sessions(jobs)).max().to_numpy())
    size = min(max(int(TAIL_SHARE * longest.size), MIN_TAIL), longest.size - 1)
    threshold = longest[-size - 1]
    shape, _, scale = genpareto.fit(longest[-size:] - threshold, floc=0)
    made = []
    for _ in range(DRAWS):
        sessions = max(rng.poisson(size * window_s / (at[-1] - at[0])), 1)
        run = threshold + genpareto.rvs(shape, 0, scale, sessions, random_state=rng)
        made.append((rng.uniform(0, window_s, sessions), run))
    return made


METHODS: dict[str, Callable[[Observations, float], list[Jobs]]] = {
    THIS: of_model,
    "windows of the fitted half": of_windows,
    "users of the fitted half": of_users,
    "generalised Pareto tail": of_tail,
}
"""Methods that know the fitted half alone."""
ORACLE = "this model, fitted to the held-out half"


def longest_d(run_s: Floats) -> float:
    """Return the longest run time in days; 0 without jobs."""
    return float(np.nanmax(run_s, initial=0.0)) / DAY_S


def row(name: str, data: Observations, *, first: bool) -> dict[str, object]:
    """Return the longest jobs of held-out and drawn windows of a list.

    Parameters
    ----------
    first
        Fit the first half, and hold out the second.
    """
    at, run_s = _times(data.jobs)
    middle = (at.min() + at.max()) / 2
    last_end = np.nanmax(at + run_s)
    begin, end = (middle, at.max()) if first else (at.min(), middle)
    window_s = min(MOST_D * DAY_S, (end - begin) / WINDOWS)
    fitted = (at < middle) == first
    starts, recorded = [], []
    for start, stop in pairwise(np.arange(begin, end + 1, window_s)):
        inside = (at >= start) & (at < stop) & np.isfinite(run_s)
        if inside.any():
            starts.append(start)
            recorded.append(longest_d(run_s[inside]))
    held = np.array(recorded)
    drawn = {method: draw(data.where(fitted), window_s) for method, draw in METHODS.items()}
    drawn[ORACLE] = of_model(data.where(~fitted), window_s)
    made = {
        method: np.array(
            [[longest_d(run[s + t + run <= last_end]) for t, run in jobs] for s in starts]
        )
        for method, jobs in drawn.items()
    }
    ends = {m: np.quantile(v, [0.05, 0.95], axis=1, method="weibull") for m, v in made.items()}
    within = {m: (held * SAME >= low) & (held <= high * SAME) for m, (low, high) in ends.items()}
    among = (made[THIS] * SAME >= held.min()) & (made[THIS] <= held.max() * SAME)
    return {
        "list": name,
        "fitted half": "first" if first else "second",
        "days of a window": round(window_s / DAY_S, 1),
        "longest fitted job (days)": round(longest_d(run_s[fitted]), 1),
        "longest jobs of held-out windows": f"{held.min():.1f} to {held.max():.1f}",
        "longest jobs of 90 % of drawn windows": (
            f"{ends[THIS][0].min():.1f} to {ends[THIS][1].max():.1f}"
        ),
        "held-out windows": held.size,
        **{method: int(hits.sum()) for method, hits in within.items()},
        "drawn windows in the range of held-out ones": float(among.mean()),
    }


def _times(jobs: pd.DataFrame) -> Jobs:
    """Return submissions and run times of jobs."""
    return jobs["submitted_s"].to_numpy(float), jobs["run_s"].to_numpy(float)


def table(rows: list[dict[str, object]]) -> pd.DataFrame:
    """Return the rows, and a row of all windows."""
    frame = pd.DataFrame(rows)
    counts = ["held-out windows", *METHODS, ORACLE]
    share = "drawn windows in the range of held-out ones"
    total = {"list": "all lists", **frame[counts].sum(), share: frame[share].mean()}
    frame = pd.concat([frame, pd.DataFrame([total])], ignore_index=True)
    return frame.assign(**{share: frame[share].map("{:.0%}".format)})


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
