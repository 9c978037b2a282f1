"""The numbers and curves that the study printed, and whether a trace is of its cluster."""

import csv
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from philly_analysis.errors import UnknownNameError
from philly_analysis.result import Comparison, Fact
from philly_analysis.trace import Trace

NOTEBOOK = "archive notebook, read off its published figure"

_HERE = Path(__file__).parent


def is_philly(trace: Trace) -> bool:
    """Tell whether a trace was recorded on the study's cluster."""
    return trace.manifest.source == "philly" and not trace.manifest.synthetic


def of_philly(trace: Trace) -> bool:
    """Tell whether a trace is about the study's cluster.

    It is if it was read from the archive's own layout, as the bundled sample is, which was made in
    the archive's image; or by one of the maps that ship for extracts of the archive.
    """
    told = trace.manifest
    return told.source == "philly" or (
        told.source == "table"
        and any(i.file.startswith("philly-") and i.file.endswith(".toml") for i in told.inputs)
    )


@cache
def archive() -> dict[str, int]:
    """Return counts of the public archive: its jobs, its attempts, and those that lack times."""
    with (_HERE / "archive.csv").open(newline="", encoding="utf-8") as file:
        return {row["what"]: int(row["count"]) for row in csv.DictReader(file)}


@cache
def numbers() -> dict[tuple[str, str], Comparison]:
    """Every printed number, by analysis and fact, with nothing measured yet."""
    with (_HERE / "numbers.csv").open(newline="", encoding="utf-8") as file:
        return {
            (row["analysis"], row["fact"]): Comparison(
                what=row["what"],
                published=float(row["published"]),
                measured=None,
                unit=row["unit"],
                source=f"{row['source']} ({row['known']})",
                reason=row["reason"],
            )
            for row in csv.DictReader(file)
        }


def beside(trace: Trace, analysis: str, facts: Iterable[Fact]) -> tuple[Comparison, ...]:
    """Set the printed numbers beside the facts that measure the same thing.

    Returns
    -------
    tuple of Comparison
        Empty unless the trace is the study's cluster. A trace that holds only a part of the
        archive's jobs says so in each reason.
    """
    if not is_philly(trace):
        return ()
    measured = {fact.name: fact.value for fact in facts}
    return tuple(
        replace(number, measured=_float(measured[fact]), reason=_part(trace) + number.reason)
        for (name, fact), number in numbers().items()
        if name == analysis and fact in measured
    )


def curve(name: str, group: str) -> pd.DataFrame:
    """Return one digitised curve of the archive's notebook.

    Parameters
    ----------
    name
        ``run_time``, ``queueing_delay``, ``locality``, ``gpu_util``, ``gpu_util_dedicated`` or
        ``host_util``.
    group
        Its group there: ``2-4``; ``ee9e8c 5-8``; ``Pass 8``; ``8``; ``cpu``.

    Returns
    -------
    pandas.DataFrame
        ``cdf_pct`` (0-100), ``value`` and ``error`` in ``unit``; points off the figure left out.

    Raises
    ------
    UnknownNameError
        There is no such curve.
    """
    table = _curves()
    rows = table[(table["curve"] == name) & (table["group"] == group)]
    if rows.empty:
        raise UnknownNameError(f"{name} curve", group, groups(name))
    return rows.dropna(subset="value").reset_index(drop=True)


def groups(name: str) -> list[str]:
    """Return the groups for which a digitised curve of this name exists."""
    table = _curves()
    return sorted(table.loc[table["curve"] == name, "group"].unique())


def largest_gap_pct(published: pd.DataFrame, values: ArrayLike) -> float:
    """Return the largest vertical gap between a published curve and observations.

    Parameters
    ----------
    published
        A curve as :func:`curve` returns it.
    values
        Observations in the curve's unit, shape (n,).

    Returns
    -------
    float
        Percentage points, 0 to 100; NaN for fewer than two observations. The observations'
        curve is the notebook's: the k-th of n stands at ``100 k / (n - 1)``.
    """
    ours = np.sort(np.asarray(values, float))
    if len(ours) < 2 or published.empty:
        return float("nan")
    at = np.interp(published["value"], ours, np.linspace(0, 100, len(ours)), left=0.0, right=100.0)
    below = 100 * np.searchsorted(ours, published["value"], "left") / (len(ours) - 1)
    above = 100 * np.searchsorted(ours, published["value"], "right") / (len(ours) - 1)
    wanted = published["cdf_pct"].to_numpy(float)
    # where observations coincide the curve is a vertical line: any height on it is met
    inside = (below <= wanted) & (wanted <= above)
    return float(np.max(np.where(inside, 0.0, np.abs(at - wanted))))


@cache
def _curves() -> pd.DataFrame:
    return pd.read_csv(_HERE / "curves.csv", dtype={"group": str})


def _part(trace: Trace) -> str:
    jobs = trace.manifest.rows.get("jobs", 0)
    whole = archive()["jobs"]
    return "" if jobs == whole else f"this trace holds {jobs:,} of the archive's {whole:,} jobs; "


def _float(value: float | int | str | None) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)
