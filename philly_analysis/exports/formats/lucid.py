"""Inputs of Lucid's simulator (ASPLOS'23): its Philly mode and that of its Venus log."""

from datetime import datetime
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Program, Written
from philly_analysis.exports.formats.cluster_log import (
    APRIL,
    CLOCK,
    KINDS,
    LGB,
    NAMED,
    NOT_CARRIED,
    STATES,
    Mode,
    Window,
    early,
    estimates,
    layout,
    shared,
    simulate,
)
from philly_analysis.exports.layout import (
    COUNT,
    DECIMAL,
    NAME,
    POSITIVE,
    TIMESTAMP,
    Field,
    Layout,
    broken,
)
from philly_analysis.exports.profiles import assign
from philly_analysis.exports.request import Request
from philly_analysis.study import STATUSES

FULL_LOG, VC_LIST, EBM = "cluster_full_log.csv", "vc_config.csv", "ebm.csv"
FORECAST = "throughput_pred.csv"

_FORECAST_S = 600
_PROFILE = (
    Field("dataset", r"[A-Za-z0-9-]+"),
    Field("model", r"[A-Za-z0-9-]+"),
    Field("batchsize", POSITIVE),
    Field("amp", "[01]"),
    Field("speed", DECIMAL),
    Field("gpu_util", DECIMAL),
    Field("gmem_util", DECIMAL),
    Field("gmem", DECIMAL),
)
_PHILLY = Mode(
    layout(Field("job_id", NAME), *shared(STATUSES), *_PROFILE, key="job_id"),
    Window(datetime(2017, 10, 1), datetime(2017, 10, 1), datetime(2017, 10, 7, 23, 59)),
    "philly",
)
_VENUS = Mode(
    layout(*NAMED, *shared(tuple(STATES.values())), *_PROFILE, key="job_id"),
    Window(APRIL, datetime(2020, 9, 1), datetime(2020, 9, 26, 23, 59)),
    "venus",
)
_VC_LIST = Layout((Field("", NAME), Field("num", POSITIVE)))
_FORECAST = Layout(
    (
        Field("time", TIMESTAMP),
        Field("submit_gpu_job", COUNT),
        Field("submit_gpu_num", COUNT),
        Field("pred_gpu_job", DECIMAL),
        Field("pred_gpu_num", DECIMAL),
    ),
    ascending="time",
    unique="time",
)


def measured(path: Path) -> pl.DataFrame:
    """Read Lucid's table of profiles, ``single_data.csv``: one row per model, batch and amp.

    Raises
    ------
    ExportError
        The file is missing or lacks a column.
    """
    names = [f.name for f in _PROFILE]
    try:
        return (
            pl.read_csv(path.read_bytes(), infer_schema=False)
            .select(names)
            .with_columns(job_type="model", one=pl.lit(1, pl.Int32))
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise ExportError(
            f"{path} is not Lucid's single_data.csv ({error}): it should have the columns "
            f"{', '.join(names)}."
        ) from None


def _forecast(rows: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Return jobs and GPUs submitted in each ten minutes of the window, as if foreseen."""
    at = rows["submit_time"].str.to_datetime(CLOCK)
    first = window.opens if window.anchored else at[0]
    slot = ((at - first).dt.total_seconds() // _FORECAST_S).cast(pl.Int64)
    counts = (
        rows.select(slot=slot, gpus="gpu_num")
        .filter(pl.col("slot") >= 0)
        .group_by("slot")
        .agg(submit_gpu_job=pl.len(), submit_gpu_num=pl.col("gpus").sum())
    )
    slots = int(window.length_s // _FORECAST_S) + 1
    return (
        pl.DataFrame({"slot": pl.int_range(slots, eager=True)})
        .join(counts, on="slot", how="left", maintain_order="left")
        .fill_null(0)
        .select(
            (pl.lit(first) + pl.duration(seconds=pl.col("slot") * _FORECAST_S))
            .dt.strftime(CLOCK)
            .alias("time"),
            "submit_gpu_job",
            "submit_gpu_num",
            pred_gpu_job=pl.col("submit_gpu_job").cast(pl.Float64),
            pred_gpu_num=pl.col("submit_gpu_num").cast(pl.Float64),
        )
    )


def _write(request: Request, folder: Path, mode: Mode) -> Written:
    rows, assumed = mode.rows(request)
    table = measured(request.measured)
    drawn = assign(rows.with_columns(one=pl.lit(1, pl.Int32)), table, "one", request.rng)
    mode.log.write(drawn, folder / FULL_LOG)
    nodes = mode.nodes(request)
    _VC_LIST.write(nodes.rename({"vc": "", "nodes": "num"}), folder / VC_LIST)
    for name in (LGB, EBM):
        estimates("job_id").write(rows, folder / name)
    _FORECAST.write(_forecast(rows, mode.window), folder / FORECAST)
    return Written(
        jobs=request.jobs.height,
        assumed=(
            *assumed,
            *mode.nodes_said(request),
            "model, batch size, precision, speed, GPU utilisation and memory: drawn uniformly "
            f"among the profiles of {request.measured.name}, unless the workload names a model",
            f"{FORECAST}: the very numbers of jobs and GPUs to come, every ten minutes",
        ),
        sources=(f"profiles: {request.measured.name}, as given",),
    )


def _faults(folder: Path, profiles: Path | None, mode: Mode) -> list[str]:
    found = [*mode.log.faults(folder / FULL_LOG), *_VC_LIST.faults(folder / VC_LIST)]
    for name in (LGB, EBM):
        found += estimates("job_id").faults(folder / name)
    found += _FORECAST.faults(folder / FORECAST)
    if found:
        return found
    path, rows = folder / FULL_LOG, mode.log.read(folder / FULL_LOG)
    vcs = _VC_LIST.read(folder / VC_LIST)[""]
    unknown = ~rows["vc"].is_in(vcs.to_list())
    found += broken(path, rows["vc"], unknown, f"virtual cluster that {VC_LIST} lacks")
    if profiles is not None:
        names = [f.name for f in _PROFILE]
        known = measured(profiles).select(*names, legal=pl.lit(True)).unique()
        joined = rows.join(known, on=names, how="left", maintain_order="left")
        missing = joined["legal"].is_null()
        found += broken(path, rows["model"], missing, "profile that the reader does not know")
    return found + early(path, rows, mode.window)


def _dialect(name: str, mode: Mode, what: str, experiment: str, files: tuple[str, str]) -> Dialect:
    lgb, ebm = files
    cluster = experiment.partition("_")[0]
    return Dialect(
        name=name,
        program=Program(
            f"Lucid's simulator, -e {experiment}",
            source="S-Lab-System-Group/Lucid 63685a3",
            needs="Python 3.11, pandas 2.2, tkinter",
            command="git clone https://github.com/S-Lab-System-Group/Lucid && cd Lucid/simulation\n"
            f"git checkout 63685a3 && cp $$OUT/{LGB} estimator/lgb/{lgb}\n"
            f"cp $$OUT/{EBM} estimator/ebm/{ebm}\n"
            f"cp $$OUT/{FORECAST} predictor/{cluster}_throughput_pred.csv\n"
            + simulate(f"-e {experiment} -t $$OUT -s fifo -p consolidate"),
            rules=mode.rules,
        ),
        carries=f"submission, run time, gang size, status, user, estimated run times, {what}",
        write=lambda request, folder: _write(request, folder, mode),
        taken=lambda request, folder: mode.taken(request, folder / FULL_LOG),
        faults=lambda folder, profiles: _faults(folder, profiles, mode),
        not_carried=(
            *NOT_CARRIED,
            "virtual clusters",
            *(
                ["nodes to profile on: policy lucid takes them from clusters vc8Gr and vcefl here"]
                if mode is _VENUS
                else []
            ),
        ),
        folder=True,
        estimates=KINDS,
        throughputs="the consumer's table of profiles (Lucid's single_data.csv)",
    )


LUCID = Format(
    "lucid",
    (
        _dialect(
            "lucid",
            _PHILLY,
            "nodes, forecast of arrivals",
            "Philly",
            ("Philly_lgb.csv", "Philly_ebm.csv"),
        ),
        _dialect(
            "venus",
            _VENUS,
            "nodes, CPUs, forecast of arrivals",
            "Venus_Sept",
            ("Venus_Sept_lgb.csv", "Venus_Sept_ebm_weekly_updated.csv"),
        ),
    ),
)
