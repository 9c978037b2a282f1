"""Tables of a model's numbers, alone and compared with another model's."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import scipy.special as special

from philly_analysis.distributions import Distribution
from philly_analysis.models.between_period import Estimate
from philly_analysis.models.components.job_classes import ANY
from philly_analysis.models.parts import Parts
from philly_analysis.models.persistence import key_of
from philly_analysis.models.site_variation import LEVELS

_LEVELS = (0.1, 0.5, 0.9, 0.99)
_GRID = 2_001
_NORMAL = float(special.ndtri(0.975))
_KOLMOGOROV = 1.358
_NAN = float("nan")

Row = tuple[str, str, str, float, float, float, str]


def summary(model: Parts) -> pd.DataFrame:
    """Return the numbers of a model; see :meth:`WorkloadModel.summary`."""
    columns = ["part", "of", "what", "value", "low", "high", "unit"]
    return pd.DataFrame(list(_rows(model)), columns=columns)


def _rows(model: Parts) -> Iterator[Row]:
    arrivals, gangs, users, duration = model.arrivals, model.gang_size, model.users, model.duration

    def number(part: str, of: str, what: str, value: float, unit: str = "1") -> Row:
        return part, of, what, value, _NAN, _NAN, unit

    inflation = max(1 + 2 * float(np.sum(arrivals.autocorrelation[:168])), 1.0)
    mean = arrivals.rate
    half = _NORMAL * np.sqrt(arrivals.dispersion * mean * inflation / arrivals.hours)
    yield "arrivals", "", "rate", mean, max(mean - half, 0.0), mean + half, "jobs/h"
    yield number("arrivals", "", "dispersion of hours", arrivals.dispersion)
    yield number("arrivals", "", "correlation, hour to hour", arrivals.autocorrelation[0])
    fitted = gangs.overall.effective_n
    low, high = gangs.overall.mean_interval() if fitted else (_NAN, _NAN)
    yield "gang size", "", "mean", gangs.mean(), low, high, "GPUs"
    shares = (getattr(gangs.overall, name) for name in ("shares", "sizes", "low", "high"))
    for share, size, low, high in sorted(zip(*shares, strict=True), reverse=True)[:6]:
        yield "gang size", f"{size} GPU", "share", share, low, high, "1"
    for cell in duration.by_gang:
        yield from _distribution_rows("run time", f"{cell.gang} GPU", cell.distribution)
    yield number("run time", "", "correlation within a user or session", duration.correlation)
    if users.named:
        yield number("users", "", "number", len(users.by_user), "users")
        yield number("users", "", "share of the busiest tenth", users.top_tenth_share)
    yield number("users", "", "virtual clusters", len(users.virtual_clusters), "VCs")
    for name in ("repeat_in_burst", "repeat_otherwise", "repeat_gang", "repeat_status"):
        yield number("users", "", name.replace("_", " "), getattr(users, name))
    yield number("users", "", "correlation of crowds and run times", users.load_correlation)
    for status, share in model.status.shares().items() if model.status else ():
        yield number("endings", status, "share", share)
    if model.cluster_gpus:
        yield number("cluster", "", "size", model.cluster_gpus, "GPUs")
    if model.site:
        scales = model.site.jobs_scale, model.site.class_scale
        yield number("another month", "", "weeks seen", model.site.weeks, "weeks")
        yield number("another month", "", "weekly jobs", model.site.weekly_jobs_sd, "sd of ln")
        prior_sd = model.site.prior_weekly_jobs_sd
        yield number("another month", "", "weekly jobs, prior", prior_sd, "sd of ln")
        for of, scale in zip(("number of jobs", "job classes"), scales, strict=True):
            middle, low, high = np.interp((0.5, 0.05, 0.95), LEVELS, scale).tolist()
            yield "another month", of, "scale of the site", middle, low, high, "1"
    for field in fields(model.variation) if model.variation else ():
        value = getattr(model.variation, field.name)
        if isinstance(value, Estimate):
            what = key_of(field.name).replace("_", " ")
            yield "another month", "", what, value.value, value.low, value.high, "1"


def _distribution_rows(part: str, of: str, distribution: Distribution) -> Iterator[Row]:
    fitted = distribution.effective_n
    for q in _LEVELS:
        low, high = distribution.quantile_interval(q) if fitted else (_NAN, _NAN)
        name = "median" if q == 0.5 else f"{100 * q:g} % below"
        yield part, of, name, float(distribution.ppf(q)), float(low), float(high), "s"
    low, high = distribution.mean_interval() if fitted else (_NAN, _NAN)
    yield part, of, "mean", distribution.mean(), low, high, "s"
    yield part, of, "jobs", distribution.n, _NAN, _NAN, "jobs"
    if fitted:
        yield part, of, "worth", fitted, _NAN, _NAN, "independent jobs"
    if distribution.p is not None:
        name = f"p of the {distribution.family} family"
        yield part, of, name, distribution.p, _NAN, _NAN, "1"
    for number in distribution.parameters:
        low, high = (_NAN if v is None else v for v in (number.low, number.high))
        yield part, of, f"{distribution.family} {number.name}", number.value, low, high, ""


def compare(model: Parts, other: Parts) -> pd.DataFrame:
    """Compare a model with another; see :meth:`WorkloadModel.compare`.

    `chance` is Smirnov's 5 % point at both effective sample sizes.
    """
    rows: list[tuple[Any, ...]] = []

    def number(part: str, what: str, a: float, b: float) -> None:
        ratio = float(np.log(b / a)) if a > 0 and b > 0 else _NAN
        rows.append((part, "", what, a, b, ratio, _NAN))

    number("arrivals", "jobs/h", model.arrivals.rate, other.arrivals.rate)
    number("arrivals", "dispersion of hours", model.arrivals.dispersion, other.arrivals.dispersion)
    a, b = model.gang_size, other.gang_size
    sizes = np.union1d(a.overall.sizes, b.overall.sizes)
    variation = float(np.abs(a.pmf(sizes) - b.pmf(sizes)).sum() / 2)
    rows.append(("gang size", "", "mean, GPUs", a.mean(), b.mean(), variation, _NAN))
    theirs = {(c.gang, c.vc, c.status): c.distribution for c in other.duration.cells}
    for cell in model.duration.cells:
        key = (cell.gang, cell.vc, cell.status)
        if key in theirs and cell.vc == ANY:
            x, y = cell.distribution, theirs[key]
            of = f"{cell.gang} GPU" + ("" if cell.status == ANY else f", {cell.status}")
            chance = _NAN
            if x.effective_n and y.effective_n:
                chance = _KOLMOGOROV * float(np.sqrt(1 / x.effective_n + 1 / y.effective_n))
            rows.append(
                ("run time", of, "median, s", x.median(), y.median(), cdf_distance(x, y), chance)
            )
    if model.users.named and other.users.named:
        tops = (m.users.top_tenth_share for m in (model, other))
        number("users", "share of the busiest tenth", *tops)
    columns = ["part", "of", "what", "value", "other", "distance", "chance"]
    return pd.DataFrame(rows, columns=columns)


def cdf_distance(a: Distribution, b: Distribution) -> float:
    """Return the largest gap between the CDFs of two distributions."""
    levels = (np.arange(_GRID) + 0.5) / _GRID
    x = np.concatenate((a.ppf(levels), b.ppf(levels)))
    return float(np.abs(a.cdf(x) - b.cdf(x)).max())
