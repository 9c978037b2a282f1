"""OpenDC's workload traces: tasks and fragments in Parquet, utilisation series included."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from philly_analysis.exports.codec import Notes, Written, accepted_jobs, read_format
from philly_analysis.exports.request import Request
from philly_analysis.trace import Trace

TASKS, FRAGMENTS = "tasks.parquet", "fragments.parquet"

_GPU_MHZ = 1328.0
_CPU_MHZ = 2400.0
_KB_PER_GB = 1 << 20
_BATCH = 500_000
_MILLISECONDS = pa.timestamp("ms", tz="UTC")
UTILISATION = (Path(__file__).parent / "opendc_utilisation.sql").read_text("utf-8")


_required = partial(pa.field, nullable=False)

_TASKS = pa.schema(
    [
        _required("id", pa.int32()),
        pa.field("name", pa.string()),
        _required("submission_time", _MILLISECONDS),
        _required("duration", pa.int64()),
        _required("cpu_count", pa.int32()),
        _required("cpu_capacity", pa.float64()),
        _required("mem_capacity", pa.int64()),
        pa.field("gpu_count", pa.int32()),
        pa.field("gpu_capacity", pa.float64()),
    ]
)
_FRAGMENTS = pa.schema(
    [
        _required("id", pa.int32()),
        _required("duration", pa.int64()),
        _required("cpu_usage", pa.float64()),
        pa.field("gpu_usage", pa.float64()),
    ]
)


def _tasks(request: Request) -> pl.DataFrame:
    cpu_count = pl.col("cpus_due").ceil().cast(pl.Int32).clip(1)
    return request.jobs.select(
        id=pl.int_range(pl.len(), dtype=pl.Int32),
        name="job_id",
        submission_time=pl.col("submitted_at").dt.cast_time_unit("ms").dt.replace_time_zone("UTC"),
        duration=(pl.col("run_s") * 1000).round().cast(pl.Int64).clip(1),
        cpu_count=cpu_count,
        cpu_capacity=cpu_count * _CPU_MHZ,
        mem_capacity=(pl.col("mem_gb_due") * _KB_PER_GB).round().cast(pl.Int64),
        gpu_count=pl.col("gpus"),
        gpu_capacity=pl.col("gpus") * _GPU_MHZ,
    )


def _series(request: Request, tasks: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield id, at and gpu_frac of the tasks with samples, whole tasks at a time, in order."""
    if request.workload.trace is None:
        return
    ids = tasks.select("id", job_id="name")
    with Trace(request.workload.trace) as trace:
        if not (trace.has("gpu_samples") and trace.has("placements")):
            return
        pending: list[pl.DataFrame] = []
        for batch in trace.sql(UTILISATION).to_arrow_reader(_BATCH):
            rows = pl.concat([*pending, pl.DataFrame(batch)])
            # the last task of a batch may go on in the next batch
            unfinished = rows["job_id"] == rows["job_id"].last()
            yield rows.filter(~unfinished).join(ids, on="job_id", maintain_order="left")
            pending = [rows.filter(unfinished)]
        for rows in pending:
            yield rows.join(ids, on="job_id", maintain_order="left")


def _fragments(tasks: pl.DataFrame, series: pl.DataFrame) -> pl.DataFrame:
    """Spread the samples of a task evenly over its run time, the remainder on the final one."""
    count, index = pl.len().over("id"), pl.int_range(pl.len()).over("id")
    fragment_ms = pl.col("duration") // count
    return (
        series.join(
            tasks.select("id", "duration", "cpu_capacity", "gpu_capacity"),
            on="id",
            maintain_order="left",
        )
        .select(
            "id",
            duration=pl.when(index == count - 1)
            .then(pl.col("duration") - fragment_ms * (count - 1))
            .otherwise(fragment_ms),
            cpu_usage=pl.col("cpu_capacity") * pl.col("gpu_frac"),
            gpu_usage=pl.col("gpu_capacity") * pl.col("gpu_frac"),
        )
        .filter(pl.col("duration") > 0)
    )


def _write(request: Request, folder: Path) -> Written:
    tasks = _tasks(request)
    pq.write_table(tasks.to_arrow().cast(_TASKS), folder / TASKS, compression="zstd")
    measured = pl.Series(dtype=pl.Int32)
    with pq.ParquetWriter(folder / FRAGMENTS, _FRAGMENTS, compression="zstd") as writer:
        for series in _series(request, tasks):
            writer.write_table(_fragments(tasks, series).to_arrow().cast(_FRAGMENTS))
            measured = pl.concat([measured, series["id"].unique()])
        busy = tasks.filter(~pl.col("id").is_in(measured.implode())).select(
            "id", gpu_frac=pl.lit(1.0)
        )
        writer.write_table(_fragments(tasks, busy).to_arrow().cast(_FRAGMENTS))
    jobs = request.jobs
    sampled = measured.len()
    assumed = [
        f"{column} of {jobs[column].null_count():,} jobs: a server's share per GPU"
        for column in ("cpus", "mem_gb")
        if jobs[column].null_count()
    ]
    if unsampled := jobs.height - sampled:
        assumed.append(f"GPUs of {unsampled:,} jobs without samples: busy all the time")
    if sampled:
        assumed.append(
            f"readings of {sampled:,} jobs, in order, are spread evenly over their run time"
        )
    accepted = accepted_jobs(request, tasks["gpu_count"], tasks["duration"] / 1000)
    return Written(accepted, Notes(tuple(assumed)))


OPENDC = read_format("opendc", opendc=_write)
