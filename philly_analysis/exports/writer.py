"""Writes a workload in another tool's format, and beside it what had to be assumed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.estimates import SAYS
from philly_analysis.exports.format import Dialect, Format, Taken
from philly_analysis.exports.formats import (
    batsim,
    gavel,
    helios,
    lucid,
    openb,
    opendc,
    philly,
    pollux,
    swf,
    synergy,
    tiresias,
)
from philly_analysis.exports.request import Request, prepare
from philly_analysis.exports.sidecar import Exported, cluster_notes, run_with, unnamed
from philly_analysis.exports.sidecar_writer import appearing, contents, sidecar_of
from philly_analysis.progress import step
from philly_analysis.results import count, share
from philly_analysis.study import Estimates, Gangs, RunPolicy
from philly_analysis.trace import TraceLike
from philly_analysis.workload import Machine, Workload, fleet

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
        lucid.LUCID,
        openb.OPENB,
        swf.SWF,
        batsim.BATSIM,
        opendc.OPENDC,
    )
}
"""The formats that a workload can be exported to, by name."""

LEAST_TAKEN = 0.99
"""Share of jobs and of GPU time that a reader must take, or the export is refused."""

_FAULTS_SHOWN = 5


def export(
    workload: Workload | TraceLike,
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
    gangs: Gangs | str = Gangs.DROP,
    estimates: Estimates | str | None = None,
    partial: bool = False,
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
    gangs
        What becomes of gangs whose size the reader does not take: ``drop`` leaves them out,
        ``round`` takes the nearest size it does and keeps GPU-seconds, ``split`` makes several
        jobs of each (see :mod:`philly_analysis.exports.gangs`).
    estimates
        What a scheduler is told of run times beforehand: ``exact``, ``noisy``, ``rounded`` as
        people ask for time, or by ``history`` of the user (see
        :mod:`philly_analysis.exports.estimates`); None: the format's default.
    partial
        Write it even if its reader would take less than 99 % of the jobs or of the GPU time.
    force
        Replace an export that is there already.

    Raises
    ------
    ExportError
        There are no jobs, the workload lacks what the format needs, its reader would take too
        little of it, a file is missing, exists, or cannot be written.
    UnknownNameError
        No format, dialect, run policy, way with gangs or kind of estimates of that name.
    """
    chosen = _format(format)
    spelling = chosen.dialect(dialect)
    if run_policy not in list(RunPolicy):
        raise UnknownNameError("run policy", run_policy, list(RunPolicy))
    run_policy = RunPolicy(run_policy)
    if gangs not in list(Gangs):
        raise UnknownNameError("way with gangs", gangs, list(Gangs))
    told = _estimates(chosen.name, spelling, estimates)
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    if not workload.jobs.height:
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    if spelling.throughputs and throughputs is None:
        raise ExportError(
            f"{chosen.name} ({spelling.name}) needs {spelling.throughputs}, which is not part of "
            "this package: give its path as throughputs=PATH."
        )
    request = prepare(
        workload,
        run_policy=run_policy,
        seed=seed,
        sizes=spelling.gangs,
        gangs=Gangs(gangs),
        estimates=told,
        load=load,
        gpus=gpus,
        machines=fleet(machines) if isinstance(machines, str) else machines,
        throughputs=Path(throughputs) if throughputs is not None else None,
        timed=spelling.timed,
    )
    file = Path(file)
    with step(f"exporting {workload.name} for {chosen.name}"), appearing(file, force) as new:
        if spelling.folder:
            new.mkdir()
        written = spelling.write(request, new)
        if faults := spelling.faults(new, request.throughputs):
            raise ExportError(
                f"{workload.name} cannot be written for {chosen.name} ({spelling.name}): "
                + "; ".join(faults[:_FAULTS_SHOWN])
            )
        taken = spelling.taken(request, new)
        if not partial:
            _refuse(request, spelling, taken)
        result = Exported(
            workload=workload.name,
            synthetic=workload.synthetic,
            format=chosen.name,
            dialect=spelling.name,
            file=str(file),
            run_with=run_with(request, spelling, file, written.jobs),
            jobs=written.jobs,
            jobs_read=taken.jobs,
            gpu_h_read=None if taken.gpu_s is None else taken.gpu_s / 3600,
            read_by=spelling.program.rules,
            jobs_asked=(request.whole if spelling.timed else workload).jobs.height,
            gpu_h_asked=request.whole.gpu_s / 3600,
            left_out=request.demand.reasons if spelling.timed else {},
            account=request.demand.account() if spelling.timed else (),
            not_carried=(*spelling.not_carried, *written.not_carried),
            assumed=(
                *(unnamed(request.demand) if spelling.timed else ()),
                *cluster_notes(request.cluster),
                *request.made,
                *([f"estimated run times: {SAYS[told]}"] if told else []),
                *written.assumed,
            ),
            sources=written.sources,
            seed=seed,
            run_policy=run_policy.value,
            cluster_gpus=request.cluster.gpus,
            offered_load=request.offered_load,
            arrivals_stretched=request.stretch,
            notes=workload.notes,
            digests=contents(new),
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            made_by=f"philly-analysis {version('philly-analysis')}",
        )
        sidecar_of(new).write_text(result.to_json(), "utf-8")
    return result


def list_formats() -> pd.DataFrame:
    """List the formats that a workload can be exported to.

    Returns
    -------
    pandas.DataFrame
        One row per dialect, a format's default first: format, dialect, reader, carries,
        not_carried, needs (the consumer's own file, where one must be given), tried_with (the
        reader's repository and commit that a side-car's command was run with).
    """
    return pd.DataFrame(
        [
            (
                f.name,
                d.name,
                d.program.name,
                d.carries,
                "; ".join(d.not_carried),
                d.throughputs,
                d.program.source,
            )
            for f in FORMATS.values()
            for d in f.dialects
        ],
        columns=["format", "dialect", "reader", "carries", "not_carried", "needs", "tried_with"],
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
                f"{name} is a dialect of {other.name}: ask for {other.name} with dialect='{name}'."
            )
    raise UnknownNameError("export format", name, FORMATS)


def _estimates(name: str, spelling: Dialect, asked: Estimates | str | None) -> Estimates | None:
    """Return the kind of estimates to write; None where the format has no place for any."""
    if asked is None:
        return spelling.estimates[0] if spelling.estimates else None
    if asked not in list(Estimates):
        raise UnknownNameError("kind of estimates", asked, list(Estimates))
    if asked not in spelling.estimates:
        raise ExportError(
            f"{name} ({spelling.name}) has no place for estimated run times: leave out estimates=."
        )
    return Estimates(asked)


def _refuse(request: Request, spelling: Dialect, taken: Taken) -> None:
    """Refuse an export of which its reader would take too little.

    Of a reader with run times of its own, the GPU time is that of the jobs in the file.
    """
    jobs, whole_h = request.whole.jobs.height, request.whole.gpu_s / 3600
    taken_h = (request.demand.gpu_s if taken.gpu_s is None else taken.gpu_s) / 3600
    enough = taken.jobs >= LEAST_TAKEN * jobs and taken_h >= LEAST_TAKEN * whole_h
    if not spelling.timed or enough:
        return
    others = [
        f"{count(n, 'job')} ({gpu_h:,.0f} GPU hours): {reason}"
        for reason, n, gpu_h in request.demand.left_out.iter_rows()
        if reason not in request.whole.reasons
    ]
    hint = (
        "Make gangs that it takes by gangs='split' or gangs='round', or"
        if spelling.gangs
        else "Give a larger cluster by --gpus, a higher --load where its window is short, or"
    )
    raise ExportError(
        f"{spelling.program.name} would take {taken.jobs:,} of {jobs:,} jobs "
        f"({share(taken.jobs / jobs)}) and {taken_h:,.0f} of {whole_h:,.0f} GPU hours "
        f"({share(taken_h / whole_h)}) of {request.workload.name}, and should take "
        f"{share(LEAST_TAKEN)} of both (it takes {spelling.program.rules}"
        + "".join(f"; left out, {other}" for other in others)
        + f"). {hint} write it all the same by partial=True."
    )
