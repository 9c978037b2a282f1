"""What people use today, fitted to the same jobs: to measure a workload model against."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from philly_analysis.models.components.gang_size import Gangs

Floats = NDArray[np.float64]

DAY_S = 86_400
HALF_HOURS = 48


class Baseline(Protocol):
    """A generator of jobs."""

    def sample(self, jobs: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw jobs: columns submitted_s (from 0), gpus, run_s."""


@dataclass(frozen=True, slots=True)
class PoissonLognormal:
    """One log-normal for all run times, Poisson arrivals, gang sizes drawn apart from both."""

    mu: float
    sigma: float
    rate_per_s: float
    gangs: Gangs

    @classmethod
    def fit(cls, jobs: pd.DataFrame, span_s: float) -> Self:
        """Fit to jobs (columns gpus, run_s) submitted over `span_s` seconds."""
        log_run = np.log(np.maximum(jobs["run_s"].dropna().to_numpy(float), 0.5))
        return cls(
            float(log_run.mean()),
            float(log_run.std()),
            len(jobs) / span_s,
            Gangs.fit(jobs["gpus"]),
        )

    def sample(self, jobs: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw jobs: columns submitted_s (from 0), gpus, run_s."""
        gaps = rng.exponential(1 / self.rate_per_s, jobs)
        return pd.DataFrame(
            {
                "submitted_s": np.floor(np.cumsum(gaps)),
                "gpus": self.gangs.rvs(jobs, rng),
                "run_s": np.exp(rng.normal(self.mu, self.sigma, jobs)),
            }
        )


@dataclass(frozen=True, slots=True)
class LublinFeitelson:
    """The model of Lublin and Feitelson (JPDC 2003), its form refitted.

    Sizes are 1, or two-stage uniform in log2 and mostly rounded to powers of two. The logarithm
    of a run time is one of two gamma laws, the short one with a probability linear in the size.
    Gaps between arrivals have a gamma law in log2, in a time that runs with the daily cycle.

    Attributes
    ----------
    serial, power_of_two
        Shares: of 1-GPU jobs; of powers of two among the others.
    size_low, size_mid, size_high, size_first
        Bounds of the two stages in log2, and the probability of the first.
    short, long
        Shape and scale of the two gamma laws of ln run_s.
    p_base, p_slope
        Probability of the short law is p_base + p_slope x size.
    gap
        Shape and scale of the gamma law of log2(1 + gap in s).
    gap_factor
        What gaps are multiplied by to give the mean rate.
    day
        Shape (48,): rate in each half hour of the day, mean 1.
    """

    serial: float
    power_of_two: float
    size_low: float
    size_mid: float
    size_high: float
    size_first: float
    short: tuple[float, float]
    long: tuple[float, float]
    p_base: float
    p_slope: float
    gap: tuple[float, float]
    gap_factor: float
    day: tuple[float, ...]

    @classmethod
    def fit(cls, jobs: pd.DataFrame, span_s: float) -> Self:
        """Fit to jobs (columns submitted_s, gpus, run_s) submitted over `span_s` seconds."""
        gpus = jobs["gpus"].to_numpy(int)
        parallel = np.log2(gpus[gpus > 1]) if (gpus > 1).any() else np.array([1.0])
        high = float(parallel.max())
        mid = max(high - 2.5, 1.0)
        timed = jobs[jobs["run_s"].notna()]
        log_run = np.log(np.maximum(timed["run_s"].to_numpy(float), 1.5))
        short, long, p_short = _two_gammas(log_run)
        size = timed["gpus"].to_numpy(float)
        slope, base = (
            np.polyfit(size, p_short, 1) if np.ptp(size) > 0 else (0.0, float(p_short.mean()))
        )
        at = np.sort(jobs["submitted_s"].to_numpy(float))
        half_hour = ((at % DAY_S) // 1_800).astype(int)
        day = np.bincount(half_hour, minlength=HALF_HOURS) + 1.0
        rush = (at[1:] % DAY_S >= 8 * 3_600) & (at[1:] % DAY_S < 18 * 3_600)
        gaps = np.diff(at)[rush] if rush.sum() > 10 else np.diff(at)
        log_gap = np.log2(1 + gaps)
        gap = _gamma_by_moments(float(log_gap.mean()), float(log_gap.var()))
        drawn = np.exp2(np.random.default_rng(0).gamma(*gap, 20_000)) - 1
        mean_gap = float(np.minimum(drawn, np.diff(at).max()).mean())
        return cls(
            serial=float((gpus == 1).mean()),
            power_of_two=float((np.exp2(np.rint(parallel)) == np.exp2(parallel)).mean()),
            size_low=0.8,
            size_mid=mid,
            size_high=high,
            size_first=float((parallel <= mid).mean()),
            short=short,
            long=long,
            p_base=float(base),
            p_slope=float(slope),
            gap=gap,
            gap_factor=span_s / len(jobs) / max(mean_gap, 1e-9),
            day=tuple(float(v) for v in day / day.mean()),
        )

    def sample(self, jobs: int, rng: np.random.Generator) -> pd.DataFrame:
        """Draw jobs: columns submitted_s (from 0), gpus, run_s."""
        first = rng.random(jobs) < self.size_first
        low = np.where(first, self.size_low, self.size_mid)
        high = np.where(first, self.size_mid, self.size_high)
        exponent = rng.uniform(low, np.maximum(high, low))
        exponent = np.where(rng.random(jobs) < self.power_of_two, np.rint(exponent), exponent)
        gpus = np.where(rng.random(jobs) < self.serial, 1, np.rint(np.exp2(exponent)).astype(int))
        is_short = rng.random(jobs) < np.clip(self.p_base + self.p_slope * gpus, 0, 1)
        log_run = np.where(is_short, rng.gamma(*self.short, jobs), rng.gamma(*self.long, jobs))
        gaps = np.minimum(np.exp2(rng.gamma(*self.gap, jobs)) - 1, 30 * DAY_S) * self.gap_factor
        # Gaps are in operational time, which runs fast in the busy half hours of the day.
        whole = np.cumsum(gaps)
        edges = np.concatenate(([0.0], np.cumsum(self.day))) * 1_800
        days, rest = np.divmod(whole, edges[-1])
        at = days * DAY_S + np.interp(rest, edges, np.arange(HALF_HOURS + 1) * 1_800.0)
        return pd.DataFrame(
            {
                "submitted_s": np.floor(at),
                "gpus": gpus,
                "run_s": np.exp(np.minimum(log_run, 18.0)),
            }
        )


def _gamma_by_moments(mean: float, variance: float) -> tuple[float, float]:
    scale = max(variance, 1e-6) / max(mean, 1e-6)
    return max(mean, 1e-6) / scale, scale


def _two_gammas(y: Floats) -> tuple[tuple[float, float], tuple[float, float], Floats]:
    """Fit two gamma laws by expectation maximisation, each step by moments."""
    cut = np.median(y)
    p_short = np.where(y <= cut, 0.9, 0.1)
    short = long = (1.0, 1.0)
    for _ in range(60):
        laws = []
        for weight in (p_short, 1 - p_short):
            mean = float(np.average(y, weights=weight + 1e-12))
            spread = float(np.average((y - mean) ** 2, weights=weight + 1e-12))
            laws.append(_gamma_by_moments(mean, spread))
        short, long = laws
        log_short = _log_gamma_pdf(y, *short) + np.log(max(float(p_short.mean()), 1e-9))
        log_long = _log_gamma_pdf(y, *long) + np.log(max(float(1 - p_short.mean()), 1e-9))
        p_short = 1 / (1 + np.exp(np.clip(log_long - log_short, -500, 500)))
    return short, long, p_short


def _log_gamma_pdf(y: Floats, shape: float, scale: float) -> Floats:
    return np.asarray(scipy.stats.gamma.logpdf(y, shape, scale=scale))


BASELINES: dict[str, Callable[[pd.DataFrame, float], Baseline]] = {
    "one log-normal, Poisson": PoissonLognormal.fit,
    "Lublin-Feitelson, refitted": LublinFeitelson.fit,
}
"""Baselines by name: how each is fitted to jobs submitted over a span of seconds."""
