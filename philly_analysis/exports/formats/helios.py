"""Inputs of the simulators of Helios (SC'21) and Lucid (ASPLOS'23): Philly modes and their own."""

import pickle
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from philly_analysis.errors import ExportError
from philly_analysis.exports.format import Dialect, Format, Program, Taken, Written, taken_of
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
from philly_analysis.study import FAILED, KILLED, PASS, STATUSES, Estimates
from philly_analysis.workload.machines import SERVER

LOG, FULL_LOG = "cluster_log.csv", "cluster_full_log.csv"
VC_SIZES, VC_LIST = "vc_dict_homo.pkl", "vc_config.csv"
FORECAST = "throughput_pred.csv"
LGB, EBM = "lgb.csv", "ebm.csv"

_QUOTAS = {"vc": pl.String, "quota": pl.Int64}
_CLOCK = "%Y-%m-%d %H:%M:%S"
_FORECAST_S = 600
_STATES = {PASS: "COMPLETED", FAILED: "FAILED", KILLED: "CANCELLED"}


@dataclass(frozen=True, slots=True)
class Window:
    """Which submissions a mode takes.

    Attributes
    ----------
    counts_from
        It takes none before, and counts from the first line that it takes.
    opens, closes
        What it takes: jobs submitted as long after that line as these are after `counts_from`.
    """

    counts_from: datetime
    opens: datetime
    closes: datetime

    @property
    def anchored(self) -> bool:
        """Whether there must be a line that is only counted from."""
        return self.opens > self.counts_from

    @property
    def length_s(self) -> float:
        """Seconds from the first job to the last that it takes."""
        return (self.closes - self.opens).total_seconds()

    def moved(self, first: datetime) -> timedelta:
        """Return by how much submissions have to move so that the first is inside."""
        if self.anchored:
            return self.opens - first
        return max(self.counts_from - first, timedelta(0))


_APRIL = datetime(2020, 4, 1)
_HELIOS_PHILLY = Window(
    datetime(2017, 10, 1), datetime(2017, 10, 1), datetime(2017, 11, 30, 23, 59)
)
_LUCID_PHILLY = Window(datetime(2017, 10, 1), datetime(2017, 10, 1), datetime(2017, 10, 7, 23, 59))
_JULY = Window(_APRIL, datetime(2020, 7, 1), datetime(2020, 7, 31, 23, 59))
_SEPTEMBER = Window(_APRIL, datetime(2020, 9, 1), datetime(2020, 9, 26, 23, 59))


def _shared(states: tuple[str, ...]) -> tuple[Field, ...]:
    return (
        Field("user", NAME),
        Field("vc", NAME),
        Field("gpu_num", POSITIVE),
        Field("state", "|".join(states)),
        Field("submit_time", TIMESTAMP),
        Field("duration", POSITIVE),
    )


_NAMED = (Field("job_id", NAME), Field("jobname", NAME), Field("cpu_num", COUNT))
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


def _layout(*fields: Field, key: str) -> Layout:
    return Layout(fields, ascending="submit_time", unique=key)


_LOG = _layout(Field("jobname", NAME), *_shared(STATUSES), key="jobname")
_OWN_LOG = _layout(*_NAMED, *_shared(tuple(_STATES.values())), key="job_id")
_FULL_LOG = _layout(Field("job_id", NAME), *_shared(STATUSES), *_PROFILE, key="job_id")
_OWN_FULL_LOG = _layout(*_NAMED, *_shared(tuple(_STATES.values())), *_PROFILE, key="job_id")
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


def _estimates(key: str) -> Layout:
    return Layout((Field(key, NAME), Field("priority", COUNT)), unique=key)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a simulator is asked to read a log: its window, and whose virtual clusters there are.

    Attributes
    ----------
    vc
        What the one virtual cluster that has all nodes is called; empty: each has its own.
    """

    log: Layout
    window: Window
    vc: str

    def rows(self, request: Request) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """Return the lines of the log but for profiles, and what was assumed for them."""
        jobs, window = request.jobs, self.window
        moved = window.moved(jobs["submitted_at"][0])
        assumed = []
        if moved:
            assumed.append(f"submissions moved by {moved}: the reader's window is fixed")
        if unknown := jobs["status"].null_count():
            assumed.append(f"status of {unknown:,} jobs: {PASS}")
        state = pl.col("status").fill_null(PASS)
        rows = jobs.select(
            job_id="id",
            jobname="id",
            user="user_id",
            vc=pl.lit(self.vc) if self.vc else pl.col("vc_id"),
            gpu_num="gpus",
            cpu_num=pl.col("cpus_due").round().cast(pl.Int64),
            state=state.replace_strict(_STATES) if window.anchored else state,
            submit_time=(pl.col("submitted_at") + moved).dt.strftime(_CLOCK),
            duration="duration_s",
            job_type="job_type",
            priority=request.estimated_s().round().cast(pl.Int64),
        )
        if window.anchored:
            # its mean run time is all that a predictor knows of the past
            anchor = rows.head(1).with_columns(
                job_id=pl.lit("counted-from"),
                jobname=pl.lit("counted-from"),
                submit_time=pl.lit(f"{window.counts_from:{_CLOCK}}"),
                duration=pl.lit(round(float(jobs["run_s"].mean() or 0)), pl.Int64).clip(1),  # type: ignore[arg-type]
            )
            rows = pl.concat([anchor, rows], how="vertical_relaxed")
            assumed.append(
                f"a first line of {window.counts_from:%F}, from which the reader counts; it runs "
                "none before its window"
            )
        return rows, tuple(assumed)

    def nodes(self, request: Request) -> pl.DataFrame:
        """Return virtual clusters (vc) and their nodes of 8 GPUs, which add up to the cluster.

        Raises
        ------
        ExportError
            They are to have nodes of their own, and there are too few for their largest gangs.
        """
        total = -(-request.cluster.gpus // SERVER.gpus)
        if self.vc:
            return pl.DataFrame({"vc": [self.vc], "nodes": [total]})
        quotas, _ = request.quotas()
        known = pl.DataFrame({"vc": list(quotas), "quota": list(quotas.values())}, _QUOTAS)
        vcs = (
            request.jobs.group_by("vc", "vc_id")
            .agg(least=(pl.col("gpus").max() / SERVER.gpus).ceil().cast(pl.Int64))
            .join(known, on="vc", how="left")
            .sort("vc")
        )
        if (need := int(vcs["least"].sum())) > total:
            raise ExportError(
                f"{vcs.height} virtual clusters need {need} nodes of 8 GPUs for their largest "
                f"gangs, but the cluster has {total}: give more --gpus, or take the dialect "
                "where all virtual clusters are one."
            )
        return pl.DataFrame(
            {
                "vc": vcs["vc_id"],
                "nodes": _apportioned(
                    total, vcs["least"].to_list(), vcs["quota"].fill_null(1).to_list()
                ),
            }
        )

    def nodes_said(self, request: Request) -> tuple[str, ...]:
        """Say what the nodes are."""
        total = -(-request.cluster.gpus // SERVER.gpus)
        said = f"{total:,} nodes of 8 GPUs, {total * SERVER.gpus:,} in all"
        if self.vc:
            said += f"; all virtual clusters are one, {self.vc!r}"
        else:
            said += f", by virtual cluster: {request.quotas()[1]}"
        return (said,)

    def taken(self, request: Request, path: Path) -> Taken:
        """Count what is submitted inside the window."""
        rows = self.log.read(path)
        at = rows["submit_time"].str.to_datetime(_CLOCK)
        since_s = (at - at[0]).dt.total_seconds()
        opens_s = (self.window.opens - self.window.counts_from).total_seconds()
        closes_s = (self.window.closes - self.window.counts_from).total_seconds()
        inside = since_s.is_between(opens_s, closes_s)
        if self.window.anchored:
            rows, inside = rows.slice(1), inside.slice(1)
        return taken_of(request, rows["gpu_num"], rows["duration"].cast(pl.Int64), inside)

    @property
    def rules(self) -> str:
        """Which jobs it takes."""
        days = self.window.length_s / 86_400
        return f"jobs submitted within {days:.4g} days of the first, times in whole seconds"


def _apportioned(total: int, least: list[int], weights: list[int]) -> list[int]:
    """Share out a number by weights, no share below its least: the neediest gets the next one."""
    shares = list(least)
    for _ in range(total - sum(least)):
        i = max(range(len(shares)), key=lambda i: weights[i] / (shares[i] + 1))
        shares[i] += 1
    return shares


_PHILLY_MODE = Mode(_LOG, _HELIOS_PHILLY, "philly")
_NATIVE_MODE = Mode(_OWN_LOG, _JULY, "")
_LUCID_MODE = Mode(_FULL_LOG, _LUCID_PHILLY, "philly")
_VENUS_MODE = Mode(_OWN_FULL_LOG, _SEPTEMBER, "venus")


def _write_helios(request: Request, folder: Path, mode: Mode) -> Written:
    rows, assumed = mode.rows(request)
    mode.log.write(rows, folder / LOG)
    nodes = mode.nodes(request)
    sizes = dict(zip(nodes["vc"].to_list(), nodes["nodes"].to_list(), strict=True))
    (folder / VC_SIZES).write_bytes(pickle.dumps(sizes, protocol=4))
    _estimates(mode.log.unique).write(rows, folder / LGB)
    return Written(jobs=request.jobs.height, assumed=(*assumed, *mode.nodes_said(request)))


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


def _faults_helios(folder: Path, mode: Mode) -> list[str]:
    found = [
        *mode.log.faults(folder / LOG),
        *_estimates(mode.log.unique).faults(folder / LGB),
    ]
    sizes = _sizes(folder / VC_SIZES)
    if not isinstance(sizes, dict) or not all(
        isinstance(vc, str) and type(n) is int and n > 0 for vc, n in sizes.items()
    ):
        return [*found, f"{VC_SIZES}: not a dictionary of nodes by virtual cluster: {sizes!r}"]
    if found:
        return found
    rows = mode.log.read(folder / LOG)
    unknown = ~rows["vc"].is_in(list(sizes))
    return broken(folder / LOG, rows["vc"], unknown, f"virtual cluster that {VC_SIZES} lacks") + (
        _early(folder / LOG, rows, mode.window)
    )


def _early(path: Path, rows: pl.DataFrame, window: Window) -> list[str]:
    wrong = rows["submit_time"].str.to_datetime(_CLOCK, strict=False) < window.counts_from
    return broken(path, rows["submit_time"], wrong, f"submission before {window.counts_from:%F}")


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
    at = rows["submit_time"].str.to_datetime(_CLOCK)
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
            .dt.strftime(_CLOCK)
            .alias("time"),
            "submit_gpu_job",
            "submit_gpu_num",
            pred_gpu_job=pl.col("submit_gpu_job").cast(pl.Float64),
            pred_gpu_num=pl.col("submit_gpu_num").cast(pl.Float64),
        )
    )


def _write_lucid(request: Request, folder: Path, mode: Mode) -> Written:
    rows, assumed = mode.rows(request)
    table = measured(request.measured)
    drawn = assign(rows.with_columns(one=pl.lit(1, pl.Int32)), table, "one", request.rng)
    mode.log.write(drawn, folder / FULL_LOG)
    nodes = mode.nodes(request)
    _VC_LIST.write(nodes.rename({"vc": "", "nodes": "num"}), folder / VC_LIST)
    for name in (LGB, EBM):
        _estimates("job_id").write(rows, folder / name)
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


def _faults_lucid(folder: Path, profiles: Path | None, mode: Mode) -> list[str]:
    found = [*mode.log.faults(folder / FULL_LOG), *_VC_LIST.faults(folder / VC_LIST)]
    for name in (LGB, EBM):
        found += _estimates("job_id").faults(folder / name)
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
    return found + _early(path, rows, mode.window)


_NOT_CARRIED = ("attempts, placements and waits", "fractions of a second")
_ESTIMATES = (Estimates.HISTORY, Estimates.EXACT, Estimates.NOISY, Estimates.ROUNDED)


def _helios(name: str, mode: Mode, what: str, experiment: str) -> Dialect:
    key = "Philly" if mode is _PHILLY_MODE else experiment
    return Dialect(
        name=name,
        program=Program(
            f"Helios' simulator, -e {experiment}",
            source="S-Lab-System-Group/HeliosArtifact bdaae10",
            needs="Python 3.9, pandas 1.2.4 or 2.0",
            command="git clone https://github.com/S-Lab-System-Group/HeliosArtifact\n"
            'cd "HeliosArtifact/framework/QSSF Service" && git checkout bdaae10\n'
            f"cp $$OUT/{LGB} estimators/{key}_lgb.csv\n"
            f"TZ=UTC python simulator.py -e {experiment} -t $$OUT -p consolidate --sweep",
            rules=mode.rules,
        ),
        carries=f"submission, run time, gang size, status, user, estimated run times, {what}",
        write=lambda request, folder: _write_helios(request, folder, mode),
        taken=lambda request, folder: mode.taken(request, folder / LOG),
        faults=lambda folder, _: _faults_helios(folder, mode),
        not_carried=(*_NOT_CARRIED, "virtual clusters") if mode.vc else _NOT_CARRIED,
        folder=True,
        estimates=_ESTIMATES,
    )


def _lucid(name: str, mode: Mode, what: str, experiment: str, files: tuple[str, str]) -> Dialect:
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
            f"TZ=UTC python simulator.py -e {experiment} -t $$OUT -s fifo -p consolidate",
            rules=mode.rules,
        ),
        carries=f"submission, run time, gang size, status, user, estimated run times, {what}",
        write=lambda request, folder: _write_lucid(request, folder, mode),
        taken=lambda request, folder: mode.taken(request, folder / FULL_LOG),
        faults=lambda folder, profiles: _faults_lucid(folder, profiles, mode),
        not_carried=(
            *_NOT_CARRIED,
            "virtual clusters",
            *(
                ["nodes to profile on: policy lucid takes them from clusters vc8Gr and vcefl here"]
                if mode is _VENUS_MODE
                else []
            ),
        ),
        folder=True,
        estimates=_ESTIMATES,
        throughputs="the consumer's table of profiles (Lucid's single_data.csv)",
    )


HELIOS = Format(
    "helios",
    (
        _helios("helios", _PHILLY_MODE, "nodes", "Philly"),
        _helios("native", _NATIVE_MODE, "virtual clusters and their nodes, CPUs", "Export_July"),
    ),
)
LUCID = Format(
    "lucid",
    (
        _lucid(
            "lucid",
            _LUCID_MODE,
            "nodes, forecast of arrivals",
            "Philly",
            ("Philly_lgb.csv", "Philly_ebm.csv"),
        ),
        _lucid(
            "venus",
            _VENUS_MODE,
            "nodes, CPUs, forecast of arrivals",
            "Venus_Sept",
            ("Venus_Sept_lgb.csv", "Venus_Sept_ebm_weekly_updated.csv"),
        ),
    ),
)
