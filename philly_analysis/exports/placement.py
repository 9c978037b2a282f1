"""Place gangs on the servers of an infinite cluster, so that no GPU is allocated twice at once."""

from heapq import heappop, heappush

import numpy as np
import numpy.typing as npt
import polars as pl

from philly_analysis.workload import SERVER

_GPUS = SERVER.gpus
_SCHEMA = {
    "job_id": pl.String(),
    "attempt": pl.Int32(),
    "container": pl.Int64(),
    "machine_id": pl.String(),
    "gpu": pl.List(pl.Int64()),
}


def colour_intervals(
    start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return a number from 0 for each interval, such that no two overlapping intervals share one.

    The method colours an interval graph with the fewest colours. The colour that was freed first is
    reused first.

    Parameters
    ----------
    start, end
        Half-open intervals [start, end); an empty one counts as one unit long.
    """
    colour = np.empty_like(start)
    coloured: list[tuple[int, int, int]] = []
    colours = 0
    for rank, at in enumerate(np.lexsort((end, start))):
        if coloured and coloured[0][0] <= start[at]:
            _, _, colour[at] = heappop(coloured)
        else:
            colour[at] = colours
            colours += 1
        heappush(coloured, (max(end[at], start[at] + 1), rank, colour[at]))
    return colour


def place(gangs: pl.DataFrame, first: int) -> pl.DataFrame:
    """Place each gang on whole servers of 8 GPUs, and on part of one for the remainder.

    Parameters
    ----------
    gangs
        job_id, attempt, gpus (at least 1), started_at and ended_at (never null).
    first
        Number of the first server, whose name is ``m<first>``.

    Returns
    -------
    DataFrame
        One row per (job_id, attempt, container): machine_id and gpu, the list of GPU indices.
    """
    servers = pl.int_ranges(pl.col("gpus") // _GPUS)
    remainder = pl.col("gpus") % _GPUS
    parts = pl.concat(
        [
            gangs.filter(pl.col("gpus") >= _GPUS)
            .with_columns(container=servers, width=pl.lit(_GPUS))
            .explode("container", empty_as_null=True, keep_nulls=True),
            gangs.filter(remainder > 0).with_columns(
                container=(pl.col("gpus") // _GPUS).cast(pl.Int64), width=remainder
            ),
        ],
        how="vertical_relaxed",
    )
    placed = [pl.DataFrame(schema=_SCHEMA)]
    for width in parts["width"].unique().sort():
        part = parts.filter(pl.col("width") == width)
        slot = colour_intervals(
            part["started_at"].cast(pl.Int64).to_numpy(), part["ended_at"].cast(pl.Int64).to_numpy()
        )
        per_server = _GPUS // width
        offset = pl.Series(slot % per_server * width)
        server = first + slot // per_server
        first += int(slot.max()) // per_server + 1
        placed.append(
            part.select(
                "job_id",
                "attempt",
                "container",
                machine_id=pl.format("m{}", pl.Series(server)),
                gpu=pl.int_ranges(offset, offset + width),
            )
        )
    return pl.concat(placed, how="vertical_relaxed")
