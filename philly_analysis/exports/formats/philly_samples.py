"""The utilisation files of the Philly archive, written in a stream from a trace's samples."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from philly_analysis.exports.layout import NAME, NUMBER, Layout
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.trace import GPU_SAMPLES, HOST_SAMPLES, Manifest
from philly_analysis.workload import Workload

_ZONE = "America/Los_Angeles"
_GPUS = 8
_KB_PER_GB = 1 << 20
_BATCH = 500_000
_NA = "NA"

_TIME = r"[0-9]{4}-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:[0-5][0-9] P[DS]T"
_READING = rf"{NUMBER}|{_NA}"
_GPU_COLUMNS = tuple(f"gpu{i}_util" for i in range(_GPUS))


@dataclass(frozen=True, slots=True)
class SampleFile:
    """One utilisation file: the table it comes from, its lines, and the values of one."""

    table: str
    layout: Layout
    values: Callable[[], list[pl.Expr]]


def _reading(value: pl.Expr) -> pl.Expr:
    return value.cast(pl.String).fill_null(_NA)


def _gpu_values() -> list[pl.Expr]:
    # a GPU that is offline reads NA; one that the machine does not have is empty
    util = pl.col("util_pct")
    return [
        pl.when(util.list.len() > i)
        .then(_reading(util.list.get(i, null_on_oob=True)))
        .otherwise(pl.lit(""))
        .alias(name)
        for i, name in enumerate(_GPU_COLUMNS)
    ]


def _memory_values() -> list[pl.Expr]:
    free_gb = pl.col("mem_gb") - pl.col("mem_used_gb")
    return [
        _reading((kb * _KB_PER_GB).round(3)).alias(name)
        for name, kb in (("mem_total", pl.col("mem_gb")), ("mem_free", free_gb))
    ]


SAMPLE_FILES: dict[str, SampleFile] = {
    "cluster_gpu_util": SampleFile(
        GPU_SAMPLES.name,
        Layout(
            {"time": _TIME, "machineId": NAME, **dict.fromkeys(_GPU_COLUMNS, f"|{_READING}")},
            tail=",",
        ),
        _gpu_values,
    ),
    "cluster_cpu_util": SampleFile(
        HOST_SAMPLES.name,
        Layout({"time": _TIME, "machine_id": NAME, "cpu_util": _READING}),
        lambda: [_reading(pl.col("cpu_pct")).alias("cpu_util")],
    ),
    "cluster_mem_util": SampleFile(
        HOST_SAMPLES.name,
        Layout({"time": _TIME, "machine_id": NAME, "mem_total": _READING, "mem_free": _READING}),
        _memory_values,
    ),
}
"""The utilisation files by name."""


def _frames(parts: Sequence[Path], file: SampleFile) -> Iterator[pl.DataFrame]:
    """Yield the lines of a utilisation file, some hundred thousand at a time."""
    time, machine = file.layout.names[:2]
    for part in parts:
        for batch in pq.ParquetFile(part).iter_batches(_BATCH):
            rows = pl.DataFrame(batch)
            stamps = rows["sampled_at"].unique()
            local = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(_ZONE)
            yield rows.select(
                pl.col("sampled_at")
                .replace_strict(stamps, local.dt.strftime("%Y-%m-%d %H:%M:%S %Z"))
                .alias(time),
                plain_names(rows["machine_id"]).alias(machine),
                *file.values(),
            )


def _count(parts: Sequence[Path], column: str, found: Callable[[pl.Series], pl.Series]) -> int:
    """Count the rows of some files whose column, if they have it, meets a condition."""
    return sum(
        int(found(pl.DataFrame(batch)[column]).sum())
        for part in parts
        if column in pq.read_schema(part).names
        for batch in pq.ParquetFile(part).iter_batches(_BATCH, columns=[column])
    )


def write_samples(workload: Workload, folder: Path) -> Iterator[str]:
    """Write the utilisation files that the workload's trace has samples for.

    Yields
    ------
    str
        Sentences: what of the samples the files cannot carry.
    """
    if workload.trace is None:
        return
    held = Manifest.read(workload.trace)
    for name, file in SAMPLE_FILES.items():
        if parts := held.paths(workload.trace, file.table):
            file.layout.write(_frames(parts, file), folder / name)
    tables = [held.paths(workload.trace, table.name) for table in (GPU_SAMPLES, HOST_SAMPLES)]
    wide = _count(tables[0], "util_pct", lambda util: util.list.len() > _GPUS)
    others = sum(_count(parts, "seconds", lambda seconds: seconds != 60) for parts in tables)
    if others:
        yield f"durations of {others:,} samples, which a reader assumes to be a minute"
    if wide:
        yield f"utilisation of GPUs beyond the {_GPUS}th of a machine, in {wide:,} samples"
