"""Inputs of Lucid's simulator (ASPLOS'23): the Philly mode and the mode of the Venus log."""

from datetime import datetime
from functools import partial
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.codec import Codec, Content, Notes, delimited, read_format
from philly_analysis.exports.formats.cluster_log import CLOCK, LGB, Mode
from philly_analysis.exports.profiles import assign
from philly_analysis.exports.request import Request

FULL_LOG, VC_LIST, EBM = "cluster_full_log.csv", "vc_config.csv", "ebm.csv"
FORECAST = "throughput_pred.csv"

_FORECAST_S = 600
_PROFILE = ["model", "dataset", "batchsize", "amp", "speed", "gpu_util", "gmem_util", "gmem"]
_OCTOBER = datetime(2017, 10, 1)
_PHILLY = Mode(_OCTOBER, _OCTOBER, datetime(2017, 10, 7, 23, 59), "philly")
_VENUS = Mode(datetime(2020, 4, 1), datetime(2020, 9, 1), datetime(2020, 9, 26, 23, 59), "venus")


def read_measured(path: Path) -> pl.DataFrame:
    """Read Lucid's table of profiles, ``single_data.csv``: one row per model, batch and amp.

    Raises
    ------
    ExportError
        The file is missing or lacks a column.
    """
    try:
        table = pl.read_csv(path.read_bytes(), infer_schema=False).select(_PROFILE)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ExportError(
            f"{path} is not Lucid's single_data.csv ({error}): it should have the columns "
            f"{', '.join(_PROFILE)}."
        ) from None
    return table.with_columns(job_type="model")


def _forecast(rows: pl.DataFrame, mode: Mode) -> pl.DataFrame:
    """Return jobs and GPUs submitted in each ten minutes of the window: a perfect forecast."""
    at = rows["submit_time"].str.to_datetime(CLOCK)
    first = mode.opens if mode.anchored else at[0]
    slot = ((at - first).dt.total_seconds() // _FORECAST_S).cast(pl.Int64)
    counts = (
        rows.select(slot=slot, gpus="gpu_num")
        .filter(pl.col("slot") >= 0)
        .group_by("slot")
        .agg(submit_gpu_job=pl.len(), submit_gpu_num=pl.col("gpus").sum())
    )
    slots = int((mode.closes - mode.opens).total_seconds() // _FORECAST_S) + 1
    start = pl.lit(first) + pl.duration(seconds=pl.col("slot") * _FORECAST_S)
    return (
        pl.DataFrame({"slot": pl.int_range(slots, eager=True)})
        .join(counts, on="slot", how="left", maintain_order="left")
        .fill_null(0)
        .with_columns(
            time=start.dt.strftime(CLOCK),
            pred_gpu_job=pl.col("submit_gpu_job").cast(pl.Float64),
            pred_gpu_num=pl.col("submit_gpu_num").cast(pl.Float64),
        )
    )


def _content(request: Request, mode: Mode) -> Content:
    rows, assumed = mode.rows(request)
    nodes = mode.nodes(request)
    tables = {
        FULL_LOG: assign(rows, read_measured(request.speeds_file), request.rng),
        VC_LIST: pl.DataFrame({"": list(nodes), "num": list(nodes.values())}),
        LGB: rows,
        EBM: rows,
        FORECAST: _forecast(rows, mode),
    }
    return Content(tables, mode.accepted(request, rows), Notes(assumed))


def _codec(mode: Mode) -> Codec:
    return delimited(partial(_content, mode=mode))


LUCID = read_format("lucid", lucid=_codec(_PHILLY), venus=_codec(_VENUS))
