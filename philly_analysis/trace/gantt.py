"""Draw the allocation of servers over a day: a Gantt chart, as an image of bounded size."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from typing import Literal, NamedTuple

import duckdb
import numpy as np
import pandas as pd
from duckdb import ColumnExpression, ConstantExpression
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.typing import NDArray

from philly_analysis.errors import QueryError, TraceError
from philly_analysis.results import UNNAMED, figures, gang_label, share
from philly_analysis.study import GANGS, gang_class

By = Literal["gang", "vc"]

Floats = NDArray[np.float64]

_ROWS, _COLUMNS = 512, 720
"""Most rows of the image, and its columns: intervals of two minutes."""
_LINES = 8
"""Most lines of a row, as GPUs of a server."""
_MOST_VCS = 7
_NAMED = 40
"""Servers up to which each is named."""
_OTHERS = "others"
_LONGEST_NAME = 24


class DayShares(NamedTuple):
    """GPUs held of servers during a day.

    Attributes
    ----------
    frac
        Share of the GPUs of a row of servers that a class holds in an interval, shape
        (classes, rows, intervals).
    allocated_frac
        Share of the GPU time of all servers that was allocated.
    classes
        Names of the classes.
    servers
        Names of the servers, in order; a row of the image stands for `per_row` servers.
    """

    frac: Floats
    allocated_frac: float
    classes: list[str]
    servers: list[str]
    per_row: int


def gantt(
    day: str | date | None,
    by: By,
    answer: Callable[[str], duckdb.DuckDBPyRelation],
    *,
    name: str,
    synthetic: bool,
) -> Figure:
    """Draw the servers that jobs hold during a day: see :meth:`Trace.gantt`.

    Parameters
    ----------
    answer
        Returns a relation by name.
    name
        Name of the trace.
    synthetic
        Mark the figure as of synthetic data.
    """
    if by not in ("gang", "vc"):
        raise QueryError(f"by={by!r}: colours are by 'gang' or by 'vc'.")
    begin = _busiest(answer) if day is None else _midnight(day)
    since, until = (ConstantExpression(begin + timedelta(days=n)) for n in (0, 1))
    in_day = (ColumnExpression("started_at") < until) & (ColumnExpression("until_at") > since)
    rows = answer("server_runs").filter(in_day).df()
    if rows.empty:
        [(first, last)] = answer("snapshot").project("began_at, ended_at").fetchall()
        raise TraceError(
            f"no job held GPUs of a known server on {begin:%Y-%m-%d}; the log has {first} to "
            f"{last}."
        )
    sizes = answer("machines").project("machine_id, gpus").df()
    shares = day_shares(rows, dict(zip(sizes["machine_id"], sizes["gpus"], strict=True)), by, begin)
    fig, [ax] = figures.canvas(width=10, height=6.2)
    draw(ax, shares, by)
    allocated = f"{share(shares.allocated_frac)} of GPU time allocated"
    figures.title(ax, f"{name}, {begin:%A %Y-%m-%d}: {allocated}")
    return figures.mark_synthetic(fig, synthetic=synthetic)


def _busiest(answer: Callable[[str], duckdb.DuckDBPyRelation]) -> datetime:
    """Return the midnight before the day with the most GPU hours allocated."""
    days = answer("vc_days").aggregate("day, round(sum(gpu_h), 3) as gpu_h")
    busiest = days.order("gpu_h desc, day").limit(1).fetchall()
    if not busiest:
        raise TraceError("no job held GPUs for a known time, so there is no day to draw.")
    return datetime.combine(busiest[0][0], time())


def _midnight(day: str | date) -> datetime:
    try:
        text = day if isinstance(day, str) else day.isoformat()
        return datetime.combine(datetime.fromisoformat(text).date(), time())
    except ValueError:
        raise QueryError(f"{day!r} is no day: give one as '2017-11-07'.") from None


def day_shares(rows: pd.DataFrame, sizes: Mapping[str, int], by: By, begin: datetime) -> DayShares:
    """Return the share of each row of servers that each class holds, by interval of the day.

    Parameters
    ----------
    rows
        Rows of the relation ``server_runs``.
    sizes
        GPUs by server. A server whose jobs hold more GPUs, or that is not listed, has the GPUs
        that its jobs hold.
    by
        Classes: gang buckets, or the largest virtual clusters.
    begin
        The day's midnight.
    """
    capacity = pd.Series(sizes, dtype=float).fillna(0)
    most = rows["machine_id"].map(capacity).fillna(np.inf).clip(upper=rows["gpus"])
    gpus = rows["held_gpus"].fillna(most).to_numpy(float)
    names = sorted({*capacity.index, *rows["machine_id"]}, key=lambda n: (len(n), n))
    per_row = -(-len(names) // _ROWS)
    row_of = pd.Series(np.arange(len(names)) // per_row, index=names)
    classes, codes = _classes(rows, gpus, by)
    width_s = 86_400 / _COLUMNS
    levels = np.zeros((len(classes), int(row_of.iloc[-1]) + 1, _COLUMNS + 2))
    for moments, sign in ((rows["started_at"], 1), (rows["until_at"], -1)):
        since_s = (moments - pd.Timestamp(begin)).dt.total_seconds().clip(0, 86_400)
        inside, whole = np.modf(since_s.to_numpy(float) / width_s)
        whole = whole.astype(int)
        on = rows["machine_id"].map(row_of).to_numpy()
        # a run counts for the rest of its first interval, then for all of each interval
        np.add.at(levels, (codes, on, whole), sign * gpus * (1 - inside))
        np.add.at(levels, (codes, on, whole + 1), sign * gpus * inside)
    used = np.cumsum(levels, axis=2)[:, :, :_COLUMNS]
    recorded = np.bincount(row_of, capacity.reindex(names).fillna(0))
    total = np.maximum(recorded[:, None], used.sum(axis=0))
    frac = np.divide(used, total, out=np.zeros_like(used), where=total > 0)
    return DayShares(frac, float(used.sum() / total.sum()), classes, names, per_row)


def _classes(rows: pd.DataFrame, gpus: Floats, by: By) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the classes, and the class of each row as an index."""
    if by == "gang":
        return list(GANGS), gang_class(rows["gpus"].to_numpy()).astype(np.intp)
    vcs = rows["vc"].fillna(UNNAMED)
    order = pd.Series(gpus).groupby(vcs.to_numpy()).sum().sort_values(ascending=False).index
    names = [*order[:_MOST_VCS], *([_OTHERS] if len(order) > _MOST_VCS else [])]
    codes = vcs.map({name: min(i, _MOST_VCS) for i, name in enumerate(order)})
    return names, codes.to_numpy(np.intp)


def stacked(frac: Floats) -> Floats:
    """Divide each row of servers into lines as the image has room, and stack the row's classes.

    Parameters
    ----------
    frac
        Share of each row that a class holds, shape (classes, rows, intervals).

    Returns
    -------
    numpy.ndarray
        Share of each line, shape (classes, rows * lines, intervals): a line with two classes, or
        the only line of a row, mixes them.
    """
    classes, rows, intervals = frac.shape
    lines = max(1, min(_LINES, _ROWS // rows))
    ends = np.concatenate([np.zeros((1, rows, intervals)), np.cumsum(frac, axis=0)])
    bounds = np.arange(lines + 1) / lines
    inside = np.stack([np.clip(ends, *bounds[i : i + 2]) for i in range(lines)], axis=2)
    parts = np.diff(inside, axis=0).reshape(classes, rows * lines, intervals)
    return np.asarray(lines * parts)


def draw(ax: Axes, shares: DayShares, by: By) -> None:
    """Draw the image: classes are stacked within a server, idle GPUs are white."""
    palette = list(figures.GANG_COLORS.values()) if by == "gang" else list(figures.CYCLE)
    colors = np.array([to_rgb(color) for color in palette[: len(shares.classes)]])
    image = 1 - np.einsum("crt,ck->rtk", stacked(shares.frac), 1 - colors)
    rows = image.shape[0]
    ax.imshow(
        np.clip(image, 0, 1),
        aspect="auto",
        interpolation="nearest",
        extent=(0, 24, rows, 0),
    )
    for color, name in zip(colors, shares.classes, strict=True):
        label = gang_label(name) if by == "gang" else figures.shorten(name, _LONGEST_NAME)
        ax.fill_between([], [], color=color, label=figures.literal(label))
    figures.legend(ax, beneath=True, ncols=min(len(colors), 4))
    ax.grid(visible=False)
    ax.set_xticks(range(0, 25, 3), [f"{hour:02d}:00" for hour in range(0, 25, 3)])
    ax.set(xlabel="hour (UTC)", yticks=[])
    if len(shares.servers) <= _NAMED:
        height = rows / len(shares.servers)
        edges = height * np.arange(1, len(shares.servers))
        ax.hlines(edges, 0, 24, color="white", lw=1)
        names = [figures.literal(figures.shorten(n, _LONGEST_NAME)) for n in shares.servers]
        ax.set_yticks(height * (np.arange(len(names)) + 0.5), names, fontsize=7)
    several = "" if shares.per_row == 1 else f", {shares.per_row} to a row"
    ax.set_ylabel(f"{len(shares.servers):,} servers{several}")
