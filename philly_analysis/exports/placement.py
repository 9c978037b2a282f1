"""Places gangs on the servers of an endless cluster, so that no GPU is held twice at once."""

import numpy as np
import numpy.typing as npt
import polars as pl

from philly_analysis.workload import SERVER

_GPUS = SERVER.gpus


def slots(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a number from 0 for each interval, such that no two that overlap share one.

    As few numbers as can be are used. The one that was given back first is taken first; without
    a loop over the intervals: the k-th to reuse a number takes that of the k-th to end.

    Parameters
    ----------
    start, end
        Half-open intervals [start, end); an empty one counts as one unit long.
    """
    if not start.size:
        return start
    order = np.lexsort((end, start))
    begins, ends = start[order], np.maximum(end, start + 1)[order]
    by_end = np.argsort(ends, kind="stable")
    ended = np.searchsorted(ends[by_end], begins, side="right")
    rank = np.arange(start.size)
    # one reuse more with each interval, but never more than have ended by then
    reuses = np.minimum.accumulate(ended - rank) + rank
    reusing = np.diff(reuses, prepend=0) > 0
    origin = rank.copy()
    origin[reusing] = by_end[reuses[reusing] - 1]
    while not np.array_equal(origin[origin], origin):
        origin = origin[origin]
    number = np.cumsum(~reusing) - 1
    result = np.empty_like(start)
    result[order] = number[origin]
    return result


def place(gangs: pl.DataFrame, first: int) -> pl.DataFrame:
    """Give each gang its GPUs: whole servers of 8, and a part of one for the rest.

    Parameters
    ----------
    gangs
        job_id, attempt, gpus (at least 1), started_at and ended_at (never null).
    first
        Number of the first server: it is called ``m<first>``.

    Returns
    -------
    DataFrame
        One row per (job_id, attempt, container): machine_id and gpu, the list of GPU indices.
    """
    parts = pl.concat(
        [
            gangs.filter(pl.col("gpus") >= _GPUS)
            .with_columns(container=pl.int_ranges(pl.col("gpus") // _GPUS), width=pl.lit(_GPUS))
            .explode("container", empty_as_null=True, keep_nulls=True),
            gangs.filter(pl.col("gpus") % _GPUS > 0).with_columns(
                container=(pl.col("gpus") // _GPUS).cast(pl.Int64), width=pl.col("gpus") % _GPUS
            ),
        ],
        how="vertical_relaxed",
    )
    placed = []
    for width in parts["width"].unique().sort():
        part = parts.filter(pl.col("width") == width)
        slot = slots(
            part["started_at"].cast(pl.Int64).to_numpy(), part["ended_at"].cast(pl.Int64).to_numpy()
        )
        room = _GPUS // width
        offset = pl.Series(slot % room * width)
        server = first + slot // room
        first += int(slot.max()) // room + 1
        placed.append(
            part.select(
                "job_id",
                "attempt",
                "container",
                machine_id=pl.format("m{}", pl.Series(server)),
                gpu=pl.int_ranges(offset, offset + width),
            )
        )
    empty: dict[str, pl.DataType] = {
        "job_id": pl.String(),
        "attempt": pl.Int32(),
        "container": pl.Int64(),
        "machine_id": pl.String(),
        "gpu": pl.List(pl.Int64()),
    }
    return pl.concat(placed) if placed else pl.DataFrame(schema=empty)
