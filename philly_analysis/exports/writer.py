"""Write a workload in the file format of another tool, with a sidecar of what was assumed."""

from datetime import UTC, datetime
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import pandas as pd

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.dialect import Accepted, Dialect, Format
from philly_analysis.exports.estimates import MEANING
from philly_analysis.exports.formats.batsim import BATSIM
from philly_analysis.exports.formats.gavel import GAVEL
from philly_analysis.exports.formats.helios import HELIOS
from philly_analysis.exports.formats.lucid import LUCID
from philly_analysis.exports.formats.openb import OPENB
from philly_analysis.exports.formats.opendc import OPENDC
from philly_analysis.exports.formats.philly import PHILLY
from philly_analysis.exports.formats.pollux import POLLUX, SIA
from philly_analysis.exports.formats.swf import SWF
from philly_analysis.exports.formats.synergy import SYNERGY
from philly_analysis.exports.formats.tiresias import TIRESIAS
from philly_analysis.exports.request import ExportOptions, Request, prepare
from philly_analysis.exports.sidecar import Exported, cluster_notes, run_with, unnamed_notes
from philly_analysis.exports.sidecar_writer import export_digests, replace_export, sidecar_of
from philly_analysis.progress import step
from philly_analysis.results import count, share
from philly_analysis.study import Estimates, Gangs, RunPolicy
from philly_analysis.trace import TraceLike
from philly_analysis.workload import Workload

_FORMATS = (
    *(PHILLY, GAVEL, TIRESIAS, POLLUX, SIA, SYNERGY, HELIOS, LUCID, OPENB, SWF, BATSIM),
    OPENDC,
)
FORMATS: dict[str, Format] = {f.name: f for f in _FORMATS}
"""The formats that a workload can be exported to, by name."""

LEAST_ACCEPTED = 0.99
"""Share of jobs and of GPU time that a program must accept, or the export is refused."""

_VIOLATIONS_SHOWN = 5
_Name = TypeVar("_Name", bound=StrEnum)


def export(
    workload: Workload | TraceLike,
    format: str,  # noqa: A002 - the word users type
    file: str | Path,
    options: ExportOptions,
) -> Exported:
    """Write a workload in another tool's format: see :func:`philly_analysis.export`."""
    chosen = _format(format)
    dialect = chosen.dialect(options.dialect)
    run_policy = _named(RunPolicy, "run policy", options.run_policy)
    gangs = _named(Gangs, "treatment of gangs", options.gangs)
    estimates = _estimates(chosen.name, dialect, options.estimates)
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    if not workload.jobs.height:
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    if dialect.throughputs and options.throughputs is None:
        raise ExportError(
            f"{chosen.name} ({dialect.name}) needs {dialect.throughputs}, which is not part of "
            "this package: give its path as throughputs=PATH."
        )
    request = prepare(
        workload,
        options,
        run_policy=run_policy,
        gangs=gangs,
        estimates=estimates,
        sizes=dialect.gangs,
        timed=dialect.timed,
    )
    file = Path(file)
    with (
        step(f"exporting {workload.name} for {chosen.name}"),
        replace_export(file, options.force) as new,
    ):
        if dialect.folder:
            new.mkdir()
        notes = dialect.codec.write(request, new)
        if found := dialect.codec.validate(new, request.throughputs):
            raise ExportError(
                f"{workload.name} cannot be written for {chosen.name} ({dialect.name}): "
                + "; ".join(found[:_VIOLATIONS_SHOWN])
            )
        accepted = dialect.codec.accepted(request, new)
        if not options.partial:
            _refuse(request, dialect, accepted)
        timed = dialect.timed
        records = (request if timed else request.workload).jobs.height
        result = Exported(
            workload=workload.name,
            synthetic=workload.synthetic,
            format=chosen.name,
            dialect=dialect.name,
            file=str(file),
            run_with=run_with(request, dialect, file, records),
            jobs=records,
            jobs_read=accepted.jobs,
            gpu_h_read=None if accepted.gpu_s is None else accepted.gpu_s / 3600,
            read_by=dialect.rules,
            jobs_asked=(request.runnable if timed else workload).jobs.height,
            gpu_h_asked=request.runnable.gpu_s / 3600,
            left_out=request.demand.reasons if timed else {},
            account=request.demand.account() if timed else (),
            not_carried=(*dialect.not_carried, *notes.not_carried),
            assumed=(
                *(unnamed_notes(request.demand) if timed else ()),
                *cluster_notes(request.cluster),
                *request.gang_notes,
                *([f"estimated run times: {MEANING[estimates]}"] if estimates else []),
                *notes.assumed,
            ),
            sources=notes.sources,
            seed=options.seed,
            run_policy=run_policy.value,
            cluster_gpus=request.cluster.gpus,
            offered_load=request.offered_load,
            arrivals_stretched=request.arrival_factor,
            notes=workload.notes,
            digests=export_digests(new),
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
        One row per dialect, a format's default first: format, dialect, reader (the program),
        carries, not_carried, needs (the program's own file, where one is required), tried_with
        (the repository and commit of the program that a sidecar's command was run with).
    """
    columns = ["format", "dialect", "reader", "carries", "not_carried", "needs", "tried_with"]
    rows = [
        (f.name, d.name, d.program, d.carries, "; ".join(d.not_carried), d.throughputs, d.source)
        for f in FORMATS.values()
        for d in f.dialects
    ]
    return pd.DataFrame(rows, columns=columns)


def validate(
    file: str | Path,
    format: str,  # noqa: A002 - the word users type
    *,
    dialect: str | None = None,
    throughputs: str | Path | None = None,
) -> list[str]:
    """Return the violations of a format's rules in an exported file; empty: none.

    Raises
    ------
    ExportError
        There is no such file.
    """
    codec = _format(format).dialect(dialect).codec
    try:
        return codec.validate(Path(file), Path(throughputs) if throughputs else None)
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


def _named(names: type[_Name], what: str, name: str) -> _Name:
    if name not in list(names):
        raise UnknownNameError(what, name, list(names))
    return names(name)


def _estimates(name: str, dialect: Dialect, wanted: Estimates | str | None) -> Estimates | None:
    """Return the kind of estimates to write; None if the format holds none."""
    if wanted is None:
        return dialect.estimates[0] if dialect.estimates else None
    kind = _named(Estimates, "kind of estimates", wanted)
    if kind not in dialect.estimates:
        raise ExportError(
            f"{name} ({dialect.name}) has no field for estimated run times: omit estimates=."
        )
    return kind


def _refuse(request: Request, dialect: Dialect, accepted: Accepted) -> None:
    """Refuse an export of which its program would accept too little.

    If the program has run times of its own, the GPU time is that of the jobs in the file.
    """
    jobs, gpu_h = request.runnable.jobs.height, request.runnable.gpu_s / 3600
    accepted_h = (request.demand.gpu_s if accepted.gpu_s is None else accepted.gpu_s) / 3600
    enough = accepted.jobs >= LEAST_ACCEPTED * jobs and accepted_h >= LEAST_ACCEPTED * gpu_h
    if not dialect.timed or enough:
        return
    others = [
        f"{count(n, 'job')} ({hours:,.0f} GPU hours): {reason}"
        for reason, n, hours in request.demand.left_out.iter_rows()
        if reason not in request.runnable.reasons
    ]
    hint = (
        "Adapt gangs by gangs='split' or gangs='round', or"
        if dialect.gangs
        else "Give a larger cluster by --gpus, a higher --load where its window is short, or"
    )
    raise ExportError(
        f"{dialect.program} would accept {accepted.jobs:,} of {jobs:,} jobs "
        f"({share(accepted.jobs / jobs)}) and {accepted_h:,.0f} of {gpu_h:,.0f} GPU hours "
        f"({share(accepted_h / gpu_h)}) of {request.workload.name}, and should accept "
        f"{share(LEAST_ACCEPTED)} of both (it accepts {dialect.rules}"
        + "".join(f"; excluded, {other}" for other in others)
        + f"). {hint} write it anyway by partial=True."
    )
