"""A model in numbers, and beside another one: what a researcher reads before using it."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import scipy.special as special

from philly_analysis.distributions import Distribution
from philly_analysis.models.between_period import Learned
from philly_analysis.models.components.duration import ANY
from philly_analysis.models.parts import Parts
from philly_analysis.study import STATUSES

_LEVELS = (0.1, 0.5, 0.9, 0.99)
_GRID = 2_001
_NORMAL = float(special.ndtri(0.975))
_KOLMOGOROV = 1.358

Row = tuple[str, str, str, float, float, float, str]


def summary(model: Parts) -> pd.DataFrame:
    """Return the numbers of a model.

    Returns
    -------
    pandas.DataFrame
        Columns part, of (which jobs), what, value, low, high (95 %, that a user's jobs are alike
        allowed for; of what was learned across clusters 90 %; nan: none is known), unit.
    """
    columns = ["part", "of", "what", "value", "low", "high", "unit"]
    return pd.DataFrame(list(_rows(model)), columns=columns)


def _rows(model: Parts) -> Iterator[Row]:
    arrivals, users, duration = model.arrivals, model.users, model.duration
    nan = np.nan
    clinging = 1 + 2 * float(np.sum(arrivals.autocorrelation[:168]))
    mean = arrivals.mean_per_h
    half = _NORMAL * np.sqrt(arrivals.dispersion * mean * max(clinging, 1.0) / arrivals.hours)
    yield "arrivals", "", "rate", mean, max(mean - half, 0.0), mean + half, "jobs/h"
    yield "arrivals", "", "dispersion of hours", arrivals.dispersion, nan, nan, "1"
    yield "arrivals", "", "correlation, hour to hour", arrivals.autocorrelation[0], nan, nan, "1"
    gangs = model.gang_size
    yield "gang size", "", "mean", gangs.mean(), nan, nan, "GPUs"
    for share, size, low, high in sorted(
        zip(*(getattr(gangs.overall, f) for f in ("shares", "sizes", "low", "high")), strict=True),
        reverse=True,
    )[:6]:
        yield "gang size", f"{size} GPU", "share", share, low, high, "1"
    for cell in duration.cells:
        if (cell.vc, cell.status) == (ANY, ANY):
            yield from _of_law("run time", f"{cell.gang} GPU", cell.law)
    yield "run time", "", "correlation within a user or session", duration.alike, nan, nan, "1"
    if users.named:
        yield "users", "", "number", len(users.by_user), nan, nan, "users"
        yield "users", "", "share of the busiest tenth", users.top_tenth_share, nan, nan, "1"
    yield "users", "", "virtual clusters", len(users.virtual_clusters), nan, nan, "VCs"
    for what in ("repeat_in_burst", "repeat_otherwise", "repeat_gang", "repeat_status"):
        yield "users", "", what.replace("_", " "), getattr(users, what), nan, nan, "1"
    yield "users", "", "correlation of crowds and run times", users.crowding, nan, nan, "1"
    if model.status:
        weight = np.array([c.n for c in model.status.cells], float)
        mixed = weight @ np.array([c.shares for c in model.status.cells]) / weight.sum()
        for status, share in zip(STATUSES, mixed.tolist(), strict=True):
            yield "endings", status, "share", share, nan, nan, "1"
    if model.gpus:
        yield "cluster", "", "size", model.gpus, nan, nan, "GPUs"
    if model.variation:
        for field in fields(model.variation):
            number = getattr(model.variation, field.name)
            if isinstance(number, Learned):
                yield (
                    "another month",
                    "",
                    field.name.replace("_", " "),
                    number.value,
                    number.low,
                    number.high,
                    "1",
                )


def _of_law(part: str, of: str, law: Distribution) -> Iterator[Row]:
    nan = np.nan
    for q in _LEVELS:
        low, high = law.quantile_interval(q) if law.worth else (nan, nan)
        name = "median" if q == 0.5 else f"{100 * q:g} % below"
        yield part, of, name, float(law.ppf(q)), float(low), float(high), "s"
    yield part, of, "mean", law.mean(), nan, nan, "s"
    yield part, of, "jobs", law.n, nan, nan, "jobs"
    if law.worth:
        yield part, of, "worth", law.worth, nan, nan, "independent jobs"
    if law.p is not None:
        yield part, of, f"p of the {law.family} family", law.p, nan, nan, "1"
    for number in law.parameters:
        ends = (nan if v is None else v for v in (number.low, number.high))
        low, high = ends
        yield part, of, f"{law.family} {number.name}", number.value, low, high, ""


def compare(model: Parts, other: Parts) -> pd.DataFrame:
    """Set a model beside another.

    Returns
    -------
    pandas.DataFrame
        Columns part, of (which jobs), what, value, other, distance (of laws: the largest gap of
        their CDFs, of gang sizes half the sum of all gaps; of numbers the natural logarithm of
        their ratio), chance (what a distance of laws stays below in 95 % of cases if both have
        seen the same law: Smirnov's, of the independent jobs that each is worth; nan: not known).
    """
    nan = np.nan
    rows: list[tuple[Any, ...]] = []

    def number(part: str, of: str, what: str, a: float, b: float) -> None:
        ratio = float(np.log(b / a)) if a > 0 and b > 0 else nan
        rows.append((part, of, what, a, b, ratio, nan))

    number("arrivals", "", "jobs/h", model.arrivals.mean_per_h, other.arrivals.mean_per_h)
    number(
        "arrivals", "", "dispersion of hours", model.arrivals.dispersion, other.arrivals.dispersion
    )
    a, b = model.gang_size, other.gang_size
    sizes = np.union1d(a.overall.sizes, b.overall.sizes)
    apart = float(np.abs(a.pmf(sizes) - b.pmf(sizes)).sum() / 2)
    rows.append(("gang size", "", "mean, GPUs", a.mean(), b.mean(), apart, nan))
    theirs = {(c.gang, c.vc, c.status): c.law for c in other.duration.cells}
    for cell in model.duration.cells:
        key = (cell.gang, cell.vc, cell.status)
        if key in theirs and cell.vc == ANY:
            ours, law = cell.law, theirs[key]
            of = f"{cell.gang} GPU" + ("" if cell.status == ANY else f", {cell.status}")
            chance = nan
            if ours.worth and law.worth:
                chance = _KOLMOGOROV * float(np.sqrt(1 / ours.worth + 1 / law.worth))
            rows.append(
                ("run time", of, "median, s", ours.median(), law.median(), gap(ours, law), chance)
            )
    if model.users.named and other.users.named:
        number("users", "", "share of the busiest tenth", *_top(model, other))
    columns = ["part", "of", "what", "value", "other", "distance", "chance"]
    return pd.DataFrame(rows, columns=columns)


def gap(a: Distribution, b: Distribution) -> float:
    """Return the largest gap between the CDFs of two laws."""
    levels = (np.arange(_GRID) + 0.5) / _GRID
    x = np.concatenate((a.ppf(levels), b.ppf(levels)))
    return float(np.abs(a.cdf(x) - b.cdf(x)).max())


def _top(*models: Parts) -> Iterator[float]:
    return (m.users.top_tenth_share for m in models)
