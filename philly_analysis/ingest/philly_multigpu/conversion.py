"""Convert the extract of multi-GPU jobs to the layout of the Philly archive."""

import gzip
import json
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
from polars import selectors as cs
from polars.exceptions import PolarsError

from philly_analysis.ingest.philly_multigpu.files import JOBS

MEM_TOTAL_KB = 528_272_672.0
"""Memory in the archive's example of a machine; the extract has only the free share."""

ERRORS = (OSError, EOFError, ValueError, KeyError, TypeError, PolarsError)
"""What the conversion of a damaged extract raises."""

_REPEATED = r"(?m)m\d+\s+\S+$"
_PDT_UNTIL = datetime(2017, 11, 5, 2)
_PST_FROM = datetime(2017, 11, 5, 1)


def convert(extract: Path, out: Path) -> None:
    """Write the extract in the archive's layout.

    Only the last attempt of each job is known. A machine's row has values for the GPUs of sampled
    jobs, and ``NA`` for its other GPUs. The extract selected minutes by the job's time as text, so
    a row's local time is that text with PDT or PST. In the repeated hour CPU cells have both values
    and give two rows; GPU and memory cells have one of two, unknown which, and are dropped. Total
    memory is the archive's example value, as only the free share is known.

    Parameters
    ----------
    extract
        Folder of the extract.
    out
        Folder to create.
    """
    jobs: list[dict[str, Any]] = json.loads(gzip.decompress((extract / JOBS).read_bytes()))
    out.mkdir()
    log = [
        {key: job[key] for key in ("status", "vc", "jobid")}
        | {"attempts": [{key: job[key] for key in ("start_time", "end_time", "detail")}]}
        | {key: job[key] for key in ("submitted_time", "user")}
        for job in jobs
    ]
    (out / "cluster_job_log").write_text(json.dumps(log), "utf-8")
    starts = {job["jobid"]: datetime.fromisoformat(job["start_time"]) for job in jobs}
    gpus: dict[str, int] = defaultdict(int)
    for server in (d for job in jobs for d in job["detail"]):
        held = (int(gpu.removeprefix("gpu")) + 1 for gpu in server["gpus"])
        gpus[server["ip"]] = max(gpus[server["ip"]], *held)
    name, value = pl.col("name"), pl.col("value")
    util = _cells(extract / "gpu_util.csv.gz", starts)
    util = util.with_columns(name.str.extract("(.*)_gpu"), gpu=name.str.extract(r"_gpu(\d+)$"))
    util = util.with_columns(gpus=name.replace_strict(gpus, default=0))
    of_gpu = {
        f"gpu{g}_util": pl.when(pl.col("gpus").first() > g)
        .then(value.filter(pl.col("gpu") == str(g)).last().fill_null("NA"))
        .otherwise(pl.lit(""))
        for g in range(8)
    }
    rows = _rows(util, "machineId", **of_gpu).with_columns(pl.col("gpu7_util") + ",")
    rows.write_csv(out / "cluster_gpu_util", quote_style="never")
    cpu = [_cells(extract / file, starts) for file in ("cpu_util.csv.gz", "cpu_util_pm60.csv.gz")]
    rows = _rows(pl.concat(cpu), "machine_id", cpu_util=value.last())
    rows.write_csv(out / "cluster_cpu_util", quote_style="never")
    cells = _cells(extract / "mem_util.csv.gz", starts)
    total = pl.when(value.last() == "NA").then(value.last()).otherwise(pl.lit(str(MEM_TOTAL_KB)))
    rows = _rows(cells, "machine_id", mem_total=total, mem_free=value.last())
    free = [x if x == "NA" else repr(MEM_TOTAL_KB * float(x) / 100) for x in rows["mem_free"]]
    rows = rows.with_columns(mem_free=pl.Series(free, dtype=pl.String))
    rows.write_csv(out / "cluster_mem_util", quote_style="never")


def _cells(file: Path, starts: dict[str, datetime]) -> pl.DataFrame:
    """Return the cells with a value for each minute: local, zone, name of the device, value."""
    cells = pl.read_csv(file, infer_schema=False).with_row_index()
    cells = cells.unpivot(
        cs.matches(r"^-?\d+$"),
        index=["index", "jobid", "name"],
        variable_name="minute",
        value_name="cell",
    )
    cell, local = pl.col("cell"), pl.col("local")
    start = pl.col("jobid").replace_strict(starts, return_dtype=pl.Datetime).dt.truncate("1m")
    zones = [pl.lit([zone], pl.List(pl.String)) for zone in ("PDT", "PST")]
    twice = cell.str.extract_all(_REPEATED).list.eval(pl.element().str.extract(r"(\S+)$"))
    return (
        cells.drop_nulls("cell")
        .sort("index", maintain_order=True)
        .with_columns(local=start + pl.duration(minutes=pl.col("minute").cast(pl.Int64)))
        .with_columns(
            zone=pl.when(local < _PST_FROM)
            .then(zones[0])
            .when(local < _PDT_UNTIL)
            .then(pl.concat_list(zones))
            .otherwise(zones[1]),
            value=pl.when(twice.list.len() > 0).then(twice).otherwise(pl.concat_list(cell)),
        )
        .filter(pl.col("zone").list.len() == pl.col("value").list.len())
        .explode("zone", "value")
        .select("local", "zone", "name", pl.col("value").replace(["-1", "-1.0"], "NA"))
    )


def _rows(cells: pl.DataFrame, machine: str, **values: pl.Expr) -> pl.DataFrame:
    """Return a row per minute and machine, in order of time; the last of equal cells counts."""
    rows = cells.group_by("local", "zone", pl.col("name").alias(machine)).agg(**values)
    time = pl.col("local").dt.strftime("%Y-%m-%d %H:%M:%S ") + pl.col("zone")
    return rows.sort(pl.col("local").dt.date(), "zone", "local", machine).select(
        time.alias("time"), machine, *values
    )
