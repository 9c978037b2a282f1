"""Makes gangs of sizes that a reader takes: leaves others out, rounds them, or splits them."""

from collections.abc import Sequence

import polars as pl

from philly_analysis.study import Gangs
from philly_analysis.workload import Demand

PART = "part"
"""Column: which part of its gang a row is, from 1; null: the whole."""


def fitted(needs: Demand, sizes: Sequence[int], how: Gangs) -> tuple[Demand, tuple[str, ...]]:
    """Return a demand whose gangs are all of the sizes given, and what was done to it.

    Parameters
    ----------
    sizes
        Gang sizes that the reader takes, ascending from 1.
    how
        ``drop`` leaves other gangs out. ``round`` takes the size nearest by ratio, the larger of
        two, and changes run times so that GPU-seconds stay. ``split`` makes jobs of each gang,
        largest first, that come together and run as long: GPU-seconds stay, gangs do not.
    """
    odd = needs.jobs.filter(~pl.col("gpus").is_in(list(sizes)))
    if how is Gangs.DROP or not odd.height:
        return needs.of_gangs(sizes), ()
    wide = f"{odd.height:,} jobs ({odd['gpu_s'].sum() / 3600:,.0f} GPU hours) of gangs"
    if how is Gangs.ROUND:
        nearest = {g: _nearest(g, sizes) for g in needs.jobs["gpus"].unique()}
        gpus = pl.col("gpus").replace_strict(nearest, return_dtype=pl.Int32)
        jobs = needs.jobs.with_columns(gpus=gpus, run_s=pl.col("run_s") * pl.col("gpus") / gpus)
        return needs.of(jobs), (f"{wide} rounded to a size it takes, GPU-seconds kept",)
    parts = {g: _parts(g, sizes) for g in needs.jobs["gpus"].unique()}
    numbered = {g: list(range(1, len(p) + 1)) for g, p in parts.items()}
    jobs = (
        needs.jobs.with_columns(
            whole="gpus",
            gpus=pl.col("gpus").replace_strict(parts, return_dtype=pl.List(pl.Int32)),
            part=pl.col("gpus").replace_strict(numbered, return_dtype=pl.List(pl.Int64)),
        )
        .explode("gpus", "part", empty_as_null=True, keep_nulls=True)
        .with_columns(
            gpu_s=pl.col("gpu_s") * pl.col("gpus") / pl.col("whole"),
            part=pl.when(pl.col("gpus") < pl.col("whole")).then("part"),
        )
        .drop("whole")
    )
    return needs.of(jobs), (
        f"{wide} split into jobs of sizes it takes, which come together but need not run so: "
        f"{jobs.height:,} records of {needs.jobs.height:,} jobs",
    )


def _nearest(gpus: int, sizes: Sequence[int]) -> int:
    return min(reversed(sizes), key=lambda s: max(s / gpus, gpus / s))


def _parts(gpus: int, sizes: Sequence[int]) -> list[int]:
    parts = []
    for size in reversed(sizes):
        count, gpus = divmod(gpus, size)
        parts += [size] * count
    return parts
