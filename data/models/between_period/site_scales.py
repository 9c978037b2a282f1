"""Estimate how the scales of variation differ between sites, from consecutive windows.

    python -m data.models.between_period.site_scales [--on LIST ...] > out.md

Scales of a site are learned from the weeks of a window (`models/site_learning.py`). They predict
the change to the next window, of the number of jobs and of the share of each job class. The loss is
the mean negative logarithm of the predicted density, sites with equal weights. A smaller and a
larger value of each parameter is tried, as in `one_by_one.py`; ranges are over bootstraps of the
sites. It takes some two CPU minutes on ten lists.
"""

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from data.models.between_period.lists import DEVELOPED_ON, LISTS, SITE, in_use, listed
from data.models.between_period.one_by_one import BOOTSTRAPS, STEP, minimum, scaled, show
from philly_analysis.models import ESTIMATED, Observations, Variation
from philly_analysis.models.components import Arrivals
from philly_analysis.models.site_learning import (
    GRID,
    FittedLog,
    jobs_deviations,
    learn,
    share_variances,
)
from philly_analysis.models.validation import Window, window_pairs
from philly_analysis.models.weekly_jobs import CLASSES, EDGES_S, WeeklyJobs
from philly_analysis.study import gang_class

PARAMETERS = ("jobs_scale", "class_scale", "scale_sd", "scale_drift", "steady_share")
LENGTHS_D = (7, 14, 28)
PAIRS = 3
FEWEST_JOBS = 20
"""Fewest jobs in the first window of a class whose change is predicted."""

Floats = NDArray[np.float64]


def class_jobs(window: Window, *, by_gpu_time: bool = False) -> Floats:
    """Return the jobs or the GPU seconds of each job class, scaled to all jobs."""
    jobs = window.data.timed
    gpus, run_s = jobs["gpus"].to_numpy(int), jobs["run_s"].to_numpy(float)
    index = gang_class(gpus) * CLASSES[1] + np.digitize(run_s, EDGES_S)
    weight = gpus * run_s if by_gpu_time else np.ones(run_s.size)
    counted = np.bincount(index, weight, int(np.prod(CLASSES))).reshape(CLASSES)
    return np.asarray(counted * len(window.data.jobs) / len(jobs))


def losses(first: Window, second: Window, variation: Variation) -> tuple[float, float]:
    """Return the losses of the number of jobs and of the shares of job classes."""
    jobs = first.data.jobs
    before, after = (class_jobs(window) for window in (first, second))
    change = Arrivals.fit(jobs["submitted_s"], [first.span_s]).daily_change
    vc_shares = tuple(jobs["vc"].value_counts(normalize=True))
    log = FittedLog(before, class_jobs(first, by_gpu_time=True), change, vc_shares)
    weekly = WeeklyJobs.of(jobs, [first.span_s])
    site = learn(log, variation, weekly)
    of_change = variation.change_deviation(first.days, second.days)
    of_jobs = np.interp(np.log(site.jobs_scale), GRID, jobs_deviations(log, variation))
    sd = np.hypot(of_change * of_jobs, np.sqrt(2 / weekly.sessions))
    made = np.log(len(second.data.jobs) / len(jobs))
    jobs_loss = -float(np.log(norm.pdf(made, 0, sd).mean()))
    share = before.ravel() / before.sum()
    compared = (before.ravel() >= FEWEST_JOBS) & (after.ravel() > 0) & (share < 1)
    made = np.log((after.ravel() / after.sum())[compared] / share[compared])
    variance = share_variances(log, variation, share)[compared] * of_change**2
    sampling = (2 * (1 - share) / np.maximum(weekly.class_sessions.ravel(), 0.5))[compared]
    scales = np.square(site.class_scale)[:, None]
    densities = norm.pdf(made, 0, np.sqrt(scales * variance + sampling)).mean(axis=0)
    return jobs_loss, -float(np.log(densities).mean()) if compared.any() else 0.0


def loss(data: Observations, variation: Variation) -> float:
    """Return the mean loss of a list, number of jobs and job classes alike."""
    pairs = window_pairs(data, lengths_d=LENGTHS_D, most=PAIRS)
    return float(np.mean([losses(*pair, variation) for pair in pairs]))


def main() -> None:
    """Print the estimates on the lists developed on."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = [name for name in LISTS if name in DEVELOPED_ON]
    parser.add_argument("--on", nargs="+", choices=names, default=names)
    jobs = {name: in_use(listed(name)) for name in parser.parse_args().on}
    jobs = {n: data for n, data in jobs.items() if any(True for _ in window_pairs(data))}
    site = np.array([SITE[name] for name in jobs])
    sites, number = np.unique(site, return_inverse=True)
    base = np.array([loss(data, ESTIMATED) for data in jobs.values()])
    drawn = np.random.default_rng(0).integers(0, sites.size, (BOOTSTRAPS, sites.size))
    print(f"On {', '.join(jobs)}. The loss of the current values is {base.mean():.3f}.\n")

    def estimates() -> list[tuple[str, float, float, float]]:
        rows = []
        for name in PARAMETERS:
            sides = [
                [loss(data, scaled(name, np.exp(side * STEP))) for data in jobs.values()]
                for side in (-1, 1)
            ]
            by_list = np.column_stack((sides[0], base, sides[1]))
            by_site = np.array([by_list[number == i].mean(axis=0) for i in range(sites.size)])
            best = [minimum(mean) for mean in by_site[drawn].mean(axis=1)]
            factors = minimum(by_site.mean(axis=0)), *np.quantile(best, (0.05, 0.95))
            made = [getattr(scaled(name, float(f)), name).value for f in factors]
            rows.append((name, made[0], min(made[1:]), max(made[1:])))
        return rows

    show(estimates())


if __name__ == "__main__":
    main()
