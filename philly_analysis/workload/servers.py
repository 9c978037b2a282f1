"""Find partitions where recorded numbers of servers are outcomes rather than requests."""

from typing import NamedTuple

import polars as pl

from philly_analysis.workload.protocol import JobFrames

UNEVEN_GANGS, UNEVEN_FRAC = 3, 0.1
"""Gangs, and their share of the gangs on more servers than they need, from which numbers of servers
count as outcomes. Measured on simulated logs: 20 to 40 % where a scheduler spreads gangs, none
where users request the servers."""


class SpreadPartition(NamedTuple):
    """A partition whose gangs seem to be spread by the scheduler.

    Attributes
    ----------
    vc
        Name of the partition.
    wide
        Gangs on more servers than the largest servers make necessary.
    uneven
        Gangs of `wide` whose GPUs do not divide evenly among their servers.
    """

    vc: str
    wide: int
    uneven: int


def spread_partitions(workload: JobFrames) -> list[SpreadPartition]:
    """Return the partitions in which the number of servers is an outcome, not a request.

    An estimate for logs that hold only the number of servers that a job got. A request of several
    servers divides the GPUs evenly; a scheduler that takes free GPUs anywhere mostly does not.
    """
    largest = workload.frames["machines"]["gpus"].max()
    if not largest:
        return []
    rows = (
        workload.frames["jobs"]
        .filter((pl.col("servers") > 1) & (pl.col("gpus") <= (pl.col("servers") - 1) * largest))
        .group_by(pl.col("vc").fill_null(""))
        .agg(wide=pl.len(), uneven=(pl.col("gpus") % pl.col("servers") > 0).sum())
        .filter(
            (pl.col("uneven") >= UNEVEN_GANGS) & (pl.col("uneven") >= UNEVEN_FRAC * pl.col("wide"))
        )
        .sort("vc")
    )
    return [SpreadPartition(*row) for row in rows.select("vc", "wide", "uneven").iter_rows()]
