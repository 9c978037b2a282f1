"""Baseline generators of jobs, fitted to the same jobs as a workload model."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy

from philly_analysis.distributions import Floats
from philly_analysis.models.components.gang_size import GangSizeDistribution

DAY_S = 86_400
HALF_HOURS = 48

Sampler = Callable[[int, np.random.Generator], pd.DataFrame]
"""Draws a number of jobs: columns submitted_s (from 0), gpus, run_s."""


def poisson_lognormal(jobs: pd.DataFrame, span_s: float) -> Sampler:
    """Fit one log-normal run time, Poisson arrivals and independent gang sizes.

    Parameters
    ----------
    jobs
        Columns gpus, run_s.
    span_s
        Length of the observation in seconds.
    """
    log_run = np.log(np.maximum(jobs["run_s"].dropna().to_numpy(float), 0.5))
    mu, sigma = float(log_run.mean()), float(log_run.std())
    rate_per_s = len(jobs) / span_s
    gangs = GangSizeDistribution.fit(jobs["gpus"])

    def sample(n: int, rng: np.random.Generator) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "submitted_s": np.floor(np.cumsum(rng.exponential(1 / rate_per_s, n))),
                "gpus": gangs.rvs(n, rng),
                "run_s": np.exp(rng.normal(mu, sigma, n)),
            }
        )

    return sample


def lublin_feitelson(jobs: pd.DataFrame, span_s: float) -> Sampler:
    """Fit the model of Lublin and Feitelson (JPDC 2003).

    Sizes are 1, or two-stage uniform in log2 and mostly rounded to powers of two. The logarithm
    of a run time is a mixture of two gammas; the weight of the short one is linear in the size.
    Gaps between arrivals have a gamma distribution of log2, in a time that follows the daily
    cycle.

    Parameters
    ----------
    jobs
        Columns submitted_s, gpus, run_s.
    span_s
        Length of the observation in seconds.
    """
    gpus = jobs["gpus"].to_numpy(int)
    serial = float((gpus == 1).mean())
    log_size = np.log2(gpus[gpus > 1]) if (gpus > 1).any() else np.array([1.0])
    low, high = 0.8, float(log_size.max())
    middle = max(high - 2.5, 1.0)
    first_stage = float((log_size <= middle).mean())
    power_of_two = float((np.exp2(np.rint(log_size)) == np.exp2(log_size)).mean())

    timed = jobs[jobs["run_s"].notna()]
    log_run = np.log(np.maximum(timed["run_s"].to_numpy(float), 1.5))
    short, long, p_short = _two_gammas(log_run)
    size = timed["gpus"].to_numpy(float)
    slope, base = np.polyfit(size, p_short, 1) if np.ptp(size) > 0 else (0.0, float(p_short.mean()))

    at = np.sort(jobs["submitted_s"].to_numpy(float))
    half_hour = ((at % DAY_S) // 1_800).astype(int)
    cycle = np.bincount(half_hour, minlength=HALF_HOURS) + 1.0
    # operational time advances fast in busy half hours
    operational = np.concatenate(([0.0], np.cumsum(cycle / cycle.mean()))) * 1_800
    rush = (at[1:] % DAY_S >= 8 * 3_600) & (at[1:] % DAY_S < 18 * 3_600)
    gaps = np.diff(at)[rush] if rush.sum() > 10 else np.diff(at)
    log_gap = np.log2(1 + gaps)
    gap = _gamma_by_moments(float(log_gap.mean()), float(log_gap.var()))
    drawn = np.exp2(np.random.default_rng(0).gamma(*gap, 20_000)) - 1
    mean_gap = float(np.minimum(drawn, np.diff(at).max()).mean())
    gap_factor = span_s / len(jobs) / max(mean_gap, 1e-9)

    def sample(n: int, rng: np.random.Generator) -> pd.DataFrame:
        first = rng.random(n) < first_stage
        least, most = np.where(first, low, middle), np.where(first, middle, high)
        exponent = rng.uniform(least, np.maximum(most, least))
        exponent = np.where(rng.random(n) < power_of_two, np.rint(exponent), exponent)
        gpus = np.where(rng.random(n) < serial, 1, np.rint(np.exp2(exponent)).astype(int))
        is_short = rng.random(n) < np.clip(base + slope * gpus, 0, 1)
        log_run = np.where(is_short, rng.gamma(*short, n), rng.gamma(*long, n))
        gaps = np.minimum(np.exp2(rng.gamma(*gap, n)) - 1, 30 * DAY_S) * gap_factor
        days, operational_s = np.divmod(np.cumsum(gaps), operational[-1])
        at = days * DAY_S + np.interp(
            operational_s, operational, np.arange(HALF_HOURS + 1) * 1_800.0
        )
        run_s = np.exp(np.minimum(log_run, 18.0))
        return pd.DataFrame({"submitted_s": np.floor(at), "gpus": gpus, "run_s": run_s})

    return sample


def _gamma_by_moments(mean: float, variance: float) -> tuple[float, float]:
    """Return the shape and scale of a gamma distribution."""
    scale = max(variance, 1e-6) / max(mean, 1e-6)
    return max(mean, 1e-6) / scale, scale


def _two_gammas(y: Floats) -> tuple[tuple[float, float], tuple[float, float], Floats]:
    """Fit a mixture of two gammas by EM with the method of moments."""
    p_short = np.where(y <= np.median(y), 0.9, 0.1)
    for _ in range(60):
        gammas, log_p = [], []
        mean_short = float(p_short.mean())
        for p, share in ((p_short, mean_short), (1 - p_short, 1 - mean_short)):
            mean = float(np.average(y, weights=p + 1e-12))
            variance = float(np.average((y - mean) ** 2, weights=p + 1e-12))
            shape, scale = _gamma_by_moments(mean, variance)
            gammas.append((shape, scale))
            log_pdf = scipy.stats.gamma.logpdf(y, shape, scale=scale)
            log_p.append(log_pdf + np.log(max(share, 1e-9)))
        p_short = 1 / (1 + np.exp(np.clip(log_p[1] - log_p[0], -500, 500)))
    return gammas[0], gammas[1], p_short


BASELINES: dict[str, Callable[[pd.DataFrame, float], Sampler]] = {
    "one log-normal, Poisson": poisson_lognormal,
    "Lublin-Feitelson, refitted": lublin_feitelson,
}
"""Baselines by name."""
