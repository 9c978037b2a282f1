"""Inputs of the simulators of Helios (SC'21) and Lucid (ASPLOS'23), in their Philly mode."""

import pickle
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Written
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
from philly_analysis.exports.names import safe
from philly_analysis.exports.profiles import assign, history
from philly_analysis.exports.request import Request
from philly_analysis.study import PASS, STATUSES
from philly_analysis.workload.machines import SERVER

LOG, FULL_LOG = "cluster_log.csv", "cluster_full_log.csv"
VC_SIZES, VC_LIST = "vc_dict_homo.pkl", "vc_config.csv"
ESTIMATES = ("Philly_lgb.csv", "Philly_ebm.csv")

_OPENS = datetime(2017, 10, 1)
_HELIOS_CLOSES, _LUCID_CLOSES = datetime(2017, 11, 30, 23, 59), datetime(2017, 10, 7, 23, 59)
_ONE_VC = "philly"
_QUOTAS = {"vc": pl.String, "quota": pl.Int64}

_SHARED = (
    Field("user", NAME),
    Field("vc", NAME),
    Field("gpu_num", POSITIVE),
    Field("state", "|".join(STATUSES)),
    Field("submit_time", TIMESTAMP),
    Field("duration", POSITIVE),
)
_LOG = Layout((Field("jobname", NAME), *_SHARED), ascending="submit_time", unique="jobname")
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
_FULL_LOG = Layout(
    (Field("job_id", NAME), *_SHARED, *_PROFILE), ascending="submit_time", unique="job_id"
)
_VC_LIST = Layout((Field("", NAME), Field("num", POSITIVE)))


def _estimates(key: str) -> Layout:
    return Layout((Field(key, NAME), Field("priority", COUNT)), unique=key)


def _log(
    request: Request, closes: datetime
) -> tuple[pl.DataFrame, tuple[str, ...], tuple[str, ...]]:
    """Return the shared columns, and what was assumed and is lost to fit the reader's window."""
    jobs = request.jobs
    assumed, lost = [], []
    first, last = jobs["submitted_at"][0], jobs["submitted_at"][-1]
    moved = timedelta(0)
    if first < _OPENS or last > closes:
        moved = _OPENS - first
        assumed.append(f"submissions moved by {moved}: the reader takes none before {_OPENS:%F}")
    late = int((jobs["submitted_at"] + moved > closes).sum())
    if late:
        lost.append(
            f"{late:,} jobs submitted after {closes:%F %H:%M}, which the reader passes over"
        )
    if unknown := jobs["status"].null_count():
        assumed.append(f"status of {unknown:,} jobs: {PASS}")
    rows = jobs.with_columns(
        job_id="id",
        user="user_id",
        vc="vc_id",
        gpu_num="gpus",
        state=pl.col("status").fill_null(PASS),
        submit_time=(pl.col("submitted_at") + moved).dt.strftime("%Y-%m-%d %H:%M:%S"),
        duration="duration_s",
        priority=history(jobs, "user").round().cast(pl.Int64),
    )
    assumed.append(
        "estimated run times: mean of the user's jobs that had finished at submission, as if "
        "nobody waited"
    )
    return rows, tuple(assumed), tuple(lost)


def vc_nodes(request: Request) -> pl.DataFrame:
    """Return vc and nodes of 8 GPUs: what its quota needs, and its largest gang at least."""
    quotas, _ = request.quotas()
    known = pl.DataFrame({"vc": list(quotas), "quota": list(quotas.values())}, _QUOTAS)
    return (
        request.jobs.group_by("vc")
        .agg(largest=pl.col("gpus").max())
        .join(known, on="vc", how="left")
        .select(
            "vc",
            nodes=(pl.max_horizontal("quota", "largest") / SERVER.gpus).ceil().cast(pl.Int64),
        )
        .sort("vc")
    )


def _write_helios(request: Request, folder: Path) -> Written:
    rows, assumed, lost = _log(request, _HELIOS_CLOSES)
    rows = rows.with_columns(jobname="job_id")
    _LOG.write(rows, folder / LOG)
    nodes = vc_nodes(request)
    sizes = dict(zip(safe(nodes["vc"]).to_list(), nodes["nodes"].to_list(), strict=True))
    (folder / VC_SIZES).write_bytes(pickle.dumps(sizes, protocol=4))
    _estimates("jobname").write(rows, folder / ESTIMATES[0])
    return Written(
        jobs=rows.height,
        assumed=(*assumed, f"nodes of 8 GPUs per virtual cluster: {request.quotas()[1]}"),
        lost=(*lost, f"copy {ESTIMATES[0]} to the simulator's folder estimators/"),
    )


class _Plain(pickle.Unpickler):
    """Reads numbers, text and dictionaries, and refuses anything that would run code."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{module}.{name} is not a plain value")


def _sizes(path: Path) -> object:
    with path.open("rb") as file:
        try:
            return _Plain(file).load()
        except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError) as error:
            return error


def _faults_helios(folder: Path, _: Path | None) -> list[str]:
    found = [*_LOG.faults(folder / LOG), *_estimates("jobname").faults(folder / ESTIMATES[0])]
    sizes = _sizes(folder / VC_SIZES)
    if not isinstance(sizes, dict) or not all(
        isinstance(vc, str) and type(n) is int and n > 0 for vc, n in sizes.items()
    ):
        return [*found, f"{VC_SIZES}: not a dictionary of nodes by virtual cluster: {sizes!r}"]
    if found:
        return found
    rows = _LOG.read(folder / LOG)
    unknown = ~rows["vc"].is_in(list(sizes))
    return broken(folder / LOG, rows["vc"], unknown, f"virtual cluster that {VC_SIZES} lacks") + (
        _early(folder / LOG, rows)
    )


def _early(path: Path, rows: pl.DataFrame) -> list[str]:
    early = rows["submit_time"] < f"{_OPENS:%F %T}"
    return broken(path, rows["submit_time"], early, f"submission before {_OPENS:%F}")


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


def _write_lucid(request: Request, folder: Path) -> Written:
    rows, assumed, lost = _log(request, _LUCID_CLOSES)
    table = measured(request.measured)
    rows = assign(
        rows.with_columns(vc=pl.lit(_ONE_VC), one=pl.lit(1, pl.Int32)), table, "one", request.rng
    )
    _FULL_LOG.write(rows, folder / FULL_LOG)
    largest = int(rows["gpu_num"].max() or 0)  # type: ignore[arg-type]
    nodes = -(-max(request.cluster.gpus, largest) // SERVER.gpus)
    _VC_LIST.write(pl.DataFrame({"": [_ONE_VC], "num": [nodes]}), folder / VC_LIST)
    for name in ESTIMATES:
        _estimates("job_id").write(rows, folder / name)
    return Written(
        jobs=rows.height,
        assumed=(
            *assumed,
            "model, batch size, precision, speed, GPU utilisation and memory: drawn uniformly "
            f"among the profiles of {request.measured.name}, unless the workload names a model",
        ),
        lost=(
            *lost,
            f"copy {' and '.join(ESTIMATES)} to the simulator's folders estimator/lgb and "
            "estimator/ebm",
        ),
        sources=(f"profiles: {request.measured.name}, as given",),
    )


def _faults_lucid(folder: Path, profiles: Path | None) -> list[str]:
    found = [*_FULL_LOG.faults(folder / FULL_LOG), *_VC_LIST.faults(folder / VC_LIST)]
    for name in ESTIMATES:
        found += _estimates("job_id").faults(folder / name)
    if found:
        return found
    path, rows = folder / FULL_LOG, _FULL_LOG.read(folder / FULL_LOG)
    vcs = _VC_LIST.read(folder / VC_LIST)[""]
    unknown = ~rows["vc"].is_in(vcs.to_list())
    found += broken(path, rows["vc"], unknown, f"virtual cluster that {VC_LIST} lacks")
    if profiles is not None:
        names = [f.name for f in _PROFILE]
        known = measured(profiles).select(*names, legal=pl.lit(True)).unique()
        joined = rows.join(known, on=names, how="left", maintain_order="left")
        missing = joined["legal"].is_null()
        found += broken(path, rows["model"], missing, "profile that the reader does not know")
    return found + _early(path, rows)


_LOST = ("attempts, placements and waits", "fractions of a second")

HELIOS = Format(
    "helios",
    (
        Dialect(
            name="helios",
            reader="Helios' QSSF simulator, -e Philly",
            carries="submission, run time, gang size, status, user, virtual cluster",
            write=_write_helios,
            faults=_faults_helios,
            lost=_LOST,
            folder=True,
        ),
    ),
)
LUCID = Format(
    "lucid",
    (
        Dialect(
            name="lucid",
            reader="Lucid's simulator, -e Philly",
            carries="submission, run time, gang size, status, user",
            write=_write_lucid,
            faults=_faults_lucid,
            lost=(*_LOST, f"virtual clusters: all are {_ONE_VC!r}, the one that the reader knows"),
            folder=True,
            throughputs="the consumer's table of profiles (Lucid's single_data.csv)",
        ),
    ),
)
