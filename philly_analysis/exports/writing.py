"""Writes a workload in another tool's format, and beside it what had to be assumed."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.format import Format
from philly_analysis.exports.formats import (
    batsim,
    gavel,
    helios,
    openb,
    opendc,
    philly,
    pollux,
    swf,
    synergy,
    tiresias,
)
from philly_analysis.exports.request import prepare
from philly_analysis.exports.sidecar import Exported
from philly_analysis.progress import step
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace
from philly_analysis.workload import Machine, Workload
from philly_analysis.workload.demand import UNKNOWN, Demand
from philly_analysis.workload.machines import fleet
from philly_analysis.workload.target import Cluster

FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        philly.PHILLY,
        gavel.GAVEL,
        tiresias.TIRESIAS,
        pollux.POLLUX,
        pollux.SIA,
        synergy.SYNERGY,
        helios.HELIOS,
        helios.LUCID,
        openb.OPENB,
        swf.SWF,
        batsim.BATSIM,
        opendc.OPENDC,
    )
}
"""The formats that a workload can be exported to, by name."""

_FAULTS_SHOWN = 5


def export(
    workload: Workload | Trace | str | Path,
    format: str,  # noqa: A002 - the word users type
    file: str | Path,
    *,
    dialect: str | None = None,
    load: float | None = None,
    seed: int = 0,
    gpus: int | None = None,
    machines: str | Sequence[Machine] | None = None,
    throughputs: str | Path | None = None,
    run_policy: RunPolicy | str = RunPolicy.SUM,
    force: bool = False,
) -> Exported:
    """Write a workload in another tool's format.

    The file (or folder) is written beside its place, checked against every byte-level rule of
    the format, and only then moved there; ``<file>.json`` tells what was assumed.

    Parameters
    ----------
    format, dialect
        A name of :data:`FORMATS`, and of one of its dialects (None: its first).
    load
        Offered load wanted on the target cluster: submissions are moved closer together or
        further apart until it is met. None: they stay as they are.
    seed
        Of every draw (job types, deadlines).
    gpus, machines
        The target cluster, as a number of GPUs in servers of 8, or machine by machine, or as a
        text that :func:`~philly_analysis.workload.machines.fleet` reads (``240x8,288x2``).
        Neither: the workload's own machines, else one that is assumed.
    throughputs
        The consumer's own file of measured speeds, for the dialects that need it. It is read,
        never copied.
    run_policy
        How attempts become one run time. The default, ``sum``, leaves waits between attempts
        to the simulator that reads the file.
    force
        Replace an export that is there already.

    Raises
    ------
    ExportError
        There are no jobs, the workload lacks what the format needs, a file is missing, exists,
        or cannot be written.
    UnknownNameError
        No format, dialect or run policy of that name.
    """
    chosen = _format(format)
    spelling = chosen.dialect(dialect)
    if run_policy not in list(RunPolicy):
        raise UnknownNameError("run policy", run_policy, list(RunPolicy))
    run_policy = RunPolicy(run_policy)
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    if not workload.jobs.height:
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    if spelling.throughputs and throughputs is None:
        raise ExportError(
            f"{chosen.name} ({spelling.name}) needs {spelling.throughputs}, which is not part of "
            "this package: give its path with --throughputs."
        )
    request = prepare(
        workload,
        run_policy=run_policy,
        seed=seed,
        gangs=spelling.gangs,
        load=load,
        gpus=gpus,
        machines=fleet(machines) if isinstance(machines, str) else machines,
        throughputs=Path(throughputs) if throughputs is not None else None,
        timed=spelling.timed,
    )
    file = Path(file)
    sidecar = file.with_name(file.name + ".json")
    with step(f"exporting {workload.name} for {chosen.name}"), _placed(file, sidecar, force) as new:
        if spelling.folder:
            new.mkdir()
        written = spelling.write(request, new)
        if faults := spelling.faults(new, request.throughputs):
            raise ExportError(
                f"{workload.name} cannot be written for {chosen.name} ({spelling.name}): "
                + "; ".join(faults[:_FAULTS_SHOWN])
            )
        result = Exported(
            workload=workload.name,
            synthetic=workload.synthetic,
            format=chosen.name,
            dialect=spelling.name,
            file=str(file),
            jobs=written.jobs,
            left_out=request.demand.reasons if spelling.timed else {},
            account=request.demand.account() if spelling.timed else (),
            lost=(*spelling.lost, *written.lost),
            assumed=(
                *(_unnamed(request.demand) if spelling.timed else ()),
                *_cluster_notes(request.cluster),
                *written.assumed,
            ),
            sources=written.sources,
            seed=seed,
            run_policy=run_policy.value,
            cluster_gpus=request.cluster.gpus,
            offered_load=request.offered_load,
            arrivals_stretched=request.stretch,
            notes=workload.notes,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            made_by=f"philly-analysis {version('philly-analysis')}",
        )
        _sidecar_of(new).write_text(result.to_json(), "utf-8")
    return result


def formats() -> pd.DataFrame:
    """List the formats that a workload can be exported to.

    Returns
    -------
    pandas.DataFrame
        One row per dialect, a format's default first: format, dialect, reader, carries, lost,
        needs (the consumer's own file, where one must be given).
    """
    return pd.DataFrame(
        [
            (f.name, d.name, d.reader, d.carries, "; ".join(d.lost), d.throughputs)
            for f in FORMATS.values()
            for d in f.dialects
        ],
        columns=["format", "dialect", "reader", "carries", "lost", "needs"],
    )


def faults(
    file: str | Path,
    format: str,  # noqa: A002 - the word users type
    *,
    dialect: str | None = None,
    throughputs: str | Path | None = None,
) -> list[str]:
    """Say what is wrong with a file by the rules of a format; empty when nothing is.

    Raises
    ------
    ExportError
        There is no such file.
    """
    spelling = _format(format).dialect(dialect)
    try:
        return spelling.faults(Path(file), Path(throughputs) if throughputs else None)
    except OSError as error:
        raise ExportError(f"{file} cannot be read: {error.strerror or error}") from None


def _format(name: str) -> Format:
    if name in FORMATS:
        return FORMATS[name]
    for other in FORMATS.values():
        if any(d.name == name for d in other.dialects):
            raise ExportError(
                f"{name} is a dialect of {other.name}: ask for {other.name} --dialect {name}."
            )
    raise UnknownNameError("export format", name, FORMATS)


def _unnamed(needs: Demand) -> tuple[str, ...]:
    """Say how many jobs have nobody's name."""
    n = needs.jobs.height
    lacking = {what: int((needs.jobs[what] == UNKNOWN).sum()) for what in ("vc", "user")}
    return tuple(
        f"{count:,} of {n:,} jobs have no {what}: called {UNKNOWN!r}"
        for what, count in lacking.items()
        if count
    )


def _cluster_notes(target: Cluster) -> tuple[str, ...]:
    if not target.assumed:
        return ()
    return (
        f"target cluster: {target.gpus:,} GPUs in servers of 8, for an offered load of at most 1 "
        "(name another with --gpus)",
    )


def _sidecar_of(file: Path) -> Path:
    return file.with_name(file.name + ".json")


@contextmanager
def _placed(file: Path, sidecar: Path, force: bool) -> Iterator[Path]:
    """Give a path to write that becomes `file`, with its side-car, when the block ends well."""
    if file.exists() and not force:
        raise ExportError(f"{file} exists. Give another name, or --force to replace it.")
    if file.exists() and not sidecar.is_file():
        raise ExportError(f"{file} is not an export (no {sidecar.name}), so it is not replaced.")
    partial = file.with_name(f".{file.name}.partial-{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield partial
        _remove(file)
        partial.rename(file)
        _sidecar_of(partial).replace(sidecar)
    except OSError as error:
        raise ExportError(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        _remove(partial)
        _remove(_sidecar_of(partial))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
