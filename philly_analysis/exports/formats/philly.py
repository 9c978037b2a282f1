"""Write files in the Philly archive's layout: job log, machine list, utilisation."""

from pathlib import Path

import polars as pl

from philly_analysis.exports.codec import Accepted, Notes, Written, read_format
from philly_analysis.exports.formats.philly_samples import write_samples
from philly_analysis.exports.placement import place
from philly_analysis.exports.request import Request
from philly_analysis.exports.sanitize import plain_names
from philly_analysis.study import PASS
from philly_analysis.workload import SERVER, Workload

JOB_LOG, MACHINE_LIST = "cluster_job_log", "cluster_machine_list"
_NONE = "None"
_CLOCK = "%Y-%m-%d %H:%M:%S"


def _clock(column: str) -> pl.Expr:
    return pl.col(column).dt.round("1s").dt.strftime(_CLOCK).fill_null(_NONE)


def _unplaced(workload: Workload, attempts: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Return attempts without recorded placements, with bounds on their start and end.

    An attempt of unknown size takes its job's gang, unless other attempts of the job are placed:
    then it has no GPUs.
    """
    jobs = workload.frames["jobs"].select("job_id", "submitted_at", gang="gpus")
    is_placed = pl.col("job_id").is_in(placed["job_id"].unique().implode())
    first = pl.coalesce("started_at", "submitted_at")
    last = pl.concat([attempts["started_at"], attempts["ended_at"], jobs["submitted_at"]]).max()
    return (
        attempts.join(placed, ["job_id", "attempt"], how="anti")
        .join(jobs, on="job_id", how="left", maintain_order="left")
        .select(
            "job_id",
            "attempt",
            gpus=pl.coalesce("gpus", pl.when(~is_placed).then("gang")),
            started_at=first,
            ended_at=pl.max_horizontal(pl.coalesce("ended_at", pl.lit(last)), first),
        )
        .filter(pl.col("gpus") > 0)
        .sort("started_at", "job_id", "attempt")
    )


def _details(placements: pl.DataFrame) -> pl.DataFrame:
    """Return one row per container of an attempt: machine_id and gpu, the list of indices."""
    machine = pl.col("machine_id").rank("dense").over("job_id", "attempt").cast(pl.Int64) - 1
    return (
        placements.with_columns(container=pl.coalesce(pl.col("container").cast(pl.Int64), machine))
        .sort("job_id", "attempt", "container", "machine_id", "gpu")
        .group_by("job_id", "attempt", "container", "machine_id", maintain_order=True)
        .agg(pl.col("gpu").cast(pl.Int64))
    )


def _entries(workload: Workload, attempts: pl.DataFrame, details: pl.DataFrame) -> pl.Series:
    """Return the entries of the job log as JSON text, by submission, then job id."""
    details = details.sort("job_id", "attempt", "container", "machine_id")
    by_attempt = (
        details.with_columns(
            detail=pl.struct(
                ip=plain_names(details["machine_id"]),
                gpus=pl.col("gpu").list.eval(pl.format("gpu{}", pl.element())),
            )
        )
        .group_by("job_id", "attempt", maintain_order=True)
        .agg("detail")
    )
    by_job = (
        attempts.join(by_attempt, on=["job_id", "attempt"], how="left")
        .sort("job_id", "attempt")
        .with_columns(pl.col("detail").fill_null([]))
        .select(
            "job_id",
            attempts=pl.struct(
                start_time=_clock("started_at"), end_time=_clock("ended_at"), detail="detail"
            ),
        )
        .group_by("job_id", maintain_order=True)
        .agg("attempts")
    )
    return (
        workload.frames["jobs"]
        .sort("submitted_at", "job_id")
        .join(by_job, on="job_id", how="left", maintain_order="left")
        .select(
            entry=pl.struct(
                # readers of the format know no other status: a reader that asks for Pass would find
                # no job
                status=pl.col("status").fill_null(PASS),
                vc=pl.col("vc").fill_null(_NONE),
                jobid="job_id",
                attempts=pl.col("attempts").fill_null([]),
                submitted_time=_clock("submitted_at"),
                user=pl.col("user").fill_null(_NONE),
            ).struct.json_encode()
        )
        .to_series()
    )


def _machine_list(workload: Workload, invented: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of the machine list, from the archive's own list if the trace has it."""
    machines = workload.frames["machines"]
    if machines["gpus_listed"].is_not_null().any():
        machines = machines.filter(pl.col("gpus_listed").is_not_null())
    listed = machines.select(
        "machine_id", "gpu_mem_gb", gpus=pl.coalesce("gpus_listed", "gpus").cast(pl.Int64)
    )
    made_up = (
        invented.select("machine_id", gpu_mem_gb=pl.lit(None, pl.Float64), gpus=pl.lit(SERVER.gpus))
        .unique()
        .sort(pl.col("machine_id").str.slice(1).cast(pl.Int64))
    )
    # 24.0 is written 24, as in the archive
    size = pl.col("gpu_mem_gb").cast(pl.String).str.strip_suffix(".0") + "GB"
    both = pl.concat([listed, made_up], how="vertical_relaxed")
    return both.select(
        plain_names(both["machine_id"]).alias("machineId"),
        pl.col("gpus").alias(" number of GPUs"),
        (" " + size.fill_null("")).alias(" single GPU mem"),
    )


def _first_free(workload: Workload) -> int:
    """Return a number above the number of every machine called m<number>."""
    names = pl.concat(
        [workload.frames["machines"]["machine_id"], workload.frames["placements"]["machine_id"]]
    )
    numbers = names.str.extract(r"^m(\d{1,9})$").cast(pl.Int64)
    largest = numbers.max()
    return 0 if largest is None else int(largest) + 1  # type: ignore[arg-type]


def _write(request: Request, folder: Path) -> Written:
    workload = request.workload
    attempts = workload.frames["attempts"]
    # an entry of the log names its GPUs: where the trace does not, they are packed anew
    placements = workload.frames["placements"].filter(pl.col("gpu").is_not_null())
    unplaced = _unplaced(workload, attempts, placements)
    invented = place(unplaced, _first_free(workload))
    details = pl.concat([_details(placements), invented], how="vertical_relaxed")
    with (folder / JOB_LOG).open("w", encoding="utf-8") as file:
        file.write("[\n")
        file.write(",\n".join(_entries(workload, attempts, details)))
        file.write("\n]\n")
    machines = _machine_list(workload, invented)
    if machines.height:
        request.dialect.layouts[MACHINE_LIST].write(machines, folder / MACHINE_LIST)
    lost = list(write_samples(workload, folder, request.dialect.layouts))
    times = (workload.frames["jobs"]["submitted_at"], attempts["started_at"], attempts["ended_at"])
    if any((t.dt.epoch("us") % 1_000_000 != 0).any() for t in times):
        lost.append("fractions of a second: times are rounded to whole seconds")
    position = pl.col("attempt").rank("dense").over("job_id")
    if moved := attempts.filter(pl.col("attempt") != position)["job_id"].n_unique():
        lost.append(f"numbers of attempts of {moved:,} jobs that lack an earlier one: they move up")
    alone = workload.frames["jobs"].join(attempts, on="job_id", how="anti")
    if gangs := int(alone["gpus"].is_not_null().sum()):
        lost.append(f"gang sizes of {gangs:,} jobs that have no attempt")
    assumed = []
    if unknown := workload.frames["jobs"]["status"].null_count():
        assumed.append(f"status of {unknown:,} jobs: {PASS}")
    if unplaced.height:
        servers = invented["machine_id"].n_unique()
        assumed.append(
            f"placements of {unplaced.height:,} attempts whose GPUs are not known: packed on "
            f"{servers:,} made-up servers of 8 GPUs, no GPU held twice at once"
        )
    if (
        workload.frames["machines"].height
        and workload.frames["machines"]["gpus_listed"].is_null().all()
    ):
        assumed.append(f"{MACHINE_LIST}: the trace had none; it lists the GPUs that were used")
    return Written(Accepted(len(workload.jobs), None), Notes(tuple(assumed), tuple(lost)))


PHILLY = read_format("philly", philly=_write)
