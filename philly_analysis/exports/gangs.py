"""Adapt gang sizes to the sizes that a program accepts: exclude, round or split other gangs."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from philly_analysis.study import Gangs
from philly_analysis.workload import Demand

PART = "part"
"""Column: which part of its gang a row is, from 1; null: the whole gang."""


def adapt_gangs(demand: Demand, sizes: Sequence[int], how: Gangs) -> tuple[Demand, tuple[str, ...]]:
    """Return a demand whose gangs are all of the given sizes, and notes on the changes.

    Parameters
    ----------
    sizes
        Gang sizes that the program accepts, ascending from 1.
    how
        ``drop`` excludes other gangs. ``round`` takes the size nearest by ratio, the larger of
        two, and changes run times so that GPU-seconds stay. ``split`` makes jobs of each gang,
        largest first, with the same submission and run time: GPU-seconds stay, gangs do not.
    """
    others = demand.jobs.filter(~pl.col("gpus").is_in(list(sizes)))
    if how is Gangs.DROP or not others.height:
        return demand.of_gangs(sizes), ()
    which = f"{others.height:,} jobs ({others['gpu_s'].sum() / 3600:,.0f} GPU hours) of gangs"
    if how is Gangs.ROUND:
        nearest = {g: _nearest(g, sizes) for g in demand.jobs["gpus"].unique()}
        gpus = pl.col("gpus").replace_strict(nearest, return_dtype=pl.Int32)
        jobs = demand.jobs.with_columns(gpus=gpus, run_s=pl.col("run_s") * pl.col("gpus") / gpus)
        return replace(demand, jobs=jobs), (
            f"{which} rounded to an accepted size, GPU-seconds kept",
        )
    parts = {g: _parts(g, sizes) for g in demand.jobs["gpus"].unique()}
    jobs = (
        demand.jobs.with_columns(
            gang="gpus",
            gpus=pl.col("gpus").replace_strict(parts, return_dtype=pl.List(pl.Int32)),
        )
        .with_columns(part=pl.int_ranges(1, pl.col("gpus").list.len() + 1, dtype=pl.Int64))
        .explode("gpus", "part", empty_as_null=True, keep_nulls=True)
        .with_columns(
            gpu_s=pl.col("gpu_s") * pl.col("gpus") / pl.col("gang"),
            part=pl.when(pl.col("gpus") < pl.col("gang")).then("part"),
        )
        .drop("gang")
    )
    return replace(demand, jobs=jobs), (
        f"{which} split into jobs of accepted sizes, submitted together but scheduled one by one: "
        f"{jobs.height:,} records of {demand.jobs.height:,} jobs",
    )


def _nearest(gpus: int, sizes: Sequence[int]) -> int:
    return min(reversed(sizes), key=lambda s: max(s / gpus, gpus / s))


def _parts(gpus: int, sizes: Sequence[int]) -> list[int]:
    parts = []
    for size in reversed(sizes):
        count, gpus = divmod(gpus, size)
        parts += [size] * count
    return parts
