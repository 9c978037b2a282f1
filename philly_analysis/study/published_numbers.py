"""Numbers and curves that the study and the archive's notebook printed.

``numbers.csv`` holds the printed numbers, each under the analysis and the fact that measures the
same quantity. Each row has the source, how the number was obtained, and why ours may differ.
``curves.csv`` holds the curves of the archive's notebook, read off its published images (quantiles
with a reading error). The curves follow the notebook's own definitions. ``archive.csv`` counts the
public archive, ``table4.csv`` and ``table7.csv`` are further tables of the study.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from philly_analysis.errors import UnknownNameError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

NOTEBOOK = "archive notebook, read off its published figure"

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class PublishedNumber:
    """A number that the study printed.

    Attributes
    ----------
    what
        What the number measures, as a phrase.
    published
        The value, in `unit`.
    source
        Table, figure or section, and how the number was obtained, e.g. ``ATC'19, Table 6 (read
        from the table)``.
    reason
        Why a measurement on the public archive may differ.
    """

    what: str
    published: float
    unit: str
    source: str
    reason: str


@cache
def archive() -> dict[str, int]:
    """Return counts of the public archive: jobs, attempts, and records that lack times."""
    with (_HERE / "archive.csv").open(newline="", encoding="utf-8") as file:
        return {row["what"]: int(row["count"]) for row in csv.DictReader(file)}


@cache
def numbers() -> dict[tuple[str, str], PublishedNumber]:
    """Return every printed number, by analysis and fact."""
    with (_HERE / "numbers.csv").open(newline="", encoding="utf-8") as file:
        return {
            (row["analysis"], row["fact"]): PublishedNumber(
                what=row["what"],
                published=float(row["published"]),
                unit=row["unit"],
                source=f"{row['source']} ({row['obtained']})",
                reason=row["reason"],
            )
            for row in csv.DictReader(file)
        }


def published() -> "pd.DataFrame":
    """List the numbers that the study printed, and where.

    Returns
    -------
    pandas.DataFrame
        One row per number: analysis and fact (what measures the same thing on a trace), what,
        published, unit, source, differs (why ours may).
    """
    import pandas as pd

    return pd.DataFrame(
        [
            (analysis, fact, c.what, c.published, c.unit, c.source, c.reason)
            for (analysis, fact), c in numbers().items()
        ],
        columns=["analysis", "fact", "what", "published", "unit", "source", "differs"],
    )


def curve(name: str, group: str) -> "pd.DataFrame":
    """Return one digitised curve of the archive's notebook.

    Parameters
    ----------
    name
        ``run_time``, ``queueing_delay``, ``locality``, ``gpu_util``, ``gpu_util_dedicated`` or
        ``host_util``.
    group
        Group of the curve in its figure: ``2-4``; ``ee9e8c 5-8``; ``Pass 8``; ``8``; ``cpu``.

    Returns
    -------
    pandas.DataFrame
        ``cdf_pct`` (0-100), ``value`` and ``error`` in ``unit``; points off the figure left out.

    Raises
    ------
    UnknownNameError
        The curve is not known.
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


def largest_gap_pct(published: "pd.DataFrame", values: "ArrayLike") -> float:
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
    import numpy as np

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
def _curves() -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(_HERE / "curves.csv", dtype={"group": str})
