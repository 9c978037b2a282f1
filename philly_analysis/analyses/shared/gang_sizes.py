"""Compare gang sizes: facts per gang bucket, trends over users, and curves of durations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from matplotlib.axes import Axes

from philly_analysis.results import (
    Association,
    Fact,
    association_of_sums,
    figures,
    gang_label,
    slug,
)

_RANK_SUMS = Path(__file__).with_name("rank_sums.sql").read_text("utf-8")


def gang_facts(template: str, values: "pd.Series[Any]", meaning: str) -> list[Fact]:
    """Return a fact per gang bucket.

    Parameters
    ----------
    template
        Name with a field for the bucket: ``median_wait_{}_s``.
    values
        The values by bucket.
    meaning
        Meaning of the values, before the name of the bucket.
    """
    return [
        Fact(template.format(slug(str(gang))), value, f"{meaning}, {gang_label(str(gang))}")
        for gang, value in values.items()
    ]


def trend(rows: duckdb.DuckDBPyRelation, x: str, y: str) -> Association:
    """Return the rank correlation of two columns or conditions, by clusters of the column user."""
    pairs = rows.select(f'({x})::double as x, ({y})::double as y, "user"')
    answer = pairs.query("pairs", _RANK_SUMS)
    assert answer is not None  # noqa: S101 - the text is one SELECT
    sums = answer.df()
    return association_of_sums(
        int(sums["n"].sum()), sums["clusters"], sums["xy"], sums["xx"], sums["yy"]
    )


def duration_curves(
    ax: Axes,
    rows: pd.DataFrame,
    value: str,
    *,
    by: str = "gang",
    colors: Mapping[str, str] = figures.GANG_COLORS,
    label: Callable[[str], str] = gang_label,
    counts: str | None = None,
) -> None:
    """Draw cumulative curves of a duration, at least one second, on a logarithmic axis."""
    rows = rows.assign(**{value: rows[value].clip(lower=1)})
    figures.cdf(ax, rows, value=value, by=by, colors=colors, label=label, counts=counts)
    figures.time_axis(ax)
