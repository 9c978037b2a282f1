"""Write a workload in the file format of another tool, with a sidecar of what was assumed."""

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.codec import Accepted, Format, Written
from philly_analysis.exports.estimates import MEANING
from philly_analysis.exports.formats.batsim import BATSIM
from philly_analysis.exports.formats.csv import CSV
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
from philly_analysis.exports.profiles import read_profiles
from philly_analysis.exports.request import ExportOptions, Request, prepare
from philly_analysis.exports.sidecar import (
    Exported,
    cluster_notes,
    export_digests,
    replace_export,
    run_with,
    sidecar_of,
    unnamed_notes,
)
from philly_analysis.progress import step
from philly_analysis.results import count, share
from philly_analysis.trace import Digest, TraceLike
from philly_analysis.workload import Workload, largest_job_note

_FORMATS = (
    *(PHILLY, GAVEL, TIRESIAS, POLLUX, SIA, SYNERGY, HELIOS, LUCID, OPENB, SWF, BATSIM),
    *(OPENDC, CSV),
)
FORMATS: dict[str, Format] = {f.name: f for f in _FORMATS}
"""The formats that a workload can be exported to, by name."""

LEAST_ACCEPTED = 0.99
"""Share of jobs and of GPU time that a program must accept, or the export is refused."""


def export(
    workload: Workload | TraceLike,
    format: str,  # noqa: A002 - the word users type
    file: str | Path,
    options: ExportOptions,
) -> Exported:
    """Write a workload in another tool's format: see :func:`philly_analysis.export`."""
    chosen = _format(format)
    dialect = chosen.dialect(options.dialect)
    codec = chosen.codecs[dialect.name]
    if not isinstance(workload, Workload):
        workload = Workload.from_trace(workload)
    if not len(workload.jobs):
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    request = prepare(workload, dialect, options)
    file = Path(file)
    with (
        step(f"exporting {workload.name} for {chosen.name}"),
        replace_export(file, options.force) as new,
    ):
        if dialect.folder:
            new.mkdir()
        written = codec(request, new)
        if not options.partial:
            _refuse(request, written.accepted)
        digests = export_digests(new)
        result = _record(workload, request, chosen, written, file, options.seed, digests)
        sidecar_of(new).write_text(result.to_json(), "utf-8")
    return result


def _record(
    workload: Workload,
    request: Request,
    chosen: Format,
    written: Written,
    file: Path,
    seed: int,
    digests: dict[str, Digest],
) -> Exported:
    """Return what an export wrote, assumed and left out."""
    dialect = request.dialect
    accepted, notes = written.accepted, written.notes
    timed, estimates = dialect.timed, request.estimates
    records = len((request if timed else request.workload).jobs)
    published = [read_profiles(dialect.profiles).source] if dialect.profiles else []
    return Exported(
        workload=workload.name,
        synthetic=workload.synthetic,
        format=chosen.name,
        dialect=dialect.name,
        file=str(file),
        run_with=run_with(request, file, records),
        jobs=records,
        jobs_read=accepted.jobs,
        gpu_h_read=None if accepted.gpu_s is None else accepted.gpu_s / 3600,
        read_by=dialect.rules,
        jobs_asked=len((request.runnable if timed else request.workload).jobs),
        gpu_h_asked=request.runnable.gpu_s / 3600,
        left_out=request.demand.reasons if timed else {},
        account=request.demand.account() if timed else (),
        not_carried=(*dialect.not_carried, *notes.not_carried),
        assumed=(
            *(unnamed_notes(request.demand) if timed else ()),
            *cluster_notes(request.cluster),
            *request.gang_notes,
            *([f"estimated run times: {MEANING[estimates]}"] if estimates else []),
            *request.with_file_name(dialect.assumed),
            *notes.assumed,
        ),
        sources=(*published, *request.with_file_name(dialect.sources)),
        seed=seed,
        run_policy=request.run_policy,
        cluster_gpus=request.cluster.gpus,
        offered_load=request.offered_load,
        notes=(*request.workload.notes, *largest_job_note(request.demand.jobs["gpu_s"])),
        columns=tuple(column for column in dialect.dictionary() if column["file"] in digests),
        digests=digests,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        made_by=f"philly-analysis {version('philly-analysis')}",
    )


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


def _format(name: str) -> Format:
    if name in FORMATS:
        return FORMATS[name]
    for other in FORMATS.values():
        if any(d.name == name for d in other.dialects):
            raise ExportError(
                f"{name} is a dialect of {other.name}: ask for {other.name} with dialect='{name}'."
            )
    raise UnknownNameError("export format", name, FORMATS)


def _refuse(request: Request, accepted: Accepted) -> None:
    """Refuse an export of which its program would accept too little.

    If the program has run times of its own, the GPU time of the jobs in the file counts.
    """
    dialect = request.dialect
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
