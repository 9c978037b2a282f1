"""The utilisation files of the Philly archive, written in a stream from a trace's samples."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from philly_analysis.exports.layout import Layout
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.trace import GPU_SAMPLES, HOST_SAMPLES, Manifest
from philly_analysis.workload import Workload

_ZONE = "America/Los_Angeles"
_GPUS = 8
_KB_PER_GB = 1 << 20
_BATCH = 500_000
_NA = "NA"


def _reading(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.String).fill_null(_NA)


_UTIL, _FREE_GB = pl.col("util_pct"), pl.col("mem_gb") - pl.col("mem_used_gb")
SAMPLE_FILES = {
    "cluster_gpu_util": (
        GPU_SAMPLES.name,
        # a GPU that is offline reads NA; a GPU that the machine lacks is empty
        [
            pl.when(_UTIL.list.len() > i)
            .then(_reading(_UTIL.list.get(i, null_on_oob=True)))
            .otherwise(pl.lit(None, pl.String))
            for i in range(_GPUS)
        ],
    ),
    "cluster_cpu_util": (HOST_SAMPLES.name, [_reading(pl.col("cpu_pct"))]),
    "cluster_mem_util": (
        HOST_SAMPLES.name,
        [_reading((gb * _KB_PER_GB).round(3)) for gb in (pl.col("mem_gb"), _FREE_GB)],
    ),
}
"""By name, the table of a utilisation file and the values of a line, after time and machine."""


def _frames(
    parts: Sequence[Path], layout: Layout, values: Sequence[pl.Expr]
) -> Iterator[pl.DataFrame]:
    """Yield the lines of a utilisation file, some hundred thousand at a time."""
    for part in parts:
        for batch in pq.ParquetFile(part).iter_batches(_BATCH):
            rows = pl.DataFrame(batch)
            stamps = rows["sampled_at"].unique()
            local = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(_ZONE)
            clock = pl.col("sampled_at").replace_strict(
                stamps, local.dt.strftime("%Y-%m-%d %H:%M:%S %Z")
            )
            columns: list[pl.Expr | pl.Series] = [clock, plain_names(rows["machine_id"]), *values]
            yield rows.select(**dict(zip(layout.fields, columns, strict=True)))


def _count(parts: Sequence[Path], column: str, meets: Callable[[pl.Series], pl.Series]) -> int:
    """Count the rows of some files whose column, if they have it, meets a condition."""
    return sum(
        int(meets(pl.DataFrame(batch)[column]).sum())
        for part in parts
        if column in pq.read_schema(part).names
        for batch in pq.ParquetFile(part).iter_batches(_BATCH, columns=[column])
    )


def write_samples(workload: Workload, folder: Path, layouts: Mapping[str, Layout]) -> Iterator[str]:
    """Write the utilisation files that the workload's trace has samples for.

    Yields
    ------
    str
        Sentences: what of the samples the files cannot carry.
    """
    if workload.trace is None:
        return
    held = Manifest.read(workload.trace)
    for name, (table, values) in SAMPLE_FILES.items():
        if parts := held.paths(workload.trace, table):
            layouts[name].write(_frames(parts, layouts[name], values), folder / name)
    tables = [held.paths(workload.trace, table.name) for table in (GPU_SAMPLES, HOST_SAMPLES)]
    wide = _count(tables[0], "util_pct", lambda util: util.list.len() > _GPUS)
    others = sum(_count(parts, "seconds", lambda seconds: seconds != 60) for parts in tables)
    if others:
        yield f"durations of {others:,} samples, which a reader assumes to be a minute"
    if wide:
        yield f"utilisation of GPUs beyond the {_GPUS}th of a machine, in {wide:,} samples"
