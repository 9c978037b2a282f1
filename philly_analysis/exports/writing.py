"""Writes a workload in another tool's format, and beside it what had to be assumed."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np

from philly_analysis.errors import ExportError, UnknownNameError
from philly_analysis.exports.demand import Demand, complete, demand
from philly_analysis.exports.format import Dialect, Format, Request
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
from philly_analysis.exports.target import Cluster, cluster, offered_load, stretch
from philly_analysis.progress import step
from philly_analysis.study import RunPolicy
from philly_analysis.trace import Trace
from philly_analysis.workload import Machine, Workload

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


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote, and what a reader of its numbers must know.

    Attributes
    ----------
    file
        The file, or the folder of a format of several files.
    jobs, left_out
        Jobs in it, and jobs of the workload that are not, by reason.
    lost, assumed
        Sentences: what the format cannot carry, and what it wants that the workload lacks.
    sources
        Where assumed numbers come from.
    run_policy
        How attempts became a run time: ``span``, ``sum`` or ``last``.
    cluster_gpus, offered_load
        GPUs of the target cluster, and GPU-seconds asked for / (GPUs x seconds from first to
        last submission), of the jobs that the reader takes; None where it cannot be told.
    arrivals_stretched
        Factor on the time between submissions; 1: as in the workload.
    """

    workload: str
    synthetic: bool
    format: str
    dialect: str
    file: str
    jobs: int
    left_out: dict[str, int]
    lost: tuple[str, ...]
    assumed: tuple[str, ...]
    sources: tuple[str, ...]
    seed: int
    run_policy: str
    cluster_gpus: int
    offered_load: float | None
    arrivals_stretched: float
    notes: tuple[str, ...]
    made_at: str
    made_by: str

    def to_json(self) -> str:
        """Return it as JSON text, as the side-car holds it."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def __str__(self) -> str:
        """Return it as lines for a terminal."""
        load = "not defined" if self.offered_load is None else f"{self.offered_load:.2f}"
        lines = [
            f"{self.jobs:,} jobs of {self.workload} in {self.file} ({self.format}, {self.dialect})",
            f"offered load {load} on {self.cluster_gpus:,} GPUs; run time of a job: "
            f"{self.run_policy} of its attempts; seed {self.seed}",
        ]
        for head, sentences in (
            ("left out", [f"{n:,} jobs: {reason}" for reason, n in self.left_out.items()]),
            ("not carried", self.lost),
            ("assumed", self.assumed),
            ("source", self.sources),
        ):
            lines += [f"{head}: {s}" for s in sentences]
        return "\n".join(lines)


def export(
    workload: Workload | Trace | str | Path,
    format: str,  # noqa: A002 - the word users type
    file: str | Path,
    *,
    dialect: str | None = None,
    load: float | None = None,
    seed: int = 0,
    gpus: int | None = None,
    machines: Sequence[Machine] | None = None,
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
        The target cluster, as a number of GPUs in servers of 8 or machine by machine. Neither:
        the workload's own machines, else one that is assumed.
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
    workload = complete(workload)
    if not workload.jobs.height:
        raise ExportError(f"{workload.name} has no jobs: there is nothing to export.")
    if spelling.throughputs and throughputs is None:
        raise ExportError(
            f"{chosen.name} ({spelling.name}) needs {spelling.throughputs}, which is not part of "
            "this package: give its path with --throughputs."
        )
    needs = _demand(workload, run_policy, spelling)
    target = cluster(workload, needs, gpus=gpus, machines=machines)
    factor = 1.0
    if load is not None:
        factor = _factor(workload, needs, target, load)
        workload = stretch(workload, factor)
        # not computed anew: jobs that still ran would run on to the later end of the log
        needs = needs.stretched(factor) if needs else None
    file = Path(file)
    request = Request(
        workload=workload,
        demand=needs,
        cluster=target,
        rng=np.random.default_rng(seed),
        run_policy=run_policy,
        throughputs=Path(throughputs) if throughputs is not None else None,
    )
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
        rho = offered_load(needs, target.gpus) if needs else None
        result = Exported(
            workload=workload.name,
            synthetic=workload.synthetic,
            format=chosen.name,
            dialect=spelling.name,
            file=str(file),
            jobs=written.jobs,
            left_out=dict(needs.left_out) if needs and spelling.timed else {},
            lost=(*spelling.lost, *written.lost),
            assumed=(
                *(needs.notes if needs and spelling.timed else ()),
                *_cluster_notes(target),
                *written.assumed,
            ),
            sources=written.sources,
            seed=seed,
            run_policy=run_policy.value,
            cluster_gpus=target.gpus,
            offered_load=rho,
            arrivals_stretched=factor,
            notes=workload.notes,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            made_by=f"philly-analysis {version('philly-analysis')}",
        )
        _sidecar_of(new).write_text(result.to_json(), "utf-8")
    return result


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


def _demand(workload: Workload, run_policy: RunPolicy, dialect: Dialect) -> Demand | None:
    try:
        return demand(workload, run_policy, dialect.gangs)
    except ExportError:
        if dialect.timed:
            raise
        return None


def _factor(workload: Workload, needs: Demand | None, target: Cluster, load: float) -> float:
    if load <= 0:
        raise ExportError(f"an offered load of {load} was asked for; give one above 0.")
    now = offered_load(needs, target.gpus) if needs else None
    if not now:
        raise ExportError(
            f"an offered load of {load} was asked for, but {workload.name} has none to rescale: "
            "its jobs need run times and at least two different submission times."
        )
    return now / load


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
